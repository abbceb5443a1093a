"""Clones of one remote, and the processes that work in them, until all is quiet."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.sharing.servers import http
from tests.sharing.support import SHARED, Team, tip
from tests.support import git
from tests.torture.deeds import unlock
from tests.torture.plan import Deed, plan

ROUNDS = 6
"""Times that every clone syncs, after which it ought to have been quiet: two do, if all is well."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a writer said of its deed: how it ended, and the memories that it was about."""

    how: str
    memories: Sequence[str] = ()
    said: str = ""


@dataclass(slots=True)
class World:
    """A remote, its clones, and what has been done there."""

    team: Team
    seed: int
    deeds: Sequence[Deed]
    clones: Sequence[Path]
    told: dict[int, Told] = field(default_factory=dict)
    unlocked: int = 0
    rounds: int = 0

    def run(self, writers: int) -> None:
        """Let the writers do their deeds, all at once."""
        shares = [[deed for deed in self.deeds if deed.writer == n] for n in range(writers)]
        with ExitStack() as stack:
            log = self.team.folder / "log"
            log.mkdir()
            running = []
            for number, share in enumerate(shares):
                (log / f"{number}.in").write_text(json.dumps(share))
                given = stack.enter_context((log / f"{number}.in").open())
                said = stack.enter_context((log / f"{number}.out").open("w"))
                command = [sys.executable, "-m", "tests.torture.writer", str(self.team.folder)]
                running.append(subprocess.Popen(command, stdin=given, stdout=said))
            ended = [process.wait() for process in running]
        assert not any(ended), f"a writer ended with {ended}"
        for path in log.glob("*.out"):
            self.told |= dict(map(_told, path.read_text().splitlines()))

    def settle(self) -> None:
        """Let every clone push and pull until all of them stand where the remote does.

        Before that, whatever git was killed has left its locks for good.
        """
        self.unlocked = sum(len(unlock(clone, older=0)) for clone in self.clones)
        for number in range(1, ROUNDS + 1):
            for clone in self.clones:
                with self.team.open(clone) as gm:
                    gm.push()
                    gm.pull()
            if {tip(clone) for clone in self.clones} == {tip(self.team.remote)}:
                self.rounds = number
                return
        raise AssertionError(f"after {ROUNDS} rounds the clones still differ")

    def acknowledged(self) -> Mapping[int, Told]:
        """Return the deeds of which somebody was told that they are done."""
        return {number: told for number, told in self.told.items() if told.how == "done"}

    def summary(self) -> str:
        """Return what was done, and how it went, in a few lines."""
        verbs = Counter(self.deeds[number].verb for number in self.acknowledged())
        ends = Counter(told.how for told in self.told.values())
        killed = sum(deed.kill is not None for deed in self.deeds)
        errors = Counter(
            f"{told.how}: {told.said[:160]}" for told in self.told.values()
            if told.how in ("failed", "crashed", "stock")
        )  # fmt: skip
        return "\n".join(
            [
                f"seed {self.seed}: {len(self.deeds)} deeds, {killed} to be killed; {dict(ends)}",
                f"done: {dict(verbs)}; quiet after {self.rounds} rounds, {self.unlocked} locks",
                *(f"{count} × {error}" for error, count in errors.most_common(25)),
            ]
        )


def make(stack: ExitStack, folder: Path, seed: int, writers: int, clones: int, deeds: int) -> World:
    """Make a remote and its clones: the first by its path, every third by smart HTTP."""
    team = Team(folder)
    git(team.remote, "config", "http.receivepack", "true")
    url = f"{stack.enter_context(http(folder))}/{team.remote.name}"
    made = [team.clone(f"clone{n}", url=url if n % 3 == 2 else "") for n in range(clones)]
    return World(team, seed, plan(seed, writers, clones, deeds), made)


def lines(repo: Path) -> Sequence[tuple[str, bytes]]:
    """Return every line of the journal with its anchor, as stock git reads it."""
    listed = [row.split() for row in git(repo, "notes", "--ref", SHARED, "list").splitlines()]
    asked = "".join(f"{blob}\n" for blob, _ in listed).encode()
    batch = ["git", "cat-file", "--batch"]
    said = subprocess.run(batch, cwd=repo, input=asked, capture_output=True, check=True).stdout
    found = []
    for blob, anchor in listed:
        head, _, rest = said.partition(b"\n")
        size = int(head.split()[2])
        assert head.startswith(blob.encode()), head
        found += [(anchor, line) for line in rest[:size].split(b"\n") if line]
        said = rest[size + 1 :]
    return found


def _told(line: str) -> tuple[int, Told]:
    number, fields = json.loads(line)
    fields_: dict[str, Any] = fields
    return number, Told(**fields_)
