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

from gitmem.journal.branches import chains, works
from gitmem.journal.branches.chains import Chains, FirstParents, OutOfTime, Spot, path_key
from gitmem.journal.branches.works import Work, Works
from gitmem.journal.git.entries import Entries, Undecidable
from gitmem.journal.git.history import History

SCHEMA = (
    chains.SCHEMA
    + works.SCHEMA
    + """
CREATE TABLE IF NOT EXISTS looked (oid TEXT, base TEXT, chain INT, pos INT,
                                   PRIMARY KEY (oid, base, chain));
CREATE TABLE IF NOT EXISTS landed (oid TEXT, chain INT, pos INT, at TEXT,
                                   PRIMARY KEY (oid, chain));
CREATE TABLE IF NOT EXISTS skipped (oid TEXT PRIMARY KEY);
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


class Squashes:
    """What is known of landings, in a database; the caller commits."""

    def __init__(self, db: sqlite3.Connection, history: History) -> None:
        self._db = db
        self._history = history
        self._chains = Chains(db, history)
        self._entries = Entries(history)
        self._works = Works(db, history)

    def close(self) -> None:
        """Stop what was started."""
        self._entries.close()

    def find(self, head: str, wanted: Collection[str], out_of_time: OutOfTime) -> Landed:
        """Return where the commits `wanted`, which `head` does not reach, landed in its history."""
        named = self._works.named({*wanted, head})
        time = next((work.time for work in named if work.oid == head), 0)
        # What is younger than HEAD cannot have landed.
        met = [work for work in named if work.time <= time and work.oid in wanted]
        if not met:
            return Landed({}, True, 0)
        parents = self._chains.follow(head, out_of_time)
        if parents is None:
            return Landed({}, False, 0)
        self._db.commit()  # what was indexed stays indexed, whatever comes next
        landed = self._look(self._works.based(met, head, parents), parents, out_of_time)
        self._works.forget()
        return landed

    def _look(self, met: Iterable[Work], parents: FirstParents, out_of_time: OutOfTime) -> Landed:
        found: dict[str, str] = {}
        complete, skipped = True, 0
        for work in met:
            at = self._landed(work, parents)
            if at is None and self._behind(work, parents):
                if out_of_time():
                    complete = False
                    continue
                at = self._searched(work, parents)
            if at:
                found[work.oid] = at
            else:
                skipped += self._is_skipped(work)
        return Landed(found, complete, skipped)

    def _searched(self, work: Work, parents: FirstParents) -> str | None:
        try:
            return self._search(work, parents)
        except Undecidable:
            self._db.execute("INSERT OR IGNORE INTO skipped VALUES (?)", (work.oid,))
            self._mark(work, parents)
            return None

    def _is_skipped(self, work: Work) -> bool:
        sql = "SELECT 1 FROM skipped WHERE oid=?"
        return self._db.execute(sql, (work.oid,)).fetchone() is not None

    # -- how far ------------------------------------------------------------------------------

    def _landed(self, work: Work, parents: FirstParents) -> str | None:
        sql = "SELECT at FROM landed WHERE oid=? AND chain=? AND pos<=?"
        for segment in parents.segments:
            row = self._db.execute(sql, (work.oid, segment.chain, segment.high)).fetchone()
            if row:
                at: str = row[0]
                return at
        return None

    def _behind(self, work: Work, parents: FirstParents) -> bool:
        return any(self._low(work, each.chain) < each.high for each in parents.segments)

    def _low(self, work: Work, chain: int) -> int:
        sql = "SELECT pos FROM looked WHERE oid=? AND base=? AND chain=?"
        row = self._db.execute(sql, (work.oid, work.base or "", chain)).fetchone()
        return int(row[0]) if row else _NOWHERE

    def _mark(self, work: Work, parents: FirstParents) -> None:
        rows = (
            (work.oid, work.base or "", each.chain, max(each.high, self._low(work, each.chain)))
            for each in parents.segments
        )
        self._db.executemany("INSERT OR REPLACE INTO looked VALUES (?,?,?,?)", rows)

    def _start(self, work: Work, parents: FirstParents) -> Spot | None:
        """Return up to where a landing was looked for."""
        start = None
        for number, segment in enumerate(parents.segments):
            low = self._low(work, segment.chain)
            if low > _NOWHERE:
                start = Spot(number, min(low, segment.high))
            if low < segment.high:
                break
        return start

    # -- looking ------------------------------------------------------------------------------

    def _search(self, work: Work, parents: FirstParents) -> str | None:
        """Look for the landing where it was not looked for yet, and remember how far."""
        start = self._start(work, parents)
        for spot in self._whole(work, parents, start):
            commit, time = parents.commit(spot)
            fresh = (start is None or spot > start) and time >= work.time
            if fresh and self._lands(work, parents, spot, commit):
                row = work.oid, parents.segments[spot.segment].chain, spot.pos, commit
                self._db.execute("INSERT OR REPLACE INTO landed VALUES (?,?,?,?)", row)
                return commit
        self._mark(work, parents)
        return None

    def _whole(self, work: Work, parents: FirstParents, start: Spot | None) -> Iterator[Spot]:
        """Yield from where on, each time, the history has everything that the work changes.

        What is looked at is each path where it was touched, the rarest path first: most often it
        never came, and that is all there is to see.
        """
        paths = self._works.paths(work)
        new = {path: list(parents.touches(path, start, FEW + 1)) for path in paths}
        touched = sorted({spot for spots in new.values() for spot in spots})
        if start is not None and len(touched) <= FEW:
            for spot in touched:
                order = sorted(paths, key=lambda path: spot not in new[path])
                if all(self._has_path(work, parents, spot, path) for path in order):
                    yield spot
            return
        base = parents.spot(work.base) if work.base else None
        seen = {path: list(parents.touches(path, base, MANY)) for path in paths}
        if not paths or not all(seen.values()):
            return
        since = max(max(spots[0] for spots in seen.values()), start or Spot(0, _NOWHERE))
        stretches: Iterator[Stretch] = iter([(since, parents.last)])
        for path in sorted(paths, key=lambda path: len(seen[path])):
            stretches = self._narrowed(stretches, work, parents, path)
        yield from (stretch[0] for stretch in stretches)

    def _narrowed(
        self, stretches: Iterator[Stretch], work: Work, parents: FirstParents, path: int
    ) -> Iterator[Stretch]:
        """Yield the parts of stretches of history in which one path is as the work has it."""
        for first, last in stretches:
            spot: Spot | None = first
            touches = parents.touches(path, first)
            while spot is not None and spot <= last:
                following = next(touches, None)
                if self._has_path(work, parents, spot, path):
                    yield spot, min(last, parents.before(following)) if following else last
                spot = following

    def _has_path(self, work: Work, parents: FirstParents, spot: Spot, path: int) -> bool:
        commit, _ = parents.commit(spot)
        base = self._base(work, parents, spot, commit)
        if base is None or base == commit:  # no common history, or an ancestor
            return False
        net = [change for change in self._works.net(work, base) if path_key(change.path) == path]
        return self._entries.changes_nothing(commit, net)

    def _lands(self, work: Work, parents: FirstParents, spot: Spot, commit: str) -> bool:
        base = self._base(work, parents, spot, commit)
        if base is None or base == commit:
            return False
        changes = self._works.net(work, base)
        if not changes or not self._entries.changes_nothing(commit, changes):
            return False
        parent = self._works.stamp(commit).parents[0]
        place = parents.spot(parent)
        before = self._base(work, parents, place, parent) if place else None
        if before is None or before == parent:
            return True
        return not self._entries.changes_nothing(parent, self._works.net(work, before))

    def _base(self, work: Work, parents: FirstParents, spot: Spot, commit: str) -> str | None:
        """Return the merge base with a commit of the history: the usual one, where it has that."""
        usual = parents.spot(work.base) if work.base else None
        if usual is not None and usual <= spot:
            return work.base
        return self._works.merge_base(commit, work) if work.base else None
