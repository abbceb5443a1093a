"""Letta: agent files (``.af``), one JSON of agents and what they hold of their conversations.

The server keeps what was said; a file is an export of it, with ids that count anew in each. So a
message is known by its time and text, and an agent by the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.parts import called, derived, items, said, table, text, unpacked
from gitmem.sessions.model import About, Home, Record, Role, Turn

_COUNTED = re.compile(r"message-\d+")
_PACKED = {"user_message", "login", "heartbeat", "system_alert"}
_SUMMARY = "summary of the previous"
_SEND = "send_message"
_THOUGHT = {"inner_thoughts", "thinking", "request_heartbeat"}


class Letta:
    """Reads the messages in Letta's agent files."""

    agent = "letta"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield nothing: a file is exported to where somebody wants it."""
        return ()

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the agent files."""
        return reading.files(place, "*.af")

    def ours(self, about: About, home: Home) -> bool:
        """Return True: what is imported was named."""
        return True

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield a session for each agent of a file; in the older form the file is the agent."""
        file = table(reading.document(transcript))
        agents = items(file.get("agents")) or [file]
        if not any(isinstance(table(agent).get("messages"), list) for agent in agents):
            raise Unreadable(f"'{reading.shown(transcript)}' is no agent file of Letta")
        for agent in map(table, agents):
            yield from _session(self.agent, transcript.stem, agent)


def _session(reader: str, stem: str, agent: Mapping[str, Any]) -> Iterator[Record]:
    id = "-".join(filter(None, (stem, text(agent.get("id")))))
    talk = Conversation(About(reader, id, model=text(table(agent.get("llm_config")).get("model"))))
    talk.name = text(agent.get("name"))
    thinks_aloud = text(agent.get("agent_type")).startswith("memgpt")
    for number, message in enumerate(map(table, items(agent.get("messages")))):
        yield from talk.tell(_Message(talk, number, message).turns(thinks_aloud))
    yield from talk.end()


class _Message:
    """One message of an agent's."""

    def __init__(self, talk: Conversation, number: int, message: Mapping[str, Any]) -> None:
        self._talk, self._message = talk, message
        self._at = reading.utc(message.get("created_at"))
        id = text(message.get("id"))
        self._own = id if not _COUNTED.fullmatch(id) else ""
        self._mark = text(message.get("created_at")) or number
        talk.learn(started=self._at)

    def turns(self, thinks_aloud: bool) -> Iterator[Turn]:
        """Yield what was said; an agent that thinks aloud speaks by calling a tool."""
        role, spoken = self._message.get("role"), said(self._message.get("content"))
        if role == "user":
            yield from self._heard(spoken)
        elif role == "summary":
            yield from self._say("summary", _unpacked(spoken)[1])
        elif role in ("assistant", "approval"):
            self._talk.calls.went_on()
            calls = [table(call) for call in items(self._message.get("tool_calls"))]
            yield from self._say("assistant", "" if thinks_aloud and calls else spoken)
            for call in calls:
                yield from self._called(text(call.get("id")), table(call.get("function")))
        elif role in ("tool", "function"):
            yield from self._answers(spoken)

    def _say(self, role: Role, spoken: str, own: str = "") -> Iterator[Turn]:
        id = own or self._own or derived(self._mark, role, spoken)
        return self._talk.say(id, role, spoken, self._at)

    def _heard(self, spoken: str) -> Iterator[Turn]:
        """Yield what a person said; Letta speaks in a person's place too."""
        kind, spoken = _unpacked(spoken)
        if kind == "system_alert":
            yield from self._say("summary", spoken if _SUMMARY in spoken else "")
        elif kind in ("", "user_message"):
            yield from self._say("user", spoken)

    def _called(self, id: str, function: Mapping[str, Any]) -> Iterator[Turn]:
        name, asked = text(function.get("name")), unpacked(function.get("arguments"))
        if isinstance(asked, dict):
            asked = {key: value for key, value in asked.items() if key not in _THOUGHT}
        if name == _SEND:
            yield from self._say("assistant", text(table(asked).get("message")), own=id)
        else:
            self._talk.calls.open(id, called(name, asked), self._at)

    def _answers(self, spoken: str) -> Iterator[Turn]:
        answer = self._talk.calls.answer
        for back in map(table, items(self._message.get("tool_returns"))):
            output = said(back.get("func_response"))
            yield from answer(text(back.get("tool_call_id")), _unpacked(output)[1], self._at)
        yield from answer(text(self._message.get("tool_call_id")), _unpacked(spoken)[1], self._at)


def _unpacked(spoken: str) -> tuple[str, str]:
    """Return the kind of a message and what it says: Letta packs many of them as JSON."""
    packed = unpacked(spoken)
    if isinstance(packed, dict) and ("status" in packed or packed.get("type") in _PACKED):
        message = packed.get("message")
        return text(packed.get("type")), message if isinstance(message, str) else said(message)
    return "", spoken


IMPORTER = Letta()
