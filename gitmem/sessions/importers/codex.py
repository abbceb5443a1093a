"""Codex: ``$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl``, a record a line.

What was said stands in events, of two generations: `user_message` and `agent_message`, or
completed items (paginated history, since 0.169). Files without either, of other writers and old
releases, have it in what was sent to the model, mixed with what Codex injected.

Messages get an id of their own in both generations: the first has none, and ``codex
migrate-rollouts`` turns it into the second, which must not make every round a new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, within
from gitmem.sessions.importers.parts import called, items, said, table, text, unpacked
from gitmem.sessions.model import About, Bookmark, Home, Record, Role, Skipped, Turn

_SPOKEN: dict[str, Role] = {
    "user_message": "user",
    "agent_message": "assistant",
    "UserMessage": "user",
    "AgentMessage": "assistant",
}
"""{type of an event, or of a completed item: who speaks}."""

_INJECTED = (
    "# AGENTS.md instructions for",
    "<environment_context>",
    "<user_instructions>",
    "<skills_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
)
_PREAMBLE = re.compile(r"Another language model started .*?analysis:\s*", re.DOTALL)
_FROM_IDE = re.compile(r"# Context from my IDE setup:.*?## My request for Codex:\s*", re.DOTALL)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


class Codex:
    """Reads the rollouts of Codex."""

    agent = "codex"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folders of sessions, and of those that were archived."""
        base = folder(home, "CODEX_HOME", ".codex")
        yield base / "sessions"
        yield base / "archived_sessions"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the rollouts; a compressed one too, which `read` refuses with a hint."""
        return reading.files(place, "*.jsonl", "*.jsonl.zst")

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session began in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a rollout: read twice, first for whether it has events."""
        return (one for one in self.resume(transcript, None) if not isinstance(one, Bookmark))

    def resume(self, transcript: Path, bookmark: Bookmark | None) -> Iterator[Record | Bookmark]:
        """Yield what follows a bookmark, or all."""
        if transcript.suffix == ".zst":
            message = f"'{reading.shown(transcript)}' is compressed"
            raise Unreadable(message, hint="unpack it with 'zstd -d' and import the result")
        if bookmark:
            rollout, start = _Rollout.restored(bookmark.state), bookmark.offset
        else:
            events = any(_event(record)[0] for record in _sound(transcript))
            rollout, start = _Rollout(self.agent, transcript, events), 0
        records = reading.Records(transcript, start)
        for record in records:
            if isinstance(record, Skipped):
                yield record
            else:
                yield from rollout.take(record)
        if records.end is not None and rollout.events:  # without, the first one changes all
            yield Bookmark(records.end, rollout.saved())
        yield from rollout.end()


def _sound(transcript: Path) -> Iterator[Mapping[str, Any]]:
    return (r for r in reading.records(transcript) if not isinstance(r, Skipped))


def _event(record: Mapping[str, Any]) -> tuple[Role | None, str]:
    """Return who speaks in an event, and what; (None, '') in all others."""
    payload = table(record.get("payload"))
    if record.get("type") != "event_msg":
        return None, ""
    if payload.get("type") == "item_completed":
        item = table(payload.get("item"))
        return _SPOKEN.get(text(item.get("type"))), said(item.get("content"))
    images = len(items(payload.get("images"))) + len(items(payload.get("local_images")))
    spoken = [text(payload.get("message")), *["[image]"] * images]
    return _SPOKEN.get(text(payload.get("type"))), "\n\n".join(filter(None, spoken))


