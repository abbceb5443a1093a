"""Landed: where the work of a commit came to a history without being merged into it.

By a squash, a rebase-merge or a cherry-pick: at the first commit where merging it changes nothing,
while merging it into that commit's parent does. See ``docs/branches.md``, "Landed". Every commit
against every other would take hours; an index of paths leaves a handful of pairs to look at, and
how far each was looked for is remembered.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitmem.journal import chains
from gitmem.journal.chains import Chains, FirstParents, OutOfTime, Spot, path_key
from gitmem.journal.entries import Entries, Undecidable
from gitmem.journal.history import Change, History, Node, Side, Stamp
from gitmem.journal.objects import decode, encode

SCHEMA = (
    chains.SCHEMA
    + """
CREATE TABLE IF NOT EXISTS candidate (oid TEXT PRIMARY KEY, time INT, tree TEXT, base TEXT,
                                      head TEXT, skipped INT);
CREATE TABLE IF NOT EXISTS wanted (oid TEXT, path INT, name BLOB, old TEXT, new TEXT,
                                   PRIMARY KEY (oid, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS looked (oid TEXT, chain INT, pos INT, PRIMARY KEY (oid, chain));
CREATE TABLE IF NOT EXISTS landed (oid TEXT, chain INT, pos INT, at TEXT,
                                   PRIMARY KEY (oid, chain));
"""
)
MANY = 64
"""Touches of a path beyond which it does not matter how many there are."""

FEW = 8
"""New commits up to which each is looked at by itself."""

_NOWHERE = -(1 << 62)

Stretch = tuple[Spot, Spot]
"""A part of a first-parent history: its first and its last commit."""


@dataclass(frozen=True, slots=True)
class Landed:
    """Where each commit landed; `complete` is False if time ran out, `skipped` counts the rest."""

    at: Mapping[str, str]
    complete: bool
    skipped: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A commit whose work may have landed; `base` is its merge base with `head`, None: none."""

    oid: str
    time: int
    tree: str
    base: str | None
    head: str


class Squashes:
    """What is known of landings, in a database; the caller commits."""

    def __init__(self, db: sqlite3.Connection, history: History) -> None:
        self._db = db
        self._history = history
        self._chains = Chains(db, history)
        self._entries = Entries(history)
        self._changes: dict[tuple[str, str], list[Change]] = {}
        self._bases: dict[tuple[str, str], str | None] = {}
        self._stamps: dict[str, Stamp] = {}

    def close(self) -> None:
        """Stop what was started."""
        self._entries.close()

    def find(self, head: str, wanted: Collection[str], out_of_time: OutOfTime) -> Landed:
        """Return where the commits `wanted`, which `head` does not reach, landed in its history."""
        fresh = self._unknown(wanted)
        stamps = self._history.stamps([head, *fresh]) if fresh else {}
        # What is younger than HEAD cannot have landed: nothing is kept of it.
        old = {oid: stamps[oid] for oid in fresh
               if oid in stamps and stamps[oid].time <= stamps[head].time}  # fmt: skip
        met = set(wanted).difference(fresh).union(old)
        if not met:
            return Landed({}, True, 0)
        parents = self._chains.follow(head, out_of_time)
        if parents is None:
            return Landed({}, False, 0)
        self._db.commit()  # what was indexed stays indexed, whatever comes next
        if old:
            self._prepare(head, old)
        landed = self._look(parents, sorted(met), out_of_time)
        for kept in (self._changes, self._bases, self._stamps):
            kept.clear()
        return landed

    def _look(self, parents: FirstParents, wanted: Iterable[str], out_of_time: OutOfTime) -> Landed:
        found: dict[str, str] = {}
        complete = True
        for candidate in filter(None, map(self._candidate, wanted)):
            at = self._landed(candidate, parents)
            if at is None and self._behind(candidate.oid, parents):
                if out_of_time():
                    complete = False
                    continue
                at = self._searched(candidate, parents)
            if at:
                found[candidate.oid] = at
        rows = self._db.execute("SELECT oid FROM candidate WHERE skipped")
        return Landed(found, complete, len({oid for (oid,) in rows}.intersection(wanted)))

    def _searched(self, candidate: _Candidate, parents: FirstParents) -> str | None:
        try:
            return self._search(candidate, parents)
        except Undecidable:
            self._db.execute("UPDATE candidate SET skipped=1 WHERE oid=?", (candidate.oid,))
            self._mark(candidate.oid, parents)
            return None

    # -- candidates ---------------------------------------------------------------------------

    def _unknown(self, wanted: Collection[str]) -> list[str]:
        rows = self._db.execute("SELECT oid FROM candidate")
        return sorted(set(wanted) - {oid for (oid,) in rows})

    def _candidate(self, oid: str) -> _Candidate | None:
        sql = "SELECT oid, time, tree, base, head FROM candidate WHERE oid=?"
        row = self._db.execute(sql, (oid,)).fetchone()
        return _Candidate(*row) if row else None

    def _prepare(self, head: str, stamps: Mapping[str, Stamp]) -> None:
        """Find base and paths of commits not met before: two walks for any number of them."""
        bases = self._merge_bases(head, stamps)
        self._stamps |= self._history.stamps({base for base in bases.values() if base})
        pairs = {
            oid: (self._stamps[base].tree, stamps[oid].tree)
            for oid, base in bases.items()
            if base in self._stamps
        }
        changes = dict(zip(pairs, self._history.changes(list(pairs.values())), strict=True))
        for oid, stamp in stamps.items():
            row = oid, stamp.time, stamp.tree, bases[oid], head
            sql = "INSERT OR REPLACE INTO candidate VALUES (?,?,?,?,?,0)"
            self._db.execute(sql, row)
            net = changes.get(oid, ())
            rows = [(oid, path_key(change.path), *_row(change)) for change in net]
            self._db.executemany("INSERT OR IGNORE INTO wanted VALUES (?,?,?,?,?)", rows)

    def _merge_bases(self, head: str, oids: Collection[str]) -> dict[str, str | None]:
        """Return the merge base of `head` and each commit: what bounds the commit's own history."""
        nodes = {node.oid: node for node in self._history.graph(oids, [head])}
        bounds: dict[str, str | None] = {}
        for oid in oids:
            edge = _edge(nodes, oid)
            alone = edge.pop() if len(edge) == 1 else None
            bounds[oid] = alone or (self._history.merge_base(head, oid) if edge else None)
        return bounds

    # -- looking ------------------------------------------------------------------------------

    def _landed(self, candidate: _Candidate, parents: FirstParents) -> str | None:
        for segment in parents.segments:
            sql = "SELECT at FROM landed WHERE oid=? AND chain=? AND pos<=?"
            row = self._db.execute(sql, (candidate.oid, segment.chain, segment.high)).fetchone()
            if row:
                at: str = row[0]
                return at
        return None

    def _behind(self, oid: str, parents: FirstParents) -> bool:
        return any(self._low(oid, s.chain) < s.high for s in parents.segments)

    def _low(self, oid: str, chain: int) -> int:
        row = self._db.execute(
            "SELECT pos FROM looked WHERE oid=? AND chain=?", (oid, chain)
        ).fetchone()
        return int(row[0]) if row else _NOWHERE

    def _mark(self, oid: str, parents: FirstParents) -> None:
        rows = ((oid, s.chain, max(s.high, self._low(oid, s.chain))) for s in parents.segments)
        self._db.executemany("INSERT OR REPLACE INTO looked VALUES (?,?,?)", rows)

    def _search(self, candidate: _Candidate, parents: FirstParents) -> str | None:
        """Look for the landing where it was not looked for yet, and remember how far."""
        found = None
        start = self._start(candidate.oid, parents)
        for spot in self._whole(candidate, parents, start):
            commit, time = parents.commit(spot)
            fresh = (start is None or spot > start) and time >= candidate.time
            if fresh and self._lands(candidate, parents, spot, commit):
                chain = parents.segments[spot.segment].chain
                row = candidate.oid, chain, spot.pos, commit
                self._db.execute("INSERT OR REPLACE INTO landed VALUES (?,?,?,?)", row)
                found = commit
                break
        if found is None:
            self._mark(candidate.oid, parents)
        return found

    def _start(self, oid: str, parents: FirstParents) -> Spot | None:
        """Return up to where a landing was looked for."""
        start = None
        for number, segment in enumerate(parents.segments):
            low = self._low(oid, segment.chain)
            if low > _NOWHERE:
                start = Spot(number, min(low, segment.high))
            if low < segment.high:
                break
        return start

    def _whole(
        self, candidate: _Candidate, parents: FirstParents, start: Spot | None
    ) -> Iterator[Spot]:
        """Yield from where on, each time, the history has everything that the candidate changes.

        What is looked at is each path where it was touched, the rarest path first: most often it
        never came, and that is all there is to see.
        """
        rows = self._db.execute("SELECT path FROM wanted WHERE oid=?", (candidate.oid,))
        paths = [path for (path,) in rows]
        base = parents.spot(candidate.base) if candidate.base else None
        new = {path: list(parents.touches(path, start, FEW + 1)) for path in paths}
        touched = sorted({spot for spots in new.values() for spot in spots})
        if start is not None and len(touched) <= FEW:
            for spot in touched:
                order = sorted(paths, key=lambda path: spot not in new[path])
                if all(self._has_path(candidate, parents, spot, path) for path in order):
                    yield spot
            return
        seen = {path: list(parents.touches(path, base, MANY)) for path in paths}
        if not paths or not all(seen.values()):
            return
        since = max(max(spots[0] for spots in seen.values()), start or Spot(0, _NOWHERE))
        stretches: Iterator[Stretch] = iter([(since, parents.last)])
        for path in sorted(paths, key=lambda path: len(seen[path])):
            stretches = self._narrowed(stretches, candidate, parents, path)
        yield from (stretch[0] for stretch in stretches)

    def _narrowed(
        self,
        stretches: Iterator[Stretch],
        candidate: _Candidate,
        parents: FirstParents,
        path: int,
    ) -> Iterator[Stretch]:
        """Yield the parts of stretches of history in which one path is as the candidate has it."""
        for first, last in stretches:
            spot: Spot | None = first
            touches = parents.touches(path, first)
            while spot is not None and spot <= last:
                following = next(touches, None)
                if self._has_path(candidate, parents, spot, path):
                    yield spot, min(last, parents.before(following)) if following else last
                spot = following

    def _has_path(
        self, candidate: _Candidate, parents: FirstParents, spot: Spot, path: int
    ) -> bool:
        commit, _ = parents.commit(spot)
        base = self._base(candidate, parents, spot, commit)
        if base is None or base == commit:  # no common history, or an ancestor
            return False
        net = [change for change in self._net(base, candidate) if path_key(change.path) == path]
        return self._entries.changes_nothing(commit, net)

    def _lands(self, candidate: _Candidate, parents: FirstParents, spot: Spot, commit: str) -> bool:
        base = self._base(candidate, parents, spot, commit)
        if base is None or base == commit:  # no common history, or an ancestor
            return False
        changes = self._net(base, candidate)
        if not changes or not self._entries.changes_nothing(commit, changes):
            return False
        parent = self._stamp(commit).parents[0]
        place = parents.spot(parent)
        before = self._base(candidate, parents, place, parent) if place else None
        if before is None or before == parent:
            return True
        return not self._entries.changes_nothing(parent, self._net(before, candidate))

    def _base(
        self, candidate: _Candidate, parents: FirstParents, spot: Spot, commit: str
    ) -> str | None:
        """Return the merge base with `commit`, which most often is the one known already."""
        known = parents.spot(candidate.base) if candidate.base else None
        asked = parents.spot(candidate.head)
        if (
            known is not None
            and asked is not None
            and known != asked
            and known <= spot
            and (spot <= asked or not parents.merges_between(asked, spot))
        ):
            return candidate.base
        key = commit, candidate.oid
        if key not in self._bases:
            self._bases[key] = self._history.merge_base(commit, candidate.oid)
        return self._bases[key]

    def _net(self, base: str, candidate: _Candidate) -> list[Change]:
        """Return what the commit changes since `base`."""
        key = base, candidate.oid
        if key not in self._changes:
            if base == candidate.base:
                sql = "SELECT name, old, new FROM wanted WHERE oid=?"
                rows = self._db.execute(sql, (candidate.oid,))
                self._changes[key] = [_change(*row) for row in rows]
            else:
                pair = self._stamp(base).tree, candidate.tree
                (self._changes[key],) = self._history.changes([pair])
        return self._changes[key]

    def _stamp(self, oid: str) -> Stamp:
        if oid not in self._stamps:
            self._stamps |= self._history.stamps([oid])
        if oid not in self._stamps:
            raise Undecidable(oid)
        return self._stamps[oid]


def _row(change: Change) -> tuple[bytes, str | None, str | None]:
    old, new = (f"{side.mode} {side.oid}" if side else None for side in (change.old, change.new))
    return encode(change.path), old, new


def _change(name: bytes, old: str | None, new: str | None) -> Change:
    sides = (Side(*text.split(" ")) if text else None for text in (old, new))
    return Change(decode(name), next(sides), next(sides))


def _edge(nodes: Mapping[str, Node], oid: str) -> set[str]:
    """Return the commits outside that the history of `oid` ends at."""
    edge: set[str] = set()
    todo, done = [oid], {oid}
    while todo:
        node = nodes.get(todo.pop())
        if node is None:
            continue
        if not node.inside:
            edge.add(node.oid)
            continue
        fresh = [parent for parent in node.parents if parent not in done]
        done.update(fresh)
        todo += fresh
    return edge
