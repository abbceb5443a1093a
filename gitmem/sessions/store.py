"""Conversations in git: ``refs/gitmem/sessions`` of the private repository, which is never pushed.

Its tree is ``<agent>/<yyyy>/<mm>/<session>/{meta.json,rounds.jsonl}``, its history says what each
import added. A round is a line and is never changed: a session only grows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import quote

from gitmem.errors import AmbiguousId, NotFound, RefMoved, Unavailable
from gitmem.journal.git.history import History
from gitmem.journal.git.port import BLOB_MODE, TREE_MODE, Git, RefUpdate, TreeEntry
from gitmem.journal.notes import Race
from gitmem.sessions import REF
from gitmem.sessions.model import About, Round, Session, Turn

META = "meta.json"
ROUNDS = "rounds.jsonl"

LONGEST_NAME = 100
"""Bytes of the longest name of a folder; what is longer ends in a digest."""

PACKED = "refs/gitmem/packed/sessions"
"""The commit up to which everything has been packed."""

_LOOKED_AT = tuple(f"{number:02x}" for number in range(0, 256, 16))
_MANY = 32
"""Files in 16 of the 256 folders of loose objects from which on they are packed: some 512 in all.
In one folder, as git's own gc counts, 900 of 900 could be missed one time in eight."""


class Entry(NamedTuple):
    """One session in the tree: its folder, and the blobs in it."""

    path: str
    meta: str
    rounds: str


class Step(NamedTuple):
    """One commit in the life of a session."""

    at: int
    by: str
    message: str
    rounds: int
    tags: tuple[str, ...]


Entries = dict[str, Entry]
"""{`key` of a session: its entry}."""

Merge = Callable[[Entry, Entry], Entry]
"""From ours and theirs to what holds both."""


