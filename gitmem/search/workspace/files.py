"""The search of the workspace's files, by their words.

A disposable SQLite file. Of each file it keeps the blob id and what `lstat` said, so that what has
not changed is not read, and what was only touched is not analysed. A file is cut into passages;
their terms are those of every other index, and stand in FTS5 as they are. FTS5 keeps no text: the
passages stand beside it, packed, and tell it what to drop when one goes.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import compress, decompress
from zlib import error as zlib_error

from gitmem.errors import GitFailed
from gitmem.journal.git.port import Layout
from gitmem.search.base import IndexUnusable, Words, matches, places
from gitmem.search.database import Database
from gitmem.search.lexical.units import K1, B, idf
from gitmem.search.workspace.worktree import Stamp, Worktree
from gitmem.text.analysis import VERSION, joined
from gitmem.text.query import Query

SHORTEST, LONGEST = 15, 40
"""Lines of a passage: it ends at the first empty line between, or there."""

WIDEST = 8000
"""Characters of a passage, unless its first line has more."""

BATCH = 100
"""Files between two commits: what ^C costs, and how long another process waits."""

SETTLED = 2_000_000_000
"""Nanoseconds after which what `lstat` says is believed: until then a file may be written again
and look the same, for the clocks of file systems are coarse."""

CANDIDATES, ENOUGH = 30, 300
"""Passages that FTS5 puts forward: to be weighed, and where clauses may rule most of them out."""

PATH = 2.0
"""Weight of a word in the path: of 38 questions about this repository, half of which name a module
and half what it says, the mean reciprocal rank of its file was .49 with 0.5, and .57 with 2."""

MOST_WORDS = 48

TYPICAL = 150
"""Terms of a passage of usual length."""

# Terms are told apart by spaces alone: whatever is no separator belongs to one.
_TOKENIZER = "unicode61 remove_diacritics 0 categories ''L* M* N* P* S* Co Cn Cf''"
_STAMP = ", ".join(Stamp._fields)
_SCHEMA = (
    f"CREATE TABLE files(id INTEGER PRIMARY KEY, path BLOB UNIQUE, blob TEXT, {_STAMP})",
    "CREATE TABLE passages(id INTEGER PRIMARY KEY, file INT, line INT, text BLOB)",
    "CREATE INDEX passages_file ON passages(file)",
    f"CREATE VIRTUAL TABLE words USING fts5(text, path, content='', tokenize='{_TOKENIZER}')",
    "CREATE VIRTUAL TABLE frequencies USING fts5vocab(words, 'row')",
)
_FIND = (
    "SELECT files.path, line, passages.text FROM"
    " (SELECT rowid AS at, rank AS score FROM words WHERE words MATCH ?"
    f" AND rank MATCH 'bm25(1.0, {PATH})' ORDER BY rank LIMIT ?)"
    " JOIN passages ON passages.id = at JOIN files ON files.id = file ORDER BY score"
)
_DROP = "INSERT INTO words(words, rowid, text, path) VALUES('delete', ?, ?, ?)"
_NEVER = Stamp(-1, 0, 0, 0, 0)

Progress = Callable[[int, int], None]


class _Busy(Exception):
    """Another process has held the file for longer than one waits."""


class Found(NamedTuple):
    """A passage that fits, from the line on that fits best; the first of the file is 1."""

    path: str
    line: int
    text: str
    words: Words


class Files:
    """The files of one work tree, indexed in the SQLite file at `path`."""

    def __init__(
        self, layout: Layout, path: Path, progress: Progress = lambda done, all: None
    ) -> None:
        self._tree = Worktree(layout)
        self._path = path
        self._progress = progress
        self._remarks: list[str] = []
        try:
            self._db = Database(path, _SCHEMA, 1000 * VERSION + 2, lambda: None)
        except sqlite3.OperationalError as error:  # a SQLite built without FTS5
            raise IndexUnusable(f"files cannot be indexed: {error}") from error

    @property
    def warnings(self) -> list[str]:
        """What was wrong with the file, a line each."""
        return [*self._db.warnings, *self._remarks]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def clear(self) -> None:
        """Forget everything."""
        self._db.renew()

    def catch_up(self) -> int:
        """Index what has changed; returns how many files were looked at.

        Raises:
            IndexUnusable: git cannot list the files, or there is no room for the index.
        """
        try:
            stamps = self._tree.stamps()
            self._remarks = []
            return self._compare(stamps)
        except GitFailed as error:
            raise IndexUnusable(f"files cannot be listed: {error.message}", error.hint) from error
        except _Busy:
            self._remarks = ["another process is indexing the files: some may not be found yet"]
            return 0

    def search(self, query: Query, limit: int) -> list[Found]:
        """Return at most `limit` passages, best first."""
        asked = _asked(query)
        if not asked:
            return []
        clauses = bool(query.required or query.excluded)
        rows = self._rows(_FIND, (" OR ".join(asked), ENOUGH if clauses else CANDIDATES))
        rarity = self._rarity(query)
        found = [
            Found(path, line, text, _weighed(path, text, rarity))
            for path, line, text in rows
            if not clauses or matches(query, _fields(path, text))
        ]
        found.sort(key=lambda one: (-one.words.document, one.path, one.line))
        return [_from_best_line(one, rarity) for one in found[:limit]]

    # -- indexing -----------------------------------------------------------------------------

    def _compare(self, stamps: Mapping[bytes, Stamp]) -> int:
        troubles = len(self._db.warnings)
        rows = self._db.rows(f"SELECT path, {_STAMP} FROM files")
        known = {path: stamp for path, *stamp in rows}
        changed = [path for path, stamp in stamps.items() if known.get(path) != [*stamp]]
        gone = [path for path in known if path not in stamps]
        if changed:
            self._look(changed, stamps)
        if gone:
            self._run(lambda: self._drop(gone))
        if len(self._db.warnings) > troubles:  # made anew on the way: it lacks what it had before
            return self._compare(stamps)
        return len(changed) + len(gone)

    def _look(self, changed: Sequence[bytes], stamps: Mapping[bytes, Stamp]) -> None:
        said = self._tree.marked(changed)
        believed = self._clock() - SETTLED
        for start in range(0, len(changed), BATCH):
            self._progress(start, len(changed))

            def take(some: Sequence[bytes] = changed[start : start + BATCH]) -> None:
                with self._db.transaction():
                    for path in some:
                        stamp = stamps[path]
                        self._take(
                            path, stamp if stamp.changed < believed else _NEVER, said.get(path)
                        )

            self._run(take)
        self._progress(len(changed), len(changed))

    def _clock(self) -> int:
        """Return the time by the clock that stamps files, in ns; 0 where it cannot be asked."""
        try:
            os.utime(self._path)
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

    def _take(self, path: bytes, stamp: Stamp, said: bool | None) -> None:
        had = self._db.rows("SELECT blob FROM files WHERE path=?", (path,))
        content = self._tree.read(path, said)
        if had == [(content.blob,)]:
            changes = ", ".join(f"{name}=?" for name in Stamp._fields)
            self._db.execute(f"UPDATE files SET {changes} WHERE path=?", (*stamp, path))
            return
        self._forget(path)
        sql = f"INSERT INTO files(path, blob, {_STAMP}) VALUES(?,?,?,?,?,?,?)"
        self._db.execute(sql, (path, content.blob, *stamp))
        file = self._db.value("SELECT id FROM files WHERE path=?", (path,))
        self._add(file, path, content.text)

    def _add(self, file: int, path: bytes, text: str) -> None:
        named = joined(_shown(path))
        last = int(self._db.value("SELECT max(id) FROM passages") or 0)
        for number, (line, passage) in enumerate(passages(text), last + 1):
            row = (number, file, line, compress(passage.encode()))
            self._db.execute("INSERT INTO passages VALUES(?,?,?,?)", row)
            words = (number, joined(passage), named)
            self._db.execute("INSERT INTO words(rowid, text, path) VALUES(?,?,?)", words)

    def _drop(self, paths: Sequence[bytes]) -> None:
        with self._db.transaction():
            for path in paths:
                self._forget(path)

    def _forget(self, path: bytes) -> None:
        named = joined(_shown(path))
        for (file,) in self._db.rows("SELECT id FROM files WHERE path=?", (path,)):
            sql = "SELECT id, text FROM passages WHERE file=?"
            for number, packed in self._db.rows(sql, (file,)):
                self._db.execute(_DROP, (number, joined(_unpacked(packed)), named))
            self._db.execute("DELETE FROM passages WHERE file=?", (file,))
            self._db.execute("DELETE FROM files WHERE id=?", (file,))

    def _run(self, action: Callable[[], None]) -> None:
        def patient() -> None:
            try:
                action()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                    raise _Busy from error
                raise

        try:
            self._db.run(patient)
        except sqlite3.Error as error:
            raise IndexUnusable(f"files cannot be indexed: {error}") from error

    # -- searching ----------------------------------------------------------------------------

    def _rows(self, sql: str, args: Sequence[str | int]) -> list[tuple[str, int, str]]:
        try:
            return self._db.rows(sql, args, _read)
        except sqlite3.Error as error:
            raise IndexUnusable(f"files cannot be searched: {error}") from error

    def _rarity(self, query: Query) -> dict[str, float]:
        """Return {word: what it counts for}, of the words that are asked for."""
        words = dict.fromkeys(query.words)
        for clause in (*query.required, *query.prefixes):
            words |= dict.fromkeys(clause.terms)
        sql = "SELECT doc FROM frequencies WHERE term=?"
        count = int(self._db.value("SELECT count(*) FROM passages") or 0)
        return {
            word: idf(int(self._db.value(sql, (word,)) or 0), count)
            for word in list(words)[:MOST_WORDS]
        }


def passages(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number of the first line, text) of each passage; what is only white space is none."""
    lines = text.split("\n")
    start = 0
    while start < len(lines):
        end = _end(lines, start)
        if passage := "\n".join(lines[start:end]).rstrip():
            yield start + 1, passage
        start = end


