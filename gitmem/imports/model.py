"""What another tool remembered, as its reader yields it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gitmem.journal.git.port import Git
from gitmem.sessions.model import Home, Skipped


@dataclass(frozen=True, slots=True)
class Addition:
    """What was said of a memory later: a note beside its text, or else other `content`.

    `branch`: where alone that holds, if not wherever the memory does.
    """

    text: str = ""
    at: str = ""
    by: str = ""
    branch: str = ""
    content: str | Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Foreign:
    """One memory of another tool; empty where the tool does not say.

    `key` is the tool's own id and makes importing again find it; `text` or `data` is set. Times are
    UTC strings as in events, `by` is ``Name <email>``, `branch` as git names it; `known` are all
    branches on which the tool showed the memory, `commit` is the one it was noted on. A link's
    target may be another memory's key.
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
    known: tuple[str, ...] = ()
    commit: str = ""
    additions: tuple[Addition, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)


Opener = Callable[[Path], Git]
"""Opens the git repository that a path is in."""


class Origin(Protocol):
    """Reads the memories of one tool."""

    name: str
    """On the command line, such as ``basic-memory``."""

    shared: bool
    """Whether the tool shares its memories with a team; one person's are private here too."""

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the files, folders or repositories where the tool keeps its memories."""
        ...

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield what is there, in a stable order; `repository` opens a git repository.

        Raises:
            Unreadable: nothing of it can be read.
        """
        ...
