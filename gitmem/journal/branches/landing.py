"""What should be carried, and is not yet: memories whose commits git rewrote, squashed or picked.

A carry stands on a commit and names events that are to be seen from there. What one says of itself
is taken from its commit, so every clone that sees the same writes the same line. See
``docs/branches.md``, "Home", "Landed" and "Carry".
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from gitmem.journal.branches.ancestry import Ancestry
from gitmem.journal.branches.candidates import Candidates
from gitmem.journal.branches.groups import Group, Grouping
from gitmem.journal.branches.home import Carried, Found, home, rewritten_trunk
from gitmem.journal.branches.lines import Lines
from gitmem.journal.branches.scene import Scene, oldest_first
from gitmem.journal.branches.squash import SCHEMA, Landed, Squashes
from gitmem.journal.branches.visibility import Carry, Fact
from gitmem.journal.codec import printable_name
from gitmem.journal.git.history import History
from gitmem.journal.git.port import Git
from gitmem.journal.git.reflogs import Reflogs

_FILE = "landing.1.sqlite"
_SCHEMA = (
    SCHEMA
    + """
CREATE TABLE IF NOT EXISTS settled (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS below (at TEXT, key TEXT, commits TEXT, PRIMARY KEY (at, key));
"""
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Carries:
    """What should be carried and is not yet.

    `complete` is False if time ran out before everything was looked for: the next call goes on.
    `skipped` counts commits whose landing cannot be decided in this clone.
    """

    carries: tuple[Carry, ...]
    complete: bool = True
    skipped: int = 0


class Landing:
    """Looks for what should be carried; what it finds out is kept in `folder`, and disposable."""

    def __init__(
        self, git: Git, history: History, lines: Lines, ancestry: Ancestry, folder: Path | None
    ) -> None:
        self._git = git
        self._history = history
        self._lines = lines
        self._ancestry = ancestry
        self._path = folder / _FILE if folder and folder.is_dir() else None
        self._db: sqlite3.Connection | None = None
        self._squashes: Squashes | None = None

    def close(self) -> None:
        """Stop what was started."""
        if self._squashes:
            self._squashes.close()
        if self._db:
            self._db.close()
        self._squashes = self._db = None

    def carries(
        self,
        facts: Sequence[Fact],
        budget_seconds: float | None = None,
        head: str | None = None,
    ) -> Carries:
        """Return what should be carried, as `head` (by default HEAD's commit) has it.

        Looks for at most about `budget_seconds` and may then be incomplete. `facts` are all of the
        journals', carries among them.
        """
        if not facts:
            return Carries(())
        end = time.monotonic() + budget_seconds if budget_seconds is not None else None
        scene = Scene(self._history, self._lines, self._ancestry)
        grouping = Grouping(scene, self._lines, Reflogs(self._history))
        groups, carried = grouping.groups(facts), Carried(facts)
        found = self._home(scene, groups, carried)
        _merge(found, rewritten_trunk(scene, self._history, groups, carried))
        virtual = [_virtual(commit, ids) for commit, ids in found.items()]
        for carry in virtual:
            carried.add(carry)
        candidates = Candidates(scene, self._history, [*facts, *virtual], groups, carried)
        landed = self._landed(scene, candidates, head or self._git.head().commit, end)
        _merge(found, self._named(candidates, carried, landed))
        carries = sorted(self._carry(scene, commit, ids) for commit, ids in found.items() if ids)
        return Carries(tuple(carries), landed.complete, landed.skipped)

    def _home(self, scene: Scene, groups: Sequence[Group], carried: Carried) -> Found:
        def look(db: sqlite3.Connection) -> Found:
            known = {key for (key,) in db.execute("SELECT key FROM settled")}
            settled = set(known)
            found = home(scene, groups, carried, settled)
            fresh = ((key,) for key in settled - known)
            db.executemany("INSERT OR IGNORE INTO settled VALUES (?)", fresh)
            return found

        return self._with_index(look)

    # -- landed -------------------------------------------------------------------------------

    def _landed(
        self, scene: Scene, candidates: Candidates, head: str | None, end: float | None
    ) -> Landed:
        if head is None:
            return Landed({}, True, 0)
        asked = candidates.all()
        away = asked - self._ancestry.reaches(head, asked)
        chosen = candidates.choose(scene.here(away))
        if not chosen or self._treeless():
            return Landed({}, True, len(chosen))

        def out_of_time() -> bool:
            return end is not None and time.monotonic() > end

        def look(db: sqlite3.Connection) -> Landed:
            self._squashes = self._squashes or Squashes(db, self._history)
            return self._squashes.find(head, chosen, out_of_time)

        return self._with_index(look)

    def _named(self, candidates: Candidates, carried: Carried, landed: Landed) -> Found:
        """Return what the landed commits show, and the commits they landed at do not."""
        tips: dict[str, list[str]] = defaultdict(list)
        for tip, at in sorted(landed.at.items()):
            tips[at].append(tip)
        found: Found = {}
        order = oldest_first(self._history.stamps(tips)) if len(tips) > 1 else list(tips)
        for at in order:  # what an older commit carries, its descendants show
            below = self._below(at, tips[at])
            shown = candidates.shown(below) | candidates.pending(tips[at], at)
            found[at] = candidates.unseen(at, shown, below)
            if found[at]:
                carried.add(_virtual(at, found[at]))
        return found

    def _below(self, at: str, tips: Sequence[str]) -> set[str]:
        """Return what `tips` reach and the commit they landed at does not."""
        key = at, hashlib.sha256(" ".join(tips).encode()).hexdigest()

        def look(db: sqlite3.Connection) -> set[str]:
            sql = "SELECT commits FROM below WHERE at=? AND key=?"
            if row := db.execute(sql, key).fetchone():
                return set(row[0].split())
            commits = {node.oid for node in self._history.graph(tips, [at]) if node.inside}
            row = *key, " ".join(sorted(commits))
            db.execute("INSERT OR REPLACE INTO below VALUES (?,?,?)", row)
            return commits

        return self._with_index(look)

    def _treeless(self) -> bool:
        """Whether trees were left out of this clone: nothing can be compared then."""
        config = self._git.config()
        filters = (v for key, values in config.items() for v in values
                   if key.endswith(".partialclonefilter"))  # fmt: skip
        return any("tree:" in each for each in filters)

    # -- the index ----------------------------------------------------------------------------

    def _with_index(self, use: Callable[[sqlite3.Connection], T]) -> T:
        """Use what is kept, and keep what is found out; without it, find everything out anew."""
        try:
            return self._committed(use)
        except sqlite3.Error as error:
            self.close()
            if self._path and not isinstance(error, sqlite3.OperationalError):
                self._path.unlink(missing_ok=True)  # damaged, and not just locked or full
            self._path = None
            return self._committed(use)

    def _committed(self, use: Callable[[sqlite3.Connection], T]) -> T:
        if self._db is None:
            self._db = sqlite3.connect(self._path or ":memory:", timeout=10)
            self._db.execute("PRAGMA synchronous=OFF")  # derived: a crash costs a look
            self._db.executescript(_SCHEMA)
        result = use(self._db)
        self._db.commit()
        return result

    # -- carries ------------------------------------------------------------------------------

    def _carry(self, scene: Scene, commit: str, ids: Collection[str]) -> Carry:
        stands = self._git.commit(commit)
        at = datetime.fromtimestamp(stands.time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        branch = scene.trunk if scene.on_trunk([commit]) else None
        return Carry(commit, tuple(sorted(ids)), at, printable_name(stands.author), branch)


def _virtual(commit: str, ids: Collection[str]) -> Fact:
    """Return a carry that is not written yet, for what builds on it."""
    return Fact(f"carry at {commit}", None, "carry", "", (commit,), carries=tuple(sorted(ids)))


def _merge(found: Found, more: Found) -> None:
    for commit, ids in more.items():
        found.setdefault(commit, set()).update(ids)
