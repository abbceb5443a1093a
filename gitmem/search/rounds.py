"""The rounds of conversations as rows: found, filtered and shown without unpacking git objects.

A disposable SQLite file, derived from the commit that holds all sessions. Rounds are only added,
so an import costs what is new in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.model import Said
from gitmem.search.base import Change, Document, Removed
from gitmem.search.database import Database
from gitmem.sessions import REF

if TYPE_CHECKING:  # what was imported is taken in once, and asked for often: 6 ms less
    from gitmem.journal.git.port import Git
    from gitmem.sessions.store import Entry, SessionStore

PREFIX = "session:"
"""Begins the id of a round's document: ``session:AGENT/SESSION#INDEX``."""

_SQL_VARIABLES = 500
_VERSION = 1
_SCHEMA = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE sessions(key TEXT PRIMARY KEY, agent TEXT, id TEXT, title TEXT, tags TEXT,"
    " branch TEXT, meta TEXT, rounds TEXT)",
    "CREATE TABLE rounds(id TEXT PRIMARY KEY, session TEXT, number INT, role TEXT, speaker TEXT,"
    " at TEXT, text TEXT, changed INT)",
    "CREATE INDEX rounds_session ON rounds(session, number)",
    "CREATE INDEX rounds_changed ON rounds(changed)",
    "CREATE TABLE gone(id TEXT PRIMARY KEY, changed INT) WITHOUT ROWID",
)
_SAID = (
    "SELECT rounds.id, agent, sessions.id, title, tags, branch, number, role, speaker, at, text"
    " FROM rounds JOIN sessions ON sessions.key = rounds.session"
)


class Rounds:
    """The rounds of one store of conversations."""

    def __init__(self, path: Path, git: Git) -> None:
        """`git` is the repository that has them."""
        self._git = git
        self._db = Database(path, _SCHEMA, _VERSION, self._fill)

    @property
    def warnings(self) -> list[str]:
        """What was wrong with the file, a line each."""
        return self._db.warnings

    @property
    def persistent(self) -> bool:
        """Whether what is noted here will be there next time."""
        return self._db.persistent

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def clear(self) -> None:
        """Throw the file away and make it anew."""
        self._db.renew()

    def catch_up(self) -> None:
        """See what was imported since."""
        if self._get("tip") != (self._git.ref(REF) or ""):
            self._db.run(self._fill)

    def mark(self) -> str:
        """Return how far this has come, as an index records it; empty while it holds nothing."""
        epoch = self._get("epoch")
        return f"{epoch}:{self._last()}" if epoch else ""

    def changes(self, since: str) -> Iterator[Change]:
        """Yield what came after a `mark`: all there is, where it is not one of this file's."""
        epoch, _, number = since.partition(":")
        last = int(number) if epoch == self._get("epoch") and number.isdecimal() else -1
        if last >= 0:
            for (id,) in self._db.rows("SELECT id FROM gone WHERE changed > ?", (last,)):
                yield Removed(PREFIX + id)
        sql = f"{_SAID} WHERE changed > ? ORDER BY session, number"
        for row in self._db.stream(sql, (last,)):
            yield _document(*row)

    def said(self, ids: Sequence[str]) -> dict[str, Said]:
        """Return the rounds of documents' ids; unknown ones are left out."""
        bare = [id.removeprefix(PREFIX) for id in ids]
        found = {}
        for start in range(0, len(bare), _SQL_VARIABLES):
            some = bare[start : start + _SQL_VARIABLES]
            places = ",".join("?" * len(some))
            for row in self._db.rows(f"{_SAID} WHERE rounds.id IN ({places})", some):
                found[PREFIX + row[0]] = _said(*row)
        return found

    # -- filling ------------------------------------------------------------------------------

    @cached_property
    def _store(self) -> SessionStore:
        from gitmem.sessions.store import SessionStore

        return SessionStore(self._git)

    def _fill(self) -> None:
        import secrets

        with self._db.transaction():
            if not self._get("epoch"):
                self._set("epoch", secrets.token_hex(8))
            tip = self._git.ref(REF)
            entries = self._store.entries(tip)
            known = {
                row[0]: row[1:] for row in self._db.rows("SELECT key, meta, rounds FROM sessions")
            }
            changed = self._last() + 1
            for key in known.keys() - entries.keys():
                self._drop(key, changed)
            for key, entry in entries.items():
                if known.get(key) != (entry.meta, entry.rounds):
                    self._take(key, entry, changed)
            self._set("tip", tip or "")

    def _take(self, key: str, entry: Entry, changed: int) -> None:
        from gitmem.sessions.store import session_from

        session = session_from(self._store.git.blob(entry.meta))
        about = session.about
        had = self._db.value("SELECT count(*) FROM rounds WHERE session=?", (key,))
        if session.rounds < had:  # a purge; nothing else takes rounds away
            self._drop(key, changed)
            had = 0
        tags = "\n".join(session.tags)
        if tags != self._db.value("SELECT tags FROM sessions WHERE key=?", (key,)):
            self._db.execute("UPDATE rounds SET changed=? WHERE session=?", (changed, key))
        row = (key, about.agent, about.id, about.title, tags, about.branch)
        self._db.execute(
            "INSERT OR REPLACE INTO sessions VALUES(?,?,?,?,?,?,?,?)",
            (*row, entry.meta, entry.rounds),
        )
        name = f"{about.agent}/{about.id}"
        rows = [
            (f"{name}#{one.index}", key, one.index, one.turn.role, one.turn.speaker,
             one.turn.at or about.started, one.turn.text, changed)
            for one in self._store.rounds(entry, had)
        ]  # fmt: skip
        self._db.executemany("INSERT OR REPLACE INTO rounds VALUES(?,?,?,?,?,?,?,?)", rows)
        self._db.executemany("DELETE FROM gone WHERE id=?", ((row[0],) for row in rows))

    def _drop(self, key: str, changed: int) -> None:
        gone = "INSERT OR REPLACE INTO gone SELECT id, ? FROM rounds WHERE session=?"
        self._db.execute(gone, (changed, key))
        self._db.execute("DELETE FROM rounds WHERE session=?", (key,))
        self._db.execute("DELETE FROM sessions WHERE key=?", (key,))

    def _last(self) -> int:
        sql = "SELECT max(changed) FROM (SELECT changed FROM rounds UNION SELECT changed FROM gone)"
        return int(self._db.value(sql) or 0)

    def _get(self, key: str) -> str:
        return str(self._db.value("SELECT value FROM meta WHERE key=?", (key,)) or "")

    def _set(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))


def _said(
    id: str, agent: str, session: str, title: str, tags: str, branch: str,
    number: int, role: str, speaker: str, at: str, text: str,
) -> Said:  # fmt: skip
    named = f"{agent}/{session}"
    return Said(named, number, role, text, at, speaker, title, branch, tuple(tags.split()))


def _document(id: str, *row: Any) -> Document:
    said = _said(id, *row)
    spoken = f"{said.speaker}: {said.text}" if said.speaker else said.text
    return Document(
        id=PREFIX + id,
        text=said.text,
        kind=said.role,
        tags=said.tags,
        author=said.speaker,
        at=said.at,
        group=said.session,
        position=said.index,
        # The output of tools is searched by its words: embedding it takes longest and says least.
        meaning="" if said.role == "tool" else spoken,
        private=True,
    )
