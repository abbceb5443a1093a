"""The catalog's tables: the schema, a memory as a row and back, and filters as SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.journal.codec import Event
from gitmem.journal.trust import author_of
from gitmem.model import Alternative, Importance, JournalName, Link, Memory, Note, Scope

VERSION = 6
"""Raised with every change to the schema or to the fold: an older file is dropped and rebuilt."""
NEWEST = "created DESC, id DESC"
OLDEST = "created, id"
LONG_TERM = "min(importance, 2), CASE WHEN importance < 2 THEN '' ELSE kind END, created DESC, id"
"""Critical and high first, then by kind; the newest first within each."""

SCHEMA = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE events(id TEXT PRIMARY KEY, memory TEXT, at TEXT, op TEXT, understood INT,"
    " journal TEXT, line BLOB, repo INT, branch TEXT, lineage TEXT, pending INT, author TEXT,"
    " seen INT)",
    # Of the shared journal: what stands in the others was written here.
    "CREATE TABLE authors(author TEXT PRIMARY KEY, trusted INT) WITHOUT ROWID",
    "CREATE INDEX events_memory ON events(memory)",
    "CREATE INDEX events_at ON events(at, id)",
    "CREATE INDEX events_unseen ON events(id) WHERE seen IS NULL",
    "CREATE INDEX events_pending ON events(branch) WHERE pending",
    "CREATE TABLE carried(event TEXT, carry TEXT, PRIMARY KEY(event, carry)) WITHOUT ROWID",
    "CREATE TABLE touched(memory TEXT PRIMARY KEY, day TEXT, changed INT) WITHOUT ROWID",
    "CREATE INDEX touched_changed ON touched(changed)",
    "CREATE TABLE places(event TEXT, journal TEXT, anchor TEXT,"
    " PRIMARY KEY(event, journal, anchor)) WITHOUT ROWID",
    "CREATE TABLE broken(journal TEXT, anchor TEXT, line BLOB, reason TEXT,"
    " PRIMARY KEY(journal, anchor, line)) WITHOUT ROWID",
    "CREATE TABLE memories(id TEXT PRIMARY KEY, created TEXT, updated TEXT, kind TEXT,"
    " importance INT, author TEXT, journal TEXT, scope TEXT, branch TEXT, forgotten INT,"
    " contested INT, held INT, expires TEXT, changed INT, body TEXT)",
    # Each order that is asked for has its index, so that 100,000 memories are neither read nor
    # sorted for the 200 that are shown; counting reads the small one.
    "CREATE INDEX memories_alive ON memories(forgotten, expires, kind, contested, held)",
    "CREATE INDEX memories_created ON memories(forgotten, created, id)",
    "CREATE INDEX memories_importance ON memories(forgotten, importance, created, id)",
    "CREATE INDEX memories_kind ON memories(forgotten, kind, created, id)",
    f"CREATE INDEX memories_long_term ON memories(forgotten, {LONG_TERM})",
    "CREATE INDEX memories_changed ON memories(changed)",
    "CREATE TABLE tags(tag TEXT, memory TEXT, PRIMARY KEY(tag, memory)) WITHOUT ROWID",
    "CREATE INDEX tags_memory ON tags(memory)",
    "CREATE TABLE entities(memory TEXT, name TEXT, type TEXT, UNIQUE(memory, name))",
    "CREATE INDEX entities_name ON entities(name, memory)",
)

IS_DATE = "(datetime(substr(at, 1, 19), '+0 days') IS replace(substr(at, 1, 19), 'T', ' '))"
"""Whether an event time names a date: 2026-02-31 fits the pattern, and would stop the clock."""

MEMORY = ",".join("?" * 15)
"""The places of `row_of` in an INSERT."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories, in which order. `now` (an event time) leaves out what has expired.

    `where` is an expression of SQL over the table `memories`, and its arguments.
    """

    kind: str | None = None
    without_kinds: Sequence[str] = ()
    tags: Sequence[str] = ()
    importance: str | None = None
    author: str | None = None
    scope: str | None = None
    private: bool | None = None
    since: str | None = None
    until: str | None = None
    forgotten: bool = False
    contested: bool = False
    held: bool | None = None
    entity: str | None = None
    ids: Sequence[str] | None = None
    now: str | None = None
    where: tuple[str, Sequence[Any]] | None = None
    order: str = NEWEST
    limit: int | None = None

    def sql(self, counting: bool = False) -> tuple[str, list[Any]]:
        """Return the WHERE, ORDER BY and LIMIT of a query on `memories`, and its arguments."""
        terms: list[tuple[str, list[Any]]] = [("forgotten = ?", [int(self.forgotten)])]
        if self.kind is not None:
            terms.append(("kind = ?", [self.kind]))
        if self.importance is not None:
            terms.append(("importance = ?", [Importance(self.importance).rank]))
        if self.author is not None:
            terms.append(("instr(lower(author), lower(?)) > 0", [self.author]))
        if self.scope is not None:
            terms.append(("scope = ?", [self.scope]))
        if self.private is not None:
            terms.append((f"journal {'!=' if self.private else '='} 'shared'", []))
        if self.since is not None:
            terms.append(("created >= ?", [self.since]))
        if self.until is not None:
            terms.append(("created < ?", [self.until]))
        if self.contested:
            terms.append(("contested", []))
        if self.held is not None:
            terms.append(("held = ?", [int(self.held)]))
        if self.now is not None:
            terms.append(("(expires IS NULL OR expires > ?)", [self.now]))
        if self.entity is not None:
            terms.append(("id IN (SELECT memory FROM entities WHERE name = ?)", [self.entity]))
        if self.ids is not None:
            terms.append((f"id IN ({','.join('?' * len(self.ids))})", list(self.ids)))
        if self.where is not None:
            terms.append((f"({self.where[0]})", list(self.where[1])))
        terms += [("kind != ?", [kind]) for kind in self.without_kinds]
        has_tag = "id IN (SELECT memory FROM tags WHERE tag = ?)"
        terms += [(has_tag, [tag]) for tag in self.tags]
        where = "WHERE " + " AND ".join(term for term, _ in terms)
        args = [arg for _, values in terms for arg in values]
        if counting:
            return where, args
        limit = "" if self.limit is None else f" LIMIT {int(self.limit)}"
        return f"{where} ORDER BY {self.order}{limit}", args


TABLES = tuple(
    statement.split("(", 1)[0].removeprefix("CREATE TABLE ")
    for statement in SCHEMA
    if statement.startswith("CREATE TABLE")
)


def event_row(event: Event, journal: JournalName) -> tuple[Any, ...]:
    """Return the row of an event in the `events` table; nobody has looked at it yet."""
    fields = event.fields if event.understood else {}
    return (
        event.id,
        event.memory,
        event.at,
        event.op,
        event.understood,
        journal.value,
        event.line,
        int(fields.get("scope") == "repo" or journal is JournalName.USER),
        fields.get("branch"),
        fields.get("line"),
        int(fields.get("pending") is True),
        author_of(event.by) if journal is JournalName.SHARED else None,
        None,
    )


def row_of(memory: Memory, changed: int) -> tuple[Any, ...]:
    """Return the row of a memory in the `memories` table."""
    return (
        memory.id,
        memory.created,
        memory.updated,
        memory.kind,
        memory.importance.rank,
        memory.author,
        memory.journal.value,
        memory.scope.value,
        memory.branch,
        int(memory.forgotten),
        int(bool(memory.contested)),
        int(memory.held),
        memory.expires,
        changed,
        _BODY.encode(memory),
    )


def _parts(value: Any) -> dict[str, Any]:
    parts = {name: getattr(value, name) for name in value.__slots__}
    if isinstance(value, Memory):  # most of a memory is its defaults
        return {name: part for name, part in parts.items() if part not in (None, (), False)}
    return parts


# `dataclasses.asdict` copies deeply, and took a third of the time to build a catalog.
_BODY = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_parts)


def memory_from(body: str) -> Memory:
    """Read a memory back from its row; ValueError where the row is damaged."""
    fields: Mapping[str, Any] = json.loads(body)
    try:
        return Memory(
            **{
                **fields,
                "importance": Importance(fields["importance"]),
                "journal": JournalName(fields["journal"]),
                "scope": Scope(fields["scope"]),
                "tags": tuple(fields.get("tags", ())),
                "links": tuple(Link(**link) for link in fields.get("links", ())),
                "notes": tuple(Note(**note) for note in fields.get("notes", ())),
                **{
                    name: tuple(Alternative(**side) for side in fields.get(name, ()))
                    for name in ("contested", "proposed")
                },
                "heads": tuple(fields.get("heads", ())),
            }
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a memory: {error}") from error
