"""The indexes of memories and rounds together, and how they keep up with what is written.

Documents come from the catalog and from the conversations; they go into the lexical index, and
where there is a model into the token store and into Chroma. Each index records how far it has come
in both, and can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.model import Memory
from gitmem.search.base import LONGEST, Change, Derived, Document, Index, Removed, Seen, catch_up
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.events import Mark

if TYPE_CHECKING:
    from gitmem.search.lexical.index import Lexical
    from gitmem.search.rounds import Rounds
    from gitmem.search.semantic.embedding import Embedder
    from gitmem.search.semantic.late import TokenStore
    from gitmem.search.semantic.vectors import Vectors

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how much; 0 where nobody knows."""

STEP = 500
"""Documents between two words about how indexing goes on."""

MEMORIES, SESSIONS, NAMES = "catalog", "sessions", "entities"
"""What an index has caught up with, as it names them; the names only where they lag behind."""


class Indexes:
    """The derived indexes in one folder.

    Attributes:
        chroma: the URL of a Chroma server; empty where Chroma is embedded.
        progress: told how indexing goes on.
    """

    def __init__(
        self,
        catalog: Catalog,
        rounds: Callable[[], Rounds | None],
        embedder: Callable[[], Embedder | None],
        folder: Path,
        chroma: str = "",
    ) -> None:
        self._catalog = catalog
        self._find_rounds = rounds
        self._rounds: Rounds | None = None
        self._find_embedder = embedder
        self._folder = folder
        self.chroma = chroma
        self.progress: Progress = lambda what, done, all: None

    def over(self, catalog: Catalog) -> Indexes:
        """Return indexes of another catalog's memories, which are scanned, and of no rounds."""
        return Indexes(catalog, lambda: None, lambda: None, self._folder)

    @property
    def persistent(self) -> bool:
        """Whether what is numbered today will be there tomorrow: else no index can keep up."""
        return self._catalog.persistent and (self.rounds is None or self.rounds.persistent)

    @property
    def warnings(self) -> list[str]:
        """What was wrong with files, a line each."""
        opened = [self._rounds, vars(self).get("lexical"), vars(self).get("tokens")]
        return [line for one in opened if one is not None for line in one.warnings]

    @property
    def rounds(self) -> Rounds | None:
        """The rounds of conversations; None where there are none yet."""
        if self._rounds is None:
            self._rounds = self._find_rounds()
        return self._rounds

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors; None where no model is installed."""
        return self._find_embedder()

    @cached_property
    def lexical(self) -> Lexical:
        """The lexical index."""
        from gitmem.search.lexical.index import Lexical

        return Lexical(self._folder / "lexical")

    @cached_property
    def tokens(self) -> TokenStore | None:
        """The token vectors; None where no model is installed."""
        if self.embedder is None:
            return None
        from gitmem.search.semantic.late import TokenStore

        path = self._folder / "tokens.sqlite"
        return TokenStore(path, self.embedder, lambda *done: self.progress("embedding", *done))

    @cached_property
    def vectors(self) -> Vectors | None:
        """The vectors in Chroma; None where no model is installed."""
        if self.embedder is None or self.tokens is None:
            return None
        from gitmem.search.semantic.vectors import Vectors

        return Vectors(self._folder / "vectors", self.tokens, self.chroma)

    def now(self, haste: bool = False) -> Seen:
        """Return what an index has seen that has everything; finds entities first, but in haste.

        spaCy takes a second, so that a prompt just after a memory was written recalled nothing.
        """
        mark = self._catalog.mark()
        seen = {MEMORIES: _noted(mark)}
        if mark != (named := self._catalog.entities_mark()):
            if haste:  # what names one has is indexed again later, with them
                seen[NAMES] = _noted(named)
            else:
                from gitmem.search import naming

                naming.find(self._catalog)
        if self.rounds is not None:
            self.rounds.catch_up()
            seen[SESSIONS] = self.rounds.mark()
        return seen

    def catch_up(self, index: Derived, haste: bool = False, rounds: bool = True) -> int:
        """Give an index what it has not seen; returns how many documents that was.

        In haste, without the entities of what was written since they were last looked for;
        `rounds`: with what was said since.

        Raises:
            IndexUnusable: it can be neither used nor made.
        """
        now, ids = self.now(haste), set[str]()
        now = now if rounds else _without_rounds(now, index.seen())

        def changes(since: Seen) -> Iterator[Change]:
            for change in self._changes(since, rounds):
                ids.add(change.id)
                if not len(ids) % STEP:
                    self.progress("indexing", len(ids), 0)
                yield change

        if not _continues(index.seen(), now):
            index.clear()
        catch_up(index, now, changes)
        return len(ids)

    def hurry(self, index: Derived, most: int, rounds: bool = True) -> None:
        """Give an index what it has not seen, in haste; nothing where that is more than `most`.

        Raises:
            IndexUnusable: it can be neither used nor made.
        """
        if 0 < self.waiting(index, most + 1, rounds) <= most:
            self.catch_up(index, haste=True, rounds=rounds)

    def waiting(self, index: Derived, most: int, rounds: bool = True) -> int:
        """Return how many changes an index in haste has not seen; of many, `most`."""
        seen, now = index.seen(), self.now(haste=True)
        if seen == (now if rounds else _without_rounds(now, seen)):
            return 0
        return sum(1 for _ in islice(self._changes(seen, rounds), most))

    def scan(self) -> Index:
        """Index everything for one question: slow, and as right as the others."""
        from gitmem.search.base import PlainIndex

        index = PlainIndex()
        index.apply(self._changes({}), {}, {})
        return index

    def close(self) -> None:
        """Close every file."""
        for name in ("lexical", "tokens", "vectors"):
            index = vars(self).get(name)
            if index is not None:
                index.close()
        if self._rounds is not None:
            self._rounds.close()

    def clear(self) -> None:
        """Drop what is indexed; the next question makes it anew."""
        every: Sequence[Derived | None] = (self.lexical, self.tokens, self.vectors)
        for index in every:
            if index is not None:
                index.clear()
        if self.rounds is not None:
            self.rounds.clear()

    def _changes(self, since: Seen, rounds: bool = True) -> Iterator[Change]:
        ids, _ = self._catalog.changed_since(_mark(since.get(NAMES, since.get(MEMORIES, ""))))
        for id in ids:
            memory = self._catalog.memory(id)
            alive = memory is not None and not memory.forgotten
            yield self._document(memory) if memory and alive else Removed(id)
        if rounds and self.rounds is not None:
            yield from self.rounds.changes(since.get(SESSIONS, ""))

    def _document(self, memory: Memory) -> Document:
        return Document(
            id=memory.id,
            text="\n".join([memory.body, *(note.text for note in memory.notes)])[:LONGEST],
            kind=memory.kind,
            tags=memory.tags,
            author=memory.author,
            paths=tuple(memory.paths),
            entities=tuple(name for name, _ in self._catalog.entities_of(memory.id)),
            at=memory.created,
            private=memory.private,
        )


def _continues(seen: Seen, now: Seen) -> bool:
    """Whether what an index has seen is of the same files: the numbers of others begin anew."""
    both = seen.keys() & now.keys()
    return all(seen[name].partition(":")[0] == now[name].partition(":")[0] for name in both)


def _without_rounds(now: Seen, seen: Seen) -> Seen:
    """Return what an index has seen that was at `seen` and took in all of `now` but rounds."""
    kept = {SESSIONS: seen[SESSIONS]} if SESSIONS in seen else {}
    return {name: mark for name, mark in now.items() if name != SESSIONS} | kept


def _noted(mark: Mark | None) -> str:
    return f"{mark.epoch}:{mark.changed}" if mark else ""


def _mark(seen: str) -> Mark | None:
    epoch, _, changed = seen.partition(":")
    return Mark(epoch, int(changed)) if changed.isdecimal() else None
