"""Undo: the event that takes back the last of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.errors import NotFound
from gitmem.journal.codec import UNDO, Event
from gitmem.journal.fold import NEVER, fold_memory
from gitmem.model import Memory
from gitmem.verbs.draft import Draft

_OPPOSITE = {
    "remember": "forget",
    "forget": "restore",
    "restore": "forget",
    "tag": "untag",
    "untag": "tag",
    "link": "unlink",
    "unlink": "link",
}


@dataclass(frozen=True, slots=True)
class Undone:
    """What `undo` took back: the memory as it is now, and the op and id of the event undone."""

    memory: Memory
    op: str
    event: str


def last_of_ones_own(events: Iterable[Event]) -> Event:
    """Return the newest event that can be undone, passing over undos and what they undid.

    Raises:
        NotFound: there is none.
    """
    undone: set[str] = set()
    for event in events:
        if event.undoes:
            undone.add(event.undoes)
        elif event.id not in undone and event.op in ("revise", *_OPPOSITE) and event.understood:
            return event
    raise NotFound("there is nothing of yours to undo", "'gitmem log' shows who wrote what")


def take_back(event: Event, memory: Memory, life: Sequence[Event]) -> Draft:
    """Return the draft that reverses `event`; `life` holds all events of the memory."""
    fields: dict[str, Any] = {"reason": UNDO + event.id}
    if event.op != "revise":
        kept = ("tag", "rel", "target")
        fields |= {key: event.fields[key] for key in kept if key in event.fields}
        return Draft(_OPPOSITE[event.op], memory, fields)
    before = fold_memory(life, visible={other.id for other in life} - {event.id})
    if before is None:
        raise NotFound(f"the memory of '{event.id[:8]}' is not here")
    if "text" in event.fields or "data" in event.fields:
        fields |= {"text": before.text} if before.text is not None else {"data": before.data}
        fields["paths"] = before.paths
    if "kind" in event.fields:
        fields["kind"] = before.kind
    if "importance" in event.fields:
        fields["importance"] = before.importance.value
    if "expires" in event.fields:
        fields["expires"] = before.expires or NEVER
    return Draft("revise", memory, fields)
