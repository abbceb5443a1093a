"""A source for the catalog, in memory, and what the catalog must make of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.journal.codec import BrokenLine, Event, decode
from gitmem.journal.fold import fold_memory
from gitmem.journal.journals import Place
from gitmem.model import JournalName, Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter

ANCHOR = "a" * 40


@dataclass
class Stack:
    """A source in memory: a pile of places, whose tips say how high it was."""

    places: list[Place] = field(default_factory=list)
    rewritten: str = ""

    def push(self, *lines: bytes | Event, journal: str = "shared", anchor: str = ANCHOR) -> None:
        for line in lines:
            line = line.line if isinstance(line, Event) else line
            self.places.append(Place(JournalName(journal), anchor, line))

    def tips(self) -> dict[str, str]:
        heights = Counter(place.journal.value for place in self.places)
        return {name: f"{height}{self.rewritten}" for name, height in heights.items()}

    def read(self, tips: Mapping[str, str]) -> Iterator[Place]:
        for name in sorted(tips, reverse=True):  # shared before private, as the journals are read
            yield from self._of(name)[: int(tips[name].rstrip("r"))]

    def added(self, old: Mapping[str, str], new: Mapping[str, str]) -> list[Place]:
        if any(tip.count("r") < len(self.rewritten) for tip in old.values()):
            raise KeyError("an old tip is gone")
        since = {name: int(old.get(name, "0").rstrip("r")) for name in new}
        return [place for name in new for place in self._of(name)[since[name] :]]

    def _of(self, name: str) -> list[Place]:
        return [place for place in self.places if place.journal == name]


def from_scratch(places: Iterable[Place]) -> dict[str, Memory]:
    """Fold all lines, memory by memory; a line that also stands in the shared journal is shared."""
    groups: dict[str, dict[str, Event]] = {}
    journals: dict[str, JournalName] = {}
    for place in places:
        try:
            event = decode(place.line)
        except BrokenLine:
            continue
        if journals.get(event.id) is not JournalName.SHARED:
            journals.setdefault(event.id, place.journal)
        if place.journal is JournalName.SHARED:
            journals[event.id] = place.journal
        if event.memory:
            groups.setdefault(event.memory, {})[event.id] = event
    folded = {
        id: fold_memory(list(events.values()), None, journals.get(id, JournalName.SHARED))
        for id, events in groups.items()
    }
    return {id: memory for id, memory in folded.items() if memory is not None}


def stored(catalog: Catalog) -> dict[str, Memory]:
    every = [*catalog.select(Filter()), *catalog.select(Filter(forgotten=True))]
    assert len({memory.id for memory in every}) == len(every)
    return {memory.id: memory for memory in every}


def opened(path: Path | None, source: Stack) -> Catalog:
    catalog = Catalog(path, source)
    catalog.catch_up()
    return catalog


def ask_everything(catalog: Catalog, source: Stack) -> None:
    expected = from_scratch(source.places)
    assert stored(catalog) == expected
    assert {id: catalog.memory(id) for id in expected} == expected
    assert {event.line for event in catalog.events()} == {
        place.line for place in source.places if place.line.startswith(b"{")
    }
    assert len(list(catalog.placed())) == catalog.event_count()
    assert sum(catalog.counts("kind", Filter()).values()) == catalog.count(Filter())
    assert catalog.check() is None
