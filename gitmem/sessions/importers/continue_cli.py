"""Continue: ``~/.continue/sessions/<session>.json``, a session a file, of the CLI and the editors.

Messages have neither id nor time; when a session was created stands in ``sessions.json`` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, local, within
from gitmem.sessions.importers.parts import called, derived, items, said, table, text
from gitmem.sessions.model import About, Home, Record, Turn

_INDEX = "sessions.json"
_ENDED = ("done", "errored", "canceled")


class Continue:
    """Reads the sessions of Continue."""

    agent = "continue"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder of all sessions."""
        yield folder(home, "CONTINUE_GLOBAL_DIR", ".continue") / "sessions"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the sessions, but not their index."""
        return (path for path in reading.files(place, "*.json") if path.name != _INDEX)

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session was held in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a file."""
        session = table(reading.document(transcript))
        if not isinstance(session.get("history"), list):
            raise Unreadable(f"'{reading.shown(transcript)}' is no session of Continue")
        id = text(session.get("sessionId")) or transcript.stem
        cwd = local(text(session.get("workspaceDirectory")))
        talk = Conversation(About(self.agent, id, started=_created(transcript, id), cwd=cwd))
        talk.name = text(session.get("title"))
        for number, item in _numbered(session["history"]):
            yield from talk.tell(_turns(talk, number, item))
        yield from talk.end()


def _created(transcript: Path, id: str) -> str:
    try:
        index = items(reading.document(transcript.with_name(_INDEX)))
    except Unreadable:
        return ""
    session = next((entry for entry in map(table, index) if entry.get("sessionId") == id), {})
    return reading.utc(session.get("dateCreated"))


def _numbered(history: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the items with their numbers in the session.

    A compaction of the CLI drops all that was said before its summary, which is then the first
    item: its digest in the numbers tells what comes after it from what was dropped.
    """
    summary = text(table(history[0] if history else None).get("conversationSummary"))
    era = f"{derived('after', 'summary', summary)}." if summary else ""
    for place, item in enumerate(map(table, history)):
        yield f"{era}{place}", item


def _turns(talk: Conversation, number: str, item: Mapping[str, Any]) -> Iterator[Turn]:
    message, summary = table(item.get("message")), text(item.get("conversationSummary"))
    role, spoken = message.get("role"), said(message.get("content")).strip()
    if summary:
        yield from talk.say(derived(number, "summary", summary), "summary", summary)
    if spoken == summary.strip():
        spoken = ""
    if role == "user":
        yield from talk.say(derived(number, "user", spoken), "user", spoken)
    elif role == "assistant":
        talk.calls.went_on()
        yield from talk.say(derived(number, "assistant", spoken), "assistant", spoken)
        yield from _called(talk, message, item)
    elif role == "tool":
        yield from talk.calls.answer(text(message.get("toolCallId")), spoken)


def _called(
    talk: Conversation, message: Mapping[str, Any], item: Mapping[str, Any]
) -> Iterator[Turn]:
    """Yield the calls of a message whose answers are kept beside it; hold the others."""
    for call in map(table, items(message.get("toolCalls"))):
        function = table(call.get("function"))
        line = called(text(function.get("name")), function.get("arguments"))
        talk.calls.open(text(call.get("id")), line)
    for state in map(table, items(item.get("toolCallStates"))):
        output = "\n\n".join(
            said(table(part).get("content")) for part in items(state.get("output"))
        )
        if output or state.get("status") in _ENDED:
            yield from talk.calls.answer(text(state.get("toolCallId")), output)


IMPORTER = Continue()
