"""Reading a transcript as a test wants to see it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from gitmem.errors import Unreadable
from gitmem.sessions.importers import importer
from gitmem.sessions.model import About, Home, Record, Skipped, Turn

LETTERS = {"user": "u", "assistant": "a", "tool": "t", "summary": "s"}


def read(agent: str, transcript: Path) -> list[Record]:
    return list(importer(agent).read(transcript))


def abouts(records: Iterable[Record]) -> dict[str, About]:
    """Return what is said of each session, what comes later added to what came first."""
    found: dict[str, About] = {}
    for about in (record for record in records if isinstance(record, About)):
        before = found.setdefault(about.id, about)
        fields = {name: getattr(before, name) or getattr(about, name) for name in About.__slots__}
        found[about.id] = About(**fields)
    return found


def turns(records: Iterable[Record]) -> dict[str, list[Turn]]:
    """Return the turns of each session: each belongs to the `About` before it."""
    found: dict[str, list[Turn]] = {}
    current = ""
    for record in records:
        if isinstance(record, About):
            current = record.id
        elif isinstance(record, Turn):
            found.setdefault(current, []).append(record)
    assert "" not in found, "a turn before any session was named"
    return found


def only(records: Iterable[Record]) -> list[Turn]:
    """Return the turns of the one session there is."""
    (found,) = turns(records).values()
    return found


def told(found: Iterable[Turn]) -> list[tuple[str, str, str]]:
    return [(turn.id, turn.role, turn.text) for turn in found]


def roles(found: Iterable[Turn]) -> str:
    return " ".join(LETTERS[turn.role] for turn in found)


def skipped(records: Iterable[Record]) -> list[str]:
    return [record.reason for record in records if isinstance(record, Skipped)]


def ids(agent: str, transcript: Path) -> set[tuple[str, str]]:
    """Return the sessions and ids of all turns; nothing where nothing can be read."""
    try:
        found = turns(importer(agent).read(transcript))
    except Unreadable:
        return set()
    return {(session, turn.id) for session, said in found.items() for turn in said}


def written(path: Path, *records: object) -> Path:
    """Write records, a line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def at_home(home: Path, *worktrees: Path, environ: Mapping[str, str] | None = None) -> Home:
    return Home(home, worktrees, dict(environ or {}))


def below(agent: str, home: Home) -> list[str]:
    """Return the transcripts in the agent's places, relative to the home directory."""
    reader = importer(agent)
    found = [path for place in reader.places(home) for path in reader.transcripts(place)]
    return [os.path.relpath(path, home.home) for path in found]
