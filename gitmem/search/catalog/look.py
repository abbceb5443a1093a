"""How one looks at the events: which are seen from here, and whose count."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from gitmem.journal.branches.visibility import Carry, Fact


class Look(Protocol):
    """How one looks: which events are seen, and whom one trusts.

    `key` changes when what is seen may; whom one trusts is asked at every catch-up.
    """

    @property
    def key(self) -> str: ...
    @property
    def commit(self) -> str | None:
        """The commit one looks from, if there is one."""
        ...

    @property
    def due(self) -> Sequence[Carry]:
        """What `seen` found should be carried and is not yet."""
        ...

    @property
    def complete(self) -> bool:
        """Whether `seen` had the time to find everything."""
        ...

    def seen(self, facts: Sequence[Fact]) -> set[str]:
        """Return the ids of the events seen, of all there are."""
        ...

    def belonging(self, facts: Sequence[Fact]) -> set[str]:
        """Return those of some new events that are seen without any carry."""
        ...

    def untrusted(self, authors: Collection[str]) -> set[str]:
        """Return those authors whose events do not count beside others'."""
        ...


class Everything:
    """Sees every event, whatever its branch."""

    key = "everything"
    commit: str | None = None
    due: Sequence[Carry] = ()
    complete = True

    def seen(self, facts: Sequence[Fact]) -> set[str]:
        """Return all ids."""
        return {fact.id for fact in facts}

    belonging = seen

    def untrusted(self, authors: Collection[str]) -> set[str]:
        """Return none."""
        return set()
