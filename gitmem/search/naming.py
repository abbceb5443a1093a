"""What memories name: technologies, people, paths. Found at the next question after a write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitmem.errors import NotFound
from gitmem.model import Memory
from gitmem.search.base import LONGEST
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter


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


def find(catalog: Catalog) -> None:
    """Find the entities of the memories that changed, and record them in the catalog."""
    mark = catalog.mark()
    if mark == catalog.entities_mark():
        return
    ids, _ = catalog.changed_since(catalog.entities_mark())
    memories = [memory for id in ids if (memory := catalog.memory(id))]
    living = [memory for memory in memories if not memory.forgotten]
    found: dict[str, list[tuple[str, str]]] = {memory.id: [] for memory in memories}
    if living:
        from gitmem.text.entities import load, prose

        texts = ("\n".join(_said(memory, prose))[:LONGEST] for memory in living)
        for memory, entities in zip(living, load().extract_all(texts), strict=True):
            found[memory.id] = [(entity.name, entity.type) for entity in entities]
    catalog.set_entities(found, mark)


def entities(catalog: Catalog, filter: Filter) -> list[EntityCount]:
    """Return what the memories name, most named first."""
    find(catalog)
    return [EntityCount(*row) for row in catalog.entity_counts(filter)]


def entity(catalog: Catalog, name: str, filter: Filter) -> EntityPage:
    """Return the memories that name an entity, known by any of its names.

    Raises:
        NotFound: no memory names it.
    """
    from gitmem.text.entities import normalise

    find(catalog)
    counts = catalog.entity_counts(filter)
    wanted = {name, normalise(name)}
    folded = {word.casefold() for word in wanted}
    known = next((row for row in counts if row[0] in wanted), None)
    known = known or next((row for row in counts if row[0].casefold() in folded), None)
    if known is None:
        raise NotFound(f"no memory names '{name}'", "'gitmem entities' lists what they name")
    memories = catalog.select(replace(filter, entity=known[0]))
    beside = catalog.entity_counts(filter, beside=known[0])
    related = [EntityCount(*row) for row in beside if row[0] != known[0]]
    return EntityPage(known[0], known[1], memories, related)


def _said(memory: Memory, prose: Callable[[Any], str]) -> Iterator[str]:
    """Yield what a memory says, without the keys of a JSON object: they are the writer's form."""
    yield memory.text if memory.text is not None else prose(memory.data)
    yield from (note.text for note in memory.notes)
