"""What another tool remembered, as its reader yields it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gitmem.journal.git import Git
from gitmem.sessions.model import Home, Skipped


@dataclass(frozen=True, slots=True)
class Addition:
    """A note that was added to a memory later."""

    text: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Foreign:
    """One memory of another tool; empty where the tool does not say.

    `key` is the tool's own id and makes importing again find it; `text` or `data` is set. Times are
    UTC strings as in events, `by` is ``Name <email>``, `branch` as git names it.
    """

    key: str
    text: str = ""
    data: Mapping[str, Any] | None = None
    kind: str = ""
    importance: str = ""
    tags: tuple[str, ...] = ()
    at: str = ""
    updated: str = ""
    by: str = ""
    branch: str = ""
    additions: tuple[Addition, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)


class Origin(Protocol):
    """Reads the memories of one tool."""

    name: str
    """On the command line, such as ``basic-memory``."""

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the files, folders or repositories where the tool keeps its memories."""
        ...

    def read(self, place: Path, repository: Callable[[Path], Git]) -> Iterator[Foreign | Skipped]:
        """Yield what is there, in a stable order; `repository` opens a git repository.

        Raises:
            Unreadable: nothing of it can be read.
        """
        ...
