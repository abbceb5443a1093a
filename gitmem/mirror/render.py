"""Memories to Markdown: one memory, one bullet.

::

    - **kind** first line of the text #tag @Entity <!-- id importance branch date -->
      further lines
      > **contested** Bob, 2026-11-21: the other text

Text that begins with a code fence starts on the line below the bullet. The quoted lines are
gitmem's: other sides of a contested memory, notes, and how much of a long text was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gitmem.mirror import escape
from gitmem.mirror.document import enclose
from gitmem.model import KINDS, Alternative, Importance, Memory, render_data

LONGEST_ITEM = 4_000
"""Longest text of one memory in a mirror file, in characters; the rest is a `show` away."""

_MOST_LINES = 50
_MOST_QUOTES = 3
_PRESSING = (Importance.CRITICAL, Importance.HIGH)


class Limit(NamedTuple):
    """How much a file may hold: lines, and bytes of UTF-8."""

    lines: int
    bytes: int


LONG_TERM = Limit(200, 20_000)
DAILY = Limit(500, 50_000)


class Section(NamedTuple):
    """Items under a heading; the heading may be empty."""

    title: str
    items: Sequence[str]


def render_memory(memory: Memory, short_id: str, entities: Iterable[str] = ()) -> str:
    """Render one memory as a bullet with its indented lines, without the final newline."""
    body = memory.body
    shown = _cut(body)
    first, *rest = escape.escape(shown).split("\n")
    if escape.opens_fence(first):
        first, rest = "", [first, *rest]
    words = [f"**{escape.escape_word(memory.kind, '*:')}**"]
    words += [escape.guard_tail(first)] if first else []
    words += [f"#{escape.escape_word(tag)}" for tag in memory.tags]
    words += [f"@{escape.escape_word('_'.join(name.split()))}" for name in entities]
    words.append(_comment(memory, short_id))
    text = escape.guard_lines("\n".join(rest)).split("\n") if rest else []
    lines = [*text, *_annex(memory, short_id, len(body) - len(shown))]
    return "\n".join(["- " + " ".join(words), *(f"  {line}" if line else "" for line in lines)])


def block_text(sections: Iterable[Section], more: str = "") -> str:
    """Render sections as a block's text, without its markers; `more` is the line below them."""
    parts = [
        (f"## {section.title}\n\n" if section.title else "") + "\n".join(section.items)
        for section in sections
    ]
    parts += [more] if more else []
    return "\n" + "\n\n".join(parts) + "\n" if parts else ""


def render_block(sections: Iterable[Section], more: str = "") -> str:
    """Render a block with its markers."""
    return enclose(block_text(sections, more))


def render_context(text: str) -> str:
    """Render the active context as a block's text."""
    return f"\n{escape.guard_conflicts(escape.escape(text))}\n" if text else ""


def parse_context(text: str) -> str:
    """Return the active context that a block's text shows."""
    lines = text.split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    return escape.unescape(escape.unguard_conflicts("\n".join(lines)))


def long_term(items: Sequence[tuple[Memory, str]]) -> list[Section]:
    """Group rendered memories: critical, high, then by kind, each in the order given."""
    groups: dict[str, list[str]] = {title(grade): [] for grade in _PRESSING}
    for memory, item in items:
        pressing = memory.importance in _PRESSING
        name = title(memory.importance) if pressing else title(memory.kind)
        groups.setdefault(name, []).append(item)
    return [Section(name, group) for name, group in groups.items() if group]


def title(name: str) -> str:
    """Return the heading of an importance or a kind."""
    return name.capitalize() + ("s" if name in KINDS else "")


def fit(items: Iterable[tuple[Memory, str]], limit: Limit, spent: str) -> list[tuple[Memory, str]]:
    """Return the items that fit in `limit` beside the text `spent` and their headings, in order."""
    lines = limit.lines - spent.count("\n") - 8
    size = limit.bytes - len(spent.encode()) - 200
    headings: set[str] = set()
    chosen = []
    for memory, item in items:
        name = memory.importance if memory.importance in _PRESSING else memory.kind
        heading = 0 if name in headings else 1
        more_lines = item.count("\n") + 1 + 3 * heading
        more_size = len(item.encode()) + 1 + (len(title(name).encode()) + 8) * heading
        if more_lines <= lines and more_size <= size:
            lines, size = lines - more_lines, size - more_size
            headings.add(name)
            chosen.append((memory, item))
    return chosen


@cache
def template(name: str) -> str:
    """Return a file template: the one in the package, or the checkout's."""
    here = Path(__file__).parent
    for folder in (here.parent / "templates", here.parent.parent / "templates"):
        if (path := folder / name).is_file():
            return path.read_text(encoding="utf-8")
    return "{block}\n"


def _comment(memory: Memory, short_id: str) -> str:
    branch = f"{escape.escape_word(memory.branch, '<>')} " if memory.branch else ""
    return f"<!-- {short_id} {memory.importance.value} {branch}{memory.created[:10]} -->"


def _cut(text: str, length: int = LONGEST_ITEM, lines: int = _MOST_LINES) -> str:
    """Return as much of a text as one memory may take of a file."""
    parts = text[:length].split("\n", lines)
    if len(text) <= length and len(parts) <= lines:
        return text
    return "\n".join(parts[:lines]).rstrip()


def _annex(memory: Memory, short_id: str, cut: int) -> list[str]:
    """Return the quoted lines below a memory: few and short, the whole is a `show` away."""
    quotes = []
    if cut:
        quotes.append(f"**cut** {cut:,} more characters: `gitmem show {short_id}`")
    if earlier := memory.notes[:-_MOST_QUOTES]:
        quotes.append(f"**note** {len(earlier):,} earlier: `gitmem show {short_id}`")
    for note in memory.notes[-_MOST_QUOTES:]:
        quotes.append(f"**note** {_who(note.by, note.at)}: {note.text}")
    sides = (_side(side, memory) for side in memory.contested)
    quotes += [f"**contested** {side}" for side in sides if side][:_MOST_QUOTES]
    return [f"> {line}".rstrip() for quote in quotes for line in _quoted(quote)]


def _quoted(quote: str) -> list[str]:
    shown = _cut(quote, 1_000, 12)
    return escape.escape(shown if shown == quote else f"{shown}…").split("\n")


def _who(by: str, at: str) -> str:
    return f"{by.split(' <')[0]}, {at[:10]}"


def _side(side: Alternative, memory: Memory) -> str:
    """Return what one side of a contested field says; '' for the side that is shown."""
    who = _who(side.by, side.at)
    if side.field == "forgotten":
        return f"{who} would forget it"
    if side.field == "content":
        other = render_data(side.value) if isinstance(side.value, Mapping) else str(side.value)
        return f"{who}: {other}" if other != memory.body else ""
    return f"{who}: {side.field} {side.value}" if side.value != getattr(memory, side.field) else ""
