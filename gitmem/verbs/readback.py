"""An export read back: its events join the journals they came from, byte for byte.

The file may be a stranger's: nothing but lines that are events gets into a journal, what is private
stays private, and no line from a file makes a memory that is here unreadable for ever.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitmem.errors import Unreadable
from gitmem.journal.codec import BrokenLine, Event, decode, event_id
from gitmem.journal.journals import Journals
from gitmem.journal.purged import About
from gitmem.model import JournalName
from gitmem.search.catalog.catalog import Catalog
from gitmem.sessions.importers import records
from gitmem.sessions.model import Skipped
from gitmem.verbs.importer import Lines
from gitmem.verbs.imports import MemoryReport

NO_RECORD = 'a line that is no {"anchor", "event", "journal"}'
BROKEN = "a line whose event is broken"
ODD_ANCHOR = "a line with an anchor of another object format"
PURGE = "a purge of a memory that is here"
PURGED = "a line of a memory that was purged here"
STAYS_PRIVATE = "a line that is private here"
OTHERS_OWN = "a memory of another person's own"

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Record:
    """A line of an export: an event, and where its line stands."""

    journal: JournalName
    anchor: str
    event: Event


@dataclass(frozen=True, slots=True)
class Addition:
    """The lines to add, by journal and anchor, and the report of having done so."""

    lines: Lines
    report: MemoryReport


def addition(place: Path, catalog: Catalog, journals: Journals, me: str) -> Addition:
    """Return what an export adds; `me` is whose own memories (scope ``user``) may come.

    Raises:
        Unreadable: no line of it is one of an export.
    """
    skipped: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    here = _Here(catalog, journals, me)
    lines: dict[JournalName, dict[str, list[bytes]]] = {}
    found = new = 0
    for record in _read(place, skipped):
        found += 1
        if here.has(record):
            continue
        if reason := here.objection(record):
            refused[reason] += 1
            continue
        new += 1
        lines.setdefault(record.journal, defaultdict(list))[record.anchor].append(record.event.line)
    if skipped and not found:
        raise Unreadable(f"'{place}' is no export of gitmem", "'gitmem export' writes one")
    unchanged = found - new - refused.total()
    return Addition(lines, MemoryReport(found, new, 0, unchanged, (), dict(skipped + refused)))


def _read(place: Path, skipped: Counter[str]) -> Iterator[Record]:
    for line in records.lines(place):
        if isinstance(line, Skipped):
            skipped[line.reason] += 1
        elif line.strip():
            found = _record(line)
            if isinstance(found, Record):
                yield found
            else:
                skipped[found] += 1


def _record(line: bytes) -> Record | str:
    try:
        value = json.loads(line)
        journal = JournalName(value["journal"])
        anchor, event = value["anchor"], value["event"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return NO_RECORD
    if not isinstance(anchor, str) or not isinstance(event, str):
        return NO_RECORD
    try:
        text = event.encode()
        if b"\n" in text:  # it would be two lines, and the second anything
            return BROKEN
        return Record(journal, anchor, decode(text))
    except (UnicodeEncodeError, BrokenLine):
        return BROKEN


class _Here:
    """What the journals hold already, and what may not come into them."""

    def __init__(self, catalog: Catalog, journals: Journals, me: str) -> None:
        self._journals = journals
        self._me = _address(me)
        self._private = catalog.ids_in(JournalName.PRIVATE) | catalog.ids_in(JournalName.USER)
        self._ids = catalog.ids_in(JournalName.SHARED) | self._private
        self._places = {
            (journal, anchor, event_id(line)) for journal, anchor, line in catalog.placed()
        }
        self._purged = About(catalog.purged(heeded=True))

    def has(self, record: Record) -> bool:
        """Whether a line stands there already, here or earlier in the file."""
        place = record.journal.value, record.anchor, record.event.id
        there = place in self._places
        self._places.add(place)
        return there

    def objection(self, record: Record) -> str:
        """Return why a line may not come in; nothing if it may."""
        event = record.event
        if not self._is_anchor(record):
            return ODD_ANCHOR
        if event.op == "purge" and event.memory in self._ids:
            return PURGE
        if self._purged(event.line):
            return PURGED
        if record.journal is JournalName.SHARED and event.id in self._private:
            return STAYS_PRIVATE
        if record.journal is JournalName.USER and _address(event.by) != self._me:
            return OTHERS_OWN
        return ""

    def _is_anchor(self, record: Record) -> bool:
        journal = self._journals.get(record.journal)
        git = journal.git if journal else self._journals.git
        return len(record.anchor) == git.layout.hex_length and not set(record.anchor) - _HEX


def _address(by: str) -> str:
    return by.rpartition("<")[2].rstrip(">").casefold()
