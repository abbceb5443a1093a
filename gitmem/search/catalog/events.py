"""Events in SQLite: taken in from the journals, looked at from a vantage, folded into memories.

The table records the tips it has seen and catches up from the difference. Its ``changed`` number
grows with every catch-up: an index or a mirror that remembers the `Mark` it has seen asks only for
what came since. The mark's ``epoch`` is new whenever everything was derived anew.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from gitmem.errors import Unavailable
from gitmem.journal.branches.visibility import Carry, Fact
from gitmem.journal.codec import BrokenLine, Event, decode
from gitmem.journal.journals import Place
from gitmem.model import Memory
from gitmem.search.catalog.look import Everything, Look
from gitmem.search.catalog.rows import (
    IS_DATE,
    MEMORY,
    SCHEMA,
    TABLES,
    VERSION,
    event_row,
    row_of,
)
from gitmem.search.catalog.told import Told, fold_told, told_from
from gitmem.search.database import Database

BATCH = 5_000
"""Lines taken in at once: enough to save statements, few enough to hold in memory."""

SHARED_FIRST = """ON CONFLICT(id) DO UPDATE SET journal='shared', author=excluded.author, seen=NULL
    WHERE journal != excluded.journal AND excluded.journal='shared'"""
"""A line in several journals counts as shared, whichever was read first: it is not private."""


UNTRUSTED = "IN (SELECT author FROM authors WHERE trusted = 0)"
USURPED = (
    f"((SELECT author FROM events WHERE id = carry) {UNTRUSTED}) IS TRUE"
    f" AND ((SELECT author FROM events WHERE id = event) {UNTRUSTED}) IS NOT TRUE"
)
"""Where a carry by whom one does not trust names what somebody wrote whom one does."""


class Source(Protocol):
    """What the catalog is derived from: `journals.Journals`."""

    def tips(self) -> dict[str, str]: ...
    def read(self, tips: Mapping[str, str]) -> Iterator[Place]: ...
    def added(self, old: Mapping[str, str], new: Mapping[str, str]) -> list[Place]: ...


class Mark(NamedTuple):
    """How far a reader of the catalog has come: `changed` counts within one `epoch`."""

    epoch: str
    changed: int


class EventTable:
    """What the journals hold, and which of it one sees."""

    def __init__(self, path: Path | None, source: Source, look: Look | None = None) -> None:
        """Open or make the catalog at `path` (None: in memory); `catch_up` before reading."""
        self._source = source
        self.look: Look = look or Everything()
        self._rewritten = False
        self._db = Database(path, SCHEMA, VERSION, self._catch_up)

    def copy(self, look: Look) -> Self:
        """Return a copy in memory that looks in another way."""
        other = type(self)(None, self._source, look)
        other._db.close()
        other._db = self._db.copy(other._catch_up)
        other.catch_up()
        return other

    @property
    def warnings(self) -> list[str]:
        """What had to be rebuilt or bypassed, a line each."""
        return self._db.warnings

    @property
    def persistent(self) -> bool:
        """Whether it is there for the next process; not when the file had to be bypassed."""
        return self._db.persistent

    def catch_up(self) -> None:
        """Take in what the journals have that the catalog has not."""
        self._db.run(self._catch_up)

    def rebuild(self) -> None:
        """Throw everything away and derive it anew."""
        self._db.renew()

    def scrub(self) -> None:
        """Leave nothing in the file of what it held once."""
        self._db.scrub()

    def add(self, old: Mapping[str, str], new: Mapping[str, str], places: Sequence[Place]) -> None:
        """Take in lines just appended, if nothing else came between; otherwise catch up."""
        self._db.run(lambda: self._add(old, new, places))
        self.catch_up()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _add(self, old: Mapping[str, str], new: Mapping[str, str], places: Sequence[Place]) -> None:
        with self._db.transaction():
            if not self._get("epoch"):
                return
            # Even if others came between: an amend may have taken the lines out of the tip again.
            self._take(places)
            if self.tips() == old:
                self._set("tips", dict(new))

    def _catch_up(self) -> None:
        if self.tips() != self._source.tips():
            with self._db.transaction():
                tips = self._source.tips()
                self._take(self._missing(self.tips(), tips))
                self._set("tips", tips)
        judged = self._judge()
        if judged or self._unseen() or self._get("look") != self.look.key:
            with self._db.transaction():
                flags = [(flag, author) for author, flag, _ in judged]
                self._db.executemany("UPDATE authors SET trusted=? WHERE author=?", flags)
                self._look([author for author, _, before in judged if before is not None])
        if self._rewritten:
            self._db.scrub()
            self._rewritten = False

    def _judge(self) -> list[tuple[str, int, int | None]]:
        """Ask whom one trusts; return (author, trusted, before) where that is new."""
        known = dict(self._db.rows("SELECT author, trusted FROM authors"))
        untrusted = self.look.untrusted(known)
        now = {author: int(author not in untrusted) for author in known}
        return [
            (author, now[author], flag) for author, flag in known.items() if flag != now[author]
        ]

    def _doubts(self) -> bool:
        """Whether there are authors whom one does not trust."""
        return bool(self._db.value("SELECT 1 FROM authors WHERE trusted = 0"))

    def _missing(self, seen: Mapping[str, str], tips: Mapping[str, str]) -> Iterable[Place]:
        if seen and not set(seen) - set(tips):
            try:
                added = self._source.added(seen, tips)
                if not any(b'"op":"purge"' in place.line for place in added):
                    return added
            except (KeyError, Unavailable):  # the journal was rewritten: its old tip is gone
                pass
        self._rewritten = bool(seen)
        for table in TABLES:
            self._db.execute(f"DELETE FROM {table}")
        self._set("epoch", os.urandom(8).hex())
        return self._source.read(tips)

    def _take(self, places: Iterable[Place]) -> None:
        rest = iter(places)
        while batch := list(islice(rest, BATCH)):
            self._insert(batch)

    def _insert(self, places: Iterable[Place]) -> None:
        events, standing, broken, carried = [], [], [], []
        for place in places:
            try:
                event = decode(place.line)
            except BrokenLine as error:
                broken.append((place.journal.value, place.anchor, place.line, str(error)))
                continue
            events.append(event_row(event, place.journal))
            standing.append((event.id, place.journal.value, place.anchor))
            if event.understood and event.op == "carry":
                carried += [(id, event.id) for id in event.fields["events"]]
        # Of those that are here: standing on one more commit, they may be seen from elsewhere.
        self._db.executemany(
            "UPDATE events SET seen = NULL WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM places"
            " WHERE event = ?1 AND anchor = ?3)", standing,
        )  # fmt: skip
        if events:
            marks = ",".join("?" * len(events[0]))
            authors = {(author,) for *_, author, _ in events if author is not None}
            self._db.executemany("INSERT OR IGNORE INTO authors VALUES (?, NULL)", authors)
            self._db.executemany(f"INSERT INTO events VALUES ({marks}) {SHARED_FIRST}", events)
        self._db.executemany("INSERT OR IGNORE INTO places VALUES (?,?,?)", standing)
        self._db.executemany("INSERT OR IGNORE INTO broken VALUES (?,?,?,?)", broken)
        self._db.executemany("INSERT OR IGNORE INTO carried VALUES (?,?)", carried)

    def facts(self, where: str = "", args: Sequence[str] = ()) -> list[Fact]:
        """Return what visibility needs to know of the events, or of those `where` lets through."""
        carries: dict[str, list[str]] = defaultdict(list)
        effective = f" WHERE NOT ({USURPED})" if self._doubts() else ""
        for event, carry in self._db.stream(f"SELECT event, carry FROM carried{effective}"):
            carries[carry].append(event)
        sql = (
            "SELECT id, memory, op, at, repo, branch, lineage, pending,"
            " group_concat(DISTINCT anchor) FROM events JOIN places ON event = id"
            f" WHERE understood {where} GROUP BY id"
        )
        return [
            Fact(id, memory, op, at, tuple(anchors.split(",")), bool(repo), branch, line,
                 bool(pending), tuple(carries.get(id, ())))
            for id, memory, op, at, repo, branch, line, pending, anchors
            in self._db.stream(sql, args)
        ]  # fmt: skip

    def facts_of(self, branch: str) -> list[Fact]:
        """Return the facts of a branch's events, by name, and of the carries that name them."""
        named = "SELECT id FROM events WHERE branch = ?1 AND understood"
        carries = f"SELECT carry FROM carried WHERE event IN ({named})"
        return self.facts(f"AND (id IN ({named}) OR id IN ({carries}))", (branch,))

    def facts_about(self, memory: str) -> list[Fact]:
        """Return the facts of a memory's events, and of the carries that name them."""
        about = "SELECT id FROM events WHERE memory = ?1"
        carries = f"SELECT carry FROM carried WHERE event IN ({about})"
        return self.facts(f"AND (id IN ({about}) OR id IN ({carries}))", (memory,))

    def due(self) -> list[Carry]:
        """Return what should be carried and was not yet when one last looked."""
        return [
            Carry(anchor, tuple(events), at, by, branch)
            for anchor, events, at, by, branch in self._get("due") or ()
        ]

    def journals(self) -> list[str]:
        """Return the journals that hold events."""
        return [row[0] for row in self._db.rows("SELECT DISTINCT journal FROM events ORDER BY 1")]

    def ids_in(self, journal: str) -> set[str]:
        """Return the ids of the events of one journal."""
        rows = self._db.stream("SELECT id FROM events WHERE journal=?", (journal,))
        return {row[0] for row in rows}

    def seen(self, event: str) -> bool:
        """Whether one sees an event."""
        return bool(self._db.value("SELECT seen FROM events WHERE id=?", (event,)))

    def events(self, memory: str | None = None) -> Iterator[Event]:
        """Yield events newest first: of one memory, or all."""
        where, args = ("WHERE memory=?", (memory,)) if memory else ("", ())
        sql = f"SELECT line FROM events {where} ORDER BY at DESC, id DESC"
        yield from self._db.stream(sql, args, decode)

    def event(self, id: str) -> Event:
        """Return one event by its full id."""
        return decode(self._db.value("SELECT line FROM events WHERE id=?", (id,)))

    def anchors(self, event: str) -> list[str]:
        """Return the objects whose notes hold an event."""
        sql = "SELECT DISTINCT anchor FROM places WHERE event=? ORDER BY 1"
        return [row[0] for row in self._db.rows(sql, (event,))]

    def placed(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield (journal, anchor, line) for every line that is an event, oldest first."""
        yield from self._db.stream(
            "SELECT p.journal, p.anchor, e.line FROM places p JOIN events e ON e.id = p.event"
            " ORDER BY e.at, e.id, p.anchor"
        )

    def event_count(self) -> int:
        """Return how many distinct events the journals hold."""
        return int(self._db.value("SELECT count(*) FROM events"))

    def trusted(self, memory: str) -> Container[str] | None:
        """Return which events of a memory are by authors one trusts; None: all of them."""
        if not self._doubts():
            return None
        sql = f"SELECT id FROM events WHERE memory=? AND (author {UNTRUSTED}) IS NOT TRUE"
        return {row[0] for row in self._db.rows(sql, (memory,))}

    def latest_row(self) -> int:
        """Return a number that grows by one with each event taken in."""
        return int(self._db.value("SELECT max(rowid) FROM events") or 0)

    def latest_at(self, horizon: str) -> str | None:
        """Return the greatest event time that is a date and not after `horizon`."""
        sql = f"SELECT at FROM events WHERE at <= ? AND {IS_DATE} ORDER BY at DESC LIMIT 1"
        at: str | None = self._db.value(sql, (horizon,))
        return at

    def tips(self) -> dict[str, str]:
        """Return the journal tips taken in so far."""
        return self._get("tips") or {}

    def mark(self) -> Mark:
        """Return where a reader that has everything now stands."""
        return Mark(self._get("epoch") or "", self._get("changed") or 0)

    def _unseen(self) -> bool:
        return bool(self._db.value("SELECT 1 FROM events WHERE seen IS NULL LIMIT 1"))

    def _look(self, turned: Sequence[str]) -> None:
        """Mark the events that are seen, and fold the memories for which that is new.

        Those, too, of authors whom one trusts now and did not, or the other way round.
        """
        fresh = not turned and self._get("look") == self.look.key and self._plain()
        only = "AND seen IS NULL" if fresh else ""
        facts = self.facts(only)
        seen = self.look.belonging(facts) if fresh else self.look.seen(facts)
        before = dict(self._db.stream(f"SELECT id, seen FROM events WHERE understood {only}"))
        flipped = [fact for fact in facts if before[fact.id] != int(fact.id in seen)]
        flags = [(int(fact.id in seen), fact.id) for fact in flipped]
        self._db.executemany("UPDATE events SET seen=? WHERE id=?", flags)
        # What a later version wrote is not understood, but stands between the events that are.
        sql = "SELECT memory FROM events WHERE seen IS NULL AND memory IS NOT NULL"
        between = [row[0] for row in self._db.rows(f"{sql} AND NOT understood")]
        self._db.execute("UPDATE events SET seen=0 WHERE seen IS NULL")
        touched = dict.fromkeys([*(fact.memory for fact in flipped if fact.memory), *between])
        for author in turned:
            sql = "SELECT DISTINCT memory FROM events WHERE author=? AND memory IS NOT NULL"
            touched.update(dict.fromkeys(row[0] for row in self._db.rows(sql, (author,))))
        if touched:
            self._fold(list(touched), self.mark().changed + 1)
        self._set("look", self.look.key if self.look.complete else "")
        if not fresh:
            due = self.look.due
            if due and self._doubts():
                due = [carry for carry in due if not self._written(carry)]
            self._set("due", due)

    def _written(self, carry: Carry) -> bool:
        """Whether a carry that is due stands there, by somebody one does not trust."""
        sql = (
            "SELECT event FROM carried WHERE carry IN (SELECT event FROM places WHERE anchor=?)"
            f" AND {USURPED}"
        )
        return {row[0] for row in self._db.rows(sql, (carry.anchor,))}.issuperset(carry.events)

    def _plain(self) -> bool:
        """Whether no carry has to do with the events that nobody has looked at yet."""
        sql = (
            "SELECT 1 FROM events LEFT JOIN carried ON event = id"
            " WHERE seen IS NULL AND (op = 'carry' OR carry IS NOT NULL) LIMIT 1"
        )
        return not self._db.value(sql)

    def _fold(self, ids: Sequence[str], changed: int) -> None:
        for start in range(0, len(ids), BATCH):
            self._fold_some(ids[start : start + BATCH], changed)
        self._set("changed", changed)

    def _fold_some(self, ids: Sequence[str], changed: int) -> None:
        memories = list(self._folded(ids))
        keys = [(id,) for id in ids]
        self._db.executemany("DELETE FROM memories WHERE id=?", keys)
        self._db.executemany("DELETE FROM tags WHERE memory=?", keys)
        rows = (row_of(memory, changed) for memory in memories)
        self._db.executemany(f"INSERT INTO memories VALUES ({MEMORY})", rows)
        tags = [(tag, memory.id) for memory in memories for tag in memory.tags]
        self._db.executemany("INSERT INTO tags VALUES (?,?)", tags)
        self._db.execute(
            "INSERT OR REPLACE INTO touched SELECT id, substr(at, 1, 10), ? FROM events"
            " WHERE id IN (SELECT value FROM json_each(?))",
            (changed, json.dumps(ids)),
        )

    def _folded(self, ids: Sequence[str], whole: bool = False) -> Iterator[Memory]:
        """Fold memories by what is seen of them; `whole`: by all there is."""
        sql = (
            f"SELECT memory, line, journal, seen, (author {UNTRUSTED}) IS TRUE FROM events"
            " WHERE memory IN (SELECT value FROM json_each(?))"
        )
        found: dict[str, list[Told]] = defaultdict(list)
        for memory, told in self._db.rows(sql, (json.dumps(ids),), told_from):
            found[memory].append(told)
        yield from filter(None, (fold_told(id, found[id], whole) for id in ids))

    def _get(self, key: str) -> Any:
        found = self._db.rows("SELECT value FROM meta WHERE key=?", (key,), json.loads)
        return found[0] if found else None

    def _set(self, key: str, value: object) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (key, json.dumps(value)))
