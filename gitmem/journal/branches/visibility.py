"""Which events HEAD sees: the four rules of ``docs/format.md``. Pure, over facts.

Nothing is copied between branches. An event is visible when its scope is the repository; when it
belongs to the branch one stands on; when the commit it is anchored to is part of what one sees; or
when a visible carry names it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

EMPTY_TREES = frozenset(
    (
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    )
)
"""The empty tree, in SHA-1 and SHA-256: anchor of what was written before the first commit."""


class Vantage(NamedTuple):
    """From where one looks: a branch, or a bare commit.

    `line` is the branch's identity, which survives renames and which a later branch of the same
    name does not share; None on the trunk, and where it is not known.
    """

    commit: str | None
    branch: str | None
    line: str | None
    trunk: str | None

    @property
    def on_trunk(self) -> bool:
        """Whether one stands on the trunk."""
        return self.branch is not None and self.branch == self.trunk


class Fact(NamedTuple):
    """What visibility needs to know of one event; `carries` are the ids that a carry names."""

    id: str
    memory: str | None
    op: str
    at: str
    anchors: tuple[str, ...]
    repo: bool = False
    branch: str | None = None
    line: str | None = None
    pending: bool = False
    carries: tuple[str, ...] = ()


class Carry(NamedTuple):
    """A carry to be: the events it names, the commit it stands on, and what it says of itself."""

    anchor: str
    events: tuple[str, ...]
    at: str
    by: str
    branch: str | None


def visible(facts: Iterable[Fact], vantage: Vantage, reaches: Container[str]) -> set[str]:
    """Return the ids of the events seen; `reaches` holds the anchors that the commit reaches."""
    seen: set[str] = set()
    waiting: list[str] = []
    carries: dict[str, tuple[str, ...]] = {}
    for fact in facts:
        if fact.carries:
            carries[fact.id] = fact.carries
        if fact.repo or _belongs(fact, vantage) or _reached(fact, vantage, reaches):
            seen.add(fact.id)
            waiting += fact.carries
    while waiting:  # a carry may name events that a carry brought
        id = waiting.pop()
        if id not in seen:
            seen.add(id)
            waiting += carries.get(id, ())
    return seen


def _belongs(fact: Fact, vantage: Vantage) -> bool:
    """Rule 2. Where the branch's identity could not be written, its name serves."""
    if vantage.branch is None:
        return fact.pending and fact.branch is None
    if vantage.on_trunk or fact.line is None:
        return fact.branch == vantage.branch
    return fact.line == vantage.line


def _reached(fact: Fact, vantage: Vantage, reaches: Container[str]) -> bool:
    """Rule 3."""
    if fact.pending:
        return False
    return any(anchor in EMPTY_TREES or anchor in reaches for anchor in fact.anchors)
