"""What the format says of one memory, with sets and loops, and no thought of speed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitmem.journal.codec import UNDO, Event
from gitmem.journal.fold import FIELDS, NEVER
from gitmem.model import Link, Memory

Sides = set[tuple[str, str, str]]


class Model:
    """One memory: all its events, and what is to be seen of it when only some are visible."""

    def __init__(self, events: Iterable[Event], visible: set[str]) -> None:
        self.all = {event.id: event for event in events}
        self.root = next((e for e in self.all.values() if e.op == "remember"), None)
        self.seen = [e for e in self._in_order() if e.id in visible and e.understood]
        known = [e for e in self.all.values() if e.understood]
        self.gone = (
            self.root is None
            or any(event.op == "purge" for event in known)
            or all(event.op == "forget" for event in self.seen)
        )
        if self.root and self.root not in self.seen:
            self.seen.insert(0, self.root)
        self.heads = {event.id for event in self._maximal(self.seen)}

    def _ancestors(self, event: Event) -> set[str]:
        found: set[str] = set()
        front = [event]
        while front:
            one = front.pop()
            bases = (
                set() if one is self.root else {*one.base, *([self.root.id] if self.root else ())}
            )
            for base in (bases & set(self.all)) - found:
                found.add(base)
                front.append(self.all[base])
        return found

    def _in_order(self) -> list[Event]:
        order: list[Event] = []
        rest = list(self.all.values())
        while rest:
            done = {event.id for event in order}
            ready = [event for event in rest if self._ancestors(event) <= done]
            order.append(min(ready, key=lambda event: (event.at, event.id)))
            rest.remove(order[-1])
        return order

    def _maximal(self, events: list[Event]) -> list[Event]:
        return [e for e in events if not any(e.id in self._ancestors(other) for other in events)]

    def _concurrent(self, one: Event, other: Event) -> bool:
        return one.id not in self._ancestors(other) and other.id not in self._ancestors(one)

    def setters(self, field: str) -> list[tuple[Event, Any]]:
        keys = ("text", "data") if field == "content" else (field,)
        found = []
        for event in self.seen:
            values = [event.fields[key] for key in keys if key in event.fields]
            if event.op in ("remember", "revise") and values:
                found.append((event, values[0]))
        return found

    def value(self, field: str) -> Any:
        values = [value for _, value in self.setters(field)]
        return values[-1] if values else None

    def contested(self) -> Sides:
        sides: Sides = set()
        for field in FIELDS:
            values = {event.id: value for event, value in self.setters(field)}
            last = self._maximal([event for event, _ in self.setters(field)])
            if len({repr(values[event.id]) for event in last}) > 1:
                sides |= {(field, event.id, repr(values[event.id])) for event in last}
        return sides | {("forgotten", event.id, "None") for event in self._beside()[1]}

    def forgotten(self) -> bool:
        return self._beside()[0]

    def _beside(self) -> tuple[bool, list[Event]]:
        switches = [event for event in self.seen if event.op in ("forget", "restore")]
        if not switches or switches[-1].op == "restore":
            return False, []
        revisions = [event for event in self.seen if event.op == "revise"]
        forgets = [event for event in self._maximal(switches) if event.op == "forget"]
        for event in forgets:
            if not any(self._concurrent(event, revision) for revision in revisions):
                return True, []  # its writer knew all that was said
        open_ = [e for e in forgets if not any(e.id in self._ancestors(r) for r in revisions)]
        return False, open_

    def tags(self) -> set[str]:
        tags = set(self.seen[0].fields.get("tags", ()))
        for event in self.seen:
            if event.op == "tag":
                tags.add(event.fields["tag"])
            if event.op == "untag":
                tags.discard(event.fields["tag"])
        return tags

    def links(self) -> set[Link]:
        links: dict[str, Link] = {}
        for event in self.seen:
            if event.op == "link":
                to = event.fields["target"]
                links[to] = Link(event.fields["rel"], to, event.reason)
            if event.op == "unlink":
                links.pop(event.fields["target"], None)
        return set(links.values())

    def notes(self) -> list[str]:
        undone = {e.reason.removeprefix(UNDO) for e in self.seen if e.reason.startswith(UNDO)}
        return [
            event.reason
            for event in self.seen
            if event.op == "revise" and event.reason and event.id not in undone
            if not event.reason.startswith(UNDO) or len(event.reason) < 64
        ]


def agree(memory: Memory | None, model: Model) -> None:
    if model.gone:
        assert memory is None
        return
    assert memory is not None
    content = memory.data if memory.data is not None else memory.text
    assert repr(content) == repr(model.value("content"))
    assert memory.kind == (model.value("kind") or "note")
    assert memory.importance.value == (model.value("importance") or "normal")
    assert (memory.expires or NEVER) == (model.value("expires") or NEVER)
    assert set(memory.tags) == model.tags() and len(memory.tags) == len(model.tags())
    assert set(memory.links) == model.links() and len(memory.links) == len(model.links())
    assert [note.text for note in memory.notes] == model.notes()
    assert memory.forgotten == model.forgotten()
    assert set(memory.heads) == model.heads
    sides = {(side.field, side.event, repr(side.value)) for side in memory.contested}
    assert sides == model.contested() and len(sides) == len(memory.contested)
    assert memory.updated == max(event.at for event in model.seen)
