"""Events by line, and where each line lives: its branches, and what was made there.

See ``docs/branches.md``, "Identity" and "Own commits".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gitmem.journal.branches.lines import Lines
from gitmem.journal.branches.scene import Scene
from gitmem.journal.branches.visibility import Fact
from gitmem.journal.codec import printable_name
from gitmem.journal.git.history import Tip
from gitmem.journal.git.reflogs import Made, Reflogs

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


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch: its name without the remote, and its bit."""

    tip: Tip
    name: str
    bit: int

    @property
    def shown(self) -> str:
        return printable_name(self.name)


class Grouping:
    """Sorts events into lines, as the branches stand."""

    def __init__(self, scene: Scene, lines: Lines, reflogs: Reflogs) -> None:
        self._scene = scene
        self._reflogs = reflogs
        self._ids = lines.lines()
        remotes, bare = lines.remotes(), lines.bare
        self._local: dict[str, _Branch] = {}
        self._pushed: list[_Branch] = []
        self._pushed_bits: dict[str, int] = defaultdict(int)
        for number, tip in enumerate(scene.tips):
            branch = _Branch(tip, lines.name_of(tip, remotes), 1 << number)
            if tip.local and not bare:
                self._local[branch.name] = branch
            else:  # what somebody pushed: in a bare repository any is
                self._pushed.append(branch)
                self._pushed_bits[branch.shown] |= branch.bit
        self._named: dict[str, list[Fact]] = defaultdict(list)
        self._by_name: dict[str, list[Group]] = defaultdict(list)

    def groups(self, facts: Sequence[Fact]) -> list[Group]:
        """Return the events by line; those of the trunk and without branch form lines too."""
        groups = self._sorted(facts)
        self._settle_live(groups)
        for group in groups:
            self._settle_made(group)
        # One question for all: what is asked of each line's commits is mostly answered by it.
        made = (group.made for group in groups)
        self._scene.on_trunk({oid for fact in facts for oid in fact.anchors}.union(*made))
        return groups

    def _sorted(self, facts: Iterable[Fact]) -> list[Group]:
        found: dict[tuple[str, str], Group] = {}
        for fact in facts:
            for id in fact.carries:
                self._named[id].append(fact)
            if fact.repo or (fact.carries and not fact.line and fact.branch != self._scene.trunk):
                continue  # a carry that gitmem wrote belongs to no line
            group = Group(fact.line, None if fact.line else fact.branch)
            found.setdefault(group.key, group).facts.append(fact)
        groups = [found[key] for key in sorted(found)]
        for group in groups:
            for name in group.shown_names if group.line else ():
                self._by_name[name].append(group)
        return groups

    # -- branches that are there ----------------------------------------------------------------

    def _settle_live(self, groups: Sequence[Group]) -> None:
        """Fill in the branches of each line, and the remote ones that stand for it."""
        by_line = {group.line: group for group in groups if group.line}
        nameless = {group.branch: group for group in groups if not group.line and group.branch}
        stands: dict[str, tuple[str, Group]] = {}
        for branch in self._pushed:
            if group := self._stands_for(branch, by_line):
                stands[branch.tip.ref] = branch.name, group
                group.tips.append(branch.tip.commit)
        for name, branch in self._local.items():
            line = self._ids.get(name)
            over, taken = stands.get(branch.tip.upstream or "", ("", None))
            group = by_line.get(line) if line else taken if over == name else None
            for each in (group, nameless.get(branch.shown)):
                if each is not None:
                    each.names.add(name)
                    each.tips.append(branch.tip.commit)

    def _stands_for(self, branch: _Branch, by_line: Mapping[str, Group]) -> Group | None:
        """Return the group whose line a pushed branch stands for, as in the take-over."""
        line, local = self._ids.get(branch.name), self._local.get(branch.name)
        if line and local and local.tip.upstream == branch.tip.ref:
            return by_line.get(line)
        latest: tuple[str, str] = "", ""
        best = None
        for group in self._by_name.get(branch.shown, ()):
            for at in self._seen_at(group, branch):
                if (at, group.line or "") > latest:
                    latest, best = (at, group.line or ""), group
        return best

    def _seen_at(self, group: Group, branch: _Branch) -> Iterable[str]:
        """Yield when what stands on the branch, off the trunk, was written: events and carries."""
        for fact in group.facts:
            for each in (
                (fact, *self._named.get(fact.id, ())) if fact.branch == branch.shown else ()
            ):
                if any(self._scene.off_trunk(oid) & branch.bit for oid in each.anchors):
                    yield each.at

    # -- what was made there --------------------------------------------------------------------

    def _settle_made(self, group: Group) -> None:
        """Fill in what was made on the line; of one without a branch here, by HEAD's reflogs."""
        names = group.names or self._later_names(group)
        shown = {printable_name(name) for name in names}
        for name in shown:
            group.mask |= self._pushed_bits.get(name, 0)
        for name in group.names:
            group.mask |= self._local[name].bit
        if group.names:
            made = (self._reflogs.made_on(name) for name in sorted(group.names))
            group.made = frozenset().union(*made)
        else:
            self._settle_gone(group, shown)

    def _settle_gone(self, group: Group, shown: Collection[str]) -> None:
        since, until = self._times(group, shown)
        made, left = self._replayed
        group.made = frozenset(
            each.commit
            for name in shown
            for each in made.get(name, ())
            if since <= each.time < until
        )
        tips = [each for name in shown for each in left.get(name, ()) if since <= each.time < until]
        if tips:
            group.last = [max(tips, key=lambda each: each.time).commit]

    @cached_property
    def _replayed(self) -> tuple[dict[str, list[Made]], dict[str, list[Made]]]:
        """What was made on, and left of, each printable name, by HEAD's reflogs."""
        replay = self._reflogs.replay
        found: tuple[dict[str, list[Made]], ...] = (defaultdict(list), defaultdict(list))
        for index, entries in zip(found, (replay.made, replay.left), strict=True):
            for each in entries:
                index[printable_name(each.branch)].append(each)
        return found[0], found[1]

    def _later_names(self, group: Group) -> set[str]:
        """Return the names of a branch that is gone: those of its events, and what they became."""
        names, renamed = set(group.shown_names), self._reflogs.replay.renamed
        todo = list(names)
        while todo:
            fresh = renamed.get(todo.pop(), set()) - names
            names |= fresh
            todo += fresh
        return names

    def _times(self, group: Group, names: Iterable[str]) -> tuple[int, int]:
        """Return when the branch can have been this line's: its name may be used again."""
        first, last = group.span
        since, until = 0, FOREVER
        for name in names:
            if name in self._local:
                until = min(until, self._reflogs.since(name) or 0)
            for other in self._by_name.get(name, ()):
                if other is not group and other.span[0] > last:
                    until = min(until, seconds(other.span[0]))
                elif other is not group and other.span[1] < first:
                    since = max(since, seconds(other.span[1]))
        return since, until


def seconds(at: str) -> int:
    """Return an event's time in whole seconds since 1970."""
    return int(datetime.fromisoformat(at).timestamp())
