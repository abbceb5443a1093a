"""Droid (Factory): ``~/.factory/sessions/<slug>/<session>.jsonl``, a record a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, within
from gitmem.sessions.importers.parts import called, items, said, table, text
from gitmem.sessions.model import About, Home, Record, Skipped, Turn

_UNTITLED = {"", "New Session"}
_REMINDER = re.compile(r"<system-reminder>.*?(</system-reminder>|\Z)", re.DOTALL)
_EXPANDED = re.compile(r"Contents of .+ \(lines \d+[-–]\d+ of \d+")
"""How the content of a file begins that was named with ``@``."""


class Droid:
    """Reads the sessions of Droid."""

    agent = "droid"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder of all sessions."""
        yield folder(home, "FACTORY_HOME_OVERRIDE", "") / ".factory" / "sessions"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the files of records."""
        return reading.files(place, "*.jsonl")

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session was held in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a file."""
        talk = Conversation(About(self.agent, transcript.stem, model=_model(transcript)))
        for record in reading.records(transcript):
            if isinstance(record, Skipped):
                yield record
            elif record.get("type") == "session_start":
                _head(talk, record)
            else:
                yield from talk.tell(_turns(talk, record))
        yield from talk.end()


def _model(transcript: Path) -> str:
    """Return the model, which Droid keeps in a file beside the transcript."""
    try:
        settings = reading.document(transcript.with_suffix(".settings.json"))
    except Unreadable:
        return ""
    return text(table(settings).get("model"))


def _head(talk: Conversation, record: Mapping[str, Any]) -> None:
    titles = (text(record.get(name)) for name in ("sessionTitle", "title"))
    talk.name = next((title for title in titles if title not in _UNTITLED), talk.name)
    if not talk.told:
        id, parent = text(record.get("id")), text(record.get("callingSessionId"))
        talk.about = replace(talk.about, id=id or talk.about.id)
        talk.learn(cwd=text(record.get("cwd")), parent=parent if parent != talk.about.id else "")


def _turns(talk: Conversation, record: Mapping[str, Any]) -> Iterator[Turn]:
    id, at = text(record.get("id")), reading.utc(record.get("timestamp"))
    message = table(record.get("message"))
    role, content = message.get("role"), message.get("content")
    talk.learn(started=at)
    if record.get("type") == "compaction_state":
        yield from talk.say(id, "summary", text(record.get("summaryText")), at)
    elif record.get("type") != "message" or _injected(message):
        return
    elif role == "assistant":
        talk.calls.went_on()
        yield from talk.say(id, "assistant", said(content), at)
        for block in map(table, items(content)):
            if block.get("type") == "tool_use":
                line = called(text(block.get("name")), block.get("input"))
                talk.calls.open(text(block.get("id")), line, at)
    elif role in ("user", "tool"):
        for block in map(table, items(content)):
            call = text(block.get("tool_use_id")) or text(block.get("toolUseId"))
            yield from talk.calls.answer(call, said(block.get("content")), at)
        yield from talk.say(id, "user", _typed(content) if role == "user" else "", at)


def _injected(message: Mapping[str, Any]) -> bool:
    """Whether a message stands in a person's place, but is Droid's or a hook's."""
    hidden = message.get("hiddenFromUserViews") is True or message.get("isUserVisible") is False
    return hidden or message.get("visibility") == "llm_only" or "hookEventName" in message


def _typed(content: object) -> str:
    """Return what a person typed, without what Droid puts beside it."""
    blocks = content if isinstance(content, list) else [content]
    texts = (_REMINDER.sub("", said([block])).strip() for block in blocks)
    return "\n\n".join(typed for typed in texts if typed and not _EXPANDED.match(typed))


IMPORTER = Droid()
