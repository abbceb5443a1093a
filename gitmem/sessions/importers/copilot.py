"""Copilot CLI: ``~/.copilot/session-state/<session>/events.jsonl``, an event a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, within
from gitmem.sessions.importers.parts import called, items, said, table, text
from gitmem.sessions.model import About, Home, Record, Skipped, Turn


class Copilot:
    """Reads the sessions of Copilot CLI."""

    agent = "copilot"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder of all sessions."""
        yield folder(home, "COPILOT_HOME", ".copilot") / "session-state"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the files of events; older releases had one file a session."""
        return reading.files(place, "*.jsonl")

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session began in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a file, and those of its subagents."""
        alone = transcript.name == "events.jsonl"
        log = _Log(About(self.agent, transcript.parent.name if alone else transcript.stem))
        for record in reading.records(transcript):
            if isinstance(record, Skipped):
                yield record
            else:
                yield from log.take(record)
        yield from log.end()


class _Log:
    """The session of one file; events that name the call of a subagent are that subagent's."""

    def __init__(self, about: About) -> None:
        self._main = self._last = Conversation(about)
        self._talks = {"": self._main}

    def take(self, record: Mapping[str, Any]) -> Iterator[Record]:
        """Yield what one event says."""
        kind, data = text(record.get("type")), table(record.get("data"))
        self._head(kind, data)
        talk = self._talk(text(data.get("parentToolCallId")))
        if talk is not self._last:
            self._last.current, self._last = False, talk
        yield from talk.tell(_turns(talk, kind, record))

    def end(self) -> Iterator[Record]:
        """Yield what only the end of a file tells."""
        for talk in self._talks.values():
            yield from talk.end()

    def _talk(self, call: str) -> Conversation:
        if call not in self._talks:
            main = self._main.about
            about = replace(main, id=f"{main.id}/agent-{call}", parent=main.id)
            self._talks[call] = Conversation(about)
        return self._talks[call]

    def _head(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take what events say of the session itself."""
        main, context = self._main, table(data.get("context"))
        if kind == "session.start" and not main.told:
            main.about = replace(main.about, id=text(data.get("sessionId")) or main.about.id)
        elif kind == "session.title_changed":
            main.name = text(data.get("title")) or main.name
        main.learn(
            started=reading.utc(data.get("startTime")),
            cwd=text(context.get("cwd")) or text(context.get("gitRoot")),
            branch=text(context.get("branch")),
            model=text(data.get("newModel")) or text(data.get("model")),
        )


def _turns(talk: Conversation, kind: str, record: Mapping[str, Any]) -> Iterator[Turn]:
    data, at = table(record.get("data")), reading.utc(record.get("timestamp"))
    id, call = text(record.get("id")), text(data.get("toolCallId"))
    if kind == "user.message" and data.get("source") in (None, "", "user"):
        yield from talk.say(id, "user", said(data.get("content")), at)
    elif kind == "assistant.message":
        talk.calls.went_on()
        yield from talk.say(id, "assistant", said(data.get("content")), at)
        for asked in map(table, items(data.get("toolRequests"))):
            line = called(text(asked.get("name")), asked.get("arguments"))
            talk.calls.open(text(asked.get("toolCallId")), line, at)
    elif kind == "tool.execution_start":
        talk.calls.open(call, called(text(data.get("toolName")), data.get("arguments")), at)
    elif kind == "tool.execution_complete":
        yield from talk.calls.answer(call, _output(data), at)
    elif kind == "session.compaction_complete":
        yield from talk.say(id, "summary", text(data.get("summaryContent")), at)


def _output(data: Mapping[str, Any]) -> str:
    """Return what a tool answered to the model, or why it failed."""
    result = table(data.get("result"))
    for name in ("content", "text_result_for_llm", "textResultForLlm", "detailedContent"):
        if output := said(result.get(name)):
            return output
    error = data.get("error")
    return text(table(error).get("message")) or text(error) or text(data.get("result"))


IMPORTER = Copilot()
