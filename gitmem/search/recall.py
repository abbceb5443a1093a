"""Recall: what is told to an agent unasked, so it must be worth its while and is told once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitmem.model import Hit
from gitmem.search.recalled import Recalled

THRESHOLD, BY_WORDS = 0.3, 0.1
"""The least score of what is told, with the model and without: a prompt says much beside what a
memory is about, so a third of what it asks for is a lot."""

ROOM = 10
"""Hits looked at: some may have been told already."""

LONGEST = 4_000
"""Characters of a prompt that are read: what it is about stands in its beginning."""

WITHIN = ("memories", "sessions")


def fresh(folder: Path, session: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the first `limit` hits that were not told in the session lately, and note them."""
    if not session:
        return list(hits[:limit])
    known = {hit.key: hit for hit in hits}
    taken = Recalled(folder / "recalled.json").take(session, list(known), limit)
    return [known[key] for key in taken]
