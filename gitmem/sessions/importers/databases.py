"""SQLite files of agents, which may be writing them: opened read-only, never changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading

if TYPE_CHECKING:
    import sqlite3

MAGIC = b"SQLite format 3\0"

PATIENCE = 2.0
"""Seconds to wait for a program that holds the database locked."""

_NO_LOG = ("SQLITE_CANTOPEN", "SQLITE_READONLY")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database; its texts are bytes, so that one that is no UTF-8 harms itself alone.

    Raises:
        Unreadable: it is no database, or, now or while it is read, locked or broken.
    """
    import sqlite3

    if reading.beginning(path, len(MAGIC)) != MAGIC:
        raise Unreadable(f"'{reading.shown(path)}' is no SQLite database")
    database = None
    try:
        database = _connected(path)
        database.text_factory = bytes
        yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a column may have any name
        locked = "locked" in str(error)
        hint = "another program is writing it: try again when it has ended" if locked else ""
        raise Unreadable(f"'{reading.shown(path)}' cannot be read: {error}", hint=hint) from error
    finally:
        if database:
            database.close()


def _connected(path: Path) -> sqlite3.Connection:
    """Connect; on a disk that cannot be written, where SQLite finds no place for its index of a
    log that is not there either, the file is read as one that nobody changes.
    """
    import sqlite3

    uri = f"{path.absolute().as_uri()}?mode=ro"
    database = sqlite3.connect(uri, uri=True, timeout=PATIENCE)
    try:
        database.execute("PRAGMA schema_version").fetchone()  # only this reads the file
    except sqlite3.OperationalError as error:
        database.close()
        if not error.sqlite_errorname.startswith(_NO_LOG) or _log(path).exists():
            raise
        return sqlite3.connect(f"{uri}&immutable=1", uri=True)
    return database


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
