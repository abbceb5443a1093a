"""Windsurf: ``~/.windsurf/transcripts/<trajectory>.jsonl``, a step a line.

Cascade writes them for its hook ``post_cascade_response_with_transcript``; what it keeps of itself
(``~/.codeium/windsurf/cascade``) is encrypted. Steps have neither id nor time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import local, within
from gitmem.sessions.importers.parts import called, derived, said, table, text
from gitmem.sessions.model import About, Home, Record, Role, Skipped, Turn

_SPEAKERS: dict[str, tuple[Role, str]] = {
    "user_input": ("user", "user_response"),
    "planner_response": ("assistant", "response"),
}
"""{type of step: (who speaks, the field of what is said)}."""

_OUTPUTS = ("output", "content", "result", "error")
_WRITTEN = {"new_content", "original_content", "acknowledgement_type"}
_NOTICES = {"ephemeral_message", "system_message", "checkpoint"}


class Windsurf:
    """Reads the transcripts of Windsurf's Cascade."""

    agent = "windsurf"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder of all transcripts."""
        yield home.home / ".windsurf" / "transcripts"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the files of steps."""
        return reading.files(place, "*.jsonl")

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session worked in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a file: it is read twice, first for where it was held."""
        talk = Conversation(About(self.agent, transcript.stem, cwd=_cwd(transcript)))
        for number, step in enumerate(reading.records(transcript)):
            if isinstance(step, Skipped):
                yield step
            else:
                yield from talk.tell(_turns(talk, number, step))
        yield from talk.end()


def _cwd(transcript: Path) -> str:
    """Return where a command was run first, or else the folder of what was looked at first."""
    seen = ""
    for step in reading.records(transcript):
        kind, inner = _opened(step) if not isinstance(step, Skipped) else ("", {})
        if cwd := text(inner.get("cwd")):
            return local(cwd)
        path = local(text(inner.get("path")))
        seen = seen or (path if kind == "list_directory" else os.path.dirname(path))
    return seen


def _opened(step: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the type of a step, and what stands under that name in it."""
    kind = text(step.get("type"))
    return kind, table(step.get(kind))


def _turns(talk: Conversation, number: int, step: Mapping[str, Any]) -> Iterator[Turn]:
    kind, inner = _opened(step)
    at = reading.utc(step.get("timestamp"))
    if kind in _SPEAKERS:
        role, name = _SPEAKERS[kind]
        spoken = said(inner.get(name)).strip()
        yield from talk.say(derived(number, role, spoken), role, spoken, at)
    elif inner and kind not in _NOTICES:
        line, output = _call(kind, inner), _output(inner)
        yield from talk.say(derived(number, "tool", line), "tool", f"{line}\n{output}", at)


def _call(kind: str, inner: Mapping[str, Any]) -> str:
    """Return a step as a call; what was written into a file is in git."""
    asked = {name: inner[name] for name in inner if name not in {*_OUTPUTS, *_WRITTEN}}
    if path := text(asked.get("path")):
        asked["path"] = local(path)
    return called(kind, asked)


def _output(inner: Mapping[str, Any]) -> str:
    return next(filter(None, (said(inner.get(name)) for name in _OUTPUTS)), "")


IMPORTER = Windsurf()
