"""memsearch: daily files with a block for each turn, ``### HH:MM`` and where it comes from.

Times are local and without a zone; they are taken as UTC.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gitmem.imports.markdown import Page, pages
from gitmem.imports.model import Foreign, Opener
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped

_DAILY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md"
_BLOCK = re.compile(r"^###[ \t]+(\d\d:\d\d)[ \t]*$|^#{1,2}[ \t]", re.MULTILINE)
_ANCHOR = re.compile(r"^[ \t]*<!--[ \t]*(session:.*?)-->[ \t]*\n?", re.MULTILINE)
_FAILED = "- Memory summary unavailable"


class Memsearch:
    """Reads a project's ``.memsearch/memory``, or one daily file."""

    name = "memsearch"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder in each worktree."""
        return (root / ".memsearch" / "memory" for root in home.worktrees)

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory a turn."""
        for page in pages(place, records.files(place, _DAILY)):
            if isinstance(page, Skipped):
                yield page
            else:
                yield from _turns(page)


ORIGINS = {Memsearch.name: Memsearch()}


def _turns(page: Page) -> Iterator[Foreign | Skipped]:
    day = Path(page.name).stem
    heads = list(_BLOCK.finditer(page.text))
    ends = [*(head.start() for head in heads[1:]), len(page.text)]
    for head, end in zip(heads, ends, strict=False):  # without any head there is one end
        if head[1] is None:  # of the day, or of a session
            continue
        block = page.text[head.end() : end]
        anchor = _ANCHOR.search(block)
        text = _ANCHOR.sub("", block).strip()
        if not text or text.startswith(_FAILED):
            yield Skipped("a turn without a summary")
            continue
        named = (
            dict(pair.split(":", 1) for pair in anchor[1].split() if ":" in pair) if anchor else {}
        )
        yield Foreign(
            key=named.get("turn") or f"{day} {head[1]} {_digest(text)}",
            text=text,
            kind="episode",
            at=records.utc(f"{day}T{head[1]}Z"),
            source={name: named[name] for name in ("session", "turn") if named.get(name)},
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
