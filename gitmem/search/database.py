"""A disposable SQLite file: damaged, it is made anew; locked or unwritable, it is bypassed.

Whatever happens, the reader gets an answer and one line of warning: what the file holds is derived
and `refill` derives it again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

BUSY = 5.0
"""Seconds to wait for another process's transaction before going round the file."""

_ATTEMPTS, _PAUSE = 100, 0.01

CACHE = 32_768
"""KiB of pages held in memory: ids are random, and 100,000 of them inserted touch every page."""

_NOT_NOW = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    )
)
"""Errors that say nothing against the file's content; all others do."""


def _turn_to_wal(db: sqlite3.Connection) -> None:
    """Turn to the write-ahead log; where others do so at this moment, SQLite does not wait."""
    for attempt in range(_ATTEMPTS):
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or attempt + 1 == _ATTEMPTS:
                raise
            time.sleep(_PAUSE)


def _row(*columns: Any) -> tuple[Any, ...]:
    return columns


def _understood(read: Callable[..., Any], row: Sequence[Any]) -> Any:
    try:
        return read(*row)
    except ValueError as error:
        raise sqlite3.DatabaseError(f"a row cannot be read: {error}") from error


class Database:
    """One SQLite file with a schema of one version; `path` None keeps it in memory."""

    def __init__(
        self, path: Path | None, schema: Sequence[str], version: int, refill: Callable[[], None]
    ) -> None:
        self._path = path
        self._schema = schema
        self._version = version
        self._refill = refill
        self.warnings: list[str] = []
        self._db = self._open()

    @property
    def persistent(self) -> bool:
        """Whether what is written here will be there next time."""
        return self._path is not None

    def run(self, action: Callable[[], None]) -> None:
        """Run something that writes; if the file fails, refill another one and run it again."""
        try:
            action()
        except sqlite3.DatabaseError as error:
            self._recover(error)
            action()

    def rows(
        self, sql: str, args: Sequence[Any] = (), read: Callable[..., Any] = _row
    ) -> list[Any]:
        """Return all rows of a query; see `stream`."""
        try:  # thousands of queries for one row each: what goes well is kept short
            rows = self._db.execute(sql, args)
            return rows.fetchall() if read is _row else [read(*row) for row in rows]
        except (sqlite3.DatabaseError, ValueError):
            return list(self.stream(sql, args, read))

    def value(self, sql: str, args: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.rows(sql, args)
        return rows[0][0] if rows else None

    def stream(
        self, sql: str, args: Sequence[Any] = (), read: Callable[..., Any] = _row
    ) -> Iterator[Any]:
        """Yield what `read` makes of the columns of each row, one by one.

        If the file fails, or `read` does with a ValueError, the rest comes from another file:
        SQLite does not notice when the bytes of a value are others than were written.
        """
        done = 0
        try:
            for row in self._db.execute(sql, args):
                value = _understood(read, row)
                done += 1
                yield value
            return
        except sqlite3.DatabaseError as error:
            self._recover(error)
        again = (read(*row) for row in self._db.execute(sql, args))
        yield from islice(again, done, None)

    def execute(self, sql: str, args: Sequence[Any] = ()) -> None:
        """Run one statement, inside `transaction`."""
        self._db.execute(sql, args)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row, inside `transaction`."""
        self._db.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; all or nothing is kept."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def copy(self, refill: Callable[[], None]) -> Database:
        """Return a copy in memory, to be changed without changing this one."""
        other = Database(None, self._schema, self._version, refill)
        self._db.backup(other._db)
        return other

    def renew(self) -> None:
        """Throw the file away and refill it."""
        self._db.close()
        try:
            self._unlink()
        except OSError as error:
            self._bypass(error)
        self._db = self._open()
        self.run(self._refill)

    def scrub(self) -> None:
        """Leave nothing of what was deleted in the file's free pages, nor in the log beside it."""
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _recover(self, error: sqlite3.DatabaseError) -> None:
        # Inside a transaction it is the whole of it that must begin again.
        if self._path is None or self._db.in_transaction:
            raise error
        self._db.close()
        if self._not_now(error):
            self._bypass(error)
            self._db = self._open()
        else:
            self._db = self._anew(error)
        self._refill()

    def _open(self) -> sqlite3.Connection:
        if self._path is None:
            return self._connect(":memory:")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return self._connect(str(self._path))
        except OSError as error:
            self._bypass(error)
        except sqlite3.DatabaseError as error:
            if not self._not_now(error):
                return self._anew(error)
            self._bypass(error)
        return self._connect(":memory:")

    def _anew(self, error: sqlite3.DatabaseError) -> sqlite3.Connection:
        assert self._path is not None
        try:
            self._unlink()
            db = self._connect(str(self._path))
        except (OSError, sqlite3.DatabaseError) as failure:
            self._bypass(failure)
            return self._connect(":memory:")
        self.warnings.append(f"'{self._path.name}' was damaged ({error}) and is rebuilt")
        return db

    def _bypass(self, error: Exception) -> None:
        assert self._path is not None
        self.warnings.append(
            f"'{self._path.name}' cannot be used ({error}): what it is made from is read instead"
        )
        self._path = None

    def _unlink(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            if self._path is not None:
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)

    def _connect(self, path: str) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] != self._version:
                self._create(db)
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(f"PRAGMA cache_size=-{CACHE}")
        except sqlite3.DatabaseError:
            db.close()
            raise
        return db

    def _create(self, db: sqlite3.Connection) -> None:
        _turn_to_wal(db)
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] != self._version:
            tables = "SELECT name FROM sqlite_master WHERE type='table'"
            for (table,) in db.execute(tables).fetchall():
                db.execute(f'DROP TABLE IF EXISTS "{table}"')  # FTS5 drops its own
            for statement in self._schema:
                db.execute(statement)
            db.execute(f"PRAGMA user_version={self._version}")
        db.execute("COMMIT")

    @staticmethod
    def _not_now(error: sqlite3.DatabaseError) -> bool:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_NOW
