"""What somebody did to a block, told by three texts: as rendered, as it stands, as it would be now.

Pure. The rendering is the *base*: an item that differs from it was revised, one without
counterpart was added, one that is gone was forgotten. Where the base is not known the present
rendering takes its place, and nothing is forgotten: what is gone may never have been there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitmem.mirror import escape
from gitmem.mirror.contents import Known
from gitmem.mirror.edits import Add, Edit, Forget, Revise, Unattributed
from gitmem.mirror.match import Pairing, pair
from gitmem.mirror.parse import Block, Item, parse_block
from gitmem.mirror.render import render_memory, title
from gitmem.model import KINDS, Importance, Memory

__all__ = [
    "Add", "Base", "Edit", "Forget", "Outcome", "Revise", "Unattributed", "reconcile",
    "revise_data",
]  # fmt: skip

MOST_FORGOTTEN = 5
"""An edit that would forget more, or more than half of at least four, is held."""


@dataclass(frozen=True, slots=True)
class Base:
    """A block as rendered; `ids` maps each short id to (full id, its latest events…)."""

    block: Block
    ids: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The edits of a block; `held` says why they want a person's word first, '' if they do not.

    `arrived` are memories of which a line came from another file: moved, not forgotten there.
    """

    edits: tuple[Edit, ...]
    held: str = ""
    arrived: frozenset[str] = frozenset()


def reconcile(
    edited: Block, base: Base | None, current: Block, known: Known, whole: bool = True
) -> Outcome:
    """Return what was edited.

    Unless the block is `whole` (a marker is missing or doubled) nothing is forgotten.
    """
    return _Reconciliation(base or Base(current), current, known).outcome(
        edited, forgetful=whole and base is not None
    )


class _Reconciliation:
    def __init__(self, base: Base, current: Block, known: Known) -> None:
        self._base = base
        self._current = current
        self._known = known
        own = (*base.block.items, *current.items)
        kinds = dict.fromkeys([*KINDS, *(item.kind for item in own if item.kind)])
        self._defaults = {title(kind): {"kind": kind} for kind in kinds}
        self._defaults |= {title(grade): {"importance": grade.value} for grade in Importance}
        self._kinds = kinds
        shown = {item.id for item in base.block.items}
        recent = (item for item in current.items if item.id not in shown)
        self._recent = {escape.canonical(item.text) for item in recent}
        self._names = {name for item in own for name in item.mentions}

    def outcome(self, edited: Block, forgetful: bool) -> Outcome:
        pairing = pair(edited.items, self._base.block.items, self._elsewhere)
        edits = [edit for old, new in pairing.pairs for edit in self._compare(old, new)]
        for item in pairing.fresh:
            edits += self._add(item)
        forgets = list(self._forgets(pairing)) if forgetful else []
        edits += [Unattributed(stray) for stray in self._strays(edited)]
        arrived = (self._known.resolve(id) for id in pairing.arrived)
        return Outcome(
            edits=(*edits, *forgets),
            held=self._held(len(forgets), edited),
            arrived=frozenset(memory.id for memory in arrived if memory),
        )

    def _elsewhere(self, id: str) -> Item | None:
        """Render a memory that the base lacks: its line was pasted from another file."""
        memory = self._known.resolve(id)
        if memory is None:
            return None
        return parse_block(render_memory(memory, id, self._known.entities(memory.id))).items[0]

    def _now(self, item: Item) -> tuple[Memory | None, tuple[str, ...]]:
        """Return an item's memory as it is now, and the events that its editor saw."""
        full, *seen = self._base.ids.get(item.id or "", [item.id or ""])
        return self._known.resolve(full), tuple(seen)

    def _compare(self, old: Item, new: Item) -> Iterator[Edit]:
        memory, seen = self._now(old)
        same = new.alike(old)
        if memory is None:  # not seen from this branch: what was typed, if anything was, is new
            yield from () if same else self._add(new)
            return
        changes = self._settled(old, new, memory)
        if not same:
            changes |= self._changes(old, new, memory)
        if new.importance not in (None, old.importance, memory.importance):
            changes["importance"] = new.importance
        lost = changes.pop("lost", "")
        if changes:
            yield Revise(memory.id, **changes, seen=seen)
        yield from (Unattributed(text) for text in (lost, *_remarks(old, new)) if text)

    def _changes(self, old: Item, new: Item, memory: Memory) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        text = _with_names(old, new, memory)
        if text.strip() and not escape.alike(text, old.text):
            changes |= _content(old, text, memory)
        if new.kind and new.kind not in (old.kind, memory.kind):
            changes["kind"] = new.kind
        added = tuple(tag for tag in new.tags if tag not in (*old.tags, *memory.tags))
        removed = tuple(tag for tag in old.tags if tag not in new.tags and tag in memory.tags)
        changes |= {"tags_added": added} if added else {}
        return changes | ({"tags_removed": removed} if removed else {})

    def _settled(self, old: Item, new: Item, memory: Memory) -> dict[str, Any]:
        """Return what a contested memory is to be, when the other sides were deleted."""
        if "contested" not in old.annex or new.annex or not memory.contested:
            return {}
        fields = {side.field for side in memory.contested}
        settled: dict[str, Any] = {"kind": memory.kind} if "kind" in fields else {}
        settled |= {"importance": memory.importance.value} if "importance" in fields else {}
        if fields & {"content", "forgotten"}:
            settled |= {"text": memory.text} if memory.data is None else {"data": memory.data}
        return settled

    def _add(self, item: Item) -> Iterator[Edit]:
        """Return the memory that a new item asks for."""
        known = item.kind in self._kinds
        shown_names = self._names if item.id else set()  # a line copied has the names gitmem wrote
        words = [
            word for word in item.run
            if (word[0] == "@" and word[1:] not in shown_names) or word[1:].isdecimal()
        ]  # fmt: skip
        text = " ".join(([] if known else [item.lead]) + [item.text, *words]).strip()
        if not text:
            typed = f"{item.whole}\n{item.annex}".strip()
            yield from [Unattributed(typed)] if typed else []
            return
        if escape.canonical(item.text) in self._recent:
            return  # remembered already: what died between the journal and the file starts again
        default = self._defaults.get(item.heading, {})
        yield Add(
            text=text,
            kind=item.kind if known else default.get("kind"),
            importance=item.importance or default.get("importance"),
            tags=tuple(tag for tag in item.tags if not tag.isdecimal()),
        )
        yield from [Unattributed(item.annex)] if item.annex else []

    def _forgets(self, pairing: Pairing) -> Iterator[Forget]:
        for item in pairing.missing:
            memory, seen = self._now(item)
            if memory is not None and not memory.forgotten:
                yield Forget(memory.id, seen)

    def _strays(self, edited: Block) -> Iterator[str]:
        """Yield what stands between the items and is not gitmem's own."""
        own = {_plain(stray) for stray in (*self._base.block.strays, *self._current.strays)}
        own |= {_plain(f"## {heading}") for heading in self._defaults}
        return (stray for stray in edited.strays if _plain(stray) not in own)

    def _held(self, forgotten: int, edited: Block) -> str:
        shown = len(self._base.block.items)
        if forgotten > MOST_FORGOTTEN or (shown >= 4 and forgotten * 2 > shown):
            return f"would forget {forgotten} of {shown} memories"
        tangled = any(item.tangled for item in edited.items)
        return "has several memories in one item" if tangled else ""


