"""Export: every event as it stands in the notes, or the living memories as Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from gitmem.errors import UsageError
from gitmem.model import Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import OLDEST, Filter

FORMATS = ("jsonl", "markdown")


def export(catalog: Catalog, format: str, short: Callable[[str], str]) -> Iterator[str]:
    """Yield lines of an export.

    ``jsonl``: ``{"anchor", "event", "journal"}`` a line, where ``event`` is the line of the note as
    text, so that its id survives. ``markdown``: one section a memory.

    Raises:
        UsageError: there is no such format.
    """
    if format == "jsonl":
        return _jsonl(catalog)
    if format == "markdown":
        return _markdown(catalog, short)
    raise UsageError(f"unknown format '{format}'", " or ".join(FORMATS))


def _jsonl(catalog: Catalog) -> Iterator[str]:
    for journal, anchor, line in catalog.placed():
        record = {"anchor": anchor, "event": line.decode("utf-8"), "journal": journal}
        yield json.dumps(record, ensure_ascii=False, sort_keys=True)


def _markdown(catalog: Catalog, short: Callable[[str], str]) -> Iterator[str]:
    for memory in catalog.select(Filter(order=OLDEST)):
        yield from _section(memory, short(memory.id))


def _section(memory: Memory, short_id: str) -> Iterator[str]:
    yield f"## {short_id} {memory.kind}"
    yield ""
    yield from memory.body.split("\n")
    yield ""
    yield f"- importance: {memory.importance}"
    yield f"- remembered: {memory.created} by {memory.author}"
    if memory.branch:
        yield f"- branch: {memory.branch}"
    if memory.tags:
        yield f"- tags: {' '.join('#' + tag for tag in memory.tags)}"
    for link in memory.links:
        yield f"- {link.rel}: {link.target} {link.comment}".rstrip()
    for note in memory.notes:
        yield f"- note: {note.text}"
    yield ""
