"""The branches as they stand now: which reach a commit, on which it was made, whose own it is.

One listing of refs and one walk of what lies off the trunk answer for every branch and commit at
once; what the trunk has is asked for in bulk. See ``docs/branches.md``, "Own commits".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gitmem.journal.ancestry import Ancestry
from gitmem.journal.codec import printable_name
from gitmem.journal.history import BRANCHES, History, Tip
from gitmem.journal.lines import Lines
from gitmem.journal.reflogs import Made, Reflogs
from gitmem.journal.visibility import EMPTY_TREES, Fact

FOREVER = 1 << 62


@dataclass(slots=True)
class Group:
    """The events of one line, and where that line lives.

    `tips` are its branches' and those of remote branches that stand for it; `last` is where a
    branch that is gone was left; `mask` has the bits of tips that take nothing away from it.
    """

    line: str | None
    branch: str | None
    facts: list[Fact] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    tips: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    made: frozenset[str] = frozenset()
    mask: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What orders groups the same way everywhere."""
        return self.line or "", self.branch or ""

    @property
    def shown_names(self) -> set[str]:
        """The names its events were written under."""
        return {fact.branch for fact in self.facts if fact.branch}

    @property
    def span(self) -> tuple[str, str]:
        """When its first and its last event were written."""
        times = [fact.at for fact in self.facts]
        return min(times), max(times)


