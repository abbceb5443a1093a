"""The values that cross every layer: a memory, its parts, and what a reader is shown.

Nothing here does input or output. Times are UTC strings of fixed width,
``2026-11-20T10:11:12.345678Z``, so that they sort as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

ID_LENGTH = 8
"""Shortest form in which an id is shown, in hex digits."""

SUMMARY_LENGTH = 100
"""Longest one-line summary, in characters."""

KINDS = ("decision", "preference", "fact", "lesson", "task", "context", "episode", "note")
"""The kinds gitmem knows by name; the vocabulary is open."""


SUBJECTS = frozenset((*KINDS, "content", "summary", "text", "title"))
"""Keys of a JSON memory that say what it is about."""


class Importance(StrEnum):
    """How much a memory matters, most first."""

    CRITICAL = "critical"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def rank(self) -> int:
        """0 for critical … 3 for low."""
        return list(Importance).index(self)


class Scope(StrEnum):
    """Who sees a memory: its branch, every branch of the repository, or its author everywhere."""

    BRANCH = "branch"
    REPO = "repo"
    USER = "user"


class JournalName(StrEnum):
    """The three journals read together."""

    SHARED = "shared"
    PRIVATE = "private"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Link:
    """An edge from a memory to another, a path, a commit, a URL or ``session:ID#11-15``."""

    rel: str
    target: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One side of a contested field, or a change that is proposed.

    `value` is None where the side is a forget, and for a proposal that sets nothing.
    """

    field: str
    value: Any
    event: str
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Note:
    """What `evolve` added to a memory, in order."""

    text: str
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a memory names and that is not as it was."""

    path: str
    change: Literal["changed", "gone"]

    def __str__(self) -> str:
        return self.path if self.change == "changed" else f"{self.path} (gone)"


@dataclass(frozen=True, slots=True)
class Memory:
    """The fold of a memory's events.

    `heads` are the ids of the latest events, the `base` of the next one. `stale` is no part of the
    fold: a reader fills it in, by what HEAD has at `paths`.
    `held`: nobody stands for it whom one trusts; `proposed`: what such an author would change.
    `data` is set where a JSON object was remembered; `text` is then None.
    """

    id: str
    created: str
    updated: str
    author: str
    text: str | None = None
    data: Mapping[str, Any] | None = None
    kind: str = "note"
    importance: Importance = Importance.NORMAL
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    notes: tuple[Note, ...] = ()
    journal: JournalName = JournalName.SHARED
    scope: Scope = Scope.BRANCH
    branch: str | None = None
    expires: str | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    forgotten: bool = False
    contested: tuple[Alternative, ...] = ()
    heads: tuple[str, ...] = ()
    stale: tuple[FileChange, ...] = ()
    held: bool = False
    proposed: tuple[Alternative, ...] = ()

    @property
    def private(self) -> bool:
        """Whether the memory can never be pushed."""
        return self.journal is not JournalName.SHARED

    @property
    def body(self) -> str:
        """The memory as Markdown text; a JSON object is rendered as ``key: value`` lines."""
        return self.text if self.text is not None else render_data(self.data or {})

    @property
    def summary(self) -> str:
        """The first line of the body, at most `SUMMARY_LENGTH` characters."""
        return first_line(self.body)


SOURCES = ("memories", "sessions", "files")
"""Where one can search."""


@dataclass(frozen=True, slots=True)
class Said:
    """A round of a conversation: `session` is ``AGENT/ID``, `index` counts from 1.

    `at` is a UTC string as in events, or empty; `title`, `branch` and `tags` are the session's.
    """

    session: str
    index: int
    role: str
    text: str
    at: str = ""
    speaker: str = ""
    title: str = ""
    branch: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a file of the workspace, from line `line` on (the first is 1)."""

    path: str
    line: int
    text: str


class Part(NamedTuple):
    """What one thing adds to the score of a hit."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result: a memory, a round of a conversation, or a passage of a file.

    `score` is higher for what fits better; `parts` are what it is the sum of.
    """

    found: Memory | Said | Passage
    score: float
    snippet: str
    parts: tuple[Part, ...] = ()

    @property
    def key(self) -> str:
        """What it is known by: a memory's id, ``AGENT/SESSION#INDEX`` or ``PATH:LINE``."""
        match self.found:
            case Memory(id=id):
                return id
            case Said(session=session, index=index):
                return f"{session}#{index}"
            case Passage(path=path, line=line):
                return f"{path}:{line}"

    @property
    def memory(self) -> Memory | None:
        """The memory that was found, if it is one."""
        return self.found if isinstance(self.found, Memory) else None

    @property
    def said(self) -> Said | None:
        """The round that was found, if it is one."""
        return self.found if isinstance(self.found, Said) else None

    @property
    def passage(self) -> Passage | None:
        """The passage that was found, if it is one."""
        return self.found if isinstance(self.found, Passage) else None


def first_line(text: str, length: int = SUMMARY_LENGTH) -> str:
    """Return the first line of `text` that says something, cut to `length` characters."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def render_data(data: Mapping[str, Any]) -> str:
    """Render a JSON object for people: ``key: value``, one a line; nested values as JSON.

    Stored keys are sorted, so the one that says what it is about is brought to the front.
    """
    keys = sorted(data, key=lambda key: key not in SUBJECTS)
    return "\n".join(f"{key}: {_plain(data[key])}" for key in keys)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
