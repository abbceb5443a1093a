"""Landed: where the work of a commit came to a history without being merged into it.

By a squash, a rebase-merge or a cherry-pick: at the first commit where merging it changes nothing,
while merging it into that commit's parent does. See ``docs/branches.md``, "Landed". Every commit
against every other would take hours; an index of paths leaves a handful of pairs to look at, and
how far each was looked for is remembered.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gitmem.journal import chains
from gitmem.journal.chains import Chains, FirstParents, OutOfTime, Spot, path_key
from gitmem.journal.entries import Entries, Undecidable
from gitmem.journal.history import Change, History, Node, Stamp

SCHEMA = (
    chains.SCHEMA
    + """
CREATE TABLE IF NOT EXISTS candidate (oid TEXT PRIMARY KEY, time INT, tree TEXT, base TEXT,
                                      head TEXT, skipped INT DEFAULT 0);
CREATE TABLE IF NOT EXISTS wanted (oid TEXT, path INT, PRIMARY KEY (oid, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS looked (oid TEXT, chain INT, pos INT, PRIMARY KEY (oid, chain));
CREATE TABLE IF NOT EXISTS landed (oid TEXT, chain INT, pos INT, at TEXT,
                                   PRIMARY KEY (oid, chain));
"""
)
_NOWHERE = -(1 << 62)


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
        """Return where the commits `wanted`, none of them reached by `head`, landed in its history."""
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
        if old:
            self._prepare(head, old)
        return self._look(parents, sorted(met), out_of_time)

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
        changes = self._history.changes(list(pairs.values()))
        self._changes |= dict(zip(pairs.values(), changes, strict=True))
        for oid, stamp in stamps.items():
            row = oid, stamp.time, stamp.tree, bases[oid], head
            sql = (
                "INSERT OR REPLACE INTO candidate (oid, time, tree, base, head) VALUES (?,?,?,?,?)"
            )
            self._db.execute(sql, row)
            net = self._changes[pairs[oid]] if oid in pairs else []
            rows = [(oid, path_key(change.path)) for change in net]
            self._db.executemany("INSERT OR IGNORE INTO wanted VALUES (?,?)", rows)

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
        oid = candidate.oid
        rows = self._db.execute("SELECT path FROM wanted WHERE oid=?", (oid,))
        paths = [path for (path,) in rows]
        base = parents.spot(candidate.base) if candidate.base else None
        since = self._earliest(paths, base, parents)
        if since is not None:
            for number, segment in enumerate(parents.segments):
                low = self._low(oid, segment.chain)
                for spot, commit in parents.touching(paths, since, candidate.time, number, low):
                    if self._lands(candidate, parents, spot, commit):
                        row = (oid, segment.chain, spot.pos, commit)
                        self._db.execute("INSERT OR REPLACE INTO landed VALUES (?,?,?,?)", row)
                        return commit
        self._mark(oid, parents)
        return None

    @staticmethod
    def _earliest(paths: Collection[int], base: Spot | None, parents: FirstParents) -> Spot | None:
        """Return from where to look: every path must have been touched by then."""
        latest = base
        for path in paths:
            first = parents.first_touch(path, base)
            if first is None:
                return None
            latest = max(first, latest) if latest else first
        return latest if paths else None

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
        pair = self._stamp(base).tree, candidate.tree
        if pair not in self._changes:
            (self._changes[pair],) = self._history.changes([pair])
        return self._changes[pair]

    def _stamp(self, oid: str) -> Stamp:
        if oid not in self._stamps:
            self._stamps |= self._history.stamps([oid])
        if oid not in self._stamps:
            raise Undecidable(oid)
        return self._stamps[oid]


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
