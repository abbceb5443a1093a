"""What each file of the mirror shows: its paths, its template, its block."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from gitmem.mirror import render
from gitmem.mirror.document import Document, as_block, enclose, read
from gitmem.model import Memory

LONG_TERM = "MEMORY.md"
FOLDER = "memory"
CONTEXT = "memory/active-context.md"


class Known(Protocol):
    """What a reconciliation asks of the journal."""

    def resolve(self, prefix: str) -> Memory | None:
        """Return the memory seen here with that id or unique prefix, forgotten ones too."""
        ...

    def entities(self, id: str) -> Sequence[str]:
        """Return the names shown with a memory."""
        ...


class View(Known, Protocol):
    """What the current branch sees, as the files show it."""

    def long_term(self, limit: int) -> tuple[list[Memory], int]:
        """Return memories by importance, then kind, at most `limit`, and how many there are."""
        ...

    def day(self, date: str, limit: int) -> tuple[list[Memory], int]:
        """Return the memories made on a day (``YYYY-MM-DD``), oldest first, and how many."""
        ...

    def context(self) -> Memory | None:
        """Return the working memory."""
        ...

    @property
    def short(self) -> Callable[[str], str]:
        """The shortest unique prefix of an id."""
        ...

    def committed(self, path: str) -> bytes | None:
        """Return a path's content at HEAD."""
        ...


class Rendering(NamedTuple):
    """A block's text, and for each short id in it the full id and the memory's latest events."""

    text: str
    ids: Mapping[str, Sequence[str]]

    @property
    def block(self) -> str:
        """The text between its markers."""
        return enclose(self.text)


def daily(day: str) -> str:
    """Return the path of a day's file."""
    return f"{FOLDER}/{day}.md"


def belongs(path: str) -> bool:
    """Whether the mirror makes a file of that path; other files in the folder are the user's."""
    return path in (LONG_TERM, CONTEXT) or day_of(path) is not None


def contents(path: str, view: View) -> Rendering:
    """Render a file's block from what is seen now."""
    if path == CONTEXT:
        return _context(view.context())
    day = day_of(path)
    limit = render.DAILY if day else render.LONG_TERM
    memories, total = view.day(day, limit.lines) if day else view.long_term(limit.lines)
    shorts = {memory.id: view.short(memory.id) for memory in memories}
    items = (
        (memory, render.render_memory(memory, shorts[memory.id], view.entities(memory.id)))
        for memory in memories
    )
    shown = render.fit(items, limit, template(path))
    sections = [render.Section("", [item for _, item in shown])] if day and shown else []
    more = f"{total - len(shown):,} more: `gitmem list`" if total > len(shown) else ""
    return Rendering(
        render.block_text(sections if day else render.long_term(shown), more),
        {shorts[memory.id]: [memory.id, *memory.heads] for memory, _ in shown},
    )


def read_file(path: str, raw: bytes) -> Document:
    """Read a file of that path. The working memory's may be written whole, without a block.

    Agents do so: what they wrote was taken for the user's, and never told or archived.
    """
    found = read(raw)
    if path != CONTEXT or found.regions or found.problem:
        return found
    heading = template(path).partition("{block}")[0].strip().encode()
    text = raw.removeprefix(b"\xef\xbb\xbf").lstrip().removeprefix(heading).strip()
    start = raw.rindex(text) if text else 0
    return as_block(raw, start, start + len(text)) if text else found


def template(path: str) -> str:
    """Return a new file's text, with ``{block}`` where the block goes."""
    if day := day_of(path):
        return render.template("daily.md").replace("{date}", day)
    return render.template(path.split("/")[-1])


def is_template(path: str, document: Document) -> bool:
    """Whether a file holds nothing of the user's."""
    fresh = read(template(path).replace("{block}", Rendering("", {}).block).encode())
    return document.without_block() == fresh.without_block()


def day_of(path: str) -> str | None:
    """Return the day (``YYYY-MM-DD``) that a file of that path shows; None if it is another."""
    match = re.fullmatch(rf"{FOLDER}/(\d{{4}}-\d\d-\d\d)\.md", path)
    return match[1] if match else None


def _context(memory: Memory | None) -> Rendering:
    if memory is None:
        return Rendering("", {})
    return Rendering(render.render_context(memory.body), {"context": [memory.id, *memory.heads]})
