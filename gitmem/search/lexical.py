"""The lexical index: Whoosh, in a sealed folder under the git directory.

Whoosh pickles, races with its own commits, and raises anything at all where a file is damaged. The
seal keeps damage away from it and a retry covers the races; what goes wrong nevertheless clears
the index, and it is made again from the journal. Whoosh is imported only to search or to write.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from gitmem.errors import GitmemError
from gitmem.search.base import (
    FIELDS,
    UNNAMED,
    Candidate,
    Change,
    Document,
    IndexMoved,
    IndexUnusable,
    Seen,
)
from gitmem.search.sealed import SealedFolder
from gitmem.text import analysis
from gitmem.text.query import Clause, Query, parse

MADE = f"lexical 1, analysis {analysis.VERSION}, Whoosh 2.7.4"
"""What wrote an index and may read it; the first number is raised with the schema."""

BOOSTS = {"text": 1.0, "entities": 0.5, "tags": 0.8, "paths": 0.5, "kind": 1.0, "author": 1.0}
"""Weight of a word in each field."""

MOST_WORDS = 48
"""Words of a query that are looked up: the rarest ones say what a pasted log is about."""

_ATTEMPTS, _PAUSE = 5, 0.05


class Lexical:
    """An `Index` in `folder`, which is made at the first write. Not for several threads at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = SealedFolder(folder, MADE)
        self._searcher: Any = None
        self._signature: tuple[int, int] | None = None

    def seen(self) -> Seen:
        """Return what the index has caught up to; empty where it is missing, old or damaged."""
        with self._failing_as("read"):
            seal = self._folder.seal()
            return seal.seen if seal else {}

    def apply(self, changes: Iterable[Change], seen: Seen, since: Seen) -> None:
        """Take in `changes` and record `seen`: see `Index.apply`."""
        with self._failing_as("written"), self._folder.writing() as before:
            if before and before.seen == seen:
                return
            if since and (before is None or before.seen != since):
                raise IndexMoved(f"'{self._folder.path}' is not where the changes start from")
            latest = {change.id: change for change in changes}
            with self._clearing_damage():
                _write(self._folder.path, latest, fresh=before is None, replace=not since)
            self._folder.commit(seen, before)

    def search(self, query: str | Query, limit: int) -> list[Candidate]:
        """Return the `limit` best candidates by BM25, best first; ties go to the newest."""
        parsed = parse(query) if isinstance(query, str) else query
        with self._failing_as("searched"), self._clearing_damage():
            if self._current() and parsed and limit > 0:
                return _search(self._searcher, parsed, limit)
            return []

    def clear(self) -> None:
        """Delete the index."""
        self.close()
        with self._failing_as("cleared"):
            self._folder.clear()

    def close(self) -> None:
        """Close the files; the next search opens them again."""
        if self._searcher is not None:
            self._searcher.close()
        self._searcher = self._signature = None

    def _current(self) -> bool:
        """Open the index as it is now; False where nothing was ever indexed."""
        for attempt in range(_ATTEMPTS):
            signature = self._folder.signature()
            if self._searcher is not None and signature == self._signature:
                return True
            self.close()
            if self._folder.seal() is None:
                if self._folder.can_be_made():
                    return False
                raise IndexUnusable(f"there is no lexical index in '{self._folder.path}'")
            try:
                self._searcher, self._signature = _open(self._folder.path), signature
                return True
            except Exception:  # a file that another process's commit has just replaced: see below
                if attempt + 1 == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE)
        return False

    @contextmanager
    def _failing_as(self, done: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or type(error).__name__
            message = f"the lexical index in '{self._folder.path}' cannot be {done}: {why}"
            raise IndexUnusable(message, "make the folder writable, or remove it") from error

    @contextmanager
    def _clearing_damage(self) -> Iterator[None]:
        try:
            yield
        except (GitmemError, OSError):
            raise
        except Exception as error:  # Whoosh parses what it finds: it has raised two dozen types
            self.close()
            self._folder.spoil()
            message = f"the lexical index was damaged ({type(error).__name__}: {error})"
            raise IndexMoved(message, "it is made again at the next search") from error


# -- Whoosh -----------------------------------------------------------------------------------


class _Token:
    """What Whoosh reads of a token; one is enough, for it keeps none."""

    __slots__ = ("pos", "text")
    boost = 1.0
    stopped = False


def _analyse(text: str, **_: Any) -> Iterator[_Token]:
    token = _Token()
    for term in analysis.terms(text):
        token.text, token.pos = term.text, term.position
        yield token


@cache
def _schema() -> Any:
    from whoosh.fields import ID, STORED, TEXT, Schema

    fields = {name: TEXT(analyzer=_analyse) for name in FIELDS}
    return Schema(id=ID(unique=True, stored=True), at=STORED, **fields)


def _open(folder: Path) -> Any:
    from whoosh.filedb.filestore import FileStorage
    from whoosh.index import FileIndex

    # With a schema given, the pickled one in the index is skipped.
    return FileIndex(FileStorage(str(folder)), schema=_schema()).searcher()


def _write(folder: Path, changes: Mapping[str, Change], fresh: bool, replace: bool) -> None:
    from whoosh.filedb.filestore import FileStorage
    from whoosh.index import FileIndex
    from whoosh.writing import CLEAR

    storage = FileStorage(str(folder))
    make = FileIndex.create if fresh else FileIndex
    writer = make(storage, schema=_schema()).writer(timeout=1, delay=_PAUSE)
    try:
        if not (fresh or replace):
            _delete(writer, changes)
        for change in changes.values():
            if isinstance(change, Document):
                fields = {name: change.field(name) for name in FIELDS}
                writer.add_document(id=change.id, at=change.at, **fields)
        writer.commit(mergetype=CLEAR if replace else _merge)
    except BaseException:  # ^C too: the old index stays, and Whoosh's lock is let go
        with suppress(Exception):  # it may have closed itself
            writer.cancel()
        raise


def _delete(writer: Any, ids: Iterable[str]) -> None:
    # Not update_document, which opens every segment anew for each document.
    with writer.searcher() as searcher:
        for id in ids:
            number = searcher.document_number(id=id)
            if number is not None:
                writer.delete_document(number)


def _merge(writer: Any, segments: list[Any]) -> Any:
    """Keep few segments, and few deleted documents: they slow a search and skew its weights."""
    from whoosh.writing import MERGE_SMALL, OPTIMIZE

    every = sum(segment.doc_count_all() for segment in segments)
    policy = OPTIMIZE if writer.deleted_count() * 4 > every else MERGE_SMALL
    return policy(writer, segments)


def _search(searcher: Any, parsed: Query, limit: int) -> list[Candidate]:
    results = searcher.search(_query(parsed, searcher.reader()), limit=limit)
    hits = [(searcher.stored_fields(number), score) for score, number in results.top_n]
    hits.sort(key=lambda hit: (hit[0]["at"], hit[0]["id"]), reverse=True)
    hits.sort(key=lambda hit: hit[1], reverse=True)
    return [Candidate(stored["id"], score) for stored, score in hits]


def _query(parsed: Query, reader: Any) -> Any:
    from whoosh import query

    words = [
        query.Term(field, word, boost=BOOSTS[field])
        for word in _rarest(parsed.words, reader)
        for field in UNNAMED
        if reader.doc_frequency(field, word)
    ]
    wanted = query.Or([*words, *(_clause(clause) for clause in parsed.prefixes)])
    if parsed.required:
        required = query.And([_clause(clause) for clause in parsed.required])
        both = query.And([required, wanted])
        wanted = both if parsed.needs_word else query.AndMaybe(required, wanted)
    if parsed.excluded:
        wanted = query.AndNot(wanted, query.Or([_clause(clause) for clause in parsed.excluded]))
    return wanted


def _rarest(words: Iterable[str], reader: Any) -> list[str]:
    def frequency(word: str) -> int:
        return sum(reader.doc_frequency(field, word) for field in UNNAMED)

    return sorted(words, key=frequency)[:MOST_WORDS]


def _clause(clause: Clause) -> Any:
    from whoosh import query

    fields = [clause.field] if clause.field else UNNAMED
    one = len(clause.terms) == 1
    found = [
        query.Term(field, clause.terms[0]) if one else query.Phrase(field, list(clause.terms))
        for field in fields
    ]
    if clause.prefix:
        found += [query.Prefix(field, clause.prefix) for field in fields]
    return query.ConstantScoreQuery(query.Or(found)) if clause.field else query.Or(found)
