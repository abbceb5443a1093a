"""aider: ``.aider.chat.history.md`` in the repository, to which every chat is appended.

Aider writes ``#### `` before what a person typed and ``> `` before what it says itself, and two
spaces at the end of such a line. The model's Markdown has the same beginnings, but not the spaces.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import within
from gitmem.sessions.importers.parts import derived
from gitmem.sessions.model import About, Home, Record, Role, Skipped

_NAME = ".aider.chat.history.md"
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.ASCII)
_MODEL = re.compile(r"(?:Main model|Models?): (\S+) with ")
_BEGINNING = re.compile(r"(?:(####)|>)(?: |$)")
_WRITTEN = "  "


class Aider:
    """Reads the histories of aider."""

    agent = "aider"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the histories of the worktrees, and the one the environment names in them."""
        named = home.environ.get("AIDER_CHAT_HISTORY_FILE", "").strip()
        for root in home.worktrees:
            places = dict.fromkeys([root / _NAME, root / (named or _NAME)])
            yield from (place for place in places if within(str(place), home))

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield the histories, by their names."""
        return reading.files(place, "*aider*chat*history*.md")

    def ours(self, about: About, home: Home) -> bool:
        """Return True: the places are this repository's alone."""
        return True

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the chats of a history; a torn last line is left for the next time."""
        history = _History(self.agent, transcript)
        for line in reading.lines(transcript, ends=True):
            if isinstance(line, Skipped):
                yield line
            elif line.endswith(b"\n"):
                yield from history.take(line.decode(errors="replace").rstrip("\r\n"))
        yield from history.end()
        if not history.starts:
            raise Unreadable(f"'{reading.shown(transcript)}' has no chat of aider")


@dataclass
class _Block:
    """Lines of one speaker: known by the first of them, for the others may yet be written."""

    role: Role
    lines: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, line: str) -> None:
        """Take a line, unless nothing but empty lines came before, or too much."""
        if line.strip() or self.lines:
            self.size += len(line) + 1
            self.lines = [*self.lines[:1]] if self.size > reading.LONGEST else self.lines
            self.lines.append(line)


class _Chat:
    """One chat, while its lines pass."""

    def __init__(self, about: About) -> None:
        self._talk = Conversation(about)
        self._block = _Block("assistant")
        self._said = 0
        self._spaced: bool | None = None

    def take(self, line: str) -> Iterator[Record]:
        """Yield what a line ends: what was said before it by another, or typed before."""
        role, said = self._parted(line)
        typed = self._block.role == "user"
        if line.strip() and role != self._block.role or typed and not line.strip():
            yield from self._close(role)
        self._block.add(said)

    def end(self) -> Iterator[Record]:
        """Yield what was said last, and what only the end of a chat tells."""
        yield from self._close("assistant")
        yield from self._talk.end()

    def _parted(self, line: str) -> tuple[Role, str]:
        """Return who speaks in a line, and what: if aider wrote no spaces, its beginning tells."""
        beginning = _BEGINNING.match(line)
        if not beginning:
            return "assistant", line
        written = line.endswith(_WRITTEN)
        self._spaced = written if self._spaced is None else self._spaced
        if self._spaced and not written:
            return "assistant", line
        role: Role = "user" if beginning[1] else "tool"
        return role, line[beginning.end() :].rstrip()

    def _close(self, role: Role) -> Iterator[Record]:
        block, self._block = self._block, _Block(role)
        if not block.lines or block.lines == ["<blank>"]:  # aider's word for an empty line typed
            return
        if block.role == "tool" and not self._said:
            self._greet(block.lines)
            return
        self._said += 1
        if block.size > reading.LONGEST:
            yield Skipped(f"a message longer than {reading.LONGEST >> 20} MB")
            return
        id = derived(self._said, block.role, block.lines[0])
        yield from self._talk.tell(self._talk.say(id, block.role, "\n".join(block.lines)))

    def _greet(self, lines: list[str]) -> None:
        """Take the model from what aider says before anybody else, which is no part of the chat."""
        for found in filter(None, map(_MODEL.match, lines)):
            self._talk.learn(model=found[1])


class _History:
    """The chats of one file, one after another."""

    def __init__(self, agent: str, transcript: Path) -> None:
        real = os.path.realpath(transcript)
        self._agent = agent
        self._cwd = os.path.dirname(real) if transcript.name == _NAME else ""
        self._file = hashlib.sha256(os.fsencode(real)).hexdigest()[:8]
        self._chat: _Chat | None = None
        self.starts: Counter[str] = Counter()

    def take(self, line: str) -> Iterator[Record]:
        """Yield what one line tells."""
        if start := _START.match(line):
            yield from self.end()
            self._chat = _Chat(self._about(start[1]))
        elif self._chat:
            yield from self._chat.take(line)

    def end(self) -> Iterator[Record]:
        """Yield what the end of a chat tells."""
        return self._chat.end() if self._chat else iter(())

    def _about(self, start: str) -> About:
        """Name a chat by its start and its file; several of one second are numbered."""
        self.starts[start] += 1
        words = [*re.split("[ :]", start), self._file]
        words += [str(self.starts[start])] if self.starts[start] > 1 else []
        return About(self._agent, "-".join(words), started=_utc(start), cwd=self._cwd)


def _utc(start: str) -> str:
    """Return a start, which aider writes in the local zone, as an event's time."""
    try:
        return reading.utc(datetime.fromisoformat(start).astimezone().isoformat())
    except (ValueError, OverflowError, OSError):  # the 13th month, or the year 1
        return ""


IMPORTER = Aider()
