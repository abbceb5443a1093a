"""One repository's memory, kept open while a client is there, on a thread of its own.

SQLite and libgit2 are asked by the thread that opened them, one question after another; the loop
that hears what the client says next waits for neither. Kept open, it has its models at hand.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from gitmem.agents.hooks.dialect import AGENTS
from gitmem.agents.hooks.events import excluded
from gitmem.api import Gitmem
from gitmem.api import open as open_gitmem
from gitmem.errors import GitmemError, Refused, Unavailable, UsageError
from gitmem.journal.git.discovery import discover
from gitmem.verbs.setup import RECORD

Answer = TypeVar("Answer")

SPEAKER: ContextVar[str] = ContextVar("speaker", default="")
"""The name that the client gives itself, while a message of it is answered."""

LAST = 5.0
"""Seconds that what is being done has left once the client is gone."""

_log = logging.getLogger(__name__)


class Opened:
    """The memory of the repository that `start` is in, whether there is one yet or not."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._thread = ThreadPoolExecutor(1, "gitmem")
        self._gm: Gitmem | None = None
        self._record = Path()
        self._stamp: tuple[int, ...] = ()
        self._closing = False

    async def ask(self, work: Callable[[Gitmem], Answer]) -> Answer:
        """Do something with the memory, and return what comes of it.

        Raises:
            GitmemError: it cannot be done; what nobody expected is `Unavailable`, and logged.
        """
        return await asyncio.wrap_future(self._thread.submit(self._do, work, SPEAKER.get()))

    def warm(self) -> None:
        """Load in the background what the first search would wait for."""

        def load(gm: Gitmem) -> None:
            gm.recall("what was decided here", limit=1)

        self._thread.submit(self._do, load, SPEAKER.get())  # what fails, fails the search too

    def close(self) -> None:
        """Let what is being done end, for a moment, and begin nothing else."""
        self._closing = True
        closed = self._thread.submit(self._let_go)
        self._thread.shutdown(wait=False)
        with suppress(TimeoutError):
            closed.result(LAST)

    # -- on the thread ------------------------------------------------------------------------

    def _do(self, work: Callable[[Gitmem], Answer], speaker: str) -> Answer:
        if self._closing:
            raise Unavailable("the server is ending")
        try:
            gm = self._here()
            gm.reload()
            if any(excluded(name, "", gm) for name in names(speaker)):
                raise Refused(
                    f"the memory of this repository is not for '{speaker}'",
                    "its user set gitmem.excludeAgents; go on without it",
                )
            return work(gm)
        except GitmemError:
            raise
        except Exception as error:  # a client is told, never failed; the next call begins anew
            _log.exception("a call failed")
            self._let_go()
            what = f"{type(error).__name__}: {error}"[:300]
            raise Unavailable(
                f"this is a bug in gitmem: {what}", "try once more; the server's log tells where"
            ) from error

    def _here(self) -> Gitmem:
        """Return the memory; anew where the repository was set up again or is another."""
        if self._gm is not None and self._stamp == _stamp(self._record):
            return self._gm
        self._let_go()
        layout = discover(self._start)
        self._record = layout.common_dir / "gitmem" / RECORD
        self._stamp = _stamp(self._record)
        if not self._stamp:  # opening it would make files
            raise UsageError(
                f"the repository '{layout.workdir or layout.git_dir}' has no memory yet",
                "if its user wants one, 'gitmem init' in it makes it; else go on without",
            )
        self._gm = open_gitmem(self._start)
        return self._gm

    def _let_go(self) -> None:
        gm, self._gm = self._gm, None
        if gm is not None:
            gm.close()


def names(speaker: str) -> list[str]:
    """Return the names that a client goes by: its own, and that of the agent whose it is.

    Codex calls itself ``codex-mcp-client`` here, Gemini CLI ``gemini-cli-mcp-client``.
    """
    return [speaker, *(agent for agent in AGENTS if speaker.startswith(f"{agent}-"))]


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what tells one file from another, or from itself rewritten; empty: there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns
