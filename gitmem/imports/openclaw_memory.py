"""OpenClaw: ``MEMORY.md`` of a workspace, and the daily notes in ``memory/``.

An item of a list is one memory, and so is a section of prose. Their times are the date that a file
or an item begins with, at midnight UTC, or at the hour in the heading above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gitmem.imports.markdown import Page, Piece, pages, pieces
from gitmem.imports.model import Foreign, Opener
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)")
_FILE_TIME = re.compile(r"-([0-2]\d)([0-5]\d)$")
_TIME = re.compile(r"\W*([01]?\d|2[0-3]):([0-5]\d)\b")
_DATED = re.compile(r"\W*(\d{4}-\d\d-\d\d)\b")
_HEADER = re.compile(r"\*\*(?:Session Key|Session ID|Source)\*\*:")
"""What a file that a session left begins with."""

_LONG_TERM = ("MEMORY.md", "memory.md")


class OpenclawMemory:
    """Reads a workspace, its ``memory`` folder, or one file."""

    name = "openclaw-memory"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the default agent's workspace."""
        yield home.home / ".openclaw" / "workspace"

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory an item or section."""
        for page in pages(place, _files(place)):
            if isinstance(page, Skipped):
                yield page
            else:
                said = (piece for piece in pieces(page.text) if not _HEADER.match(piece.text))
                yield from (_memory(page, piece) for piece in said)


ORIGINS = {OpenclawMemory.name: OpenclawMemory()}


def _files(place: Path) -> Iterator[Path]:
    """Yield what is memory in a workspace: not what is imported or dreamt, in folders below."""
    if not place.is_dir():
        yield place
    elif place.name == "memory":
        yield from sorted(place.glob("*.md"))
    else:
        there = {path.name for path in place.glob("*.md")}
        yield from (place / name for name in _LONG_TERM if name in there)
        yield from sorted(place.glob("memory/*.md"))


def _memory(page: Page, piece: Piece) -> Foreign:
    name = Path(page.name).stem
    day = _DAY.match(name)
    said = _DATED.match(piece.text) or _DATED.match(piece.heading) or day
    hour = _TIME.match(piece.heading) or (_FILE_TIME.search(name) if day else None)
    time = f"{int(hour[1]):02}:{hour[2]}" if hour else "00:00"
    return Foreign(
        key=f"{Path(page.name).name}#{piece.key}",
        text=piece.said,
        kind="episode" if day else "",
        at=records.utc(f"{said[1]}T{time}Z") if said else page.changed,
    )
