"""Events as the catalog's table has them, and the memory that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gitmem.journal.codec import Event, decode
from gitmem.journal.fold import fold_memory
from gitmem.model import JournalName, Memory


class Told(NamedTuple):
    """An event, the journal it is in, whether it is seen, and if by whom one does not trust."""

    event: Event
    journal: JournalName
    seen: bool
    doubted: bool


def told_from(memory: str, line: bytes, journal: str, *flags: int) -> tuple[str, Told]:
    """Read a row: a memory's id, and an event of it; ValueError where the row is damaged."""
    return memory, Told(decode(line), JournalName(journal), *map(bool, flags))


def fold_told(id: str, told: Sequence[Told], whole: bool) -> Memory | None:
    """Fold a memory's events by what is seen of it; `whole`: by all there is."""
    seen = {one.event.id for one in told if one.seen or whole}
    if not seen:
        return None
    trusted = None
    if any(one.doubted for one in told):
        trusted = {one.event.id for one in told if not one.doubted}
    journal = next((one.journal for one in told if one.event.id == id), JournalName.SHARED)
    return fold_memory([one.event for one in told], seen, journal, trusted)
