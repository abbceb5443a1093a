"""Home: a carry for what a line's own tip does not show by its anchor.

Memories written before the branch's first commit, and those whose commit was amended, rebased or
reset away. See ``docs/branches.md``, "Home".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

from gitmem.journal.branches.groups import Group, seconds
from gitmem.journal.branches.scene import Scene
from gitmem.journal.branches.visibility import EMPTY_TREES, Fact
from gitmem.journal.git.history import History

Found = dict[str, set[str]]
"""What should be carried: {commit: ids of events}."""


class Carried:
    """Which carries name an event, also by way of other carries, and where those stand."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._naming: dict[str, list[Fact]] = defaultdict(list)
        for fact in facts:
            self.add(fact)

    def add(self, carry: Fact) -> None:
        """Take in one more carry; other events name nothing."""
        for id in carry.carries:
            self._naming[id].append(carry)

    def anchors(self, id: str) -> set[str]:
        """Return the commits from which an event is seen because a carry stands there."""
        found: set[str] = set()
        todo, done = [id], {id}
        while todo:
            for carry in self._naming.get(todo.pop(), ()):
                if carry.id not in done:
                    done.add(carry.id)
                    todo.append(carry.id)
                    found.update(() if carry.pending else carry.anchors)
        return found

    def seen_at(self, fact: Fact) -> set[str]:
        """Return the commits from which an event is seen, by rules 3 and 4."""
        return self.anchors(fact.id).union(() if fact.pending else fact.anchors)


def home(scene: Scene, groups: Sequence[Group], carried: Carried, settled: set[str]) -> Found:
    """Return what the tips of branches should show and do not.

    `settled` remembers what was found in order: what a commit shows it shows for ever.
    """
    found: Found = defaultdict(set)
    for group in groups:
        if group.line is None and group.branch in (None, scene.trunk):
            continue
        # A branch that is gone counts with the tip it was left at: what somebody would have
        # carried by looking in time must not depend on whether anybody did.
        for tip in dict.fromkeys((*group.tips, *group.last)):
            seen_at = {fact.id: carried.seen_at(fact) for fact in group.facts}
            key = _key(tip, seen_at)
            waiting = _waiting(scene, group.facts, tip, seen_at) if key not in settled else []
            if not waiting:
                settled.add(key)
            else:
                for commit, id in _placed(scene, group, tip, waiting):
                    found[commit].add(id)
    return found


def rewritten_trunk(
    scene: Scene, history: History, groups: Sequence[Group], carried: Carried
) -> Found:
    """Return what the trunk sees by name alone, because no branch reaches its commit any more."""
    found: Found = defaultdict(set)
    trunk = next((g for g in groups if g.line is None and g.branch == scene.trunk), None)
    if trunk is None or not scene.trunk_tips or not trunk.facts or scene.trunk is None:
        return found
    tip = scene.trunk_tips[0]
    facts = {fact.id: fact for fact in trunk.facts}
    anchors = {anchor for fact in facts.values() for anchor in fact.anchors}
    held = scene.on_trunk(anchors) | {oid for oid in anchors if scene.off_trunk(oid)}
    loose = {id: f for id, f in facts.items() if f.pending or not held.intersection(f.anchors)}
    # One that is not here may stand on a branch that has not been fetched.
    known = history.known({a for fact in loose.values() for a in fact.anchors} - EMPTY_TREES)
    lost = [
        fact
        for fact in loose.values()
        if (fact.pending or known.issuperset(fact.anchors))
        and not scene.reached(tip, carried.anchors(fact.id))
        and not (not fact.pending and EMPTY_TREES.intersection(fact.anchors))
    ]
    places = history.first_since(tip, (seconds(fact.at) for fact in lost)) if lost else {}
    for fact in lost:
        found[places[seconds(fact.at)]].add(fact.id)
    return found


def _waiting(
    scene: Scene, facts: Iterable[Fact], tip: str, seen_at: Mapping[str, set[str]]
) -> list[Fact]:
    """Return the events that `tip` does not show by rules 3 and 4."""
    reached = scene.reached(tip, set().union(*seen_at.values())) | EMPTY_TREES
    return [fact for fact in facts if not reached.intersection(seen_at[fact.id])]


def _key(tip: str, seen_at: Mapping[str, set[str]]) -> str:
    parts = [tip, *(f"{id}:{sorted(anchors)}" for id, anchors in sorted(seen_at.items()))]
    return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _placed(
    scene: Scene, group: Group, tip: str, waiting: Sequence[Fact]
) -> Iterator[tuple[str, str]]:
    """Yield (commit, id): the oldest own commit that is neither its anchor nor an ancestor."""
    own = scene.own_below(tip, group.mask, group.made)
    if not own:
        return
    order = scene.oldest_first(own)
    anchors = {anchor for fact in waiting for anchor in fact.anchors}
    after = {anchor: scene.not_below(own, anchor) for anchor in anchors - EMPTY_TREES}
    after |= dict.fromkeys(anchors & EMPTY_TREES, own)
    off_trunk = {oid for oid in own if scene.off_trunk(oid)}
    for fact in waiting:
        here = [fit for anchor in fact.anchors if (fit := after[anchor]) is not None]
        fit = set().union(*here) if here else off_trunk
        commit = next((oid for oid in order if oid in fit), None)
        if commit is not None:
            yield commit, fact.id
