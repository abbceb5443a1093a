"""opencode: sessions of messages of parts, in ``~/.local/share/opencode``.

Parts are written while the agent speaks: one that is not finished waits for the next time, unless
the agent has gone on. A message's words and calls keep the order of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import opencode_stores as stores
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.conversation import Conversation
from gitmem.sessions.importers.folders import folder, within
from gitmem.sessions.importers.parts import called, table, text
from gitmem.sessions.model import About, Home, Record, Role, Skipped, Turn

_DATABASES = "opencode*.db"
_MESSAGES = "message/*/*.json"
_UNTITLED = ("New session - ", "Child session - ")


class Opencode:
    """Reads the sessions of opencode."""

    agent = "opencode"

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folder of its data, and the database that the environment names elsewhere."""
        data = folder(home, "XDG_DATA_HOME", ".local/share") / "opencode"
        yield data
        named = data / home.environ.get("OPENCODE_DB", "").strip()
        if named != data and not (named.parent == data and named.match(_DATABASES)):
            yield named

    def transcripts(self, place: Path) -> Iterator[Path]:
        """Yield databases, and the folders of the messages of older releases."""
        last: Path | None = None
        for path in reading.files(place.absolute(), _DATABASES, _MESSAGES):
            found = path.parent if path.match(_MESSAGES) else path
            if found != last:
                yield found
            last = found

    def ours(self, about: About, home: Home) -> bool:
        """Whether the session was held in one of the worktrees."""
        return within(about.cwd, home)

    def read(self, transcript: Path) -> Iterator[Record]:
        """Yield the sessions of a database, or the one of a folder of messages."""
        told = False
        try:
            with stores.opened(transcript) as store:
                for record in chain.from_iterable(
                    _session(self.agent, store, id) for id in store.sessions()
                ):
                    yield record
                    told = True
        except Unreadable:
            if not told:
                raise
            yield Skipped("the rest of a database that is broken or locked")


def _session(agent: str, store: stores.Store, id: str) -> Iterator[Record]:
    known = store.known(id)
    parent = known.parent if known.parent != id else ""
    talk = Conversation(About(agent, id, started=known.created, cwd=known.directory, parent=parent))
    talk.name = "" if known.title.startswith(_UNTITLED) else known.title
    messages = chain(store.messages(id), [None])
    for message, following in pairwise(messages):
        if message is None:
            break
        key, fields = message
        if isinstance(fields, Skipped):
            yield fields
        else:
            yield from _message(talk, store, key, fields, last=following is None)
    yield from talk.end()


def _message(
    talk: Conversation, store: stores.Store, id: str, fields: Mapping[str, Any], last: bool
) -> Iterator[Record]:
    """Yield what a message says: a person's is one turn, of an agent's each part is."""
    time = table(fields.get("time"))
    at, typed = reading.utc(time.get("created")), []
    over = not last or "completed" in time or bool(fields.get("error"))
    role: Role = "summary" if fields.get("summary") is True else "assistant"
    cwd = text(table(fields.get("path")).get("cwd"))
    talk.learn(started=at, cwd=cwd, model=text(fields.get("modelID")))
    for key, part in store.parts(id):
        if isinstance(part, Skipped):
            yield part
        elif fields.get("role") == "user":
            typed.append(_typed(part))
        elif fields.get("role") == "assistant" and (over or _finished(part)):
            yield from talk.tell(_part(talk, f"{id}/{key}", role, part, at))
    yield from talk.tell(talk.say(id, "user", "\n\n".join(filter(None, typed)), at))


def _typed(part: Mapping[str, Any]) -> str:
    """Return what a person typed, or gave a subagent to do; an image as ``[image]``."""
    if part.get("type") == "file" and text(part.get("mime")).startswith("image/"):
        return "[image]"
    return text(part.get("prompt")) if part.get("type") == "subtask" else _words(part)


def _words(part: Mapping[str, Any]) -> str:
    """Return the text of a part, unless opencode put it there, such as a file's content."""
    injected = part.get("synthetic") is True or part.get("ignored") is True
    return "" if injected or part.get("type") != "text" else text(part.get("text"))


def _finished(part: Mapping[str, Any]) -> bool:
    state = table(part.get("state"))
    return state.get("status") in ("completed", "error") or "end" in table(part.get("time"))


def _part(
    talk: Conversation, id: str, role: Role, part: Mapping[str, Any], at: str
) -> Iterator[Turn]:
    """Yield a part of an agent's message: its words, or a call with its output."""
    state = table(part.get("state"))
    time = {**table(part.get("time")), **table(state.get("time"))}
    at = reading.utc(time.get("end")) or reading.utc(time.get("start")) or at
    if part.get("type") == "tool":
        line = called(text(part.get("tool")), state.get("input"))
        output = text(state.get("output")) or text(state.get("error"))
        yield from talk.say(id, "tool", f"{line}\n{output}", at)
    else:
        yield from talk.say(id, role, _words(part), at)


IMPORTER = Opencode()
