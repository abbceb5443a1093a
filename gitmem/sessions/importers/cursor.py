"""Cursor: ``~/.cursor/projects/<slug>/agent-transcripts``, a message a line.

Messages have neither id nor time, and what a tool answered is mostly not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.parts import called, derived, items, said, table, text
from gitmem.sessions.model import About, Home, Record, Skipped, Turn

_QUERY = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)
_REMINDER = re.compile(r"<system_reminder>.*?</system_reminder>", re.DOTALL)
_REDACTED = re.compile(r"^\[REDACTED\]$", re.MULTILINE)


class Cursor:
    """Reads the transcripts of Cursor's agent."""

    agent = "cursor"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folders of the worktrees: nothing in a transcript says where it was held."""
        projects = home.home / ".cursor" / "projects"
        for root in home.worktrees:
            for slug in dict.fromkeys(_slugs(root)):
                yield projects / slug / "agent-transcripts"

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the files of messages, those of subagents too."""
        return reading.files(place, "*.jsonl")

    def ours(self, about: About, home: Home) -> bool:
        """Return True: the places are this repository's alone."""
        return True

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the session of a file."""
        talk = Conversation(_about(self.agent, transcript))
        for number, record in enumerate(reading.records(transcript)):
            if isinstance(record, Skipped):
                yield record
            else:
                yield from talk.tell(_turns(talk, record, number))
        yield from talk.end()


def _slugs(root: Path) -> Iterator[str]:
    """Yield the names that Cursor may have made of a path: releases differ in what they keep."""
    path = str(root).strip("/")
    yield re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")
    yield re.sub(r"[^A-Za-z0-9]", "-", path)
    yield path.replace("/", "-")


def _about(agent: str, transcript: Path) -> About:
    """Name a session by its file; ``<session>/subagents/<id>.jsonl`` is a subagent's."""
    above = transcript.parent
    if above.name == "subagents":
        parent = above.parent.name
        return About(agent, f"{parent}/agent-{transcript.stem}", parent=parent)
    return About(agent, transcript.stem)


def _turns(talk: Conversation, record: Mapping[str, Any], number: int) -> Iterator[Turn]:
    content = table(record.get("message")).get("content")
    if record.get("role") == "user":
        spoken = _human(said(content))
        yield from talk.say(derived(number, "user", spoken), "user", spoken)
    elif record.get("role") == "assistant":
        spoken = _REDACTED.sub("", said(content)).strip()
        yield from talk.say(derived(number, "assistant", spoken), "assistant", spoken)
        for place, block in enumerate(map(table, items(content))):
            if block.get("type") == "tool_use":
                line = called(text(block.get("name")), block.get("input"))
                yield from talk.say(derived(f"{number}.{place}", "tool", line), "tool", line)


def _human(spoken: str) -> str:
    """Return what a person typed, without what Cursor puts around it."""
    queries = _QUERY.findall(spoken)
    return "\n\n".join(queries).strip() if queries else _REMINDER.sub("", spoken).strip()


IMPORTER = Cursor()
