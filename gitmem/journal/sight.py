"""Sight: what one sees from a branch or a commit, and what must be carried for it to stay seen.

A `Look` answers for one vantage. What should be carried and is not yet counts as carried in every
look, so that a reader need not write; a look's `due` is for a writer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gitmem.journal.ancestry import Ancestry
from gitmem.journal.codec import printable_name
from gitmem.journal.git import Git
from gitmem.journal.history import BRANCHES, History
from gitmem.journal.landing import Carry, Landing
from gitmem.journal.lines import FactsOf, Lines
from gitmem.journal.visibility import Fact, Vantage, visible

BUDGET = 2.0
"""Seconds that a reader looks for landings of branches; the rest is for the next."""

HASTE = 0.25
"""The same in a git hook, which somebody waits for who asked for something else."""


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
        self._landing = Landing(git, history, self.lines, self._ancestry, folder)
        self.budget = BUDGET

    def look(self, vantage: Vantage | None = None, then: bool = False) -> Look:
        """Look from a vantage (None: from HEAD); `then`: only what was known at its commit."""
        vantage = vantage or self.lines.here()
        return Look(vantage, self._ancestry, self._landing, self._tips(), then, self.budget)

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
        self._landing.close()

    def _tips(self) -> str:
        """Return what changes whenever any branch moves, or more of its history is fetched."""
        tips = sorted((tip.ref, tip.commit) for tip in self._history.tips())
        return hashlib.sha256(json.dumps([tips, self._history.cut]).encode()).hexdigest()[:16]


class Look:
    """What is seen from one vantage; see `search.events.Look`.

    `due` is what `seen` found should be carried and is not yet; not `complete` if time ran out.
    """

    def __init__(
        self,
        vantage: Vantage,
        ancestry: Ancestry,
        landing: Landing,
        tips: str,
        then: bool,
        budget: float,
    ) -> None:
        self.vantage = vantage
        self._ancestry = ancestry
        self._landing = landing
        self._then = then
        self._budget = budget
        self.due: Sequence[Carry] = ()
        self.complete = True
        self.commit = vantage.commit
        self.key = json.dumps([asdict(vantage), tips, then])

    def seen(self, facts: Sequence[Fact]) -> set[str]:
        """Return the events seen, of all there are."""
        if self._then:
            facts = [_anchored(fact) for fact in facts]
            return self._visible(facts)
        found = self._landing.carries(facts, self._budget, self.vantage.commit)
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
