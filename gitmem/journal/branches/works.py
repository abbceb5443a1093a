"""Works: commits that may have landed, and what each changes since its merge base with a history.

Both are found for all of them at once, by one walk and one comparison of trees, and remembered for
the chain of first parents that was asked about; a history that comes to share more with one of them
is noticed, and then they are found anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gitmem.journal.branches.chains import FirstParents, path_key
from gitmem.journal.git.entries import Undecidable
from gitmem.journal.git.history import Change, History, Node, Side, Stamp
from gitmem.journal.git.objects import decode, encode

SCHEMA = """
CREATE TABLE IF NOT EXISTS work (oid TEXT PRIMARY KEY, time INT, tree TEXT);
CREATE TABLE IF NOT EXISTS lineage (chain INTEGER PRIMARY KEY, head TEXT);
CREATE TABLE IF NOT EXISTS base (chain INT, oid TEXT, base TEXT, PRIMARY KEY (chain, oid));
CREATE TABLE IF NOT EXISTS net (oid TEXT, base TEXT, path INT, name BLOB, old TEXT, new TEXT,
                                PRIMARY KEY (oid, base, path)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Work:
    """A commit whose work may have landed; `base` is its merge base with the history looked at."""

    oid: str
    time: int
    tree: str
    base: str | None = None


class Works:
    """What is known of works, in a database; the caller commits."""

    def __init__(self, db: sqlite3.Connection, history: History) -> None:
        self._db = db
        self._history = history
        self._nets: dict[tuple[str, str], list[Change]] = {}
        self._bases: dict[tuple[str, str], str | None] = {}
        self._stamps: dict[str, Stamp] = {}

    def forget(self) -> None:
        """Free what is remembered in memory alone."""
        for kept in (self._nets, self._bases, self._stamps):
            kept.clear()

    def named(self, oids: Collection[str]) -> list[Work]:
        """Return works without their base; what is not here is left out."""
        rows = self._db.execute("SELECT oid, time, tree FROM work")
        known = {row[0]: Work(*row) for row in rows if row[0] in oids}
        if fresh := sorted(set(oids) - set(known)):
            found = [
                (oid, stamp.time, stamp.tree) for oid, stamp in self._history.stamps(fresh).items()
            ]
            self._db.executemany("INSERT OR IGNORE INTO work VALUES (?,?,?)", found)
            known |= {row[0]: Work(*row) for row in found}
        return [known[oid] for oid in sorted(known)]

    def based(self, works: Sequence[Work], head: str, parents: FirstParents) -> list[Work]:
        """Return works with their base in the history of `head`."""
        chain = parents.segments[-1].chain
        sql = "SELECT oid, base FROM base WHERE chain=?"
        bases: dict[str, str | None] = dict(self._db.execute(sql, (chain,)))
        row = self._db.execute("SELECT head FROM lineage WHERE chain=?", (chain,)).fetchone()
        ahead = bool(row) and parents.spot(row[0]) is None  # one looks from further back
        joined = not ahead and row and self._joined(row[0], head, parents, bases)
        if joined:
            self._db.execute("DELETE FROM base WHERE chain=?", (chain,))
        if ahead or joined:
            bases = {}
        if fresh := [work for work in works if work.oid not in bases]:
            found = self._merge_bases(head, [work.oid for work in fresh])
            self._keep_nets(fresh, found)
            bases |= found
            if not ahead:
                rows = ((chain, oid, base) for oid, base in found.items())
                self._db.executemany("INSERT OR REPLACE INTO base VALUES (?,?,?)", rows)
        if not ahead:
            self._db.execute("INSERT OR REPLACE INTO lineage VALUES (?,?)", (chain, head))
        return [Work(work.oid, work.time, work.tree, bases[work.oid]) for work in works]

    def paths(self, work: Work) -> list[int]:
        """Return the keys of the paths that a work changes since its base."""
        sql = "SELECT path FROM net WHERE oid=? AND base=?"
        return [path for (path,) in self._db.execute(sql, (work.oid, work.base))]

    def net(self, work: Work, base: str) -> list[Change]:
        """Return what a work changes since `base`.

        Raises:
            Undecidable: `base` is not here.
        """
        key = work.oid, base
        if key not in self._nets:
            if base == work.base:
                sql = "SELECT name, old, new FROM net WHERE oid=? AND base=?"
                self._nets[key] = [_change(*row) for row in self._db.execute(sql, key)]
            else:
                pair = self.stamp(base).tree, work.tree
                (self._nets[key],) = self._history.changes([pair])
        return self._nets[key]

    def merge_base(self, commit: str, work: Work) -> str | None:
        """Return the merge base of a work and a commit that its usual base is not part of."""
        key = commit, work.oid
        if key not in self._bases:
            self._bases[key] = self._history.merge_base(commit, work.oid)
        return self._bases[key]

    def stamp(self, oid: str) -> Stamp:
        """Return tree, time and parents of a commit.

        Raises:
            Undecidable: it is not here.
        """
        if oid not in self._stamps:
            self._stamps |= self._history.stamps([oid])
        if oid not in self._stamps:
            raise Undecidable(oid)
        return self._stamps[oid]

    def _joined(self, old: str, new: str, parents: FirstParents, oids: Collection[str]) -> bool:
        """Whether a history that went from `old` to `new` shares more with one of the works."""
        at = parents.spot(old)
        if old == new or not oids or at is None:
            return False
        if parents.merges_between(at, parents.last):
            both = self._history.difference(old, new)
            came = both[1] if both else {new}
        else:
            came = set(parents.after(at))
        return bool(came - self._history.unreached(came, oids))

    def _merge_bases(self, head: str, oids: Collection[str]) -> dict[str, str | None]:
        """Return the merge base of `head` and each commit: what bounds the commit's own history."""
        nodes = {node.oid: node for node in self._history.graph(oids, [head])}
        bounds: dict[str, str | None] = {}
        for oid in oids:
            edge = _edge(nodes, oid)
            alone = edge.pop() if len(edge) == 1 else None
            bounds[oid] = alone or (self._history.merge_base(head, oid) if edge else None)
        return bounds

    def _keep_nets(self, works: Iterable[Work], bases: Mapping[str, str | None]) -> None:
        stamps = self._history.stamps({base for base in bases.values() if base})
        pairs = {
            (work.oid, base): (stamps[base].tree, work.tree)
            for work in works
            if (base := bases[work.oid]) in stamps and base is not None
        }
        changes = self._history.changes(list(pairs.values()))
        for key, net in zip(pairs, changes, strict=True):
            rows = [(*key, path_key(change.path), *_row(change)) for change in net]
            self._db.executemany("INSERT OR IGNORE INTO net VALUES (?,?,?,?,?,?)", rows)


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
