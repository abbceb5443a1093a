"""Real repositories, a clock and memories by letter: what the branch tests play on.

Every command of git and of gitmem takes place at a time of the world's own clock, so that commit
dates, reflogs and events agree, and a failing sequence fails again.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import gitmem
from gitmem import Gitmem, Memory
from gitmem.journal.git.port import Backend

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
SHARED = "refs/notes/gitmem/shared"


class World:
    """Repositories side by side in one folder; commands run in the current one."""

    def __init__(self, root: Path, backend: Backend = "program", tick: int = 60) -> None:
        """Make a world under `root`, where each command takes `tick` seconds."""
        self.root = root
        self.backend: Backend = backend
        self.ids: dict[str, str] = {}
        self._tick = timedelta(seconds=tick)
        self._time = BEGIN
        self._here = root
        self._open: dict[Path, Gitmem] = {}

    # -- places -------------------------------------------------------------------------------

    @property
    def here(self) -> Path:
        """The directory that commands run in."""
        return self._here

    def go(self, name: str) -> None:
        """Work in the directory `name` from now on."""
        self._here = (self.root / name).resolve()
        assert self._here.is_dir(), name

    def begin(self, name: str = "repo") -> None:
        """Make a repository with one commit and gitmem set up, and work in it."""
        (self.root / name).mkdir()
        self.go(name)
        self.git("init", "-q")
        self.commit("first")
        self.gm.init()

    @property
    def gm(self) -> Gitmem:
        """The memory of where one is: the same object for as long as the world lasts."""
        if self._here not in self._open:
            self._open[self._here] = self.fresh(self.backend)
        return self._open[self._here]

    def fresh(self, backend: Backend) -> Gitmem:
        """Open the memory of where one is anew."""
        return gitmem.open(self._here, backend=backend, now=lambda: self._time)

    def close(self) -> None:
        """Close what was opened."""
        for gm in self._open.values():
            gm.close()
        self._open.clear()

    # -- git ----------------------------------------------------------------------------------

    def attempt(
        self, *args: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run git and return what became of it; time goes on."""
        self._time += self._tick
        date = f"{int(self._time.timestamp())} +0000"
        dated = {
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
            "GIT_EDITOR": "true",
            "FILTER_BRANCH_SQUELCH_WARNING": "1",  # else it sleeps ten seconds first
        }
        return subprocess.run(
            ["git", *args],
            cwd=self._here,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **dated, **(environment or {})},
        )

    def git(self, *args: str, environment: Mapping[str, str] | None = None) -> str:
        """Run git and return what it prints; it must succeed."""
        done = self.attempt(*args, environment=environment)
        assert not done.returncode, f"git {' '.join(args)}: {done.stderr}{done.stdout}"
        return done.stdout.rstrip("\n")

    def commit(self, name: str, file: str | None = None) -> None:
        """Commit `name`: a line more in `file`, by default a file of its own."""
        path = self._here / (file or f"{name}.txt")
        with path.open("a", encoding="utf-8") as lines:
            lines.write(f"{name}\n")
        self._commit(name)

    def change(self, name: str, file: str, row: str) -> None:
        """Commit `name`: line number `row` of `file`, which has 20 from the first time on."""
        path = self._here / file
        lines = path.read_text().split("\n") if path.exists() else ["line"] * 20 + [""]
        lines[int(row) - 1] = name
        path.write_text("\n".join(lines))
        self._commit(name)

    def _commit(self, name: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", name)

    def rebase(self, base: str, todo: Sequence[tuple[str, str]]) -> None:
        """Rebase interactively onto `base` by a list of (command, commit subject)."""
        log = self.git("log", "--format=%s %H", f"{base}..HEAD")
        made = dict(line.rsplit(" ", 1) for line in log.split("\n"))
        plan = self.root / "todo"
        plan.write_text("".join(f"{command} {made[name]}\n" for command, name in todo))
        self.git("rebase", "-q", "-i", base, environment={"GIT_SEQUENCE_EDITOR": f"cp '{plan}'"})

    # -- memories -----------------------------------------------------------------------------

    def remember(self, letter: str, kind: str | None = None, **options: object) -> None:
        """Remember a letter."""
        self._time += self._tick
        memory = self.gm.remember(letter, kind=kind, **options)  # type: ignore[arg-type]
        self.ids[letter] = memory.id

    def revise(self, letter: str, text: str) -> None:
        """Give a letter's memory another text."""
        self._time += self._tick
        self.gm.update(self.ids[letter], text)

    def forget(self, letter: str) -> None:
        """Forget a letter's memory."""
        self._time += self._tick
        self.gm.forget(self.ids[letter])

    def seen(self, branch: str | None = None, gm: Gitmem | None = None) -> dict[str, Memory]:
        """Return {letter: memory} as seen from a branch, or from HEAD."""
        letters = {id: letter for letter, id in self.ids.items()}
        gm = gm or self.gm
        found = gm.list() if branch is None else gm.list(branch=branch)
        return {letters[memory.id]: memory for memory in found}

    def share(self) -> None:
        """Exchange journals with origin by stock git alone: fetch, union merge, push."""
        incoming = "refs/notes/incoming"
        fetch = ("fetch", "-q", "--no-filter", "origin", f"+{SHARED}:{incoming}")
        if not self.attempt(*fetch).returncode:
            self.git("notes", "--ref=gitmem/shared", "merge", "-q", "-s", "cat_sort_uniq", incoming)
        if not self.attempt("rev-parse", "-q", "--verify", SHARED).returncode:
            self.git("push", "-q", "origin", SHARED)
