"""What the tools that write do with an open memory: what they store is cleared of secrets."""

from __future__ import annotations

from typing import NamedTuple

from gitmem.agents.mcp import rows, wording
from gitmem.agents.mcp.asking import kind_of, one, warned
from gitmem.agents.mcp.shapes import Saved
from gitmem.agents.mcp.wording import Answer
from gitmem.api import Gitmem
from gitmem.errors import Refused, UsageError
from gitmem.model import Importance, Memory
from gitmem.text.secrets import redact, without_private

UNNAMED = "mcp"
"""The agent that a memory comes from where the client gives no name."""

NAME = 80
"""Characters of an agent's name that are kept."""


class New(NamedTuple):
    """A memory to be; what is empty is left to gitmem."""

    text: str
    kind: str
    importance: str
    tags: list[str]
    scope: str
    private: bool
    supersedes: list[str]
    expires: str


class Change(NamedTuple):
    """What of a memory changes; what is empty stays as it is."""

    text: str
    note: str
    kind: str
    importance: str
    tags: list[str]
    expires: str


def add(gm: Gitmem, new: New, speaker: str) -> Answer:
    """Store a memory that comes from the agent `speaker`."""
    before, (text, found) = set(gm.warnings), _cleared(new.text)
    memory = gm.remember(
        text,
        kind=kind_of(new.kind),
        importance=new.importance or None,
        tags=new.tags,
        scope=new.scope or None,
        private=new.private,
        supersedes=[one(gm, id).id for id in new.supersedes],
        expires=new.expires or None,
        source={"agent": rows.line(speaker)[:NAME] or UNNAMED},
    )
    return _saved(gm, memory, "remembered", before, found)


def update(gm: Gitmem, id: str, change: Change) -> Answer:
    """Change a memory, and add a note to it."""
    before, memory = set(gm.warnings), one(gm, id)
    text, found = _cleared(change.text) if change.text else ("", ())
    note, more = _cleared(change.note) if change.note.strip() else ("", ())
    if not note or change._replace(note="") != Change("", "", "", "", [], ""):
        memory = gm.update(
            memory.id,
            text or None,
            kind=kind_of(change.kind),
            importance=change.importance or None,
            tags=change.tags or None,
            expires=change.expires or None,
        )
    if note:
        memory = gm.evolve(memory.id, note)
    return _saved(gm, memory, "updated", before, (*found, *more))


def forget(gm: Gitmem, id: str, reason: str, confirm: bool) -> Answer:
    """Take a memory out of sight; a critical one only if that is confirmed."""
    before, memory = set(gm.warnings), one(gm, id)
    if memory.forgotten:
        return _saved(gm, memory, "was forgotten already", before)
    if memory.importance is Importance.CRITICAL and not confirm:
        raise Refused(
            f"'{gm.short(memory.id)}' is critical: {rows.line(memory.summary)}",
            "ask the user; then call again with confirm=true",
        )
    return _saved(gm, gm.forget(memory.id, reason=reason), "forgotten", before)


def _cleared(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what of a text is kept, and the rules that found secrets in it."""
    kept = without_private(text)
    if text.strip() and not kept.strip():
        raise UsageError("all of the text is private", "nothing of it is stored")
    redacted = redact(kept)
    return redacted.text, redacted.found


def _saved(
    gm: Gitmem, memory: Memory, done: str, before: set[str], found: tuple[str, ...] = ()
) -> Answer:
    data = Saved(id=gm.short(memory.id), done=done, summary=rows.line(memory.summary))
    if gm.remark:
        data["remark"] = rows.line(gm.remark)
    if found:
        data["redacted"] = list(dict.fromkeys(found))
    if new := warned(gm, before):
        data["warnings"] = new
    return Answer(wording.saved(data), data)
