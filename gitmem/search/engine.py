"""The engine: catch the derived indexes up with the catalog, gather candidates, answer.

Indexing happens here, at the next question after a write, and never in the way of the write.
Ranking is the lexical index's own for now; vectors, files and one ranking over all join here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitmem.errors import NotFound
from gitmem.model import Hit, Memory
from gitmem.search.base import Change, Document, Index, IndexUnusable, Removed, Seen, catch_up
from gitmem.search.catalog import Catalog
from gitmem.search.events import Mark
from gitmem.search.rows import Filter

CANDIDATES = 100
"""Candidates asked of an index for each result wanted when a filter may drop some of them."""

SNIPPET = 200
"""Length of the passage shown with a hit, in characters."""


@dataclass(frozen=True, slots=True)
class EntityCount:
    """An entity, its type, and how many memories name it."""

    name: str
    type: str
    memories: int


@dataclass(frozen=True, slots=True)
class EntityPage:
    """An entity, the memories that name it, newest first, and what they name beside it."""

    name: str
    type: str
    memories: Sequence[Memory]
    related: Sequence[EntityCount]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and which indexes were searched."""

    hits: Sequence[Hit]
    searched: Sequence[str]


class Engine:
    """Search and entities over one catalog; the indexes live in `folder`."""

    def __init__(self, catalog: Catalog, folder: Path) -> None:
        self._catalog = catalog
        self._folder = folder
        self._index: Index | None = None
        self.warnings: list[str] = []

    def over(self, catalog: Catalog) -> Engine:
        """Return an engine over another catalog, whose questions it answers without an index."""
        return Engine(catalog, self._folder)

    def caught_up(self) -> bool:
        """Whether every memory has been looked at for entities, which comes before indexing."""
        return self._catalog.entities_mark() == self._catalog.mark()

    def catch_up(self) -> int:
        """Find entities in new memories and index them; returns how many documents changed.

        Raises:
            IndexUnusable: the index can be neither used nor made.
        """
        self._find_entities()
        index = self._lexical()
        now = self._catalog.mark()
        seen = _mark(index.seen())
        if seen and seen.epoch != now.epoch:  # the catalog was rebuilt: its numbers begin anew
            index.clear()
        ids, _ = self._catalog.changed_since(_mark(index.seen()))
        catch_up(index, {"catalog": f"{now.epoch}:{now.changed}"}, self._changes)
        return len(ids)

    def clear(self) -> None:
        """Drop the index; the next question makes it anew."""
        self._lexical().clear()

    def search(self, query: str, limit: int, filter: Filter) -> SearchResult:
        """Return at most `limit` memories that match and pass the filter."""
        from gitmem.text.query import snippet_of

        index, searched = self._ready()
        found = index.search(query, limit * CANDIDATES)
        allowed = self._allowed([candidate.id for candidate in found], filter)
        best = [candidate for candidate in found if candidate.id in allowed][:limit]
        hits = [
            Hit(allowed[id], score, snippet_of(query, allowed[id].body, SNIPPET))
            for id, score in best
        ]
        return SearchResult(hits, (searched,))

    def entities(self, filter: Filter) -> list[EntityCount]:
        """Return what the memories name, most named first."""
        self._find_entities()
        return [EntityCount(*row) for row in self._catalog.entity_counts(filter)]

    def entity(self, name: str, filter: Filter) -> EntityPage:
        """Return the memories that name an entity, known by any of its names.

        Raises:
            NotFound: no memory names it.
        """
        from gitmem.text.entities import normalise

        self._find_entities()
        counts = self._catalog.entity_counts(filter)
        wanted = {name, normalise(name)}
        folded = {word.casefold() for word in wanted}
        known = next((row for row in counts if row[0] in wanted), None)
        known = known or next((row for row in counts if row[0].casefold() in folded), None)
        if known is None:
            raise NotFound(f"no memory names '{name}'", "'gitmem entities' lists what they name")
        memories = self._catalog.select(replace(filter, entity=known[0]))
        beside = self._catalog.entity_counts(filter, beside=known[0])
        related = [EntityCount(*row) for row in beside if row[0] != known[0]]
        return EntityPage(known[0], known[1], memories, related)

    def _ready(self) -> tuple[Index, str]:
        """Return an index that has every memory, and its name."""
        if (
            self._catalog.persistent
        ):  # else its numbers are this process's, and say nothing to an index
            try:
                self.catch_up()
                return self._lexical(), "lexical"
            except IndexUnusable as error:
                self.warnings.append(f"{error.message}: every memory is read instead")
        return self._scan(), "scan"

    def _lexical(self) -> Index:
        if self._index is None:
            from gitmem.search.lexical import Lexical

            self._index = Lexical(self._folder)
        return self._index

    def _find_entities(self) -> None:
        mark = self._catalog.mark()
        ids, _ = self._catalog.changed_since(self._catalog.entities_mark())
        if mark == self._catalog.entities_mark():
            return
        memories = [memory for id in ids if (memory := self._catalog.memory(id))]
        living = [memory for memory in memories if not memory.forgotten]
        found: dict[str, list[tuple[str, str]]] = {memory.id: [] for memory in memories}
        if living:
            from gitmem.text.entities import load, prose

            texts = ("\n".join(_said(memory, prose)) for memory in living)
            for memory, entities in zip(living, load().extract_all(texts), strict=True):
                found[memory.id] = [(entity.name, entity.type) for entity in entities]
        self._catalog.set_entities(found, mark)

    def _changes(self, since: Seen) -> Iterator[Change]:
        ids, _ = self._catalog.changed_since(_mark(since))
        for id in ids:
            memory = self._catalog.memory(id)
            alive = memory is not None and not memory.forgotten
            yield self._document(memory) if memory and alive else Removed(id)

    def _document(self, memory: Memory) -> Document:
        return Document(
            id=memory.id,
            text="\n".join([memory.body, *(note.text for note in memory.notes)]),
            kind=memory.kind,
            tags=memory.tags,
            author=memory.author,
            paths=tuple(memory.paths),
            entities=tuple(name for name, _ in self._catalog.entities_of(memory.id)),
            at=memory.created,
        )

    def _allowed(self, ids: Sequence[str], filter: Filter) -> dict[str, Memory]:
        """Return the memories of those ids that pass the filter."""
        found: dict[str, Memory] = {}
        for start in range(0, len(ids), 500):  # SQLite's limit on variables
            some = self._catalog.select(replace(filter, ids=tuple(ids[start : start + 500])))
            found |= {memory.id: memory for memory in some}
        return found

    def _scan(self) -> Index:
        """Index every memory for this one question: slow, and as right as the other."""
        from gitmem.search.base import PlainIndex

        index = PlainIndex()
        index.apply(self._changes({}), {}, {})
        return index


def _said(memory: Memory, prose: Callable[[Any], str]) -> Iterator[str]:
    """Yield what a memory says, without the keys of a JSON object: they are the writer's form."""
    yield memory.text if memory.text is not None else prose(memory.data)
    yield from (note.text for note in memory.notes)


def _mark(seen: Seen) -> Mark | None:
    epoch, _, changed = seen.get("catalog", "").partition(":")
    return Mark(epoch, int(changed)) if changed.isdecimal() else None
