"""What each branch knows: seen from it without switching, compared, and carried by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitmem.errors import NotFound, UsageError
from gitmem.journal.codec import Event
from gitmem.journal.landing import Carry
from gitmem.journal.sight import Sight
from gitmem.model import Memory
from gitmem.search.catalog import Catalog
from gitmem.search.rows import Filter


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
    facts = catalog.facts()
    remembers = {fact.id: fact for fact in facts if fact.op == "remember"}
    current = sight.lines.here()
    trunk = current.trunk
    shared = (
        sight.look(sight.lines.of(trunk)).seen(facts) if trunk and _exists(sight, trunk) else set()
    )
    found: list[BranchInfo] = []
    lines: set[str | None] = set()
    for name in sight.branches():
        vantage = sight.lines.of(name)
        lines |= {vantage.line} if vantage.line else set()
        seen = sight.look(vantage).seen(facts) & remembers.keys()
        own = {id for id in seen if remembers[id].branch == vantage.branch}
        waiting = set() if vantage.on_trunk else own - shared
        shown = vantage.branch or name
        found.append(
            BranchInfo(shown, shown == current.branch, len(seen), len(own), len(seen - own),
                       len(waiting), False)
        )  # fmt: skip
    gone: dict[str, set[str]] = {}
    for fact in remembers.values():
        if fact.line and fact.line not in lines and fact.id not in shared:
            gone.setdefault(fact.branch or "", set()).add(fact.id)
    here = {info.name for info in found}
    found += [
        BranchInfo(name, False, len(ids), len(ids), 0, len(ids), True)
        for name, ids in sorted(gone.items()) if name not in here
    ]  # fmt: skip
    return sorted(found, key=lambda info: (not info.current, info.orphaned, info.name))


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
    vantage = sight.lines.of(name) if _exists(sight, name) else sight.lines.at(name)
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
