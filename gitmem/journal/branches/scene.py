"""The branches as they stand now, and which of them reach a commit.

One listing of refs and one walk of what lies off the trunk answer for every branch and commit at
once; what the trunk has is asked for in bulk. See ``docs/branches.md``, "Own commits".
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cached_property

from gitmem.journal.branches.ancestry import Ancestry
from gitmem.journal.branches.lines import Lines
from gitmem.journal.branches.visibility import EMPTY_TREES
from gitmem.journal.git.history import History, Node, Stamp


class Scene:
    """What git says of branches at one moment."""

    def __init__(self, history: History, lines: Lines, ancestry: Ancestry) -> None:
        self._history = history
        self._ancestry = ancestry
        self.tips = history.tips()
        self.trunk = lines.trunk()
        self.trunk_tips = lines.trunk_tips()

    # -- who reaches what ---------------------------------------------------------------------

    def off_trunk(self, commit: str) -> int:
        """Return the tips that reach a commit which the trunk does not, a bit each; 0: none."""
        return self._masks.get(commit, 0)

    def on_trunk(self, commits: Collection[str]) -> set[str]:
        """Return which commits the trunk reaches, here or in a remote."""
        asked = {oid for oid in commits if oid not in self._masks and oid not in EMPTY_TREES}
        found: set[str] = set()
        for tip in self.trunk_tips:
            found |= self._ancestry.reaches(tip, asked - found)
        return found

    def reached(self, tip: str, commits: Collection[str]) -> set[str]:
        """Return which commits `tip`, that of a branch or another, reaches."""
        bits = self._bits.get(tip, 0)
        found = {oid for oid in commits if self._masks.get(oid, 0) & bits}
        rest = {oid for oid in commits if oid not in self._masks and oid not in EMPTY_TREES}
        asked = self.on_trunk(rest) if bits else self._history.known(set(commits) - found)
        return found | (asked - self._history.unreached(asked, [tip]) if asked else set())

    def here(self, commits: Collection[str]) -> set[str]:
        """Return which of `commits` are in this clone."""
        walked = {oid for oid in commits if oid in self._nodes}
        return walked | self._history.known(set(commits) - walked)

    def not_below(self, commits: Collection[str], anchor: str) -> set[str] | None:
        """Return which commits are neither `anchor` nor ancestors of it; None if it is not here."""
        off = {oid for oid in commits if oid in self._nodes}
        if len(off) < len(commits) or not (anchor in self._nodes or self.on_trunk([anchor])):
            here = self._history.known([anchor])
            return self._history.unreached(commits, here) if here else None
        todo, done = [anchor], {anchor}
        while todo:
            node = self._nodes.get(todo.pop())
            fresh = set(node.parents) - done if node else set()
            done |= fresh
            todo += fresh
        return off - done

    def oldest_first(self, commits: Collection[str]) -> list[str]:
        """Return commits, parents before children, otherwise by time and id."""
        inside = {oid: self._nodes[oid] for oid in commits if oid in self._nodes}
        rest = self._history.stamps([oid for oid in commits if oid not in inside])
        return oldest_first({**inside, **rest})

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        """The commits off the trunk that a branch reaches, children first."""
        off = [tip.commit for tip in self.tips if tip.commit not in self.trunk_tips]
        graph = self._history.graph(off, self.trunk_tips) if off else []
        return {node.oid: node for node in graph if node.inside}

    @cached_property
    def _masks(self) -> dict[str, int]:
        """Those commits with the tips that reach them, a bit each."""
        masks = defaultdict(int, self._bits)
        for oid, node in self._nodes.items():
            for parent in node.parents:
                masks[parent] |= masks[oid]
        return {oid: masks[oid] for oid in self._nodes}

    @cached_property
    def _bits(self) -> dict[str, int]:
        bits: dict[str, int] = defaultdict(int)
        for number, tip in enumerate(self.tips):
            bits[tip.commit] |= 1 << number
        return dict(bits)

    # -- whose own it is ----------------------------------------------------------------------

    def own(self, commits: Collection[str], mask: int, made: frozenset[str]) -> set[str]:
        """Return which commits, all of them here, are own: made, or reached by `mask` alone."""
        alone = {oid for oid in commits if not self.off_trunk(oid) & ~mask}
        return (alone - self.on_trunk(alone)) | made.intersection(commits)

    def own_below(self, tip: str, mask: int, made: frozenset[str]) -> set[str]:
        """Return the own commits in the history of `tip`."""
        bits = self._bits.get(tip, 0)
        alone = {oid for oid, each in self._masks.items() if each & bits and not each & ~mask}
        return alone | self.reached(tip, made)


def oldest_first(stamps: Mapping[str, Stamp | Node]) -> list[str]:
    """Return commits, parents before children, otherwise by time and id."""
    below: dict[str, list[str]] = defaultdict(list)
    missing: dict[str, int] = {}
    for oid, stamp in stamps.items():
        inside = {parent for parent in stamp.parents if parent in stamps}
        missing[oid] = len(inside)
        for parent in inside:
            below[parent].append(oid)
    ready = [(stamps[oid].time, oid) for oid, count in missing.items() if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, oid = heapq.heappop(ready)
        order.append(oid)
        for child in below[oid]:
            missing[child] -= 1
            if not missing[child]:
                heapq.heappush(ready, (stamps[child].time, child))
    return order
