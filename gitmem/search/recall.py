"""Recall: what is told to an agent unasked, so it must be worth its while and is told once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitmem.model import Hit
from gitmem.search.recalled import Recalled
from gitmem.text.query import content_terms

THRESHOLD, BY_WORDS = 0.36, 0.15
"""The least score of what is told, with the model and without: a prompt says much beside what a
memory is about, so a third of what it asks for is a lot.

Of 300 questions about strangers' lives 4 % were told something of this repository's 4,000 texts,
and of 340 questions about it 92 %; at 0.30 it was 33 % and 94 %. By words: 7 % and 83 %; at 0.10,
41 % and 93 %.
"""

IDLE = frozenset(
    "again commit continue correct done fine go good great hello hey hi keep next nice no ok okay"
    " perfect please proceed push redo retry sorry stop sure test thank thanks try undo wait work"
    " works wrong yes 你好 再试 好的 对 是 继续 谢谢".split()
)
"""A prompt of nothing but such words steers the agent, and asks for nothing."""

_IDLE_TERMS = frozenset(term for word in IDLE for term in content_terms(word))

ROOM = 10
"""Hits looked at: some may have been told already."""

LONGEST = 4_000
"""Characters of a prompt that are read: what it is about stands in its beginning."""

WITHIN = ("memories", "sessions")


def asks(prompt: str) -> bool:
    """Whether a prompt is about anything: "What is that for?" and "go on" are not."""
    return not set(content_terms(prompt, alone=False)) <= _IDLE_TERMS


def fresh(folder: Path, session: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the first `limit` hits that were not told in the session lately, and note them."""
    if not session:
        return list(hits[:limit])
    known = {hit.key: hit for hit in hits}
    taken = Recalled(folder / "recalled.json").take(session, list(known), limit)
    return [known[key] for key in taken]
