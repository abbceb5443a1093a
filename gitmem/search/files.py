"""The search of the workspace's files, by their words.

A disposable SQLite file. Of each file it keeps the blob id and what `lstat` said, so that what has
not changed is not read, and what was only touched is not analysed. A file is cut into passages;
their terms are those of every other index, and stand in FTS5 as they are.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gitmem.journal.git import Layout
from gitmem.search.base import IndexUnusable, Words, matches, places
from gitmem.search.database import Database
from gitmem.search.units import K1, B, idf
from gitmem.search.worktree import Stamp, Worktree
from gitmem.text.analysis import VERSION, terms
from gitmem.text.query import Query

SHORTEST, LONGEST = 15, 40
"""Lines of a passage: it ends at the first empty line between, or there."""

BATCH = 100
"""Files between two commits: what ^C costs, and how long another process waits."""

CANDIDATES, ENOUGH = 30, 300
"""Passages that FTS5 puts forward: to be weighed, and where clauses may rule most of them out."""

PATH = 0.5
"""Weight of a word in the path."""

MOST_WORDS = 48

TYPICAL = 150
"""Terms of a passage of usual length."""

# Terms are told apart by spaces alone: whatever is no separator belongs to one.
_TOKENIZER = "unicode61 remove_diacritics 0 categories ''L* M* N* P* S* Co Cn Cf''"
_SCHEMA = (
    "CREATE TABLE files(id INTEGER PRIMARY KEY, path BLOB UNIQUE, stamp TEXT, blob TEXT)",
    "CREATE TABLE passages(id INTEGER PRIMARY KEY, file INT, line INT, text TEXT)",
    "CREATE INDEX passages_file ON passages(file)",
    f"CREATE VIRTUAL TABLE words USING fts5(text, path, tokenize='{_TOKENIZER}')",
    "CREATE VIRTUAL TABLE frequencies USING fts5vocab(words, 'row')",
)

Progress = Callable[[int, int], None]


class Found(NamedTuple):
    """A passage that fits: `line` is the one that fits best, the first of the file is 1."""

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
        self._progress = progress
        try:
            self._db = Database(path, _SCHEMA, 1000 * VERSION + 1, lambda: None)
        except sqlite3.OperationalError as error:  # a SQLite built without FTS5
            raise IndexUnusable(f"files cannot be indexed: {error}") from error

    @property
    def warnings(self) -> list[str]:
        """What was wrong with the file, a line each."""
        return self._db.warnings

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def clear(self) -> None:
        """Forget everything."""
        self._db.renew()

    def catch_up(self) -> int:
        """Index what has changed; returns how many files that was."""
        now = self._tree.stamps()
        rows = self._db.rows("SELECT path, stamp FROM files")
        known = {os.fsdecode(path): stamp for path, stamp in rows}
        changed = [path for path, stamp in now.items() if known.get(path) != _spelled(stamp)]
        gone = [path for path in known if path not in now]
        for start in range(0, len(changed), BATCH):
            some = changed[start : start + BATCH]
            self._progress(start, len(changed))
            self._run(lambda some=some: self._take(some, now))  # type: ignore[misc]
        if gone:
            self._run(lambda: self._drop(gone))
        return len(changed) + len(gone)

    def search(self, query: Query, limit: int) -> list[Found]:
        """Return at most `limit` passages, best first."""
        asked = _asked(query)
        if not asked:
            return []
        sql = (
            "SELECT files.path, line, passages.text FROM words"
            " JOIN passages ON passages.id = words.rowid JOIN files ON files.id = file"
            f" WHERE words MATCH ? ORDER BY bm25(words, 1.0, {PATH}) LIMIT ?"
        )
        clauses = bool(query.required or query.excluded)
        rows = self._rows(sql, (" OR ".join(asked), ENOUGH if clauses else CANDIDATES))
        rarity = self._rarity(query)
        found = [
            Found(path, line, text, _weighed(path, text, rarity))
            for path, line, text in ((os.fsdecode(row[0]), *row[1:]) for row in rows)
            if not clauses or matches(query, _fields(path, text))
        ]
        found.sort(key=lambda one: (-one.words.document, one.path, one.line))
        return [one._replace(line=one.line + _best_line(one.text, rarity)) for one in found[:limit]]

    # -- indexing -----------------------------------------------------------------------------

    def _take(self, paths: Sequence[str], stamps: Mapping[str, Stamp]) -> None:
        with self._db.transaction():
            for path in paths:
                name = os.fsencode(path)
                had = self._db.rows("SELECT id, blob FROM files WHERE path=?", (name,))
                content = self._tree.read(path)
                if content and had and had[0][1] == content.blob:
                    stamp = (_spelled(stamps[path]), name)
                    self._db.execute("UPDATE files SET stamp=? WHERE path=?", stamp)
                    continue
                self._forget(path)
                if content:
                    row = (name, _spelled(stamps[path]), content.blob)
                    self._db.execute("INSERT INTO files(path, stamp, blob) VALUES(?,?,?)", row)
                    file = self._db.value("SELECT id FROM files WHERE path=?", (name,))
                    self._add(file, path, content.text)

    def _add(self, file: int, path: str, text: str) -> None:
        named = " ".join(term.text for term in terms(path.encode("utf-8", "replace").decode()))
        last = int(self._db.value("SELECT max(id) FROM passages") or 0)
        for number, (line, passage) in enumerate(passages(text), last + 1):
            self._db.execute("INSERT INTO passages VALUES(?,?,?,?)", (number, file, line, passage))
            said = " ".join(term.text for term in terms(passage))
            self._db.execute(
                "INSERT INTO words(rowid, text, path) VALUES(?,?,?)", (number, said, named)
            )

    def _drop(self, paths: Sequence[str]) -> None:
        with self._db.transaction():
            for path in paths:
                self._forget(path)

    def _forget(self, path: str) -> None:
        of, name = "(SELECT id FROM files WHERE path=?)", os.fsencode(path)
        rows = f"SELECT id FROM passages WHERE file IN {of}"
        self._db.execute(f"DELETE FROM words WHERE rowid IN ({rows})", (name,))
        self._db.execute(f"DELETE FROM passages WHERE file IN {of}", (name,))
        self._db.execute("DELETE FROM files WHERE path=?", (name,))

    def _run(self, action: Callable[[], None]) -> None:
        try:
            self._db.run(action)
        except sqlite3.Error as error:
            raise IndexUnusable(f"files cannot be indexed: {error}") from error

    # -- searching ----------------------------------------------------------------------------

    def _rows(self, sql: str, args: Sequence[str | int]) -> list[tuple[bytes, int, str]]:
        try:
            return self._db.rows(sql, args)
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
    lines = text.splitlines()
    start = 0
    while start < len(lines):
        end = min(start + LONGEST, len(lines))
        empty = (at for at in range(start + SHORTEST, end) if not lines[at].strip())
        end = next(empty, end)
        if passage := "\n".join(lines[start:end]).rstrip():
            yield start + 1, passage
        start = end


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
    counts: dict[str, float] = dict(Counter(term.text for term in terms(text)))
    for term in terms(path):
        counts[term.text] = counts.get(term.text, 0.0) + PATH
    best = sum(rarity.values()) or 1.0
    met = {word: counts[word] for word in rarity if word in counts}
    cover = sum(rarity[word] for word in met) / best
    norm = 1 - B + B * sum(counts.values()) / TYPICAL
    score = sum(rarity[word] * met[word] / (met[word] + K1 * norm) for word in met) / best
    return Words(score, score, score, score, cover)


def _best_line(text: str, rarity: Mapping[str, float]) -> int:
    lines = text.splitlines()
    scores = [
        sum(rarity.get(word, 0.0) for word in {term.text for term in terms(line)}) for line in lines
    ]
    return max(range(len(lines)), key=lambda at: scores[at], default=0)


def _spelled(stamp: Stamp) -> str:
    return " ".join(map(str, stamp))
