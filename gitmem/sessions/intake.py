"""An import as it goes on: sessions grow by what is new in them, and are committed together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import TracebackType

from gitmem.sessions import store
from gitmem.sessions.cleaning import clean, clean_about
from gitmem.sessions.known import Known, Turns, digest
from gitmem.sessions.model import About, Round, Session, Turn
from gitmem.sessions.spool import Spool, lines_of, pieces_of
from gitmem.sessions.store import Entries, Entry, SessionStore

LATEST = 200
"""New turns of a session that are held for who looks at them at once."""


@dataclass(slots=True)
class Growth:
    """What an import did to one session; `changed` counts rounds that read otherwise now.

    `latest` are the last of the new turns, as they are kept.
    """

    about: About
    new: int = 0
    known: int = 0
    changed: int = 0
    rounds: int = 0
    latest: deque[Turn] = field(default_factory=lambda: deque(maxlen=LATEST))


@dataclass(slots=True)
class _Open:
    """A session that turns are being added to."""

    session: Session
    path: str
    entry: Entry | None
    turns: Turns = field(default_factory=Turns)
    spool: Spool | None = None
    learned: bool = False


class Intake:
    """Takes turns in; nothing is seen by others before `commit`.

    Use as a context manager: what is not committed is dropped.
    """

    def __init__(
        self, sessions: SessionStore, now: str, dry: bool = False, known: Known | None = None
    ) -> None:
        """`now` is an event time, for sessions that do not say when they were held.

        A `dry` one only counts: nothing is written. `known` saves cleaning what was taken in.
        """
        self._dry = dry
        self._known = known
        self._store = sessions
        self._git = sessions.git
        self._now = now
        self._base: Entries = sessions.entries(sessions.tip())
        self._changed: Entries = {}
        self._open: dict[str, _Open] = {}
        self.growth: dict[str, Growth] = {}

    def __enter__(self) -> Intake:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self._open.values():
            if one.spool:
                one.spool.close()

    def session(self, about: About, source: str = "") -> None:
        """Say of a session what is known of it; a turn may follow."""
        about = clean_about(about)
        one = self._opened(about, source)
        one.session = replace(one.session, about=store.joined(one.session.about, about))
        self.growth[store.key(about.agent, about.id)].about = one.session.about

    def add(self, about: About, turn: Turn) -> tuple[str, ...]:
        """Add what is kept of a turn, if it is not there yet; returns the rules that found secrets.

        Of one that was taken in before, as it is, nothing is looked for again.
        """
        one = self._opened(about, "")
        growth = self.growth[store.key(about.agent, about.id)]
        id, written = digest(turn.id), digest(f"{turn.role}\0{turn.text}")
        if one.turns.written.get(id) == written:
            growth.known += id in one.turns.kept
            return ()
        kept, secrets = clean(turn)
        what = self._grow(one, kept) if kept else ""
        if kept and what == "new":
            growth.latest.append(kept)
        if what:
            setattr(growth, what, getattr(growth, what) + 1)
            growth.rounds = one.session.rounds
        if what != "changed":
            one.turns.written[id], one.learned = written, True
        return secrets

    def settle(self) -> None:
        """Write the sessions that are open: what follows may be another transcript."""
        if self._dry:
            return
        for key, one in self._open.items():
            if entry := self._written(one):
                self._changed[key] = entry
            if self._known and one.learned and (entry := entry or one.entry):
                self._known.save(key, entry.rounds, one.turns)
        self._open.clear()

    def commit(self, author: str, at: int, message: str) -> str | None:
        """Commit what is new; None if nothing is."""
        self.settle()
        if not self._changed:
            return None
        return self._store.commit(self._base, self._changed, self._merged, author, at, message)

    # -- inside -------------------------------------------------------------------------------

    def _opened(self, about: About, source: str) -> _Open:
        key = store.key(about.agent, about.id)
        if key not in self._open:
            entry = self._changed.get(key) or self._base.get(key)
            if entry:
                session = store.session_from(self._git.blob(entry.meta))
                one = _Open(session, entry.path, entry, self._turns(key, entry, session.rounds))
            else:
                where = store.path(about, self._now)
                one = _Open(Session(about, 0, "", source=source), where, None)
            self._open[key] = one
            self.growth.setdefault(key, Growth(about, rounds=one.session.rounds))
        return self._open[key]

    def _turns(self, key: str, entry: Entry, count: int) -> Turns:
        known = self._known.load(key, entry.rounds) if self._known else None
        return known or Turns(kept=dict(self._kept(entry, count)))

    def _kept(self, entry: Entry, count: int) -> Iterator[tuple[int, int]]:
        for line in lines_of(self._git, entry.rounds, count):
            turn = store.round_from(line).turn
            yield digest(turn.id), digest(turn.text)

    def _written(self, one: _Open) -> Entry | None:
        """Write a session's blobs; None if nothing of it is new, or nothing was said in it."""
        if one.spool is None:
            meta = store.meta(one.session)
            if one.entry is None or self._git.blob(one.entry.meta) == meta:
                return None
            return one.entry._replace(meta=self._git.write_blob(meta))
        with one.spool as spool:
            rounds = spool.blob()
        return Entry(one.path, self._git.write_blob(store.meta(one.session)), rounds)

    def _merged(self, mine: Entry, theirs: Entry) -> Entry:
        """Add to another's session what is new in ours."""
        ours, other = (store.session_from(self._git.blob(one.meta)) for one in (mine, theirs))
        other = replace(other, about=store.joined(other.about, ours.about))
        kept = dict(self._kept(theirs, other.rounds))
        one = _Open(other, theirs.path, theirs, Turns(kept=kept))
        for line in lines_of(self._git, mine.rounds, ours.rounds):
            self._grow(one, store.round_from(line).turn)
        return self._written(one) or theirs

    def _grow(self, one: _Open, turn: Turn) -> str:
        """Append a turn that is not there, and return what it is: new, known or changed."""
        id, text = digest(turn.id), digest(turn.text)
        if id in one.turns.kept:
            return "known" if one.turns.kept[id] == text else "changed"
        one.turns.kept[id] = text
        round = Round(one.session.rounds + 1, turn)
        if not self._dry:
            self._spool(one).add(store.line(round))
        ended = max(one.session.ended, turn.at)
        one.session = replace(one.session, rounds=round.index, ended=ended)
        return "new"

    def _spool(self, one: _Open) -> Spool:
        if one.spool is None:
            one.spool = Spool(self._git)
            if one.entry:
                one.spool.extend(pieces_of(self._git, one.entry.rounds, one.session.rounds))
        return one.spool
