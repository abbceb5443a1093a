"""Whereabouts: where memories of another tool belong in this repository's history.

A memory is written as if it had been remembered here, then: on the commit that its branch stood at,
with that branch's line. So it is seen where it was, and travels as the branch's own memories do.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from gitmem.journal.branches.sight import Sight
from gitmem.journal.codec import printable_name
from gitmem.journal.git.history import BRANCHES, REMOTES, History
from gitmem.journal.git.port import Git
from gitmem.verbs.record import EMPTY_TREE

_NO_NAME = re.compile(r"[\0-\x20\x7f~^:?*\[\\]|\.\.|^$")
"""What no branch has in its name: others' files may name anything."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a tool had a memory: its branch, all that showed it, and the commit it was noted on."""

    branch: str
    known: Sequence[str]
    commit: str


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an event stands, and what it says of that."""

    anchor: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Chain:
    """A first-parent history, oldest first; a time is that of the latest commit so far."""

    commits: tuple[str, ...]
    times: tuple[int, ...]

    def at(self, moment: str) -> str:
        """Return the commit that was the tip then; the oldest if there was none."""
        seconds = int(datetime.fromisoformat(moment).timestamp())
        return self.commits[max(0, bisect_right(self.times, seconds) - 1)]


class Whereabouts:
    """Answers for the memories of one import."""

    def __init__(self, git: Git, sight: Sight, commits: Iterable[str]) -> None:
        """`commits` are those that memories were noted on."""
        self._git = git
        self._lines = sight.lines
        self._history = History(git.layout)
        self._trunk = sight.lines.trunk_name()
        self._chains: dict[str, _Chain] = {}
        self._held = self._reached(set(commits))

    def of(self, site: Site, at: str) -> Spot:
        """Return where a memory belongs that was remembered at a time.

        One without branch was everybody's. One that the tool showed on the trunk is the trunk's,
        and of a branch that is gone it belongs to one that took it over.
        """
        if site.commit in self._held:
            return Spot(site.commit, {})
        if not site.branch:
            return Spot(self._on_trunk(at), {"scope": "repo"})
        if self._trunk in (site.branch, *site.known):
            return Spot(self._on_trunk(at), {"branch": printable_name(site.branch)})
        there = (name for name in (site.branch, *site.known) if self._tip(name))
        return self.on(next(there, site.branch), at)

    def on(self, branch: str, at: str) -> Spot:
        """Return where an event of a branch belongs.

        Of one that is gone nothing shows it, until the branch's work is found to have landed or
        somebody adopts it: it waits on the oldest commit, with a line made of the name.
        """
        tip = self._tip(branch)
        if branch == self._trunk or not tip:
            gone = branch != self._trunk
            anchor = self._oldest() if gone else self._on_trunk(at)
            waits = {"line": _line(branch), "pending": True} if gone else {}
            return Spot(anchor, {"branch": printable_name(branch), **waits})
        commit = self._chain(tip).at(at)
        stamp = self._lines.stamp_of(branch, commit)
        fields = {"branch": stamp.branch, "line": stamp.line, "pending": stamp.pending or None}
        return Spot(commit, fields)

    def _reached(self, commits: set[str]) -> set[str]:
        """Return those that a branch here has."""
        known = self._history.known(commits)
        tips = [tip.commit for tip in self._history.tips()]
        return known - self._history.unreached(known, tips)

    def _tip(self, branch: str) -> str | None:
        """Return where a branch stands, here or else in a remote; None if none can be so named."""
        if _NO_NAME.search(branch):
            return None
        remotes = (f"{REMOTES}{remote}/{branch}" for remote in self._lines.remotes())
        return next(filter(None, map(self._git.ref, (BRANCHES + branch, *remotes))), None)

    def _on_trunk(self, at: str) -> str:
        tip = next(iter(self._lines.trunk_tips()), None) or self._git.head().commit
        return self._chain(tip).at(at) if tip else EMPTY_TREE[self._git.layout.object_format]

    def _oldest(self) -> str:
        return self._on_trunk("1970-01-01T00:00:00Z")

    def _chain(self, tip: str) -> _Chain:
        if tip not in self._chains:
            options = ("--first-parent", "--reverse", "--timestamp")
            listed = self._history.attempt("rev-list", *options, tip, "--").stdout.decode()
            rows = [line.split(" ") for line in listed.splitlines()] or [["0", tip]]
            times = accumulate((int(time) for time, _ in rows), max)
            self._chains[tip] = _Chain(tuple(oid for _, oid in rows), tuple(times))
        return self._chains[tip]


def _line(branch: str) -> str:
    """Return the same in every clone, so that importing twice makes no second line."""
    return hashlib.sha256(f"import {branch}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
