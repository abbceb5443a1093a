"""What people and agents say in passing, kept: redacted, and compared with what is known.

The same said again makes a memory weigh more; what contradicts one is kept beside it, linked. What
somebody says of himself is private, and stays on this machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from gitmem.api import Gitmem
from gitmem.model import Importance, Memory
from gitmem.sessions.model import Turn
from gitmem.text.analysis import fold
from gitmem.text.fence import unfenced
from gitmem.text.secrets import redact, without_private
from gitmem.text.triggers import Said, find, labelled
from gitmem.verbs.briefing import WORKING_KINDS

COMPARED = 500
"""Memories that something said is compared with: the latest."""

SESSIONS = 50
"""Sessions of which it is remembered what was heard in them."""

_HEARD = "heard.json"
_WORD = re.compile(r"[^\W_]+")
_ARTICLE = re.compile(r"^(?:the|a|an|our|my)\s+")


class Capture:
    """Keeps what is said in one session of an agent."""

    def __init__(self, gm: Gitmem, agent: str, session: str, folder: str) -> None:
        self._gm = gm
        self._source = {"agent": agent, "session": session}
        self._heard = Heard(Path(folder) / _HEARD, f"{agent}/{session}")

    def prompt(self, text: str) -> frozenset[str]:
        """Keep what a prompt says; returns the ids of the memories that say it now."""
        return self._keep(find(without_private(unfenced(text))))

    def turns(self, turns: Iterable[Turn]) -> frozenset[str]:
        """Keep what was said while no hook heard it: typed in between, or by the agent itself."""
        said: list[Said] = []
        for turn in turns:
            if turn.role == "user":
                said += find(turn.text)
            elif turn.role == "assistant":
                said += labelled(turn.text)
        return self._keep(said)

    def _keep(self, said: Sequence[Said]) -> frozenset[str]:
        new = self._heard.new(said)
        if not new:
            return frozenset()
        known = [memory for memory in self._gm.list(limit=COMPARED) if _lasting(memory)]
        kept: list[Memory] = []
        for one in new:
            kept.append(self._one(one, [*kept, *known]))
        self._heard.note(new)
        return frozenset(memory.id for memory in kept)

    def _one(self, said: Said, known: Sequence[Memory]) -> Memory:
        near = [memory for memory in known if _near(said, memory)]
        same = next((memory for memory in near if same_as(said, memory)), None)
        if same:
            return self._stronger(same)
        memory = self._gm.remember(
            redact(said.text).text,
            kind=said.kind,
            importance="high" if said.correction or said.asked else None,
            scope="repo" if said.personal else None,
            private=said.personal,
            source=self._source,
        )
        for other in near:
            if contradicts(said, other):
                self._gm.link(memory.id, other.id, rel="contradicts", comment="said later")
        return memory

    def _stronger(self, memory: Memory) -> Memory:
        """Raise the importance of what is said again by one step; never to critical."""
        order = list(Importance)
        step = max(memory.importance.rank - 1, Importance.HIGH.rank)
        if step >= memory.importance.rank:
            return memory
        return self._gm.update(memory.id, importance=order[step].value)


class Heard:
    """What was heard in each session: a transcript says again what a prompt said."""

    def __init__(self, path: Path, session: str) -> None:
        self._path = path
        self._session = session

    def new(self, said: Sequence[Said]) -> list[Said]:
        """Return what was not heard in this session yet."""
        heard = set(self._read().get(self._session, ())) if said else set()
        return [one for one in said if _digest(one) not in heard]

    def note(self, said: Sequence[Said]) -> None:
        """Note what was heard; lost, it is compared with what is known like anything else."""
        sessions = self._read()
        heard = [*sessions.pop(self._session, ()), *map(_digest, said)]
        sessions[self._session] = heard
        latest = dict(list(sessions.items())[-SESSIONS:])
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            beside.write_text(json.dumps(latest))
            beside.replace(self._path)

    def _read(self) -> dict[str, list[str]]:
        try:
            found = json.loads(self._path.read_bytes())
            return {str(name): list(heard) for name, heard in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}


def same_as(said: Said, memory: Memory) -> bool:
    """Whether a memory says the same already."""
    if _plain(said.text) == _plain(memory.body):
        return True
    if not said.value:
        return False
    return any(_parts(said) == _parts(other) for other in _said_in(memory))


def contradicts(said: Said, memory: Memory) -> bool:
    """Whether both cannot hold: another value, a choice turned round, or a yes against a no."""
    return any(_against(said, other) for other in _said_in(memory))


def _against(new: Said, old: Said) -> bool:
    value, other = _plain(new.value), _plain(old.value)
    if not value or not other:
        return False
    if value == other:
        return new.against != old.against
    if new.against or old.against:
        return False
    turned_down = _plain(new.instead) == other or _plain(old.instead) == value
    about = _plain(new.about)
    otherwise = bool(about) and about == _plain(old.about)
    return turned_down or (otherwise and value not in other and other not in value)


def _parts(said: Said) -> tuple[str, ...]:
    named = (said.about, said.value, said.instead)
    return (said.kind, str(said.against), *map(_plain, named))


def _said_in(memory: Memory) -> list[Said]:
    """Return what a memory says, taken apart as if it were said now."""
    return find(memory.body[:1_000], kept=True)


def _near(said: Said, memory: Memory) -> bool:
    """Whether a memory has a word of what is said: the others need not be taken apart."""
    words = set(_words(" ".join((said.about, said.value, said.instead)) or said.text))
    return not words.isdisjoint(_words(memory.body)) or _plain(said.text) == _plain(memory.body)


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(fold(text)):
        yield from (word,) if word.isascii() else word  # Chinese has no bounds of words


def _plain(text: str) -> str:
    """Return a text as it is compared: its words, without an article in front."""
    return " ".join(_WORD.findall(_ARTICLE.sub("", fold(text))))


def _lasting(memory: Memory) -> bool:
    """Whether a memory is about more than one session, and held by nobody's doubt."""
    return memory.kind not in WORKING_KINDS and not memory.held


def _digest(said: Said) -> str:
    return blake2b(_plain(said.text).encode(), digest_size=8).hexdigest()