class SessionStore:
    """The conversations of one private repository."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self._read: tuple[str, Entries] | None = None

    def tip(self) -> str | None:
        """Return the commit that holds all sessions as they are now."""
        return self.git.ref(REF)

    def entries(self, tip: str | None) -> Entries:
        """Return every session at a commit, by `key`."""
        if tip is None:
            return {}
        if self._read is None or self._read[0] != tip:  # usually a commit grows from the one read
            self._read = tip, self._entries(tip)
        return {**self._read[1]}

    def _entries(self, tip: str) -> Entries:
        found: dict[str, dict[str, str]] = {}
        for path, oid in self.git.files(self.git.commit(tip).tree):
            folder, _, name = path.rpartition("/")
            found.setdefault(folder, {})[name] = oid
        whole = ((path, files) for path, files in found.items() if {META, ROUNDS} <= set(files))
        return {_key_of(path): Entry(path, files[META], files[ROUNDS]) for path, files in whole}

    # -- reading ------------------------------------------------------------------------------

    def sessions(self) -> list[Session]:
        """Return every session, the one that ended last first."""
        entries = self.entries(self.tip())
        oids = dict.fromkeys(entry.meta for entry in entries.values())
        metas = (session_from(content) for _, content in self.git.blobs(oids))
        return sorted(metas, key=lambda one: (one.ended, one.about.started), reverse=True)

    def find(self, name: str) -> tuple[Session, Entry]:
        """Return the session of an id, a unique beginning of it, or ``agent/id``.

        Raises:
            NotFound: there is none. AmbiguousId: there are several.
        """
        agent, slash, rest = name.partition("/")
        entries = self.entries(self.tip())
        known = {one: session_from(self.git.blob(entry.meta)) for one, entry in entries.items()}
        for fits in (str.__eq__, str.startswith):
            hits = [
                key for key, one in known.items()
                if fits(one.about.id, name)
                or (slash and one.about.agent == agent and fits(one.about.id, rest))
            ]  # fmt: skip
            if len(hits) == 1:
                return known[hits[0]], entries[hits[0]]
            if hits:
                found = [known[key].about for key in sorted(hits)]
                shown = tuple(f"{about.agent}/{about.id}" for about in found[:20])
                hint = f"it could be {', '.join(shown)}"
                raise AmbiguousId(f"'{name[:80]}' is ambiguous", hint, shown)
        raise NotFound(f"no session '{name[:80]}'", "'gitmem session list' shows them all")

    def rounds(self, entry: Entry, after: int = 0) -> Iterator[Round]:
        """Yield the rounds of a session behind number `after`, in their order: a line each."""
        lines = [line for line in self.git.blob(entry.rounds).split(b"\n") if line]
        yield from (round_from(line) for line in lines[after:])

    def steps(self, entry: Entry) -> list[Step]:
        """Return the life of a session, newest first."""
        history = History(self.git.layout)
        listed = history.attempt(
            "log", "--format=%H%x00%an <%ae>%x00%ct%x00%s", REF, "--", f"{entry.path}/"
        )
        found = []
        for line in listed.stdout.decode("utf-8", "replace").splitlines():
            oid, by, at, message = line.split("\0")
            meta = history.attempt("cat-file", "blob", f"{oid}:{entry.path}/{META}").stdout
            session = session_from(meta)
            found.append(Step(int(at), by, message, session.rounds, session.tags))
        return found

    # -- writing ------------------------------------------------------------------------------

    def commit(
        self,
        base: Entries,
        changed: Entries,
        merge: Merge,
        author: str,
        at: int,
        message: str,
    ) -> str:
        """Commit sessions that `changed` since `base` was read, and return the commit.

        Whoever moved the ref meanwhile keeps what he wrote: `merge` joins a session that both
        changed. `author` is ``Name <email>``, `at` seconds since 1970.

        Raises:
            Unavailable: the ref moves all the time, or is locked.
        """
        race = Race("conversations")
        while True:
            tip = self.tip()
            theirs = self.entries(tip)
            mine = {
                key: entry if theirs.get(key) in (base.get(key), None)
                else merge(entry, theirs[key])
                for key, entry in changed.items()
            }  # fmt: skip
            tree = self._tree(tip, mine.values())
            commit = self.git.write_commit(tree, [tip] if tip else [], author, at, message)
            try:
                self.git.update_refs([RefUpdate(REF, commit, tip)], f"gitmem: {message}")
            except RefMoved as moved:
                race.lost(tip, moved)
                continue
            self._pack(commit)
            return commit

    def _pack(self, tip: str) -> None:
        """Pack once in a while: a session that grew by a turn is written whole, and once more."""
        try:
            if self._loose() < _MANY:
                return
            packed = self.git.ref(PACKED)
            self.git.pack(tip, packed)
            self.git.update_refs([RefUpdate(PACKED, tip, packed)], "gitmem: packed")
        except (OSError, RefMoved, Unavailable):  # what was imported is safe without it
            return

    def _loose(self) -> int:
        folders = (self.git.layout.common_dir / "objects" / name for name in _LOOKED_AT)
        return sum(len(os.listdir(folder)) for folder in folders if folder.exists())

    def _tree(self, tip: str | None, entries: Iterable[Entry]) -> str:
        wanted = {}
        for entry in entries:
            wanted[f"{entry.path}/{META}"] = entry.meta
            wanted[f"{entry.path}/{ROUNDS}"] = entry.rounds
        return self._edit(self.git.commit(tip).tree if tip else None, wanted)

    def _edit(self, tree: str | None, wanted: Mapping[str, str]) -> str:
        """Write a tree with blobs put at paths below it."""
        entries = {entry.name: entry for entry in (self.git.tree(tree) if tree else ())}
        below: dict[str, dict[str, str]] = {}
        for path, oid in wanted.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = oid
            else:
                entries[name] = TreeEntry(name, BLOB_MODE, oid)
        for name, deeper in below.items():
            old = entries.get(name)
            oid = self._edit(old.oid if old and old.is_tree else None, deeper)
            entries[name] = TreeEntry(name, TREE_MODE, oid)
        return self.git.write_tree(entries.values())


# -- names and lines --------------------------------------------------------------------------


@lru_cache(maxsize=256)
def key(agent: str, id: str) -> str:
    """Return what a session is known by: its agent and its id, safe as names of folders."""
    return f"{_safe(agent)}/{_safe(id)}"


def path(about: About, first: str) -> str:
    """Return the folder of a new session; `first` is a time for one that does not say its start."""
    agent, name = key(about.agent, about.id).split("/")
    year, month = (about.started or first)[:7].split("-")
    return f"{agent}/{year}/{month}/{name}"


def _key_of(path: str) -> str:
    agent, *_, name = path.split("/")
    return f"{agent}/{name}"


def _safe(name: str) -> str:
    """Escape whatever could leave a folder or hide in it."""
    safe = quote(name, safe="", errors="surrogatepass").replace("~", "%7E")
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    if len(safe) <= LONGEST_NAME:
        return safe or "%"
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{safe[: LONGEST_NAME - 17]}~{digest}"


def line(round: Round) -> bytes:
    """Return a round as it is kept, one line of canonical JSON."""
    turn = round.turn
    fields = {"at": turn.at, "id": turn.id, "index": round.index, "role": turn.role,
              "speaker": turn.speaker, "text": turn.text}  # fmt: skip
    return _json({name: value for name, value in fields.items() if value != ""})


def round_from(line: bytes) -> Round:
    """Read a round."""
    raw = json.loads(line)
    turn = Turn(raw["id"], raw["role"], raw.get("text", ""), raw.get("at", ""),
                raw.get("speaker", ""))  # fmt: skip
    return Round(raw["index"], turn)


def meta(session: Session) -> bytes:
    """Return what is kept of a session beside its rounds."""
    about = session.about
    fields: dict[str, Any] = {
        "agent": about.agent, "branch": about.branch, "cwd": about.cwd, "ended": session.ended,
        "id": about.id, "model": about.model, "parent": about.parent, "rounds": session.rounds,
        "source": session.source, "started": about.started, "tags": list(session.tags),
        "title": about.title,
    }  # fmt: skip
    return _json({name: value for name, value in fields.items() if value not in ("", [])}) + b"\n"


def session_from(content: bytes) -> Session:
    """Read what `meta` wrote."""
    raw = json.loads(content)
    names = ("agent", "id", "title", "started", "cwd", "branch", "model", "parent")
    about = About(*(raw.get(name, "") for name in names))
    return Session(about, raw.get("rounds", 0), raw.get("ended", ""), tuple(raw.get("tags", ())),
                   raw.get("source", ""))  # fmt: skip


def joined(old: About, new: About) -> About:
    """Return what two abouts say of one session: a title may change, all else is only added."""
    said = {
        name: getattr(old, name) or getattr(new, name)
        for name in ("started", "cwd", "branch", "model", "parent")
    }
    return replace(old, title=new.title or old.title, **said)


def spans(indexes: str) -> list[tuple[int, int]]:
    """Read ``11-15,20`` as [(first, last)]; ValueError if it is none."""
    found = []
    for part in indexes.split(","):
        first, dash, last = part.strip().partition("-")
        span = int(first), int(last if dash else first)
        if not 1 <= span[0] <= span[1]:
            raise ValueError(part)
        found.append(span)
    return found


def _json(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def retag(
    store: SessionStore,
    id: str,
    change: Callable[[Sequence[str]], Sequence[str]],
    author: str,
    at: int,
    message: str,
) -> Session:
    """Change the tags of a session, in one commit, and return it as it is then."""
    session, entry = store.find(id)
    base = store.entries(store.tip())
    tagged = _tagged(session, change)
    if tagged.tags == session.tags:
        return session

    def again(mine: Entry, theirs: Entry) -> Entry:
        other = session_from(store.git.blob(theirs.meta))
        return theirs._replace(meta=store.git.write_blob(meta(_tagged(other, change))))

    mine = entry._replace(meta=store.git.write_blob(meta(tagged)))
    name = key(session.about.agent, session.about.id)
    store.commit(base, {name: mine}, again, author, at, message)
    return tagged


def _tagged(session: Session, change: Callable[[Sequence[str]], Sequence[str]]) -> Session:
    return replace(session, tags=tuple(dict.fromkeys(change(session.tags))))
