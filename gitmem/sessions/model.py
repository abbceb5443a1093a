"""The values of conversations: what a reader finds in a transcript, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

Role = Literal["user", "assistant", "tool", "summary"]
"""Who speaks: a person, the agent, a tool it ran, or the agent that summed up what came before."""


@dataclass(frozen=True, slots=True)
class About:
    """What a transcript says of a session; empty where it does not.

    `started` is a UTC string as in events; `parent` is the id of the session whose subagent it is.
    """

    agent: str
    id: str
    title: str = ""
    started: str = ""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said: `id` is the agent's own record id, unique within its session.

    `at` is a UTC string as in events, empty where the source has no time. A tool's turn holds the
    call in its first line and the output after it.
    """

    id: str
    role: Role
    text: str
    at: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a transcript that could not be read, and why: counted, and said once a reason."""

    reason: str


Record = About | Turn | Skipped
"""What a reader yields. A `Turn` belongs to the session of the last `About`; a later `About` of
the same session adds what the earlier one did not say."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where agents keep their things: the home directory, this repository, the environment's say.

    `worktrees` are the roots of all its linked worktrees, its own among them.
    """

    home: Path
    worktrees: tuple[Path, ...]
    environ: dict[str, str]


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How far a transcript was read, in whole lines, and what its reader has to remember for the
    rest: a JSON object."""

    offset: int
    state: Mapping[str, Any]


class Importer(Protocol):
    """Reads the transcripts of one agent."""

    agent: str
    """Its name on the command line and in the store, such as ``claude-code``."""

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the files and folders where the agent keeps its transcripts, existing or not."""
        ...

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the transcripts in a folder, or the file itself; links that loop end it."""
        ...

    def ours(self, about: About, home: Home) -> bool:
        """Whether a session found in a default place is about this repository."""
        ...

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield what a transcript holds, in its order, in memory bounded by its longest record.

        Raises:
            Unreadable: nothing of it can be read.
        """
        ...


class Resumable(Importer, Protocol):
    """An importer that can go on where it stopped: a long transcript grows by a turn."""

    def resume(self, transcript: Path, bookmark: Bookmark | None) -> Iterator[Record | Bookmark]:
        """Yield what follows a bookmark (None: all), and a bookmark before what the end tells.

        No bookmark where the last line has no end yet, or a line could not be read.

        Raises:
            Unreadable: nothing of it can be read. ValueError: the bookmark is no such.
        """
        ...


@dataclass(frozen=True, slots=True)
class Round:
    """A turn as it is kept: `index` counts from 1 and never changes."""

    index: int
    turn: Turn


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation as it is kept. `ended` is the time of its last round that has one."""

    about: About
    rounds: int
    ended: str
    tags: tuple[str, ...] = ()
    source: str = ""