class Scene:
    """What git says of branches at one moment."""

    def __init__(
        self, history: History, lines: Lines, reflogs: Reflogs, ancestry: Ancestry
    ) -> None:
        self._history = history
        self._lines = lines
        self._reflogs = reflogs
        self._ancestry = ancestry
        self.tips = history.tips()
        self.trunk = lines.trunk()
        self.trunk_tips = lines.trunk_tips()
        self._names = [lines.name_of(tip) for tip in self.tips]

    # -- who reaches what ---------------------------------------------------------------------

    @cached_property
    def _masks(self) -> dict[str, int]:
        """Return {commit off the trunk: the tips that reach it, a bit each}."""
        masks: dict[str, int] = defaultdict(int)
        for bit, tip in enumerate(self.tips):
            masks[tip.commit] |= 1 << bit
        off = [tip.commit for tip in self.tips if tip.commit not in self.trunk_tips]
        graph = self._history.graph(off, self.trunk_tips) if off else []
        for node in graph:
            if node.inside:
                for parent in node.parents:
                    masks[parent] |= masks[node.oid]
        inside = {node.oid for node in graph if node.inside}
        return {oid: mask for oid, mask in masks.items() if oid in inside}

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
        bit = next((1 << n for n, each in enumerate(self.tips) if each.commit == tip), 0)
        found = {oid for oid in commits if self._masks.get(oid, 0) & bit}
        rest = {oid for oid in commits if oid not in self._masks and oid not in EMPTY_TREES}
        asked = self.on_trunk(rest) if bit else self._history.known(set(commits) - found)
        return found | (asked - self._history.unreached(asked, [tip]) if asked else set())

    def owns(self, group: Group, commits: Collection[str]) -> set[str]:
        """Return which commits, all of them here, are the group's own."""
        alone = {oid for oid in commits if not self.off_trunk(oid) & ~group.mask}
        return (alone - self.on_trunk(alone)) | group.made.intersection(commits)

    def own_below(self, group: Group, tip: str) -> set[str]:
        """Return the group's own commits in the history of `tip`."""
        bit = next((1 << n for n, each in enumerate(self.tips) if each.commit == tip), 0)
        alone = {oid for oid, mask in self._masks.items() if mask & bit and not mask & ~group.mask}
        return alone | self.reached(tip, group.made)

    # -- groups -------------------------------------------------------------------------------

    def groups(self, facts: Iterable[Fact]) -> list[Group]:
        """Return the events by line; those of the trunk and without branch form lines too."""
        found: dict[tuple[str, str], Group] = {}
        named: dict[str, list[Fact]] = defaultdict(list)
        for fact in facts:
            for id in fact.carries:
                named[id].append(fact)
            if fact.repo or (fact.carries and not fact.line and fact.branch != self.trunk):
                continue  # a carry that gitmem wrote belongs to no line
            group = Group(fact.line, None if fact.line else fact.branch)
            found.setdefault(group.key, group).facts.append(fact)
        groups = [found[key] for key in sorted(found)]
        self._settle_live(groups, named)
        by_name: dict[str, list[Group]] = defaultdict(list)
        for group in groups:
            for name in group.shown_names if group.line else ():
                by_name[name].append(group)
        for group in groups:
            self._settle_gone(group, by_name)
        return groups

    def _settle_live(self, groups: Sequence[Group], named: dict[str, list[Fact]]) -> None:
        ids = self._lines.lines()
        by_line = {group.line: group for group in groups if group.line}
        by_name = {group.branch: group for group in groups if not group.line and group.branch}
        stands: dict[str, Group] = {}
        for bit, tip in enumerate(self.tips):
            if self._pushed(tip) and (group := self._stands_for(bit, groups, named)):
                stands[tip.ref] = group
                group.tips.append(tip.commit)
        for tip, name in zip(self.tips, self._names, strict=True):
            if not self._pushed(tip):
                line = ids.get(name)
                same = tip.upstream and tip.upstream.endswith(f"/{name}")
                taken = stands.get(tip.upstream or "") if same and line is None else None
                group = by_line.get(line) if line else taken
                for each in filter(None, (group, by_name.get(printable_name(name)))):
                    each.names.add(name)
                    each.tips.append(tip.commit)

    def _pushed(self, tip: Tip) -> bool:
        """Whether a branch is what somebody pushed: in a bare repository any is."""
        return not tip.local or self._lines.bare

    def _stands_for(
        self, bit: int, groups: Sequence[Group], named: dict[str, list[Fact]]
    ) -> Group | None:
        """Return the group whose line a remote branch stands for, as in the take-over."""
        tip, name = self.tips[bit], self._names[bit]
        line = self._lines.lines().get(name)
        local = next((each for each in self.tips if each.ref == BRANCHES + name), None)
        if line and local and local.upstream == tip.ref:
            return next((group for group in groups if group.line == line), None)
        shown = printable_name(name)
        latest: tuple[str, str] = ("", "")
        best = None
        for group in groups:
            if group.line and shown in group.shown_names:
                for fact in group.facts:
                    for each in (fact, *named.get(fact.id, ())):
                        here = any(self.off_trunk(oid) >> bit & 1 for oid in each.anchors)
                        if here and fact.branch == shown and (each.at, group.line) > latest:
                            latest, best = (each.at, group.line), group
        return best

    def _settle_gone(self, group: Group, by_name: Mapping[str, Sequence[Group]]) -> None:
        """Fill in what is made on the line; of one without a branch here, by HEAD's reflogs."""
        names = group.names or self._later_names(group)
        shown = {printable_name(name) for name in names}
        for bit, (tip, name) in enumerate(zip(self.tips, self._names, strict=True)):
            if name in group.names or (self._pushed(tip) and printable_name(name) in shown):
                group.mask |= 1 << bit
        if group.names:
            made = (self._reflogs.made_on(name) for name in sorted(group.names))
            group.made = frozenset().union(*made)
            return
        since, until = self._times(group, by_name)
        replay = self._reflogs.replay

        def meant(each: Made) -> bool:
            return printable_name(each.branch) in shown and since <= each.time < until

        group.made = frozenset(made.commit for made in replay.made if meant(made))
        left = [made for made in replay.left if meant(made)]
        if left:
            group.last = [max(left, key=lambda made: made.time).commit]

    def _later_names(self, group: Group) -> set[str]:
        """Return the names of a branch that is gone: those of its events, and what they became."""
        names, renamed = set(group.shown_names), self._reflogs.replay.renamed
        todo = list(names)
        while todo:
            fresh = renamed.get(todo.pop(), set()) - names
            names |= fresh
            todo += fresh
        return names

    def _times(self, group: Group, by_name: Mapping[str, Sequence[Group]]) -> tuple[int, int]:
        """Return when the branch can have been this line's: its name may be used again."""
        first, last = group.span
        since, until = 0, FOREVER
        for name in self._later_names(group):
            if self._is_local(name):
                until = min(until, self._reflogs.since(name) or 0)
            for other in by_name.get(name, ()):
                if other is not group and other.span[0] > last:
                    until = min(until, seconds(other.span[0]))
                elif other is not group and other.span[1] < first:
                    since = max(since, seconds(other.span[1]))
        return since, until

    def _is_local(self, name: str) -> bool:
        return any(tip.ref == BRANCHES + name for tip in self.tips)


def seconds(at: str) -> int:
    """Return an event's time in whole seconds since 1970."""
    return int(datetime.fromisoformat(at).timestamp())
