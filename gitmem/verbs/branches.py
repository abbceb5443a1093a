"""What each branch knows: seen from it without switching, compared, and carried by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gitmem.errors import NotFound, UsageError
from gitmem.journal.branches.sight import Sight
from gitmem.journal.branches.visibility import Carry, Fact, Vantage
from gitmem.journal.codec import Event, printable_name
from gitmem.journal.fold import fold_memory
from gitmem.model import Memory, Scope
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter


@dataclass(frozen=True, slots=True)
class BranchInfo:
    """What a branch knows: `own` memories were written on it, `inherited` ones reach it.

    `waiting` are its memories that the trunk does not see yet. `orphaned`: the branch is gone, and
    nothing carried what is waiting.
    """

    name: str
    current: bool
    knows: int
    own: int
    inherited: int
    waiting: int
    orphaned: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many memories the trunk does not see yet, by branch; `orphaned`: the branch is gone."""

    branches: Mapping[str, int]
    orphaned: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BranchDiff:
    """Memories seen from one side only, and pairs that differ between the sides."""

    left: Sequence[Memory]
    right: Sequence[Memory]
    changed: Sequence[tuple[Memory, Memory]]


@dataclass(frozen=True, slots=True)
class Life:
    """One event in the life of a memory: where it was written, where it stands, if it is seen."""

    event: Event
    branch: str | None
    commits: Sequence[str]
    visible: bool


def overview(catalog: Catalog, sight: Sight) -> list[BranchInfo]:
    """Return every local branch, the current one first, and branches that are gone but waiting."""
    known = _Known(catalog, sight)
    current = sight.lines.here().branch
    found: list[BranchInfo] = []
    for name in sight.branches():
        vantage = sight.lines.of(name)
        knows = known.to(vantage)
        own = {id for id in knows if _belongs(known.remembers[id], vantage)}
        waiting = set() if vantage.on_trunk else own - known.to_trunk
        shown = vantage.branch or name
        found.append(
            BranchInfo(shown, shown == current, len(knows), len(own), len(knows - own),
                       len(waiting), False)
        )  # fmt: skip
    here = {info.name for info in found}
    found += [
        BranchInfo(name, False, count, count, 0, count, True)
        for name, count in _waiting(known, sight).orphaned.items() if name not in here
    ]  # fmt: skip
    return sorted(found, key=lambda info: (not info.current, info.orphaned, info.name))


def _belongs(fact: Fact, vantage: Vantage) -> bool:
    """Whether a memory was remembered on a branch, whatever that was called then."""
    if fact.line and vantage.line:
        return fact.line == vantage.line
    return fact.branch is not None and fact.branch == vantage.branch


def waiting(catalog: Catalog, sight: Sight) -> Waiting:
    """Return what the trunk does not see yet, by branch."""
    return _waiting(_Known(catalog, sight), sight)


def _waiting(known: _Known, sight: Sight) -> Waiting:
    alive: Counter[str] = Counter()
    orphaned: Counter[str] = Counter()
    lines = sight.living()
    for id, fact in known.remembers.items():
        if fact.line and id not in known.to_trunk:
            name = lines.get(fact.line)
            (alive if name else orphaned)[name or fact.branch or ""] += 1
    return Waiting(dict(sorted(alive.items())), dict(sorted(orphaned.items())))


class _Known:
    """Which memories, forgotten ones aside, are seen from where; all events are read once."""

    def __init__(self, catalog: Catalog, sight: Sight) -> None:
        self._catalog = catalog
        self._sight = sight
        self._facts = catalog.facts()
        self.remembers = {fact.id: fact for fact in self._facts if fact.op == "remember"}
        # Only these need folding: what nobody ever took away is there wherever it is seen.
        ends = {fact.memory for fact in self._facts if fact.op in ("forget", "purge")}
        self._ended = {
            id: (list(catalog.events(id)), catalog.trusted(id))
            for id in ends
            if id in self.remembers
        }

    def to(self, vantage: Vantage) -> set[str]:
        """Return the ids of the memories that one knows there."""
        seen = self._sight.look(vantage).seen(self._facts)
        bring = (fact.memory for fact in self._facts if fact.id in seen and fact.op != "forget")
        return {id for id in bring if id in self.remembers and self._alive(id, seen)}

    @cached_property
    def to_trunk(self) -> set[str]:
        """The ids of the memories that the trunk knows."""
        trunk = self._sight.lines.trunk()
        if trunk is None or not _exists(self._sight, trunk):
            return set()
        return self.to(self._sight.lines.of(trunk))

    def _alive(self, id: str, seen: set[str]) -> bool:
        if id not in self._ended:
            return True
        events, trusted = self._ended[id]
        memory = fold_memory(events, seen, trusted=trusted)
        return memory is not None and not memory.forgotten


