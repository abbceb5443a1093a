"""Which memories a journal has purged, read from one note.

A purge is anchored to the empty tree, in every journal: it is seen from everywhere, git has that
object in every repository, and whoever compares two journals knows by one note what must not come
back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from gitmem.journal.codec import BrokenLine, Event, decode, event_id
from gitmem.journal.git.objects import object_id

if TYPE_CHECKING:
    from gitmem.journal.git.port import Layout
    from gitmem.journal.notes import NotesRef


class About:
    """Whether a line is about one of some memories; a purge is not, for it says nothing of them."""

    def __init__(self, ids: Collection[str] | Mapping[str, Event]) -> None:
        self.ids = frozenset(ids)
        self._names = [id.encode() for id in self.ids]
        self._known: dict[bytes, bool] = {}  # a line stands in every later version of its note

    def __call__(self, line: bytes) -> bool:
        """Whether `line` must go when the memories do."""
        known = self._known.get(line)
        if known is None:
            known = self._known[line] = self._is(line)
        return known

    def _is(self, line: bytes) -> bool:
        if event_id(line) in self.ids:
            return True
        if not any(name in line for name in self._names):
            return False
        try:
            event = decode(line)
        except BrokenLine:
            return False
        return event.op != "purge" and event.memory in self.ids


def anchor(layout: Layout) -> str:
    """Return the object that purges are anchored to."""
    return object_id("tree", b"", layout.object_format)


def purged(
    notes: NotesRef, tip: str | None, heeded: Callable[[Event], bool] | None = None
) -> dict[str, Event]:
    """Return the purges that stand at `tip`, by the id of the memory; `heeded` are those wanted."""
    found: dict[str, Event] = {}
    for line in notes.note(tip, anchor(notes.layout)) if tip else ():
        if b'"op":"purge"' not in line:
            continue
        try:
            event = decode(line)
        except BrokenLine:
            continue
        if event.op != "purge" or not event.understood or not event.memory:
            continue
        if event.memory not in found and (heeded is None or heeded(event)):
            found[event.memory] = event
    return found
