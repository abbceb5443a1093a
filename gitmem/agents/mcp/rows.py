"""Memories and rounds as data.

Some clients show their model the data and not the text, so that what somebody wrote is as inert
here as in a fence, and stands beside who wrote it.
"""

from __future__ import annotations

from typing import cast

from gitmem.agents.mcp.shapes import Edge, Found, Remark, Side, Spoken, Whole
from gitmem.api import Gitmem
from gitmem.model import Memory, Said
from gitmem.text.fence import inert

WHOLE = 400
"""Characters up to which a text found is given whole; of a longer one, what matched."""


def safe(text: str) -> str:
    """Return a text that hides nothing and pretends nothing, its paragraphs kept apart."""
    return "\n\n".join(filter(None, map(inert, text.replace("\r\n", "\n").split("\n\n"))))


def line(text: str) -> str:
    """Return a text as one line, inert."""
    return " ".join(inert(text).split())


def found(gm: Gitmem, memory: Memory, text: str, score: float | None = None) -> Found:
    """Return a memory as it stands in a list, with `text` of it."""
    row = Found(
        id=gm.short(memory.id),
        kind=memory.kind,
        importance=memory.importance.value,
        text=safe(text),
        by=line(memory.author.partition(" <")[0]),
        at=memory.updated[:16],
    )
    if memory.tags:
        row["tags"] = [line(tag) for tag in memory.tags]
    if memory.branch:
        row["branch"] = line(memory.branch)
    if memory.expires:
        row["expires"] = memory.expires[:16]
    if memory.stale:
        row["stale"] = [line(str(change)) for change in memory.stale]
    if score is not None:
        row["score"] = round(score, 3)
    for name in ("private", "forgotten", "contested", "held"):
        if getattr(memory, name, False):
            row[name] = True
    return row


def listed(gm: Gitmem, memory: Memory, passage: str = "", score: float | None = None) -> Found:
    """Return a memory in short: whole if it is short, else the passage that matched."""
    if len(memory.body) <= WHOLE:
        return found(gm, memory, memory.body, score)
    row = found(gm, memory, passage or memory.body[:WHOLE], score)
    row["cut"] = True
    return row


def whole(gm: Gitmem, memory: Memory, longest: int) -> Whole:
    """Return all of a memory; of a text longer than that, the beginning."""
    cut = len(memory.body) > longest
    row = cast(Whole, found(gm, memory, memory.body[:longest]))
    row["full_id"] = memory.id
    row["created"] = memory.created[:16]
    row["scope"] = memory.scope.value
    if cut:
        row["cut"] = True
    if memory.links:
        row["links"] = [_edge(link.rel, link.target, link.comment) for link in memory.links]
    if memory.notes:
        row["notes"] = [
            Remark(text=safe(note.text), by=line(note.by.partition(" <")[0]), at=note.at[:16])
            for note in memory.notes
        ]
    if memory.contested:
        row["sides"] = _sides(memory)
    if memory.source:
        row["source"] = {line(str(key)): line(str(said)) for key, said in memory.source.items()}
    if memory.paths:
        row["paths"] = [line(path) for path in memory.paths]
    return row


def _edge(rel: str, target: str, comment: str) -> Edge:
    edge = Edge(rel=line(rel), target=line(target))
    if comment:
        edge["comment"] = line(comment)
    return edge


def _sides(memory: Memory) -> list[Side]:
    return [
        Side(
            field=side.field,
            value=None if side.value is None else safe(str(side.value)),
            by=line(side.by.partition(" <")[0]),
            at=side.at[:16],
        )
        for side in memory.contested
    ]


def spoken(said: Said, text: str, cut: bool = False, score: float | None = None) -> Spoken:
    """Return a round, with `text` of it."""
    row = Spoken(id=f"{line(said.session)}#{said.index}", role=said.role, text=safe(text))
    if said.speaker:
        row["speaker"] = line(said.speaker)
    if said.at:
        row["at"] = said.at[:16]
    if said.title:
        row["title"] = line(said.title)
    if said.branch:
        row["branch"] = line(said.branch)
    if score is not None:
        row["score"] = round(score, 3)
    if cut:
        row["cut"] = True
    return row


def heard(said: Said, passage: str, score: float) -> Spoken:
    """Return a round in short: whole if it is short, else the passage that matched."""
    short = len(said.text) <= WHOLE
    return spoken(said, said.text if short else passage, not short, score)
