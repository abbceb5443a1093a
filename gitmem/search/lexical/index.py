"""The lexical index: Whoosh, in a sealed folder under the git directory.

Whoosh pickles, races with its own commits, and raises anything at all where a file is damaged. The
seal keeps damage away from it and a retry covers the races; what goes wrong nevertheless clears
the index, and it is made again from the journal. Whoosh is imported only to search or to write.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gitmem.errors import GitmemError
from gitmem.search.base import (
    FIELDS,
    Candidate,
    Change,
    Document,
    IndexMoved,
    IndexUnusable,
    Seen,
)
from gitmem.search.lexical.layout import COLUMNS
from gitmem.search.lexical.postings import Postings, postings_of
from gitmem.search.lexical.sealed import PATIENCE, SealedFolder
from gitmem.text import analysis
from gitmem.text.query import Query, parse
from gitmem.text.whoosh import whoosh

MADE = f"lexical 2, analysis {analysis.VERSION}, Whoosh 2.7.4"
"""What wrote an index and may read it; the first number is raised with the schema."""

_ATTEMPTS, _PAUSE = 5, 0.05


class Lexical:
    """An `Index` in `folder`, which is made at the first write. Not for several threads at once.

    `patience` is how long to wait for another process that writes it, in seconds. `warnings` says
    what was wrong with it, a line each.
    """

    def __init__(self, folder: Path, patience: float = PATIENCE) -> None:
        self._folder = SealedFolder(folder, MADE, patience)
        self.warnings: list[str] = []
        self._reader: Any = None
        self._postings: Postings | None = None
        self._signature: tuple[int, int] | None = None

    def seen(self) -> Seen:
        """Return what the index has caught up to; empty where it is missing, old or damaged."""
        with self._failing_as("read"):
            seal = self._folder.seal()
            if seal is None and self._folder.is_damaged():
                self.warnings.append("the lexical index was damaged and is rebuilt")
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

    def search(self, query: str | Query, limit: int, also: Collection[str] = ()) -> list[Candidate]:
        """Return the `limit` best candidates by their words, and `also`: see `Index.search`."""
        parsed = parse(query) if isinstance(query, str) else query
        with self._failing_as("searched"), self._clearing_damage():
            postings = self._current()
            return postings.search(parsed, limit, also) if postings and parsed and limit > 0 else []

    def clear(self) -> None:
        """Delete the index."""
        self.close()
        with self._failing_as("cleared"):
            self._folder.clear()

    def close(self) -> None:
        """Close the files; the next search opens them again."""
        if self._reader is not None:
            self._reader.close()
        self._reader = self._postings = self._signature = None

    def _current(self) -> Postings | None:
        """Open the index as it is now; None where nothing was ever indexed."""
        for attempt in range(_ATTEMPTS):
            signature = self._folder.signature()
            if self._postings is not None and signature == self._signature:
                break
            self.close()
            vacant = self._folder.is_vacant()  # asked first: a writer may begin at any moment
            if self._folder.seal() is None:
                if vacant:
                    return None
                raise IndexUnusable(f"there is no usable lexical index in '{self._folder.path}'")
            try:
                self._reader = _index(self._folder.path).reader()
                self._postings, self._signature = Postings(self._reader), signature
                break
            except Exception:  # another process's commit has just replaced a file, or damage
                if attempt + 1 == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE)
        return self._postings

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
        except GitmemError:
            raise
        except Exception as error:  # Whoosh parses what it finds: it has raised two dozen types
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a seek to nowhere
                raise
            self.close()
            self._folder.spoil()
            message = f"the lexical index was damaged ({type(error).__name__}: {error})"
            raise IndexMoved(message, "it is made again at the next search") from error


# -- Whoosh -----------------------------------------------------------------------------------


class _Token:
    """What Whoosh reads of a token; one is enough, for it keeps none."""

    text: str
    pos: int
    boost = 1.0
    stopped = False


def _analyse(text: str, **_: Any) -> Iterator[_Token]:
    token = _Token()
    for term in analysis.terms(text):
        token.text, token.pos = term.text, term.position
        yield token


@cache
def _schema() -> Any:
    fields = whoosh("fields")
    named = {name: fields.TEXT(analyzer=_analyse) for name in FIELDS}
    column, integers = fields.COLUMN, whoosh("columns").NumericColumn
    for name, code in COLUMNS.items():
        named[name] = column(integers(code))
    return fields.Schema(id=fields.ID(unique=True, stored=True), at=fields.STORED, **named)


def _index(folder: Path, fresh: bool = False) -> Any:
    whoosh("codec.whoosh3")  # else Whoosh imports it by itself, and loudly
    storage = whoosh("filedb.filestore").FileStorage(str(folder))
    index = whoosh("index").FileIndex
    # With a schema given, the pickled one in the index is skipped.
    return (index.create if fresh else index)(storage, schema=_schema())


def _write(folder: Path, changes: Mapping[str, Change], fresh: bool, replace: bool) -> None:
    writing = whoosh("writing")
    # The folder is locked already; Whoosh's own lock outlived a writer that met a full disk.
    writer = _index(folder, fresh).writer(_lk=False)
    try:
        if not (fresh or replace):
            _delete(writer, changes)
        for change in changes.values():
            if isinstance(change, Document):
                fields = {name: change.field(name) for name in FIELDS}
                writer.add_document(id=change.id, at=change.at, **fields, **_place(change))
        writer.commit(mergetype=writing.CLEAR if replace else _merge)
    except BaseException:  # ^C too
        with suppress(Exception):  # its files may not be writable, or closed; all are swept later
            writer.cancel()
        raise


def _place(document: Document) -> dict[str, int]:
    """Return where a document stands in its group, of which 0 is none, and how long it is."""
    group = blake2b(document.group.encode(), digest_size=8).digest() if document.group else b""
    length = sum(1 for _ in analysis.terms(document.text))
    return {
        "group": int.from_bytes(group, "big", signed=True),
        "position": document.position,
        "length": length,
    }


def _delete(writer: Any, ids: Iterable[str]) -> None:
    # Not writer.update_document, which opens every segment anew for each document.
    reader = writer.reader()
    for leaf, offset in reader.leaf_readers():
        for id in ids:
            for number, _ in postings_of(leaf, "id", id):
                writer.delete_document(offset + number)
    reader.close()


def _merge(writer: Any, segments: list[Any]) -> Any:
    """Keep few segments, and few deleted documents: they slow a search and skew its weights."""
    writing = whoosh("writing")
    every = sum(segment.doc_count_all() for segment in segments)
    crowded = writer.deleted_count() * 4 > every
    return (writing.OPTIMIZE if crowded else writing.MERGE_SMALL)(writer, segments)
