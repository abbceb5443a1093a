"""Search of the workspace's files: passages in SQLite's FTS5, brought up to date file by file.

A disposable file. What a blob holds is analysed once, and kept under its id for as long as it may
come back: a file that is renamed, copied or restored costs no analysis. The text itself is not
kept, but read from the work tree where it is shown.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.journal.git import Git
from gitmem.journal.objects import decode, encode, object_id
from gitmem.journal.worktree import ATTRIBUTES, WorkTree
from gitmem.search.base import IndexUnusable, Words
from gitmem.search.database import Database
from gitmem.search.expression import COLUMNS, TOKENIZER, columns, expression, single
from gitmem.search.passages import Passage, cut, looks_generated, named_as_generated, text_of
from gitmem.search.units import K1, idf
from gitmem.text.analysis import VERSION as ANALYSIS
from gitmem.text.analysis import terms
from gitmem.text.query import Query

LARGEST = 1_000_000
"""Bytes of the largest file that is searched."""

BATCH = 2_000_000
"""Bytes of files taken in between two commits: what ^C or a crash may cost."""

PATH, TEXT = 3.0, 1.0
"""What a word counts in the path of a file, and in its text."""

MOST_WORDS = 48
"""Words of a query that are looked up, the rarest."""

SETTLED = 2_000_000_000
"""Nanoseconds until a file is believed to be what its stamp says: clocks of disks are coarse."""

SPARE = 0.25
"""Share of the blobs that may be out of use before they are swept."""

_MARGIN = 20  # candidates looked at beyond the limit, for those that changed under our hands
_LOOKED_UP = 1_000
_MIRROR = ("MEMORY.md", "memory")
_VERSION = 100 + ANALYSIS
_SCHEMA = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE files(path BLOB PRIMARY KEY, token TEXT, oid TEXT, first INT, many INT)",
    "CREATE INDEX files_first ON files(first)",
    "CREATE INDEX files_oid ON files(oid)",
    "CREATE TABLE blobs(oid TEXT PRIMARY KEY, passages BLOB)",
    f"CREATE VIRTUAL TABLE passages USING fts5({', '.join(COLUMNS)}, content='',"
    f' tokenize="{TOKENIZER}")',
)
_PUT = f"INSERT INTO passages(rowid, {', '.join(COLUMNS)}) VALUES(?,?,?,?,?)"
_DROP = f"INSERT INTO passages(passages, rowid, {', '.join(COLUMNS)}) VALUES('delete',?,?,?,?,?)"
_FIND = (
    f"SELECT rowid, -rank FROM passages WHERE passages MATCH ?"
    f" AND rank MATCH 'bm25({PATH}, {PATH}, {TEXT}, {TEXT})' ORDER BY rank LIMIT ?"
)

Progress = Callable[[int, int], None]
"""Called with how many files have been looked at, and of how many."""


class FileCandidate(NamedTuple):
    """A passage that matched.

    Attributes:
        line: the one that matches best; the first is 1.
        score: BM25; higher is better, and means nothing in another search.
        matched: how often the passage and its path have each term of the query that they have.
        words: how well it meets the words of the query.
    """

    path: str
    line: int
    text: str
    score: float
    matched: Mapping[str, int]
    words: Words


class Statistics(NamedTuple):
    """How many passages there are, and how many of them have each word of a query."""

    documents: int
    df: Mapping[str, int]


class _Row(NamedTuple):
    """A file as it was found: `blob` is None where nothing of it is searched."""

    path: str
    token: str
    blob: str | None
    analysed: bytes | None = None


class _Locked(Exception):
    """Another process is writing."""


class Files:
    """The text files below `worktree`, but `without` some paths."""

    def __init__(
        self,
        git: Git,
        worktree: Path,
        database: Path,
        without: Collection[str] = _MIRROR,
        progress: Progress = lambda done, all: None,
    ) -> None:
        """`without` is what else is indexed: gitmem's own mirror.

        Raises:
            IndexUnusable: this Python's SQLite has no FTS5.
        """
        _require_fts5()
        self._tree = WorkTree(git.layout, worktree)
        self._without = frozenset(without)
        self._progress = progress
        self._path = database
        self._changed = 0
        self._busy = False
        self._db = Database(database, _SCHEMA, _VERSION, self._fill)

    @property
    def warnings(self) -> list[str]:
        """What was wrong, a line each."""
        busy = ["files are being indexed by another process: some may be missing"]
        return [*self._db.warnings, *(busy if self._busy else [])]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def clear(self) -> None:
        """Forget everything."""

        def forget() -> None:
            with self._db.transaction():
                for table in ("meta", "files", "blobs"):
                    self._db.execute(f"DELETE FROM {table}")
                self._db.execute("INSERT INTO passages(passages) VALUES('delete-all')")

        self._db.run(forget)

    # -- keeping up -----------------------------------------------------------------------------

    def catch_up(self) -> int:
        """Take in what changed in the work tree; returns how many passages that changed.

        Raises:
            IndexUnusable: git cannot say which files there are.
        """
        self._busy = False
        before = self._changed
        try:
            self._db.run(self._fill)
        except _Locked:
            self._busy = True
        return self._changed - before

    def _fill(self) -> None:
        now = self._now()
        found = self._found()
        rules = self._rules(found)
        known = dict(self._db.rows("SELECT path, token FROM files"))
        if rules != self._get("rules"):
            known = dict.fromkeys(known, "")
        gone = [path for path in known if decode(path) not in found]
        changed = [path for path, token in found.items() if known.get(encode(path)) != token]
        if gone or changed:
            self._forget(gone)
            self._take(changed, found, now)
            self._sweep()
        if rules != self._get("rules"):
            self._write(lambda: self._set("rules", rules))

    def _found(self) -> dict[str, str]:
        """Return the files, each with a token that changes when it may hold something else."""
        try:
            listed = self._tree.files()
        except GitmemError as error:
            raise IndexUnusable(f"the files cannot be listed: {error.message}") from error
        found: dict[str, str] = {}
        for path, oid in listed:
            if path in self._without or path.partition("/")[0] in self._without:
                continue
            token = f"={oid}" if oid else self._tree.stamp(path)
            if token:
                found[path] = token
        return found

    def _rules(self, found: Mapping[str, str]) -> str:
        """Return what changes when another file may count as generated."""
        rules = [
            f"{path} {token}" for path, token in found.items()
            if path == ATTRIBUTES or path.endswith(f"/{ATTRIBUTES}")
        ]  # fmt: skip
        return "\n".join([*sorted(rules), self._tree.own_rules()]).strip()

    def _take(self, paths: Sequence[str], found: Mapping[str, str], now: int) -> None:
        generated = self._generated(paths)
        rows: list[_Row] = []
        size = done = 0
        for path in paths:
            row, read = self._look(path, found[path], generated.get(path), now)
            rows.append(row)
            size += read
            if size >= BATCH:
                self._keep(rows)
                done, size = done + len(rows), 0
                self._progress(done, len(paths))
                rows = []
        self._keep(rows)
        self._progress(len(paths), len(paths))

    def _generated(self, paths: Sequence[str]) -> dict[str, bool]:
        """Return which files are generated, or are not, by what their attributes say."""
        name = "linguist-generated"
        try:
            said = self._tree.attribute(name, paths)
        except GitmemError as error:
            raise IndexUnusable(f"attributes cannot be read: {error.message}") from error
        return {path: value in ("set", "true") for path, value in said.items()}

    def _look(self, path: str, token: str, generated: bool | None, now: int) -> tuple[_Row, int]:
        """Return a file as it is, and how many bytes were read."""
        nothing = _Row(path, token, None), 0
        if generated or (generated is None and named_as_generated(path)):
            return nothing
        listed = token.removeprefix("=")
        if listed != token and self._has(listed):
            return _Row(path, token, listed), 0
        content = self._tree.read(path, LARGEST)
        if content is None:
            return nothing
        if listed == token:
            token = content.stamp if _when(content.stamp) < now - SETTLED else ""
        blob = object_id("blob", content.data, self._tree.layout.object_format)
        if self._has(blob):
            return _Row(path, token, blob), 0
        text = text_of(content.data)
        if text is None or (generated is None and looks_generated(path, text)):
            return _Row(path, token, None), len(content.data)
        return _Row(path, token, blob, _packed(text)), len(content.data)

    def _has(self, blob: str) -> bool:
        return bool(self._db.value("SELECT 1 FROM blobs WHERE oid=?", (blob,)))

    def _now(self) -> int:
        """Return the time by the clock that stamps files, in ns; 0 where it cannot be asked."""
        try:
            os.utime(self._path)
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

    # -- writing ------------------------------------------------------------------------------

    def _keep(self, rows: Iterable[_Row]) -> None:
        def keep() -> None:
            for row in rows:
                if row.analysed is not None:
                    self._db.execute(
                        "INSERT OR IGNORE INTO blobs VALUES(?,?)", (row.blob, row.analysed)
                    )
                self._put(row)

        self._write(keep)

    def _forget(self, paths: Sequence[bytes]) -> None:
        def forget() -> None:
            for path in paths:
                self._drop(path)
                self._db.execute("DELETE FROM files WHERE path=?", (path,))

        if paths:
            self._write(forget)

    def _put(self, row: _Row) -> None:
        """Replace what is kept of a file, if it is another blob than another process has put."""
        path = encode(row.path)
        had = self._db.rows("SELECT oid FROM files WHERE path=?", (path,))
        if had == [(row.blob,)]:
            self._db.execute("UPDATE files SET token=? WHERE path=?", (row.token, path))
            return
        self._drop(path)
        passages = self._passages(row.blob)
        first = int(self._db.value("SELECT first + many FROM files ORDER BY first DESC") or 1)
        self._write_all(_PUT, first, row.path, passages)
        self._db.execute(
            "INSERT OR REPLACE INTO files VALUES(?,?,?,?,?)",
            (path, row.token, row.blob, first if passages else None, len(passages)),
        )

    def _drop(self, path: bytes) -> None:
        sql = "SELECT oid, first FROM files WHERE path=? AND many > 0"
        for blob, first in self._db.rows(sql, (path,)):
            self._write_all(_DROP, first, decode(path), self._passages(blob))

    def _write_all(
        self, sql: str, first: int, path: str, passages: Sequence[tuple[str, str]]
    ) -> None:
        name = columns(path)
        rows = ((first + at, *name, *texts) for at, texts in enumerate(passages))
        self._db.executemany(sql, rows)
        self._changed += len(passages)

    def _passages(self, blob: str | None) -> Sequence[tuple[str, str]]:
        if blob is None:
            return []
        packed = self._db.value("SELECT passages FROM blobs WHERE oid=?", (blob,))
        if packed is None:  # swept by another process: looked at again next time
            return []
        return [(leaves, beside) for leaves, beside in json.loads(zlib.decompress(packed))]

    def _sweep(self) -> None:
        unused = "FROM blobs WHERE oid NOT IN (SELECT oid FROM files WHERE oid IS NOT NULL)"
        spare = int(self._db.value(f"SELECT count(*) {unused}") or 0)
        if spare > SPARE * int(self._db.value("SELECT count(*) FROM blobs") or 0):
            self._write(lambda: self._db.execute(f"DELETE {unused}"))

    def _write(self, action: Callable[[], None]) -> None:
        """Run something in a transaction.

        Raises:
            _Locked: another process held the lock all the time; what there is can still be read.
        """
        try:
            with self._db.transaction():
                action()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise _Locked from error
            raise

    def _get(self, key: str) -> str:
        return str(self._db.value("SELECT value FROM meta WHERE key=?", (key,)) or "")

    def _set(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))

    # -- searching ------------------------------------------------------------------------------

    def statistics(self, query: Query) -> Statistics:
        """Return what tells how much the words of a query say."""
        documents = int(self._db.value("SELECT sum(many) FROM files") or 0)
        sql = "SELECT count(*) FROM passages WHERE passages MATCH ?"
        sought = query.words[:_LOOKED_UP]
        return Statistics(
            documents, {word: self._db.value(sql, (single(word),)) for word in sought}
        )

    def search(self, query: Query, limit: int) -> list[FileCandidate]:
        """Return the `limit` passages that match best, best first."""
        known = self.statistics(query)
        present = [word for word, often in known.df.items() if often]
        words = sorted(present, key=known.df.__getitem__)[:MOST_WORDS]
        wanted = expression(query, words)
        if wanted is None or limit < 1:
            return []
        rows = self._db.rows(_FIND, (wanted, limit + _MARGIN))
        return list(self._candidates(rows, query, known))[:limit]

    def _candidates(
        self, rows: Iterable[tuple[int, float]], query: Query, known: Statistics
    ) -> Iterator[FileCandidate]:
        texts: dict[str, list[Passage]] = {}
        sql = "SELECT path, oid, first FROM files WHERE first <= ? ORDER BY first DESC LIMIT 1"
        for number, score in rows:
            for found, blob, first in self._db.rows(sql, (number,)):
                path = decode(found)
                if path not in texts:
                    texts[path] = self._cut(path, blob)
                if number - first < len(texts[path]):  # else it has changed since
                    passage = texts[path][number - first]
                    yield _candidate(path, passage, score, query, known)

    def _cut(self, path: str, blob: str) -> list[Passage]:
        """Return the passages of a file; none if it is no longer what was indexed."""
        content = self._tree.read(path, LARGEST)
        format = self._tree.layout.object_format
        if content is None or object_id("blob", content.data, format) != blob:
            return []
        return list(cut(text_of(content.data) or ""))


def _candidate(
    path: str, passage: Passage, score: float, query: Query, known: Statistics
) -> FileCandidate:
    wants = query.wants()
    named = [term.text for term in terms(path) if wants(term.text)]
    lines = [
        [term.text for term in terms(line) if wants(term.text)] for line in passage.text.split("\n")
    ]
    matched: dict[str, int] = {}
    for found in [named, *lines]:
        for term in found:
            matched[term] = matched.get(term, 0) + 1
    rarity = {word: idf(often, known.documents) for word, often in known.df.items()}
    weighed = [sum(rarity.get(term, 1.0) for term in set(found)) for found in lines]
    best = max(range(len(lines)), key=lambda at: (weighed[at], -at))
    words = _words(rarity, matched)
    return FileCandidate(path, passage.line + best, passage.text, score, matched, words)


def _words(rarity: Mapping[str, float], matched: Mapping[str, int]) -> Words:
    """Return how well words are met: a passage stands alone, and is its own surroundings."""
    all = sum(rarity.values()) or 1.0
    cover = sum(value for word, value in rarity.items() if word in matched) / all
    met = sum(value * _saturated(matched.get(word, 0)) for word, value in rarity.items()) / all
    return Words(met, met, met, met, cover)


def _saturated(count: int) -> float:
    return count / (count + K1)


def _packed(text: str) -> bytes:
    analysed = [columns(passage.text) for passage in cut(text)]
    return zlib.compress(json.dumps(analysed, ensure_ascii=False).encode(), 1)


def _when(stamp: str) -> int:
    """Return when a file was last changed in content or in anything else; ns, 0 if unknown."""
    modified, _, rest = stamp.partition(" ")
    return max(int(modified), int(rest.partition(" ")[0])) if stamp else 0


def _require_fts5() -> None:
    try:
        db = sqlite3.connect(":memory:")
        db.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        db.close()
    except sqlite3.OperationalError as error:
        raise IndexUnusable(
            "this Python's SQLite has no FTS5, so files cannot be searched",
            "use a Python whose sqlite3 was built with it; memories are searched without",
        ) from error
