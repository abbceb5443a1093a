"""Candidates for having landed, by line, and what they show that where they landed does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from gitmem.journal.branches.groups import Group
from gitmem.journal.branches.home import Carried
from gitmem.journal.branches.scene import Scene
from gitmem.journal.branches.visibility import EMPTY_TREES, Fact
from gitmem.journal.git.history import History


class Candidates:
    """The commits whose work may have landed: tips, anchors, and where carries stand."""

    def __init__(
        self,
        scene: Scene,
        history: History,
        facts: Iterable[Fact],
        groups: Sequence[Group],
        carried: Carried,
    ) -> None:
        self._scene = scene
        self._history = history
        self._carried = carried
        self._facts = {fact.id: fact for fact in facts}
        self._groups = groups
        self._asked = [self._candidates_of(group) for group in groups]
        self._chosen: list[set[str]] = []
        self._standing: dict[str, list[Fact]] = defaultdict(list)
        for fact in self._facts.values():
            for anchor in fact.anchors if not (fact.pending or fact.repo) else ():
                self._standing[anchor].append(fact)

    def _candidates_of(self, group: Group) -> set[str]:
        found = {*group.tips, *group.last}
        for fact in group.facts:
            found |= self._carried.seen_at(fact)
        return found - EMPTY_TREES

    def all(self) -> set[str]:
        """Return the candidates of every line, own or not."""
        return set().union(*self._asked)

    def choose(self, commits: Collection[str]) -> set[str]:
        """Return which of `commits` are the own commits of a line they are candidates of."""
        self._scene.on_trunk(commits)  # one question for all lines
        pairs = zip(self._groups, self._asked, strict=True)
        self._chosen = [
            self._scene.own(each, group.mask, group.made)
            if (each := asked.intersection(commits))
            else set()
            for group, asked in pairs
        ]
        return set().union(*self._chosen)

    def shown(self, commits: Collection[str]) -> set[str]:
        """Return the events that stand on `commits`, or that carries standing there name."""
        found: set[str] = set()
        todo = [fact for commit in commits for fact in self._standing.get(commit, ())]
        while todo:
            fact = todo.pop()
            if fact.carries and fact.line is None:  # written by gitmem: what it names counts
                fresh = set(fact.carries) - found
                found |= fresh
                named = (self._facts[id] for id in fresh if id in self._facts)
                todo += (each for each in named if each.carries)
            else:
                found.add(fact.id)
        carries = {id for id in found if id in self._facts and self._is_automatic(id)}
        return {id for id in found - carries if id not in self._facts or not self._facts[id].repo}

    def pending(self, tips: Sequence[str], at: str) -> set[str]:
        """Return the pending events of the tips' lines that stand on proper ancestors of them."""
        found: set[str] = set()
        for group, chosen in zip(self._groups, self._chosen, strict=True):
            if own := chosen.intersection(tips):
                waiting = [
                    fact
                    for fact in group.facts
                    if fact.pending and at not in self._carried.anchors(fact.id)
                ]
                found |= self._below(waiting, own)
        return found

    def unseen(self, at: str, ids: Collection[str], hidden: Collection[str]) -> set[str]:
        """Return which events the commit `at`, which reaches nothing `hidden`, does not show."""
        seen_at = {
            id: self._carried.seen_at(self._facts[id])
            if id in self._facts
            else self._carried.anchors(id)
            for id in ids
        }
        rest = {id: anchors for id, anchors in seen_at.items() if at not in anchors}
        asked = set().union(*rest.values()).difference(EMPTY_TREES, hidden)
        reached = self._scene.reached(at, asked) | EMPTY_TREES if asked else EMPTY_TREES
        return {id for id, anchors in rest.items() if not reached.intersection(anchors)}

    def _below(self, waiting: Sequence[Fact], tips: Collection[str]) -> set[str]:
        anchors = {anchor for fact in waiting for anchor in fact.anchors}
        if not anchors:
            return set()
        stamps = self._history.stamps(tips)
        parents = {parent for stamp in stamps.values() for parent in stamp.parents}
        known = self._history.known(anchors - EMPTY_TREES)
        below = known - self._history.unreached(known, parents) if parents else set()
        below |= anchors & EMPTY_TREES
        return {fact.id for fact in waiting if below.intersection(fact.anchors)}

    def _is_automatic(self, id: str) -> bool:
        fact = self._facts[id]
        return bool(fact.carries) and fact.line is None and not fact.pending
