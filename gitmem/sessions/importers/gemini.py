"""Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*``, a record a line; older ones one JSON.

A message is written again when its tools have answered: the last writing counts. ``$set`` of all
messages and ``$rewindTo`` change what the model remembers, not what was said: nothing is dropped
for them. A compression sets copies of messages under new ids; only what no record said before, such
as the summary, is taken from there.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, within
from gitmem.sessions.importers.parts import called, items, said, table, text
from gitmem.sessions.model import About, Home, Record, Skipped, Turn

_HOOK = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
_CONTEXT = "<session_context>"
_FILES = "--- Content from referenced files ---"
_SNAPSHOT = "<state_snapshot>"
_THANKS = "Got it. Thanks for the additional context!"
_WORKSPACE = re.compile(rf"{_CONTEXT}.*?Workspace Directories:\*\*\s+- (/[^\n]*)", re.DOTALL)


class Gemini:
    """Reads the sessions of Gemini CLI."""

    agent = "gemini"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the chats of this repository: of folders named by a hash, or that name theirs."""
        base = folder(home, "GEMINI_CLI_HOME", "") / ".gemini" / "tmp"
        for root in home.worktrees:
            yield base / hashlib.sha256(os.fsencode(root)).hexdigest() / "chats"
        for owner in sorted(base.glob("*/.project_root")):
            if within(_project(owner), home):
                yield owner.parent / "chats"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the sessions of both formats."""
        return reading.files(place, "*.jsonl", "*.json")

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session says where it was held, and that is elsewhere: then it is not."""
        return within(about.cwd, home) if about.cwd else True

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a file: lines are read twice, first for what is written again."""
        chat = _Chat(self.agent, transcript)
        last = _last_lines(transcript)
        for number, record in enumerate(_records(transcript)):
            if isinstance(record, Skipped):
                yield record
            elif last.get(text(record.get("id")), number) == number:
                yield from chat.take(record)
        yield from chat.end()


def _records(transcript: Path) -> Iterator[Mapping[str, Any] | Skipped]:
    if transcript.suffix != ".json":
        return reading.records(transcript)
    return iter([table(reading.document(transcript))])


def _last_lines(transcript: Path) -> dict[str, int]:
    """Return {id of a message: the number of the line that wrote it last}."""
    found = {}
    for number, record in enumerate(_records(transcript)):
        if not isinstance(record, Skipped) and (id := text(record.get("id"))):
            found[id] = number
    return found


def _project(owner: Path) -> str:
    """Return the directory that a folder of Gemini's says to belong to, '' if it does not say."""
    try:
        first = next(reading.lines(owner))
    except (Unreadable, StopIteration):
        return ""
    return first.decode(errors="replace").strip() if isinstance(first, bytes) else ""


