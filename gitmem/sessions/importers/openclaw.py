"""OpenClaw: a record a line in ``agents/<agent>/sessions/*.jsonl`` (the format of pi), or, since
2026.7, the same records in ``agents/<agent>/agent/openclaw-agent.sqlite``.

The database is opened read-only; of its tables only `transcript_events` is used (`session_id`,
`seq`, `event_json`), which is what the documented schema and other readers of it agree on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, within
from gitmem.sessions.importers.parts import called, items, said, table, text
from gitmem.sessions.model import About, Home, Record, Skipped, Turn

_MAGIC = b"SQLite format 3\0"
_SQL = """
SELECT session_id, CASE WHEN length(event_json) <= ? THEN event_json END
FROM transcript_events ORDER BY session_id, seq
"""
_SUMMARIES = {"compaction", "compactionSummary", "branch_summary", "branchSummary"}


class OpenClaw:
    """Reads the transcripts of OpenClaw."""

    agent = "openclaw"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder of all its agents."""
        yield folder(home, "OPENCLAW_STATE_DIR", ".openclaw") / "agents"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield files of records, those set aside by a reset too, and databases."""
        return reading.files(
            place, "*.jsonl", "*.jsonl.reset.*", "*.jsonl.deleted.*", "openclaw-agent.sqlite"
        )

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session was held in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a file, or those of a database."""
        if transcript.suffix == ".zst":
            message = f"'{reading.shown(transcript)}' is compressed"
            raise Unreadable(message, hint="unpack it with 'zstd -d' and import the result")
        database = transcript.suffix in (".sqlite", ".db")
        session: _Session | None = None
        for id, record in _events(transcript) if database else _lines(transcript):
            if session is None or session.key != id:
                yield from session.end() if session else ()
                session = _Session(self.agent, id)
            yield from [record] if isinstance(record, Skipped) else session.take(record)
        yield from session.end() if session else ()


def _lines(transcript: Path) -> Iterator[tuple[str, Mapping[str, Any] | Skipped]]:
    name = transcript.name.partition(".jsonl")[0]
    return ((name, record) for record in reading.records(transcript))


def _events(transcript: Path) -> Iterator[tuple[str, Mapping[str, Any] | Skipped]]:
    """Yield the events of a database, session by session, each with its session's id."""
    import sqlite3

    if reading.beginning(transcript, len(_MAGIC)) != _MAGIC:
        raise Unreadable(f"'{reading.shown(transcript)}' is no SQLite database")
    try:
        uri = f"{transcript.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = (
                bytes  # what is no UTF-8 is one event's fault, not all its file's
            )
            for id, event in database.execute(_SQL, [reading.LONGEST]):
                yield _name(id), _event(event)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a column may have any name
        message = f"'{reading.shown(transcript)}' cannot be read as a database of sessions: {error}"
        raise Unreadable(message) from error


def _name(id: object) -> str:
    return id.decode(errors="replace") if isinstance(id, bytes) else str(id)


def _event(event: object) -> Mapping[str, Any] | Skipped:
    try:
        return table(reading.parsed(event if isinstance(event, bytes) else b""))
    except (ValueError, RecursionError):
        return Skipped("an event that is no JSON object, or too long")


class _Session:
    """One session while its records pass."""

    def __init__(self, agent: str, key: str) -> None:
        self.key = key
        self._talk = Conversation(About(agent, key))

    def take(self, record: Mapping[str, Any]) -> Iterator[Record]:
        """Yield what one record says."""
        kind, at = text(record.get("type")), reading.utc(record.get("timestamp"))
        if kind == "session" and not self._talk.told:
            id = text(record.get("id")) or self.key
            self._talk.about = replace(self._talk.about, id=id)
            self._talk.learn(started=at, cwd=text(record.get("cwd")))
        elif kind == "session_info":
            self._talk.name = text(record.get("name")) or self._talk.name
        elif kind == "model_change":
            self._talk.learn(model=text(record.get("modelId")))
        elif kind == "message":
            yield from self._talk.tell(self._message(record, at))
        elif kind in _SUMMARIES:
            summary = text(record.get("summary"))
            yield from self._talk.tell(
                self._talk.say(text(record.get("id")), "summary", summary, at)
            )

    def end(self) -> Iterator[Record]:
        """Yield what only the end of a session tells."""
        return self._talk.end()

    def _message(self, record: Mapping[str, Any], at: str) -> Iterator[Turn]:
        message, id, talk = table(record.get("message")), text(record.get("id")), self._talk
        role, content = message.get("role"), message.get("content")
        at = at or reading.utc(message.get("timestamp"))
        if role == "user":
            yield from talk.say(id, "user", said(content), at)
        elif role == "assistant":
            talk.learn(model=text(message.get("model")))
            talk.calls.went_on()
            yield from talk.say(id, "assistant", said(content), at)
            for block in map(table, items(content)):
                if block.get("type") == "toolCall":
                    line = called(text(block.get("name")), block.get("arguments"))
                    talk.calls.open(text(block.get("id")), line, at)
        elif role == "toolResult":
            yield from talk.calls.answer(text(message.get("toolCallId")), said(content), at)
        elif role == "bashExecution":
            line = called("bash", {"command": message.get("command")})
            yield from talk.say(id, "tool", f"{line}\n{text(message.get('output'))}", at)


IMPORTER = OpenClaw()
