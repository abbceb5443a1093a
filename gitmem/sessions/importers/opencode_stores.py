"""Where opencode keeps its messages: in a database, or, in older releases, in files."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gitmem.errors import Unreadable
from gitmem.sessions.importers import databases
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.parts import table, text
from gitmem.sessions.model import Skipped

if TYPE_CHECKING:
    import sqlite3

Fields = Mapping[str, Any] | Skipped
"""What a message or a part says, or why that cannot be read."""

_HAS_SESSIONS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'session'"
_SESSION = "SELECT title, directory, parent_id, time_created FROM session WHERE id = ?"
_SESSIONS = "SELECT session_id FROM message GROUP BY 1 ORDER BY min(time_created), 1"
_MESSAGES = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id FROM part WHERE message_id = ? ORDER BY id"
_MESSAGE = "SELECT data FROM message WHERE id = ? AND length(data) <= ?"
_PART = "SELECT data FROM part WHERE id = ? AND length(data) <= ?"
_NAMES = ("title", "directory", "parentID")
_TORN = "a message or a part that is no JSON object, torn or too long"


@dataclass(frozen=True)
class Known:
    """What is kept of a session beside its messages; empty where nothing is."""

    title: str = ""
    directory: str = ""
    parent: str = ""
    created: str = ""


class Store(Protocol):
    """Sessions of messages of parts, each in the order it was said."""

    def sessions(self) -> Iterator[str]:
        """Yield the ids of the sessions."""
        ...

    def known(self, session: str) -> Known:
        """Return what is kept of a session beside its messages."""
        ...

    def messages(self, session: str) -> Iterator[tuple[str, Fields]]:
        """Yield the messages of a session, each with its id."""
        ...

    def parts(self, message: str) -> Iterator[tuple[str, Fields]]:
        """Yield the parts of a message, each with its id."""
        ...


@contextmanager
def opened(transcript: Path) -> Iterator[Store]:
    """Open a database, the folder of a session's messages, or the file that names the session.

    Raises:
        Unreadable: it is none of these, or cannot be read.
    """
    if transcript.parent.parent.name == "session" and transcript.suffix == ".json":
        transcript = transcript.parent.parent.parent / "message" / transcript.stem
    if transcript.is_dir():
        if not any(transcript.glob("*.json")):
            raise Unreadable(f"'{reading.shown(transcript)}' has no message of opencode")
        yield _Files(transcript)
    else:
        with databases.opened(transcript) as database:
            yield _Database(database)


class _Database:
    """A Store in SQLite; its tables are those of every release that had one.

    Each query is read to its end at once: one that is left open would keep opencode from writing
    for as long as the import takes.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._has_sessions = bool(self._rows(_HAS_SESSIONS))

    def sessions(self) -> Iterator[str]:
        """Yield the ids of the sessions, the oldest first."""
        yield from (_name(id) for (id,) in self._rows(_SESSIONS))

    def known(self, session: str) -> Known:
        """Return what the row of the session says."""
        rows = self._rows(_SESSION, session) if self._has_sessions else []
        if not rows:
            return Known()
        title, directory, parent, created = rows[0]
        return Known(_name(title), _name(directory), _name(parent), reading.utc(created))

    def messages(self, session: str) -> Iterator[tuple[str, Fields]]:
        """Yield the messages in the order of their times."""
        return self._fields(self._rows(_MESSAGES, session), _MESSAGE)

    def parts(self, message: str) -> Iterator[tuple[str, Fields]]:
        """Yield the parts in the order of their ids, which is that of their times."""
        return self._fields(self._rows(_PARTS, message), _PART)

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._database.execute(query, values).fetchall()

    def _fields(self, ids: list[tuple[Any, ...]], query: str) -> Iterator[tuple[str, Fields]]:
        for id in (_name(id) for (id,) in ids):
            yield id, _parsed(self._rows(query, id, reading.LONGEST))


class _Files:
    """A Store in the files of one session."""

    def __init__(self, messages: Path) -> None:
        self._messages = messages
        self._root = messages.parent.parent

    def sessions(self) -> Iterator[str]:
        """Yield the id of the session, which is the name of its folder."""
        yield self._messages.name

    def known(self, session: str) -> Known:
        """Return what the file of the session says, whatever project it is filed under."""
        files = (self._root / "session").glob(f"*/{glob.escape(session)}.json")
        fields = next(map(_document, files), {})
        if isinstance(fields, Skipped):
            return Known()
        created = reading.utc(table(fields.get("time")).get("created"))
        title, directory, parent = (text(fields.get(name)) for name in _NAMES)
        return Known(title, directory, parent, created)

    def messages(self, session: str) -> Iterator[tuple[str, Fields]]:
        """Yield the messages in the order of their times: files are read for those first."""
        for _, path in sorted(map(_timed, self._messages.glob("*.json"))):
            yield path.stem, _document(path)

    def parts(self, message: str) -> Iterator[tuple[str, Fields]]:
        """Yield the parts in the order of their names."""
        for path in sorted((self._root / "part" / message).glob("*.json")):
            yield path.stem, _document(path)


def _timed(path: Path) -> tuple[str, Path]:
    fields = _document(path)
    time = {} if isinstance(fields, Skipped) else table(fields.get("time"))
    return reading.utc(time.get("created")), path


def _document(path: Path) -> Fields:
    try:
        return table(reading.document(path))
    except Unreadable:  # one message is not all of them
        return Skipped(_TORN)


def _parsed(rows: list[tuple[Any, ...]]) -> Fields:
    data = rows[0][0] if rows else b""  # none if it is too long
    try:
        return table(reading.parsed(data if isinstance(data, bytes) else b""))
    except (ValueError, RecursionError):
        return Skipped(_TORN)


def _name(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else text(value)