class _Chat:
    """The session of one file, while its records pass; of what was said it holds digests."""

    def __init__(self, agent: str, transcript: Path) -> None:
        above = transcript.parent
        parent = above.name if above.parent.name == "chats" else ""
        project = (above.parent if parent else above).parent
        about = About(agent, "", cwd=_project(project / ".project_root"), parent=parent)
        self._talk = Conversation(about)
        self._name(transcript.stem)
        self._said: Counter[bytes] = Counter()

    def take(self, record: Mapping[str, Any]) -> Iterator[Record]:
        """Yield what one record says: a message, the header, or what is set."""
        if isinstance(record.get("id"), str):
            yield from self._talk.tell(self._message(record))
            return
        changed = table(record.get("$set"))
        self._head(changed or record)
        for message in map(table, items(record.get("messages"))):
            yield from self._talk.tell(self._message(message))
        for message in self._new(items(changed.get("messages"))):
            yield from self._talk.tell(self._message(message))

    def end(self) -> Iterator[Record]:
        """Yield what only the end of a file tells."""
        return self._talk.end()

    def _name(self, id: str) -> None:
        about = self._talk.about
        id = f"{about.parent}/agent-{id}" if about.parent else id
        self._talk.about = replace(about, id=id)

    def _head(self, fields: Mapping[str, Any]) -> None:
        """Take what the header, or a later change of it, says of the session."""
        self._talk.name = text(fields.get("summary")) or self._talk.name
        id = text(fields.get("sessionId"))
        if id and not self._talk.told:
            self._name(id)
        cwd = next((text(path) for path in items(fields.get("directories"))), "")
        self._talk.learn(started=reading.utc(fields.get("startTime")), cwd=cwd)

    def _new(self, messages: list[Any]) -> Iterator[Mapping[str, Any]]:
        """Yield those that were not said before, under whatever id."""
        here: Counter[bytes] = Counter()
        before = self._said.copy()
        for message in map(table, messages):
            marks = _marks(message)
            here.update(marks)
            if not marks or any(here[mark] > before[mark] for mark in marks):
                yield message

    def _message(self, message: Mapping[str, Any]) -> Iterator[Turn]:
        id, at = text(message.get("id")), reading.utc(message.get("timestamp"))
        spoken = _spoken(message)
        self._said.update(_marks(message))
        if message.get("type") == "user":
            yield from self._answers(message, at)
            if workspace := _WORKSPACE.search(spoken):
                self._talk.learn(cwd=workspace[1].strip())
            elif spoken.startswith(_SNAPSHOT):
                yield from self._talk.say(id, "summary", spoken, at)
            elif not spoken.startswith(_CONTEXT):
                yield from self._talk.say(id, "user", spoken, at)
        elif message.get("type") == "gemini":
            self._talk.learn(model=text(message.get("model")))
            self._talk.calls.went_on()
            spoken = "" if spoken == _THANKS else spoken
            yield from self._talk.say(id, "assistant", spoken, at)
            yield from self._called(message, at)

    def _called(self, message: Mapping[str, Any], at: str) -> Iterator[Turn]:
        for call in _calls(message):
            id, when = text(call.get("id")), reading.utc(call.get("timestamp")) or at
            self._talk.calls.open(id, called(text(call.get("name")), call.get("args")), when)
            if output := _output(call.get("result")) or text(call.get("resultDisplay")):
                yield from self._talk.calls.answer(id, output, when)

    def _answers(self, message: Mapping[str, Any], at: str) -> Iterator[Turn]:
        for part in map(table, items(message.get("content"))):
            id = text(table(part.get("functionResponse")).get("id"))
            yield from self._talk.calls.answer(id, _output([part]), at)


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls of a message, with their answers where Gemini kept them there."""
    kept = [table(call) for call in items(message.get("toolCalls"))]
    asked = (table(part).get("functionCall") for part in items(message.get("content")))
    return kept or [table(call) for call in asked if call]


def _spoken(message: Mapping[str, Any]) -> str:
    """Return what was typed, where Gemini kept that beside what it made of it, or else all."""
    parts = message.get("displayContent") or message.get("content")
    parts = parts if isinstance(parts, list) else [parts]
    typed = takewhile(lambda part: not said([part]).lstrip().startswith(_FILES), parts)
    return _HOOK.sub("", said(list(typed))).strip()


def _output(result: object) -> str:
    """Return what a tool answered, from the response that was given to the model."""
    found = []
    for part in map(table, items(result)):
        response = table(table(part.get("functionResponse")).get("response"))
        for name in ("output", "error"):
            found.append(said(response.get(name)))
    return "\n\n".join(filter(None, found))


def _marks(message: Mapping[str, Any]) -> list[bytes]:
    """Return by what a copy of a message is known: its text, and the ids of its calls."""
    marks = {_spoken(message), *(text(call.get("id")) for call in _calls(message))}
    return [hashlib.sha256(mark.encode()).digest()[:12] for mark in marks if mark]


IMPORTER = Gemini()
