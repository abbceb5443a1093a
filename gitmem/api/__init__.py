"""`Gitmem`: one repository's memory, one public method a verb."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from gitmem.api.care import Care
from gitmem.journal.git.port import Backend

__all__ = ["Gitmem", "open"]


class Gitmem(Care):
    """The memory of one repository. Use as a context manager, or `close` it."""


def open(
    path: str | Path = ".",
    *,
    backend: Backend = "auto",
    environ: Mapping[str, str] | None = None,
    now: Callable[[], datetime] | None = None,
) -> Gitmem:
    """Open the memory of the repository that `path` is in.

    `backend` is ``program`` for one short command, ``libgit2`` for a process that lives on; `now`
    is the clock, and `environ` stands for the process's environment.

    Raises:
        NotARepository: there is none, or git refuses to use it.
    """
    return Gitmem(Path(path), backend, os.environ if environ is None else environ, now or _now)


def _now() -> datetime:
    return datetime.now(UTC)