def compare(catalog: Catalog, sight: Sight, span: str, now: str) -> BranchDiff:
    """Compare what two branches or commits know; `span` is ``A..B``.

    Raises:
        UsageError: it is no span. NotFound: a side names neither branch nor commit.
    """
    left_name, dots, right_name = span.partition("..")
    if not dots or not left_name or not right_name:
        raise UsageError(f"'{span}' is no span of two branches", "for example main..feature")
    left = _memories(catalog, sight, left_name, now)
    right = _memories(catalog, sight, right_name, now)
    both = [id for id in left if id in right]
    return BranchDiff(
        [memory for id, memory in left.items() if id not in right],
        [memory for id, memory in right.items() if id not in left],
        [(left[id], right[id]) for id in both if left[id].heads != right[id].heads],
    )


def adoption(catalog: Catalog, sight: Sight, branch: str, at: str, by: str) -> Carry | None:
    """Return the carry that makes a branch's own events seen from HEAD; None if all of them are.

    The branch may be gone: its memories are found by name.

    Raises:
        NotFound: no branch of that name has memories. UsageError: there is no commit to carry to.
    """
    facts = [fact for fact in catalog.facts_of(branch) if not fact.carries]
    if _exists(sight, branch):
        line = sight.lines.of(branch).line
        facts = [fact for fact in facts if not (line and fact.line and fact.line != line)]
    if not facts:
        raise NotFound(f"no memory was written on '{branch}'", "'gitmem branches' lists them")
    here = sight.lines.here()
    if here.commit is None:
        raise UsageError("there is no commit to carry memories to", "commit something first")
    missing = sorted(fact.id for fact in facts if not catalog.seen(fact.id))
    return Carry(here.commit, tuple(missing), at, by, here.branch) if missing else None


def remark(catalog: Catalog, sight: Sight, memory: Memory, event: Event, hidden: bool) -> str:
    """Return what is worth saying of an event just written; `hidden`: one did not see its memory.

    To change a memory of another branch publishes it here: an event brings what it is about.
    """
    here = event.branch or "here"
    if hidden:
        return f"{'was not' if event.op == 'forget' else 'from now on'} seen from {here}"
    if event.op == "forget" and (trunk := _still_seen(catalog, sight, memory)):
        return f"still seen from {trunk}"
    if event.op != "remember" or memory.scope is not Scope.BRANCH:
        return ""
    waits = f"waits on {event.branch} until it has a commit of its own"
    return waits if event.branch else "waits: HEAD is on no branch"


def _still_seen(catalog: Catalog, sight: Sight, memory: Memory) -> str | None:
    """Return the trunk's name if it goes on to see a memory that is forgotten here."""
    trunk = sight.lines.trunk()
    if trunk is None or sight.lines.here().on_trunk or not _exists(sight, trunk):
        return None
    look = sight.look(sight.lines.of(trunk))
    seen = look.belonging(catalog.facts_about(memory.id))
    trusted = catalog.trusted(memory.id)
    there = fold_memory(list(catalog.events(memory.id)), seen, trusted=trusted)
    return trunk if there and not there.forgotten else None


def life(catalog: Catalog, id: str) -> list[Life]:
    """Return every event of a memory, newest first, with where it stands."""
    return [
        Life(event, event.branch, tuple(catalog.anchors(event.id)), catalog.seen(event.id))
        for event in catalog.events(id)
    ]


def from_elsewhere(catalog: Catalog, sight: Sight, name: str) -> Catalog:
    """Return the catalog as seen from a branch, or from a commit.

    Raises:
        NotFound: there is neither of that name.
    """
    try:
        vantage = sight.lines.of(name) if _exists(sight, name) else sight.lines.at(name)
    except NotFound:
        raise NotFound(
            f"no branch or commit '{printable_name(name)}'", "'gitmem branches' lists the branches"
        ) from None
    return catalog.copy(sight.look(vantage))


def _memories(catalog: Catalog, sight: Sight, name: str, now: str) -> dict[str, Memory]:
    there = from_elsewhere(catalog, sight, name)
    try:
        return {memory.id: memory for memory in there.select(Filter(now=now))}
    finally:
        there.close()


def _exists(sight: Sight, name: str) -> bool:
    try:
        sight.lines.of(name)
    except NotFound:
        return False
    return True
