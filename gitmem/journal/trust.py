"""Whose events count. Pure: who is trusted is decided from what is told, and a fold asks it.

``by`` is a claim that git does not check. So trust stops accidents and careless text; it does not
stop who writes under another's address. See ``docs/security.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Sequence
from enum import StrEnum
from typing import NamedTuple

from gitmem.journal.codec import Event

EVERYBODY = "all"
"""The value of ``gitmem.trust`` by which everybody is trusted."""

_ADDRESS = re.compile(r"[^<>\n]*<([^<>\n]+)>")


def author_of(by: str) -> str:
    """Return what tells authors apart: the address in lower case, or all of `by` without one."""
    match = _ADDRESS.fullmatch(by)
    return (match[1] if match else by).strip().lower()


class Why(StrEnum):
    """Why an author is trusted, or not."""

    SELF = "yourself"
    NAMED = "named"
    TRUNK = "wrote commits on the trunk"
    SETTING = "gitmem.trust is all"
    REVOKED = "revoked"
    UNKNOWN = "unknown"

    @property
    def trusted(self) -> bool:
        """Whether it is a reason to trust."""
        return self not in (Why.REVOKED, Why.UNKNOWN)


class Decisions(NamedTuple):
    """What was decided in one clone: whom its user named, whom he revoked, who he has been.

    `trunk` says that authors of commits on the trunk are trusted.
    """

    trunk: bool = False
    named: Collection[str] = ()
    revoked: Collection[str] = ()
    own: Collection[str] = ()


class Trust(NamedTuple):
    """Who is trusted. `self_` is who writes here now; `on_trunk` is asked only if it decides."""

    decisions: Decisions
    self_: str | None
    everybody: bool
    on_trunk: Callable[[], Container[str]]

    def why(self, author: str) -> Why:
        """Return why an author (`author_of`) is trusted, or not."""
        if author and author == self.self_:
            return Why.SELF
        if not author or author in self.decisions.revoked:
            return Why.REVOKED if author else Why.UNKNOWN
        if author in self.decisions.own:
            return Why.SELF
        if author in self.decisions.named:
            return Why.NAMED
        if self.everybody:
            return Why.SETTING
        return Why.TRUNK if self.decisions.trunk and author in self.on_trunk() else Why.UNKNOWN


class Weighed(NamedTuple):
    """Which of the events seen take effect, and which are shown as proposed.

    `held`: nobody who is trusted stands for the memory, so all of them make it what it is, and it
    is marked.
    """

    counted: Sequence[Event]
    others: Sequence[Event]
    held: bool


def weigh(root: Event, seen: Sequence[Event], trusted: Container[str] | None) -> Weighed:
    """Weigh the events of a memory that are seen; `trusted` are ids of events (None: all).

    Who is trusted stands for a memory by remembering it, or by giving it a content of his own.
    """
    if trusted is None:
        return Weighed(seen, (), False)
    if root.id not in trusted and not any(_says(event) for event in seen if event.id in trusted):
        return Weighed(seen, (), True)
    counted = [event for event in seen if event.id in trusted]
    others = [event for event in seen if event.id not in trusted and event is not root]
    return Weighed(counted, others, False)


def _says(event: Event) -> bool:
    return event.op == "revise" and not event.fields.keys().isdisjoint(("text", "data"))
