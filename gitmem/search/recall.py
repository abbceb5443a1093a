"""Recall: what is told to an agent unasked, so it must be worth its while and is told once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitmem.model import Hit, Memory, Said
from gitmem.search.recalled import Recalled

THRESHOLD = 0.5
"""The least score of what is told."""

ROOM = 10
"""Hits looked at: some may have been told already."""

LONGEST = 4_000
"""Characters of a prompt that are read: what it is about stands in its beginning."""

WITHIN = ("memories", "sessions")


def fresh(folder: Path, session: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the first `limit` hits that were not told in the session lately, and note them."""
    if not session:
        return list(hits[:limit])
    known = {_key(hit): hit for hit in hits}
    taken = Recalled(folder / "recalled.json").take(session, list(known), limit)
    return [known[key] for key in taken]


def _key(hit: Hit) -> str:
    match hit.found:
        case Memory(id=id):
            return id
        case Said(session=session, index=index):
            return f"{session}#{index}"
    return ""
