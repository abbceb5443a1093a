"""The shapes of what tools answer with as data; clients learn them as schemas."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's below Python 3.12


class Found(TypedDict):
    """A memory in a list: enough to tell whether to read it whole."""

    id: str
    kind: str
    importance: str
    text: str
    by: str
    at: str
    tags: NotRequired[list[str]]
    cut: NotRequired[bool]
    branch: NotRequired[str]
    expires: NotRequired[str]
    private: NotRequired[bool]
    forgotten: NotRequired[bool]
    contested: NotRequired[bool]
    held: NotRequired[bool]
    stale: NotRequired[list[str]]
    score: NotRequired[float]


class Search(TypedDict):
    """What a search found, best first; `searched` says by what means."""

    hits: list[Found]
    truncated: bool
    searched: list[str]
    note: NotRequired[str]
    warnings: NotRequired[list[str]]


class Edge(TypedDict):
    """A link of a memory."""

    rel: str
    target: str
    comment: NotRequired[str]


class Remark(TypedDict):
    """A note that was added to a memory."""

    text: str
    by: str
    at: str


class Side(TypedDict):
    """One of the values that a contested field has; None where that side forgot the memory."""

    field: str
    value: str | None
    by: str
    at: str


class Whole(Found):
    """A memory, all of it."""

    full_id: str
    created: str
    scope: str
    links: NotRequired[list[Edge]]
    notes: NotRequired[list[Remark]]
    sides: NotRequired[list[Side]]
    source: NotRequired[dict[str, str]]
    paths: NotRequired[list[str]]


class Memories(TypedDict):
    """The memories that were asked for."""

    memories: list[Whole]


class Saved(TypedDict):
    """What was written."""

    id: str
    done: str
    summary: str
    remark: NotRequired[str]
    redacted: NotRequired[list[str]]
    warnings: NotRequired[list[str]]


class Step(TypedDict):
    """One event in the life of a memory; `seen`: whether it counts on the branch one is on."""

    op: str
    at: str
    by: str
    seen: bool
    branch: NotRequired[str]
    commits: NotRequired[list[str]]
    said: NotRequired[str]


class History(TypedDict):
    """The life of a memory, newest event first."""

    id: str
    events: list[Step]
    truncated: bool


class State(TypedDict):
    """How things stand."""

    branch: str | None
    memories: int
    forgotten: int
    contested: int
    expired: int
    kinds: dict[str, int]
    tags: dict[str, int]
    conversations: int
    meaning: bool
    indexed: bool
    held: list[str]
    waiting: dict[str, int]
    orphaned: dict[str, int]
    version: str
    warnings: NotRequired[list[str]]


class Spoken(TypedDict):
    """A round of a conversation; `id` is ``AGENT/SESSION#INDEX``."""

    id: str
    role: str
    text: str
    speaker: NotRequired[str]
    at: NotRequired[str]
    title: NotRequired[str]
    branch: NotRequired[str]
    cut: NotRequired[bool]
    score: NotRequired[float]


class Rounds(TypedDict):
    """Rounds of conversations: those that fit best, or those that were asked for."""

    rounds: list[Spoken]
    truncated: bool
    searched: NotRequired[list[str]]
    warnings: NotRequired[list[str]]
