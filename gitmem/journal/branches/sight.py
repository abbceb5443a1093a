"""Sight: what one sees from a branch or a commit, and what must be carried for it to stay seen.

A `Look` answers for one vantage. What should be carried and is not yet counts as carried in every
look, so that a reader need not write; a look's `due` is for a writer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.journal.branches.ancestry import Ancestry
from gitmem.journal.branches.lines import FactsOf, Lines
from gitmem.journal.branches.visibility import Carry, Fact, Vantage, visible
from gitmem.journal.codec import printable_name
from gitmem.journal.git.history import BRANCHES, History
from gitmem.journal.git.port import Git

if TYPE_CHECKING:
    from gitmem.journal.branches.landing import Carries, Landing

BUDGET = 2.0
"""Seconds that a reader looks for landings of branches; the rest is for the next."""

HASTE = 0.25
"""The same in a git hook, which somebody waits for who asked for something else."""


Untrusted = Callable[[Collection[str]], set[str]]
"""Which of some authors one does not trust."""


class Sight:
    """Looks from anywhere in one repository."""

    def __init__(
        self, git: Git, trunk: str, recorded: str | None, folder: Path | None, facts: FactsOf
    ) -> None:
        """`trunk` is the setting, `recorded` where `init` was run, `folder` for what is derived."""
        history = History(git.layout)
        self._history = history
        self._ancestry = Ancestry(history, folder)
        self.lines = Lines(
            git, history, self._ancestry, trunk=trunk, recorded=recorded, facts=facts
        )
        self.budget = BUDGET
        self.untrusted: Untrusted = lambda _: set()
        self._git = git
        self._folder = folder

    def look(self, vantage: Vantage | None = None, then: bool = False) -> Look:
        """Look from a vantage (None: from HEAD); `then`: only what was known at its commit."""
        vantage = vantage or self.lines.here()

        def carries(facts: Sequence[Fact]) -> Carries:
            return self._landing.carries(facts, self.budget, vantage.commit)

        state = self._history.state()
        return Look(vantage, self._ancestry, carries, state, then, self.untrusted)

    @cached_property
    def _landing(self) -> Landing:
        # What it imports takes 10 ms, and most commands find nothing new to look for.
        from gitmem.journal.branches.landing import Landing

        return Landing(self._git, self._history, self.lines, self._ancestry, self._folder)

    def branches(self) -> list[str]:
        """Return the names of the local branches, as git has them."""
        return [tip.ref.removeprefix(BRANCHES) for tip in self._history.tips() if tip.local]

    def living(self) -> dict[str, str]:
        """Return {line: printable name} of the branches there are, here or in a remote."""
        found: dict[str, str] = {}
        for tip in self._history.tips():
            name = self.lines.name_of(tip)
            line = self.lines.line(name) if tip.local else self.lines.remote_line(name, tip.ref)
            if line:
                found.setdefault(line, printable_name(name))
        return found

    def close(self) -> None:
        """Stop what was started."""
        if "_landing" in vars(self):
            self._landing.close()


class Look:
    """What is seen from one vantage; see `search.catalog.events.Look`.

    `due` is what `seen` found should be carried and is not yet; not `complete` if time ran out.
    """

    def __init__(
        self,
        vantage: Vantage,
        ancestry: Ancestry,
        carries: Callable[[Sequence[Fact]], Carries],
        branches: str,
        then: bool,
        untrusted: Untrusted,
    ) -> None:
        """`branches` is what changes whenever a branch does; `carries` finds what is due."""
        self.untrusted = untrusted
        self.vantage = vantage
        self._ancestry = ancestry
        self._carries = carries
        self._then = then
        self.due: Sequence[Carry] = ()
        self.complete = True
        self.commit = vantage.commit
        self.key = json.dumps([vantage, branches, then])

    def seen(self, facts: Sequence[Fact]) -> set[str]:
        """Return the events seen, of all there are."""
        if self._then:
            facts = [_anchored(fact) for fact in facts]
            return self._visible(facts)
        found = self._carries(facts)
        self.due, self.complete = found.carries, found.complete
        return self._visible([*facts, *map(_fact, self.due)])

    def belonging(self, facts: Sequence[Fact]) -> set[str]:
        """Return the events seen without a carry."""
        return self._visible([_anchored(fact) for fact in facts] if self._then else facts)

    def _visible(self, facts: Sequence[Fact]) -> set[str]:
        reached = self._ancestry.seen(self.vantage.commit, facts, self.vantage.trunk)
        return visible(facts, self.vantage, reached.anchors)


def _fact(carry: Carry) -> Fact:
    """A carry as if it were written."""
    id = hashlib.sha256(repr(carry).encode()).hexdigest()
    return Fact(id, None, "carry", carry.at, (carry.anchor,), branch=carry.branch,
                carries=carry.events)  # fmt: skip


def _anchored(fact: Fact) -> Fact:
    """An event as history alone tells of it: whatever its scope, known where it was written."""
    return Fact(fact.id, fact.memory, fact.op, fact.at, fact.anchors, False, fact.branch,
                fact.line, fact.pending, fact.carries)  # fmt: skip
