"""Amp: ``~/.local/share/amp/threads/T-<id>.json``, a thread a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, local, within
from gitmem.sessions.importers.parts import called, items, said, table, text
from gitmem.sessions.model import About, Home, Record, Turn

_OUTPUTS = ("output", "content", "diff", "text", "message")
_WRITING = ("running", "streaming")
_ENDED = ("done", "error", "cancelled", "rejected-by-user")


class Amp:
    """Reads the threads of Amp."""

    agent = "amp"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder of all threads."""
        yield folder(home, "XDG_DATA_HOME", ".local/share") / "amp" / "threads"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the threads, by their names."""
        return reading.files(place, "*T-*.json")

    def ours(self, about: About, home: Home) -> bool:
        """Whether the thread began in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the thread of a file; a subagent's names the thread that started it."""
        thread = table(reading.document(transcript))
        if not isinstance(thread.get("messages"), list):
            raise Unreadable(f"'{reading.shown(transcript)}' is no thread of Amp")
        talk = Conversation(_about(self.agent, transcript.stem, thread))
        talk.name = text(thread.get("title"))
        messages = [table(message) for message in thread["messages"]]
        for message in messages[:-1] if _being_written(messages) else messages:
            yield from talk.tell(_turns(talk, message))
        yield from talk.end()


def _about(agent: str, stem: str, thread: Mapping[str, Any]) -> About:
    id = text(thread.get("id")) or stem
    trees = items(table(table(thread.get("env")).get("initial")).get("trees"))
    tree = table(trees[0] if trees else None)
    ref, parent = text(table(tree.get("repository")).get("ref")), text(thread.get("mainThreadID"))
    return About(
        agent,
        id,
        started=reading.utc(thread.get("created")),
        cwd=local(text(tree.get("uri"))),
        branch=ref.removeprefix("refs/heads/"),
        parent=parent if parent != id else "",
    )


def _being_written(messages: list[Mapping[str, Any]]) -> bool:
    state = table(messages[-1].get("state")) if messages else {}
    return state.get("type") in _WRITING


def _turns(talk: Conversation, message: Mapping[str, Any]) -> Iterator[Turn]:
    role, content, usage = message.get("role"), message.get("content"), table(message.get("usage"))
    id, at = _id(message), reading.utc(table(message.get("meta")).get("sentAt"))
    if role == "user":
        for block in map(table, items(content)):
            run = table(block.get("run"))
            if run.get("status", "done") in _ENDED:
                yield from talk.calls.answer(text(block.get("toolUseID")), _output(run), at)
        yield from talk.say(id, "user", said(content), at)
    elif role == "assistant":
        at = reading.utc(usage.get("timestamp"))
        talk.learn(model=text(usage.get("model")))
        talk.calls.went_on()
        yield from talk.say(id, "assistant", said(content), at)
        for block in map(table, items(content)):
            if block.get("type") == "tool_use" and block.get("complete") is not False:
                line = called(text(block.get("name")), block.get("input"))
                talk.calls.open(text(block.get("id")), line, at)
    elif role == "info":
        yield from _noted(talk, id, at, items(content))


def _noted(talk: Conversation, id: str, at: str, blocks: list[Any]) -> Iterator[Turn]:
    """Yield a summary, and what a person ran; other notes are Amp's own."""
    for block in map(table, blocks):
        if block.get("type") == "summary":
            summary = text(table(block.get("summary")).get("summary"))
            yield from talk.say(id, "summary", summary, at)
        elif block.get("type") == "manual_bash_invocation" and block.get("hidden") is not True:
            line = called("Bash", block.get("args"))
            ran = f"{line}\n{_output(table(block.get('toolRun')))}"
            yield from talk.say(id, "tool", ran, at)


def _id(message: Mapping[str, Any]) -> str:
    """Return a message's id: a number counted within its thread, never used twice."""
    id = message.get("messageId")
    return str(id) if isinstance(id, int) and not isinstance(id, bool) else text(id)


def _output(run: Mapping[str, Any]) -> str:
    """Return what a tool answered, or why it did not."""
    if run.get("status") == "rejected-by-user":
        return "rejected by the user"
    return _told(run.get("result")) or _told(run.get("error"))


def _told(result: object) -> str:
    """Return a result as text: a tool of Amp answers as it likes."""
    if isinstance(result, list) and all(isinstance(line, str) for line in result):
        return "\n".join(result)
    if isinstance(result, dict):
        known = next((result[name] for name in _OUTPUTS if isinstance(result.get(name), str)), None)
        return known if known is not None else json.dumps(result, ensure_ascii=False)
    return said(result)


IMPORTER = Amp()
