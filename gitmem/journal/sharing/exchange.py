"""Push and pull of the shared journal: merged by union, pushed forward only, read back.

A push that is rejected fetches what others pushed, merges it and tries again, after a moment that
differs from clone to clone. What it reports is what the remote then says it has.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gitmem.errors import RefMoved, Unavailable
from gitmem.journal.git.history import History
from gitmem.journal.git.port import RefUpdate
from gitmem.journal.git.written import gc_runs
from gitmem.journal.journals import Journal
from gitmem.journal.sharing.transfer import Remote
from gitmem.journal.tracking import tracking

PATIENCE = 120.0
"""Seconds to go on trying while others push."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 3.0
_STUBBORN = 5
"""Rejections in a row, with nothing new to fetch, after which it is no race."""

Outgoing = Callable[[Sequence[bytes]], None]
"""Looks at lines before they are pushed; what it raises stops the push."""

TakeIn = Callable[[str], None]
"""Takes a fetched tip in; what it raises stops the push."""


class Receipt(NamedTuple):
    """What a push did: where the remote's journal stands, and which of our lines are there.

    `tries` counts pushes; 0 says that the remote had all of it before.
    """

    tip: str | None
    arrived: tuple[bytes, ...] = ()
    tries: int = 0


def fetch(journal: Journal, remote: Remote) -> str | None:
    """Fetch a remote's journal, all of it, and return its tip; None if it has none."""
    ref = tracking(remote.name)
    old = journal.git.ref(ref)
    if old and not journal.git.has(old):  # a ref to nothing: git would stop there
        journal.git.delete_ref(ref)
    beside_gc = gc_runs(journal.git.layout)
    remote.fetch()
    tip = journal.git.ref(ref)
    beside_gc = beside_gc or gc_runs(journal.git.layout)
    if tip and not _whole(journal, tip, beside_gc):
        if not journal.git.has(tip):
            journal.git.delete_ref(ref)
        remote.fetch(whole=True)
    return tip


def push(journal: Journal, remote: Remote, outgoing: Outgoing, take_in: TakeIn) -> Receipt:
    """Push the journal until the remote has every line of it, and read back that it has.

    Raises:
        Unavailable: the remote cannot be reached or does not take it, or others have kept pushing
            for `PATIENCE` seconds.
    """
    return _Push(journal, remote, outgoing, take_in).run()


class _Push:
    """One push, with its tries."""

    def __init__(
        self, journal: Journal, remote: Remote, outgoing: Outgoing, take_in: TakeIn
    ) -> None:
        self._journal = journal
        self._git = journal.git
        self._ref = journal.notes.name
        self._remote = remote
        self._outgoing = outgoing
        self._take_in = take_in
        self._looked_at: set[bytes] = set()
        self._until = time.monotonic() + PATIENCE
        self._tries = self._in_vain = 0

    def run(self) -> Receipt:
        self._check()
        known = self._known()
        # Of what was never fetched, nobody could say what a push brings.
        if known is None or (known == self._journal.notes.tip() and not self._there(known)):
            self._fetch()
        while tip := self._journal.notes.tip():
            known = self._known()
            if known == tip:
                return Receipt(tip, (), self._tries)
            lines = self._lacking(known, tip)
            self._tries += 1
            try:
                self._remote.push(self._ref, tip)
            except RefMoved:
                self._catch_up(known)
                continue
            return self._read_back(tip, lines)
        return Receipt(None)

    def _check(self) -> None:
        if not self._journal.whole:
            raise Unavailable(f"what '{self._ref}' stands at is not in this clone", "gitmem doctor")

    def _known(self) -> str | None:
        """Return the remote's journal as last fetched, if it is here."""
        tip = self._git.ref(tracking(self._remote.name))
        return tip if tip and self._git.has(tip) else None

    def _there(self, tip: str) -> bool:
        """Whether the remote stands at a tip."""
        return self._remote.tip(self._ref) == tip

    def _fetch(self) -> str | None:
        theirs = fetch(self._journal, self._remote)
        if theirs:
            self._take_in(theirs)
        return theirs

    def _lacking(self, known: str | None, tip: str) -> list[bytes]:
        """Return the lines that the remote lacks, once they were looked at."""
        lines = list(dict.fromkeys(line for _, line in self._journal.notes.added(known, tip)))
        self._outgoing([line for line in lines if line not in self._looked_at])
        self._looked_at.update(lines)
        return lines

    def _catch_up(self, known: str | None) -> None:
        """Take in what others pushed, after a pause that keeps us out of each other's way."""
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self._tries)
        time.sleep(random.uniform(0, longest))
        theirs = self._fetch()
        self._in_vain = self._in_vain + 1 if theirs == known else 0
        if self._in_vain >= _STUBBORN or time.monotonic() > self._until:
            reason = "others keep pushing" if theirs != known else "it does not say what it has"
            raise Unavailable(
                f"'{self._remote.name}' has rejected {self._tries} pushes: {reason}",
                "everything is kept here: try again later",
            )

    def _read_back(self, pushed: str, lines: Sequence[bytes]) -> Receipt:
        """Ask the remote what it has now; others may have pushed since."""
        there = self._remote.tip(self._ref)
        arrived = lines
        if there == pushed:
            self._track(pushed)
        else:
            there = fetch(self._journal, self._remote)
            has = {line for _, line in self._journal.notes.read(there)} if there else set()
            arrived = [line for line in lines if line in has]
        if len(arrived) < len(lines):
            raise Unavailable(
                f"'{self._remote.name}' took {len(lines)} events, and has {len(arrived)} of them",
                "everything is kept here: try again, and ask whoever runs it",
            )
        return Receipt(there, tuple(arrived), self._tries)

    def _track(self, tip: str) -> None:
        """Note where the remote stands; git does so itself where the refspec is configured."""
        ref = tracking(self._remote.name)
        old = self._git.ref(ref)
        if old != tip:
            try:
                self._git.update_refs([RefUpdate(ref, tip, old)], "gitmem: push")
            except RefMoved:  # a fetch was quicker
                return


def _whole(journal: Journal, tip: str, beside_gc: bool) -> bool:
    """Whether all of a journal is here.

    A plain fetch leaves some out in a partial clone; ``git gc --prune=now`` deletes what a fetch
    beside it has brought and no ref names yet.
    """
    history = History(journal.git.layout)
    if not (history.partial or beside_gc):
        return True
    mine = journal.notes.tip()
    bounds = [tip, *([f"^{mine}"] if mine else [])]
    listed = history.attempt("rev-list", "--objects", "--missing=print", *bounds)
    return not listed.returncode and b"\n?" not in b"\n" + listed.stdout
