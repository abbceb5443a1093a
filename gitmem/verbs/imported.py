"""What was imported before: found by tool and key in every journal, seen from here or not.

Events that an import wrote name their source, also those that changed a memory; so what a tool said
last is known, and whether anybody here has said something since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gitmem.journal.codec import Event, decode, printable_name
from gitmem.model import JournalName
from gitmem.search.catalog.catalog import Catalog

SETS = ("text", "data", "kind", "importance")
"""What an import may change later, but for tags, notes and links."""

Fate = Literal["kept", "revised", "forgotten"]


@dataclass(slots=True)
class Imported:
    """A memory that came from a tool, and all that the tool has said of it so far.

    `fields` and `tags` are what it has everywhere, `contents` by branch what holds there alone;
    `notes` are (branch, text).
    """

    root: Event
    journal: JournalName
    anchor: str
    fields: dict[str, Any] = field(default_factory=dict)
    tags: set[str] = field(default_factory=set)
    contents: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: set[tuple[str, str]] = field(default_factory=set)
    links: set[tuple[str, str]] = field(default_factory=set)

    def take(self, event: Event) -> None:
        """Take in what an import wrote."""
        fields = event.fields
        branch = str(fields["source"].get("on") or "")
        content = {name: fields[name] for name in ("text", "data") if name in fields}
        if event.op == "link":
            self.links.add((fields["rel"], fields["target"]))
        elif event.op == "tag":
            self.tags.add(fields["tag"])
        elif event.op == "revise" and event.reason:
            self.notes.add((branch, event.reason))
        elif branch:
            self.contents[branch] = content
        else:
            self.tags |= set(fields.get("tags", ()))
            kept = {name: fields[name] for name in SETS if name in fields}
            for name in ("text", "data") if content else ():
                self.fields.pop(name, None)
            self.fields |= kept

    def has(self, branch: str, fields: Mapping[str, Any]) -> bool:
        """Whether the tool has said this already: a note, or what holds on a branch alone."""
        branch = printable_name(branch)
        if "reason" in fields:
            return (branch, fields["reason"]) in self.notes
        return self.contents.get(branch) == fields


def imported(catalog: Catalog, tool: str) -> dict[str, Imported]:
    """Return {key: memory} of all that was imported from a tool."""
    found: dict[str, Imported] = {}
    later: list[tuple[str, Event]] = []
    for journal, anchor, event in _marked(catalog, tool):
        key = str(event.fields["source"].get("key"))
        if event.op != "remember":
            later.append((key, event))
        elif key not in found:  # of two made at the same time, the elder
            found[key] = Imported(event, JournalName(journal), anchor)
            found[key].take(event)
        elif found[key].root.id == event.id and journal == JournalName.SHARED:
            found[key].journal = JournalName.SHARED
    for key, event in later:
        if key in found and found[key].root.id == event.memory:
            found[key].take(event)
    return found


def is_import(event: Event, tool: str) -> bool:
    """Whether an import from the tool wrote an event."""
    source = event.fields.get("source")
    return isinstance(source, dict) and source.get("import") == tool


def fate(catalog: Catalog, memory: Imported, tool: str) -> Fate:
    """Return what anybody here has done with what was imported."""
    folded = catalog.hidden(memory.root.id)
    if folded is None or folded.forgotten:  # purged, or changed by a later version
        return "forgotten"
    events = (event for event in catalog.events(memory.root.id) if not is_import(event, tool))
    revised = any(event.op == "revise" and set(SETS) & set(event.fields) for event in events)
    return "revised" if revised else "kept"


def _marked(catalog: Catalog, tool: str) -> Iterator[tuple[str, str, Event]]:
    """Yield (journal, anchor, event) of what an import wrote, oldest first."""
    # The line is searched as text first: reading 100,000 lines as JSON would take a second.
    mark = f'"import":"{tool}"'.encode()
    for journal, anchor, line in catalog.placed():
        if mark in line:
            event = decode(line)
            if event.understood and is_import(event, tool):
                yield journal, anchor, event
