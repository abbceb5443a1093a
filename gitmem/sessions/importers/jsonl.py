"""gitmem's own general form: a message a line, of any session, in any order of sessions.

``{"session": …, "id": …, "role": …, "speaker": …, "text": …, "at": …}`` and, on any line of a
session, ``title``, ``parent``, ``cwd``, ``branch``, ``model``, ``started``: what is said first
counts. Only `text` must be there; a key that is not known is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.parts import derived, said, text, title
from gitmem.sessions.model import About, Home, Record, Role, Skipped, Turn

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "agent": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "tool": "tool",
    "function": "tool",
    "summary": "summary",
}
_INSTRUCTIONS = {"system", "developer"}
_ABOUT = ("title", "parent", "cwd", "branch", "model", "started")


class Jsonl:
    """Reads messages in gitmem's general form."""

    agent = "jsonl"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield nothing: no agent keeps its sessions in this form."""
        return ()

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the files of lines."""
        return reading.files(place, "*.jsonl", "*.ndjson")

    def ours(self, about: About, home: Home) -> bool:
        """Return True: what is imported was named."""
        return True

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the sessions of a file; a line without one belongs to that of the file's name."""
        sessions: dict[str, _Session] = {}
        last: _Session | None = None
        for line in reading.records(transcript):
            if isinstance(line, Skipped):
                yield line
                continue
            id = _name(line.get("session")) or transcript.stem
            session = sessions.setdefault(id, _Session(About(self.agent, id)))
            if last and last is not session:
                last.talk.current = False
            last = session
            yield from session.take(line)
        for session in sessions.values():
            yield from session.talk.end()


class _Session:
    """One session, while lines of it pass."""

    def __init__(self, about: About) -> None:
        self.talk = Conversation(about)
        self._lines = 0

    def take(self, line: Mapping[str, Any]) -> Iterator[Record]:
        """Yield what a line says."""
        self._lines += 1
        known = self._learn(line)
        role, speaker = _role(line)
        spoken = said(line.get("text")).strip()
        if role is None:
            yield Skipped("a line of instructions (role 'system' or 'developer')")
        elif spoken:
            yield from self.talk.tell(self._turn(line, role, speaker, spoken))
            if line.get("at") and not reading.utc(line["at"]):
                yield Skipped("an 'at' that is no time (ISO 8601, or seconds since 1970)")
        elif not known:
            yield Skipped("a line without 'text'")

    def _learn(self, line: Mapping[str, Any]) -> bool:
        """Take what a line says of the session; return whether that is anything."""
        known = {name: text(line.get(name)).strip() for name in _ABOUT}
        known["started"] = reading.utc(line.get("started"))
        if known["parent"] == self.talk.about.id:
            known["parent"] = ""
        name = known.pop("title")
        self.talk.name = self.talk.name or name
        self.talk.learn(**known)
        return any(line.get(name) for name in _ABOUT)

    def _turn(
        self, line: Mapping[str, Any], role: Role, speaker: str, spoken: str
    ) -> Iterator[Turn]:
        at = reading.utc(line.get("at"))
        self.talk.learn(started=at)
        id = _name(line.get("id")) or derived(self._lines, role, spoken)
        if role == "user":
            self.talk.prompt = self.talk.prompt or title(spoken)
        yield Turn(id, role, spoken, at, speaker)


def _role(line: Mapping[str, Any]) -> tuple[Role | None, str]:
    """Return the role and the speaker; None for instructions.

    A role that is not known is taken for the name of a person, for nothing said should be lost.
    """
    role, speaker = text(line.get("role")).strip(), text(line.get("speaker")).strip()
    if role.lower() in _INSTRUCTIONS:
        return None, speaker
    known = _ROLES.get(role.lower())
    return (known, speaker) if known else ("user", speaker or role)


def _name(id: object) -> str:
    """Return an id as text: it may be a number."""
    return str(id) if isinstance(id, int) and not isinstance(id, bool) else text(id).strip()


IMPORTER = Jsonl()
