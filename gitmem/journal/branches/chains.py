"""First-parent chains, and which commit on them touched which path: an index, derived from git.

Read once from the tip downwards, within a budget; afterwards only what is new. A chain forks from
another where their first-parent histories part, so switching branches indexes nothing twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice, takewhile
from typing import Any

from gitmem.journal.git.history import History, Step

SCHEMA = """
CREATE TABLE IF NOT EXISTS chain (id INTEGER PRIMARY KEY, parent INT, fork INT, bottom TEXT);
CREATE TABLE IF NOT EXISTS step (chain INT, pos INT, oid TEXT, time INT, parents INT,
                                 PRIMARY KEY (chain, pos)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS step_oid ON step (oid);
CREATE TABLE IF NOT EXISTS touch (path INT, chain INT, pos INT,
                                  PRIMARY KEY (path, chain, pos)) WITHOUT ROWID;
"""

BATCH = 1000
"""Commits indexed between two looks at the clock."""

OutOfTime = Callable[[], bool]


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a first-parent history: the segment, the oldest being 0, and where in it."""

    segment: int
    pos: int


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of a chain, up to and with `high`, that a first-parent history has."""

    chain: int
    high: int


class FirstParents:
    """The first-parent history of one commit, as indexed; oldest segment first."""

    def __init__(self, db: sqlite3.Connection, segments: Sequence[Segment]) -> None:
        self._db = db
        self.segments = segments
        self._number = {segment.chain: n for n, segment in enumerate(segments)}

    def spot(self, oid: str) -> Spot | None:
        """Return where a commit is; None if it is not part of this history."""
        row = self._db.execute("SELECT chain, pos FROM step WHERE oid=?", (oid,)).fetchone()
        number = self._number.get(row[0]) if row else None
        if number is None or row[1] > self.segments[number].high:
            return None
        return Spot(number, row[1])

    @property
    def last(self) -> Spot:
        """Where it ends."""
        return Spot(len(self.segments) - 1, self.segments[-1].high)

    def before(self, spot: Spot) -> Spot:
        """Return a bound just before a spot."""
        return Spot(spot.segment, spot.pos - 1)

    def commit(self, spot: Spot) -> tuple[str, int]:
        """Return the commit at a spot, and when it was committed."""
        sql = "SELECT oid, time FROM step WHERE chain=? AND pos=?"
        row = self._db.execute(sql, (self.segments[spot.segment].chain, spot.pos)).fetchone()
        return row[0], row[1]

    def touches(self, path: int, after: Spot | None, limit: int = -1) -> Iterator[Spot]:
        """Yield where a path was touched after a spot, oldest first; at most `limit` a segment."""
        sql = (
            "SELECT pos FROM touch WHERE path=? AND chain=? AND pos>? AND pos<=?"
            " ORDER BY pos LIMIT ?"
        )
        for number, segment, low in self._above(after):
            rows = self._db.execute(sql, (path, segment.chain, low, segment.high, limit))
            yield from (Spot(number, pos) for (pos,) in rows)

    def after(self, spot: Spot) -> Iterator[str]:
        """Yield the commits after a spot, oldest first."""
        sql = "SELECT oid FROM step WHERE chain=? AND pos>? AND pos<=? ORDER BY pos"
        for _, segment, low in self._above(spot):
            rows = self._db.execute(sql, (segment.chain, low, segment.high))
            yield from (oid for (oid,) in rows)

    def merges_between(self, low: Spot, high: Spot) -> bool:
        """Whether one of the commits after `low`, up to and with `high`, is a merge."""
        sql = "SELECT 1 FROM step WHERE chain=? AND pos>? AND pos<=? AND parents>1 LIMIT 1"
        return any(
            self._db.execute(
                sql, (each.chain, at, high.pos if n == high.segment else each.high)
            ).fetchone()
            for n, each, at in self._above(low)
            if n <= high.segment
        )

    def _above(self, after: Spot | None) -> Iterator[tuple[int, Segment, int]]:
        """Yield (number, segment, position to begin above) from a spot upwards."""
        lowest = -(1 << 62)
        for number, segment in enumerate(self.segments):
            if after is None or number >= after.segment:
                here = after is not None and number == after.segment
                yield number, segment, after.pos if after and here else lowest


class Chains:
    """The index, in a database; what is short whoever opened that commits."""

    def __init__(self, db: sqlite3.Connection, history: History) -> None:
        self._db = db
        self._history = history

    def follow(self, tip: str, out_of_time: OutOfTime) -> FirstParents | None:
        """Index what is not yet of the first parents of `tip`; None if time ran out."""
        if self._find(tip) is None:
            self._read(tip, None, out_of_time)
        while found := self._find(tip):
            segments = [Segment(*found)]
            while above := self._fork(segments[-1].chain):
                segments.append(Segment(*above))
            lowest = segments[-1].chain
            bottom = self._one("SELECT bottom FROM chain WHERE id=?", lowest)
            if bottom is None or bottom[0] is None:
                return FirstParents(self._db, segments[::-1])
            if out_of_time():
                return None
            self._read(bottom[0], lowest, out_of_time)
        return None

    def _read(self, top: str, chain: int | None, out_of_time: OutOfTime) -> None:
        """Index from `top` downwards: to a commit that is known, the root, or the end of time."""
        pos = self._one("SELECT MIN(pos) - 1 FROM step WHERE chain=?", chain) if chain else (0,)
        with closing(self._history.first_parents(top)) as steps:
            fresh = takewhile(lambda step: self._find(step.oid) is None, steps)
            while batch := list(islice(fresh, BATCH)):
                bottom = batch[-1].parents[0] if batch[-1].parents else None
                met = self._find(bottom) if bottom else None
                if chain is None and met and self._is_top(*met):
                    self._insert(met[0], met[1] + len(batch), batch)
                    return
                if chain is None:
                    chain = self._db.execute("INSERT INTO chain (parent) VALUES (NULL)").lastrowid
                pos = (self._insert(chain or 0, pos[0] if pos else 0, batch),)
                fork = (*met, None) if met else (None, None, bottom)
                sql = "UPDATE chain SET parent=?, fork=?, bottom=? WHERE id=?"
                self._db.execute(sql, (*fork, chain))
                self._db.commit()  # others wait, and whoever is killed has not worked in vain
                if met or bottom is None or out_of_time():
                    return

    def _insert(self, chain: int, pos: int, batch: Sequence[Step]) -> int:
        """Index commits from position `pos` downwards; return the next position."""
        rows, touched = [], []
        for step in batch:
            rows.append((chain, pos, step.oid, step.time, len(step.parents)))
            if step.parents:  # a root is never where something landed
                touched += [(path_key(path), chain, pos) for path in step.paths]
            pos -= 1
        self._db.executemany("INSERT OR IGNORE INTO step VALUES (?,?,?,?,?)", rows)
        self._db.executemany("INSERT OR IGNORE INTO touch VALUES (?,?,?)", touched)
        return pos

    def _find(self, oid: str) -> tuple[int, int] | None:
        row = self._one("SELECT chain, pos FROM step WHERE oid=?", oid)
        return (row[0], row[1]) if row else None

    def _fork(self, chain: int) -> tuple[int, int] | None:
        sql = "SELECT parent, fork FROM chain WHERE id=? AND parent IS NOT NULL"
        row = self._one(sql, chain)
        return (row[0], row[1]) if row else None

    def _is_top(self, chain: int, pos: int) -> bool:
        return self._one("SELECT 1 FROM step WHERE chain=? AND pos>?", chain, pos) is None

    def _one(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._db.execute(sql, values).fetchone()
        return row


def path_key(path: str) -> int:
    """Return the number that stands for a path; two that share one cost a look in vain."""
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
