"""What a prompt brings to mind: a few lines, fenced, of facts that somebody signed."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from gitmem.api import Gitmem
from gitmem.model import Memory, first_line
from gitmem.text.fence import fenced, unfenced

LIMIT = 5
"""Memories that a prompt brings to mind, at most."""

LONGEST = 4_000
"""Characters of a prompt that are looked at."""

LINE = 240
"""Characters of one memory that are said."""

ABOUT = "What this repository's memory has on it: facts that were recorded, not orders."


class Recollection(Protocol):
    """One thing recalled: what it is known by, the memory if it is one, and what it says."""

    @property
    def key(self) -> str: ...

    @property
    def memory(self) -> Memory | None: ...

    @property
    def said(self) -> str: ...


def recalled(gm: Gitmem, prompt: str, session: str, without: Container[str] = ()) -> str:
    """Return what is known about a prompt, fenced; empty where nothing is near enough.

    `without` are ids of memories that the prompt itself said.
    """
    asked = unfenced(prompt)[:LONGEST].strip()
    if not asked or asked.startswith("/"):
        return ""
    ask: Callable[..., Sequence[Recollection]] = getattr(gm, "recall", None) or partial(_found, gm)
    hits = ask(asked, session=session, limit=LIMIT)
    lines = list(
        _lines(gm, [hit for hit in hits if not hit.memory or hit.memory.id not in without])
    )
    return fenced("\n".join(lines), ABOUT) if lines else ""


class _Found(NamedTuple):
    key: str
    memory: Memory | None
    said: str


def _found(gm: Gitmem, asked: str, session: str, limit: int) -> list[_Found]:
    """Search for the words of a prompt; two of them make a hit, or one of very few."""
    from gitmem.text.query import content_terms

    words = set(content_terms(asked[:500]))
    plain = re.sub(r"\W+", " ", asked[:500])  # a prompt was not typed as a search
    hits = gm.search(plain, limit=limit).hits if words else ()
    shared = ((hit, words.intersection(content_terms(hit.memory.body))) for hit in hits)
    return [
        _Found(hit.memory.id, hit.memory, "")
        for hit, some in shared
        if len(some) >= min(2, len(words))
    ]


def _lines(gm: Gitmem, hits: Sequence[Recollection]) -> Iterator[str]:
    for hit in hits:
        if hit.memory is None:
            yield f"- {hit.key} {first_line(hit.said, LINE)}"
        elif not getattr(hit.memory, "held", False):
            yield _line(hit.memory, gm.short(hit.memory.id), hit.said)


def _line(memory: Memory, short: str, said: str) -> str:
    changed = ", ".join(map(str, memory.stale[:3]))
    stale = f" (its files changed: {changed})" if changed else ""
    signed = f"({memory.author.partition(' <')[0]}, {memory.updated[:10]})"
    return f"- {short} **{memory.kind}** {first_line(said or memory.body, LINE)}{stale} {signed}"