def _plain(stray: str) -> str:
    """Return a stray as it is compared: gitmem's own lines differ in their numbers alone."""
    return re.sub(r"\d[\d,]*", "0", escape.canonical(stray))


def _with_names(old: Item, new: Item, memory: Memory) -> str:
    """Return an item's text with the names typed behind it that are no entity of the memory."""
    body = memory.body.casefold()
    typed = [
        f"@{name}" for name in new.mentions
        if name not in old.mentions and name.replace("_", " ").casefold() not in body
    ]  # fmt: skip
    return " ".join([new.text, *typed]) if typed else new.text


def _content(old: Item, text: str, memory: Memory) -> dict[str, Any]:
    """Return the new ``text`` or ``data``; a text that was shown in part keeps its rest."""
    if "**cut**" in old.annex:
        if not memory.body.startswith(old.text):
            return {"lost": text}
        text += memory.body[len(old.text) :]
    if escape.alike(text, memory.body):
        return {}
    data = revise_data(memory.data, text) if memory.data is not None else None
    return {"text": text} if data is None else {"data": data}


def _remarks(old: Item, new: Item) -> list[str]:
    """Return what was typed where nothing can be: among gitmem's quoted lines, in the comment."""
    remarks = [] if not new.annex or escape.alike(new.annex, old.annex) else [new.annex]
    words = [word for word in new.words if word not in old.words and word not in set(Importance)]
    words = [word for word in words if not re.fullmatch(r"[\d-]+", word)]
    return [*remarks, f"{new.id}: {' '.join(words)}"] if words else remarks


def revise_data(data: Mapping[str, Any], text: str) -> dict[str, Any] | None:
    """Read edited ``key: value`` lines back; None unless they have the same keys in their order."""
    for start in (r"(?m)^", r"(?:\A|\s)"):  # a formatter may have joined the lines
        starts = [re.search(rf"{start}{re.escape(key)}:(?=\s|\Z)", text) for key in data]
        found = [match for match in starts if match]
        if len(found) == len(data) and found == sorted(found, key=lambda match: match.start()):
            ends = [*(match.start() for match in found[1:]), len(text)]
            values = [text[m.end() : end].strip() for m, end in zip(found, ends, strict=True)]
            return _typed(data, values) if not text[: found[0].start()].strip() else None
    return None


def _typed(data: Mapping[str, Any], values: Sequence[str]) -> dict[str, Any] | None:
    """Return values of the types they had; None where one is none, or has a key of its own."""
    revised: dict[str, Any] = {}
    for (key, old), value in zip(data.items(), values, strict=True):
        if isinstance(old, str):
            if re.search(r"(?m)^[\w-]+: ", value) and not escape.alike(value, old):
                return None
            revised[key] = old if escape.alike(value, old) else value
            continue
        try:
            revised[key] = json.loads(value)
        except ValueError:
            return None
    return revised
