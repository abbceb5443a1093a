"""What the reflogs say: which commits were made on which branch, also on one that is gone.

A branch's own reflog is deleted with it. HEAD's is not, and tells by ``checkout: moving from … to``
on which branch each commit was made; every worktree has a HEAD of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gitmem.journal.git.history import BRANCHES, History
from gitmem.journal.git.objects import decode

_LINE = re.compile(rb"([0-9a-f]+) ([0-9a-f]+) (.*) (\d+) [-+]\d+(?:\t(.*))?")
_MADE = re.compile(
    r"commit\b|(?:cherry-pick|revert|am): (?!fast-forward$)"
    r"|(?:merge|pull)\b.*: (?:Merge made by|In-index merge)"
)
_PICKED = re.compile(r"(?:rebase|pull)\b.* \((?:pick|squash|fixup|reword|edit|continue|merge)\): ")
_STARTED = re.compile(r"(?:rebase|pull)\b.* \(start\): ")
_ABORTED = re.compile(r"(?:rebase|pull)\b.* \(abort\): ")
_FINISHED = re.compile(rf"(?:rebase|pull)\b.* \(finish\): (?:returning to )?{BRANCHES}(\S+)")
_LEFT = re.compile(r"checkout: moving from (\S+) to (\S+)")
_RENAMED = re.compile(rf"Branch: renamed {BRANCHES}(\S+) to {BRANCHES}(\S+)")


@dataclass(frozen=True, slots=True)
class Move:
    """One line of a reflog; `time` in seconds since 1970."""

    old: str
    new: str
    who: str
    time: int
    message: str


@dataclass(frozen=True, slots=True)
class Made:
    """A commit made while HEAD stood for `branch`."""

    commit: str
    branch: str
    time: int


@dataclass(slots=True)
class Replay:
    """What HEAD's reflogs say of branches: commits made, rebases finished, tips left behind."""

    made: list[Made] = field(default_factory=list)
    left: list[Made] = field(default_factory=list)
    rebased: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    renamed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class Reflogs:
    """The reflogs of one repository, read when first asked for."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._folder = history.layout.common_dir
        self._made: dict[str, frozenset[str]] = {}

    def of(self, ref: str) -> list[Move]:
        """Return the reflog of a branch, oldest first."""
        return self._read(ref, self._folder / "logs" / ref)

    def since(self, branch: str) -> int | None:
        """Return when the reflog of an existing branch begins."""
        moves = self.of(BRANCHES + branch)
        return moves[0].time if moves else None

    def renamed_from(self, branch: str) -> str | None:
        """Return what an existing branch was called before it got this name, if it was renamed."""
        renames = (_RENAMED.match(move.message) for move in reversed(self.of(BRANCHES + branch)))
        return next((found[1] for found in renames if found and found[2] == branch), None)

    def made_on(self, branch: str) -> frozenset[str]:
        """Return the commits that the reflog of an existing branch says were made on it."""
        if branch not in self._made:
            self._made[branch] = frozenset(self._made_by(self.of(BRANCHES + branch)))
        return self._made[branch]

    def _made_by(self, moves: Iterable[Move]) -> Iterator[str]:
        for move in moves:
            if _MADE.match(move.message):
                yield move.new
            elif finished := _FINISHED.match(move.message):
                # Logged too when a rebase merely fast-forwards: then HEAD's reflog has no pick.
                yield from self.replay.rebased.get((finished[1], move.new), ())

    @cached_property
    def replay(self) -> Replay:
        """HEAD's reflogs of all worktrees, replayed."""
        replay = Replay()
        for name, log in self._heads():
            _replay(self._read(name, log), replay)
        return replay

    def _heads(self) -> Iterator[tuple[str, Path]]:
        yield "main-worktree/HEAD", self._folder / "logs" / "HEAD"
        for worktree in sorted(self._folder.glob("worktrees/*")):
            yield f"worktrees/{worktree.name}/HEAD", worktree / "logs" / "HEAD"

    def state(self) -> list[tuple[int, int]]:
        """Return what changes whenever HEAD moves in any worktree."""
        logs = (log for _, log in self._heads())
        stats = (log.stat() for log in logs if log.exists())
        return [(stat.st_mtime_ns, stat.st_size) for stat in stats]

    def _read(self, ref: str, log: Path) -> list[Move]:
        if (self._folder / "reftable").exists():
            return asked(self._history, ref)
        try:
            lines = log.read_bytes().split(b"\n")
        except OSError:  # no reflog, as in a bare repository, or out of reach
            return []
        return [_move(*match.groups()) for line in lines if (match := _LINE.fullmatch(line))]


def asked(history: History, ref: str) -> list[Move]:
    """Return a reflog as git tells it: what a reftable holds is no file to read."""
    options = ("-g", "--date=raw", "-z", "--no-show-signature")
    done = history.attempt("log", *options, "--format=%H%n%gd%n%gn <%ge>%n%gs", ref, "--")
    moves: list[Move] = []
    old = "0" * history.layout.hex_length
    for record in reversed(decode(done.stdout).split("\0")):
        new, selector, who, message = record.split("\n", 3) if record else ("", "", "", "")
        when = re.search(r"@\{(\d+)", selector)
        if when:
            moves.append(Move(old, new, who, int(when[1]), message))
            old = new
    return moves


def _move(old: bytes, new: bytes, who: bytes, time: bytes, message: bytes | None) -> Move:
    return Move(old.decode(), new.decode(), decode(who), int(time), decode(message or b""))


def _replay(moves: Sequence[Move], replay: Replay) -> None:
    """Replay one HEAD: what lies between two checkouts was made on the branch that was left."""
    stay: list[Move] = []
    rebase: list[Move] | None = None
    branch: str | None = None
    seen: set[str] = set()
    for move in moves:
        if left := _LEFT.match(move.message):
            _settle(stay, left[1], replay)
            replay.left.append(Made(move.old, left[1], move.time))
            stay, rebase, branch = [], None, left[2]
        elif _STARTED.match(move.message):
            rebase = []
        elif finished := _FINISHED.match(move.message):
            _settle(rebase or (), finished[1], replay)
            replay.rebased[finished[1], move.new].update(pick.new for pick in rebase or ())
            rebase = None
        elif _ABORTED.match(move.message):
            rebase = None
        elif renamed := _RENAMED.match(move.message):
            replay.renamed[renamed[1]].add(renamed[2])
        elif _MADE.match(move.message) or (_PICKED.match(move.message) and move.new not in seen):
            # A pick that is only a fast-forward is logged like any other: made is what is new.
            (stay if rebase is None else rebase).append(move)
        seen.update((move.old, move.new))
    if branch:
        _settle(stay, branch, replay)


def _settle(made: Iterable[Move], branch: str, replay: Replay) -> None:
    replay.made += (Made(move.new, branch, move.time) for move in made)