class _Rollout:
    """The session of one rollout, while its records pass."""

    def __init__(self, agent: str, transcript: Path, events: bool) -> None:
        found = _UUID.search(transcript.stem)
        self._talk = Conversation(About(agent, found[0] if found else transcript.stem))
        self.events = events
        self._headed = False
        self._own = 0
        self._takers = {
            "session_meta": self._meta,
            "turn_context": self._context,
            "event_msg": self._event,
            "response_item": self._item,
            "compacted": self._compacted,
        }

    def take(self, record: Mapping[str, Any]) -> Iterator[Record]:
        """Yield what one record says, unless it was copied from the one who started this."""
        kind, ordinal = text(record.get("type")), record.get("ordinal")
        copied = isinstance(ordinal, int) and ordinal < self._own
        if kind in self._takers and not copied:
            at = reading.utc(record.get("timestamp"))
            yield from self._talk.tell(self._takers[kind](record, at))

    def saved(self) -> dict[str, Any]:
        """Return all that has to be remembered for the rest of the rollout."""
        return {"talk": self._talk.saved(), "headed": self._headed, "own": self._own}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Self:
        """Return what was `saved`.

        Raises:
            ValueError: that is something else.
        """
        try:
            talk = Conversation.restored(saved["talk"])
            rollout = cls(talk.about.agent, Path(talk.about.id), True)
            rollout._talk, rollout._headed, rollout._own = talk, saved["headed"], saved["own"]
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(saved) from error
        return rollout

    def end(self) -> Iterator[Record]:
        """Yield what only the end of a file tells."""
        return self._talk.end()

    def _meta(self, record: Mapping[str, Any], at: str) -> Iterable[Turn]:
        """Take the first header alone: a fork repeats its parent's, with the parent's records."""
        if not self._headed:
            self._headed = True
            meta = table(record.get("payload"))
            start = meta.get("subagent_history_start_ordinal")
            self._own = start if isinstance(start, int) else 0
            id, parent = text(meta.get("id")) or self._talk.about.id, _parent(meta)
            id = f"{parent}/agent-{id}" if parent else id
            self._talk.about = replace(self._talk.about, id=id, parent=parent)
            self._talk.learn(
                started=reading.utc(meta.get("timestamp")) or at,
                cwd=text(meta.get("cwd")),
                branch=text(table(meta.get("git")).get("branch")),
            )
        return ()

    def _context(self, record: Mapping[str, Any], at: str) -> Iterable[Turn]:
        self._talk.learn(model=text(table(record.get("payload")).get("model")))
        return ()

    def _event(self, record: Mapping[str, Any], at: str) -> Iterable[Turn]:
        payload = table(record.get("payload"))
        if payload.get("type") == "thread_name_updated":
            self._talk.name = text(payload.get("thread_name")) or self._talk.name
        role, spoken = _event(record)
        return self._say(role, spoken, at) if role else ()

    def _item(self, record: Mapping[str, Any], at: str) -> Iterable[Turn]:
        payload = table(record.get("payload"))
        kind, call = text(payload.get("type")), text(payload.get("call_id"))
        if kind == "message" and not self.events:
            if payload.get("role") == "user":
                return self._say("user", _human(payload), at)
            if payload.get("role") == "assistant":
                return self._say("assistant", said(payload.get("content")), at)
        elif kind.endswith("_call"):
            self._talk.calls.open(call, _called(payload), at)
        elif kind.endswith("_call_output"):
            return self._talk.calls.answer(call, _output(payload.get("output")), at)
        return ()

    def _compacted(self, record: Mapping[str, Any], at: str) -> Iterable[Turn]:
        """Yield the summary; the history that stands beside it was said before."""
        summary = text(table(record.get("payload")).get("message"))
        return self._say("summary", _PREAMBLE.sub("", summary, count=1), at)

    def _say(self, role: Role, spoken: str, at: str) -> Iterable[Turn]:
        if role == "assistant":
            self._talk.calls.went_on()
        elif role == "user":
            spoken = _FROM_IDE.sub("", spoken, count=1)
        return self._talk.say("", role, spoken, at)


def _parent(meta: Mapping[str, Any]) -> str:
    """Return the id of the thread that started this one as its subagent, '' if none did."""
    spawn = table(table(table(meta.get("source")).get("subagent")).get("thread_spawn"))
    named = meta.get("parent_thread_id") if meta.get("thread_source") == "subagent" else ""
    return text(spawn.get("parent_thread_id")) or text(named)


def _human(payload: Mapping[str, Any]) -> str:
    """Return what a person said in a message to the model, without what Codex put beside it."""
    blocks = items(payload.get("content"))
    passed = table(payload.get("internal_chat_message_metadata_passthrough"))
    kinds = items(passed.get("content_item_kinds"))
    if len(kinds) == len(blocks):
        blocks = [b for b, kind in zip(blocks, kinds, strict=True) if text(kind)[:5] == "user."]
    return said([block for block in blocks if not said([block]).startswith(_INJECTED)])


def _called(payload: Mapping[str, Any]) -> str:
    names = text(payload.get("namespace")), text(payload.get("name"))
    name = "__".join(filter(None, names)) or text(payload.get("type")).removesuffix("_call")
    asked = (payload.get(field) for field in ("arguments", "input", "action"))
    return called(name, next(filter(None, asked), None))


def _output(output: object) -> str:
    """Return what a tool answered: a text, blocks, or (older) a text within JSON."""
    output = unpacked(output)
    if isinstance(output, dict):
        output = output.get("output", output.get("content"))
    return said(output)


IMPORTER = Codex()