def _end(lines: Sequence[str], start: int) -> int:
    """Return the number of the line behind a passage."""
    room = WIDEST
    for at in range(start, min(start + LONGEST, len(lines))):
        room -= len(lines[at]) + 1
        if at > start and (room < 0 or (at >= start + SHORTEST and not lines[at].strip())):
            return at
    return min(start + LONGEST, len(lines))


def _asked(query: Query) -> list[str]:
    """Return the terms of a query as FTS5 reads them, each of them quoted."""
    clauses = [*query.required, *query.prefixes]
    words = [*query.words, *(term for clause in clauses for term in clause.terms)]
    begun = [clause.prefix for clause in clauses if clause.prefix]
    quoted = [_quoted(word) for word in dict.fromkeys(words) if word.isprintable()]
    return [*quoted, *(f"{_quoted(prefix)} *" for prefix in begun)][:MOST_WORDS]


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _fields(path: str, text: str) -> dict[str, dict[str, frozenset[int]]]:
    """Return where the terms of a passage stand, by field; it has no tags, no kind, no author."""
    none: dict[str, frozenset[int]] = {}
    nowhere = dict.fromkeys(("entities", "tags", "kind", "author"), none)
    return {**nowhere, "text": dict(places(text)), "paths": dict(places(path))}


def _weighed(path: str, text: str, rarity: Mapping[str, float]) -> Words:
    counts: dict[str, float] = dict(Counter(joined(text).split()))
    for term in joined(path).split():
        counts[term] = counts.get(term, 0.0) + PATH
    best = sum(rarity.values()) or 1.0
    met = {word: counts[word] for word in rarity if word in counts}
    cover = sum(rarity[word] for word in met) / best
    norm = 1 - B + B * sum(counts.values()) / TYPICAL
    score = sum(rarity[word] * met[word] / (met[word] + K1 * norm) for word in met) / best
    return Words(score, score, score, score, cover)


def _from_best_line(found: Found, rarity: Mapping[str, float]) -> Found:
    lines = found.text.split("\n")
    scores = [sum(rarity.get(word, 0.0) for word in {*joined(line).split()}) for line in lines]
    best = scores.index(max(scores))
    return found._replace(line=found.line + best, text="\n".join(lines[best:]))


def _read(path: bytes, line: int, packed: bytes) -> tuple[str, int, str]:
    return os.fsdecode(path), line, _unpacked(packed)


def _unpacked(packed: bytes) -> str:
    try:
        return decompress(packed).decode()
    except zlib_error as error:
        raise ValueError(f"a passage cannot be read: {error}") from error


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "replace")
