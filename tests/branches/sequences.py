"""Random sequences of git and memory operations, played against a world and a model.

A step is an operation and numbers, which are resolved against what there is when it is played: a
step taken out of a sequence leaves one that can still be played, so a failing one can be shrunk.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from gitmem.journal.git.port import Backend
from tests.branches import model
from tests.branches.facts import Git, Said
from tests.branches.world import World

Step = tuple[str, int, int]

WEIGHTS = {
    "commit": 16, "remember": 12, "work": 16, "fork": 4, "branch": 2, "switch": 9, "detach": 1,
    "revise": 4, "forget": 2, "sync": 1, "land": 16, "merge": 4, "squash": 4, "pick": 4,
    "rebase": 5, "interactive": 4, "amend": 3, "reset": 2, "revert": 1, "rename": 3, "delete": 3,
}  # fmt: skip
NAMES = "f g h k m n p q r s t u".split()
REUSED = 0.1
"""How often a new branch takes a name that was used before."""
ON_TRUNK = 0.25
"""How often the trunk is rewritten where a branch would be."""


def draw(seed: int, length: int = 22) -> list[Step]:
    """Return the steps of a seed."""
    chosen = random.Random(seed)
    names = chosen.choices(list(WEIGHTS), list(WEIGHTS.values()), k=length)
    return [(name, chosen.randrange(1 << 30), chosen.randrange(1 << 30)) for name in names]


class Disagreement(AssertionError):
    """The library and the model differ."""


class Player:
    """Plays steps in a world and compares the library with the model after each."""

    def __init__(self, root: Path, backend: Backend, tick: int) -> None:
        self.world = World(root, backend, tick)
        self.world.begin()
        self.git = Git(self.world.here)
        self.log: list[str] = []
        self._names = iter(NAMES)
        self._used: list[str] = []
        self._letters = 0
        self._files = 0

    def close(self) -> None:
        """Close what was opened."""
        self.world.close()

    def play(self, step: Step) -> None:
        """Take one step and compare."""
        op, x, y = step
        done = _OPERATIONS[op](self, x, y)
        if done:
            self.log.append(done)
            self.compare()

    def truth(self) -> model.Truth:
        """What holds now, by the model."""
        return model.Truth(self.git)

    def compare(self) -> None:
        """Hold what every branch sees against the model."""
        truth = self.truth()
        carried = truth.carried()
        wanted = truth.memories(truth.visible(truth.here, truth.head, carried))
        self._same("HEAD", wanted, None)
        for branch, tip in truth.branches.items():
            wanted = truth.memories(truth.visible(branch, tip, carried))
            self._same(branch, wanted, branch)

    def _same(self, who: str, wanted: dict[str, str], branch: str | None) -> None:
        found = self.world.gm.list() if branch is None else self.world.gm.list(branch=branch)
        texts = {memory.id: memory.body for memory in found}
        if texts != wanted:
            library, naive = sorted(texts.values()), sorted(wanted.values())
            raise Disagreement(f"from {who} the library sees {library}, the model {naive}")

    # -- git ----------------------------------------------------------------------------------

    def commit(self, x: int, y: int) -> str:
        """A new file, a line more in a shared file, or a changed line in another."""
        self._files += 1
        kind, path = x % 10, self.world.here
        if kind < 6:
            name = f"n{self._files}.txt"
            (path / name).write_text(f"{name}\n")
        elif kind < 8:
            name = "shared.txt"
            with (path / name).open("a") as lines:
                lines.write(f"line {self._files}\n")
        else:
            name = "table.txt"
            rows = [f"row {i}" for i in range(40)]
            if (path / name).is_file():
                rows = (path / name).read_text().split("\n")
            rows[(y % 8) * 5] = f"row changed {self._files}"
            (path / name).write_text("\n".join(rows))
        self.world.git("add", "-A")
        return self._try("commit", "-q", "-m", f"c{self._files}")

    def fork(self, x: int, y: int) -> str:
        return self._try("switch", "-q", "-c", self._name(x), self._start(y))

    def branch(self, x: int, y: int) -> str:
        return self._try("branch", self._name(x), self._start(y))

    def switch(self, x: int, y: int) -> str:
        branches = [name for name in self.branches() if name != self.here()]
        return self._try("switch", "-q", branches[x % len(branches)]) if branches else ""

    def detach(self, x: int, y: int) -> str:
        return self._try("switch", "-q", "--detach", self._any(x))

    def work(self, x: int, y: int) -> str:
        """A new branch with a commit, and a memory before it, after it, or both."""
        start = model.TRUNK if x % 2 else self._start(y)
        done = [self._try("switch", "-q", "-c", self._name(x), start)]
        if y % 4:
            done.append(self.remember(x, y))
        done.append(self.commit(x // 2, y))
        if y % 4 != 1:
            done.append(self.remember(y, x))
        return "; ".join(filter(None, done))

    def land(self, x: int, y: int) -> str:
        """A branch goes into the trunk in one of the ways there are, and often out of sight."""
        other = self._any(x)
        done = [self._try("switch", "-q", model.TRUNK)]
        if y % 3 == 0:
            done.append(self.commit(x // 3, y))
        if x % 5 == 0:
            done.append(self._try("merge", "-q", "--no-edit", other, undo=("merge", "--abort")))
        elif x % 5 == 1:
            picked = ("cherry-pick", f"{model.TRUNK}..{other}")
            done.append(self._try(*picked, undo=("cherry-pick", "--abort")))
        else:
            done.append(self._squash(other, y))
        if y % 2 and other != model.TRUNK:
            done.append(self._try("branch", "-q", "-D", other))
        if y % 5 < 2:
            done.append(self.commit(x // 5, y // 5))
        return "; ".join(filter(None, done))

    def merge(self, x: int, y: int) -> str:
        how = ("--ff", "--no-ff", "--no-ff", "--ff-only")[y % 4]
        return self._try("merge", "-q", "--no-edit", how, self._any(x), undo=("merge", "--abort"))

    def squash(self, x: int, y: int) -> str:
        return self._squash(self._any(x), y)

    def _squash(self, other: str, y: int) -> str:
        done = self._try("merge", "-q", "--squash", other, undo=("reset", "-q", "--hard"))
        if not done:
            return ""
        if y % 5 == 0:
            (self.world.here / "version.txt").write_text(f"{y}\n")
            self.world.git("add", "-A")
        said = self._try("commit", "-q", "-m", f"squash {other}")
        return f"{done}; {said}" if said else ""

    def rebase(self, x: int, y: int) -> str:
        if not self._may_rewrite(y):
            return ""
        return self._try("rebase", "-q", self._any(x), undo=("rebase", "--abort"))

    def interactive(self, x: int, y: int) -> str:
        """Drop, fold or reorder some of the last commits."""
        rows = self.git.lines("log", "--format=%H", "--no-merges", f"-{2 + x % 2}")
        rows.reverse()
        if not self._may_rewrite(y) or len(rows) < 2 or not self._linear(len(rows)):
            return ""
        todo = [f"pick {commit}" for commit in rows]
        kind, at = y % 3, 1 + x % (len(rows) - 1)
        if kind == 0:
            todo[at if x % 5 else 0] = f"drop {rows[at if x % 5 else 0]}"
        elif kind == 1:
            todo[at] = f"fixup {rows[at]}"
        else:
            todo[at], todo[at - 1] = todo[at - 1], todo[at]
        plan = self.world.root / "todo"
        plan.write_text("\n".join(todo) + "\n")
        editor = {"GIT_SEQUENCE_EDITOR": f"cp '{plan}'"}
        base = f"HEAD~{len(rows)}"
        done = self._try("rebase", "-q", "-i", base, undo=("rebase", "--abort"), environment=editor)
        return done and f"{done} # {', '.join(row[:13] for row in todo)}"

    def amend(self, x: int, y: int) -> str:
        if not self._may_rewrite(y):
            return ""
        if x % 2:
            self._files += 1
            (self.world.here / f"n{self._files}.txt").write_text(f"amended {self._files}\n")
            self.world.git("add", "-A")
        return self._try("commit", "-q", "--amend", "-m", f"amended {x % 100}")

    def pick(self, x: int, y: int) -> str:
        other = self._any(x) + "~1" * (y % 3 == 0)
        if self.git.ask("rev-parse", "-q", "--verify", f"{other}^2")[0] == 0:
            return ""
        return self._try("cherry-pick", other, undo=("cherry-pick", "--abort"))

    def revert(self, x: int, y: int) -> str:
        return self._try("revert", "--no-edit", "HEAD", undo=("revert", "--abort"))

    def reset(self, x: int, y: int) -> str:
        return self._try("reset", "-q", "--hard", "HEAD~1") if self._may_rewrite(y) else ""

    def rename(self, x: int, y: int) -> str:
        branches = [name for name in self.branches() if name != model.TRUNK]
        if not branches:
            return ""
        return self._try("branch", "-m", branches[x % len(branches)], self._name(y))

    def delete(self, x: int, y: int) -> str:
        others = [name for name in self.branches() if name not in (model.TRUNK, self.here())]
        return self._try("branch", "-q", "-D", others[x % len(others)]) if others else ""

    # -- memories -----------------------------------------------------------------------------

    def remember(self, x: int, y: int) -> str:
        self._letters += 1
        letter = f"M{self._letters}"
        options: dict[str, object] = {"private": True} if x % 5 == 0 else {}
        if x % 11 == 0:
            options["scope"] = "repo"

        def write() -> None:
            self.world.remember(letter, **options)  # type: ignore[arg-type]

        return self._write(" ".join(["remember", letter, *options]), write)

    def revise(self, x: int, y: int) -> str:
        letter = self._seen_letter(x)
        if not letter:
            return ""
        self._letters += 1
        text = f"{letter}.{self._letters}"
        return self._write(f"revise {letter} {text}", lambda: self.world.revise(letter, text))

    def forget(self, x: int, y: int) -> str:
        letter = self._seen_letter(x)
        return self._write(f"forget {letter}", lambda: self.world.forget(letter)) if letter else ""

    def sync(self, x: int, y: int) -> str:
        return self._write("sync --start", lambda: self.world.gm.sync_start())

    def _seen_letter(self, x: int) -> str:
        letters = sorted(self.world.seen())
        return letters[x % len(letters)] if letters else ""

    def _write(self, said: str, action: Callable[[], object]) -> str:
        """Write, and hold the stamps of what was written, and the carries, against the model."""
        before = self.truth()
        carried = before.carried()
        visible = before.visible(before.here, before.head, carried)
        action()
        after = self.truth()
        for id in after.events.keys() - before.events.keys():
            event = after.events[id]
            if event.fields["op"] == "carry":
                names = event.fields["events"]
                written = {(name, anchor) for name in names for anchor in event.anchors}
                if extra := written - carried:
                    raise Disagreement(f"{said}: the library carries {self._named(after, extra)}")
            else:
                self._same_stamp(said, event, before.stamp() | {"line": self._line(after)})
                if event.fields["op"] != "remember":
                    self._same_base(said, event, before.heads(event.memory, visible))
        return f"gitmem {said}"

    def _line(self, truth: model.Truth) -> str | None:
        return None if truth.here in (None, model.TRUNK) else truth.ids.get(truth.here)

    def _same_stamp(self, said: str, event: Said, wanted: dict[str, object]) -> None:
        found = {
            "branch": event.fields.get("branch"),
            "line": event.fields.get("line"),
            "pending": event.pending,
            "anchor": min(event.anchors),
        }
        if found != wanted and not event.repo:
            raise Disagreement(f"{said}: the library stamps {found}, the model {wanted}")

    def _same_base(self, said: str, event: Said, heads: set[str]) -> None:
        base = sorted(event.fields["base"])
        if set(base) != heads:
            raise Disagreement(f"{said}: its base is {base}, seen were {sorted(heads)}")

    def _named(self, truth: model.Truth, pairs: set[model.Pair]) -> list[str]:
        subject = {id: truth.memories({id}).get(truth.events[id].memory, "?") for id, _ in pairs}
        return [
            f"{subject[id]} to {self.git.ask('log', '-1', '--format=%h %s', commit)[1].strip()}"
            for id, commit in sorted(pairs)
        ]

    # -- what there is ------------------------------------------------------------------------

    def here(self) -> str:
        return self.git.ask("branch", "--show-current")[1].strip()

    def branches(self) -> list[str]:
        return self.git.lines("for-each-ref", "--format=%(refname:short)", "refs/heads")

    def _any(self, x: int) -> str:
        branches = self.branches()
        return branches[x % len(branches)]

    def _start(self, y: int) -> str:
        return "HEAD" if y % 3 else self._any(y // 3)

    def _name(self, x: int) -> str:
        used = [name for name in self._used if name not in self.branches()]
        if used and (x % 1000) / 1000 < REUSED:
            return used[x % len(used)]
        name = next(self._names, f"z{len(self._used)}")
        self._used.append(name)
        return name

    def _may_rewrite(self, y: int) -> bool:
        return self.here() != model.TRUNK or (y // 7 % 100) / 100 < ON_TRUNK

    def _linear(self, count: int) -> bool:
        rows = self.git.lines("rev-list", "--parents", f"-{count}", "HEAD")
        return len(rows) == count and all(len(row.split(" ")) == 2 for row in rows)

    def _try(
        self, *args: str, undo: Sequence[str] = (), environment: dict[str, str] | None = None
    ) -> str:
        """Run git; what it cannot do is undone and did not happen."""
        if not self.world.attempt(*args, environment=environment).returncode:
            return f"git {' '.join(args)}"
        if undo:
            self.world.attempt(*undo)
        self.world.attempt("reset", "-q", "--hard")
        return ""


_OPERATIONS = {name: getattr(Player, name) for name in WEIGHTS}


def attempt(
    steps: Sequence[Step], backend: Backend, tick: int, root: Path
) -> tuple[str, list[str]]:
    """Play steps under `root`, and return how they failed, if they did, and what was done."""
    player = Player(root, backend, tick)
    try:
        for step in steps:
            player.play(step)
        player.world.gm.sync_start()
        player.log.append("gitmem sync --start")
        player.compare()
    except Disagreement as found:
        return str(found), player.log
    except Exception:  # whatever the library raises is to be shrunk, too
        return traceback.format_exc(limit=-6), player.log
    finally:
        player.close()
    return "", player.log


def settings(seed: int) -> tuple[Backend, int]:
    """Return how a seed is played: the way to git, and the seconds that a command takes."""
    return ("program" if seed % 2 else "libgit2"), (60, 1)[seed % 3 == 0]


def shrink(steps: list[Step], backend: Backend, tick: int) -> list[Step]:
    """Return fewer steps that still fail."""

    def fails(steps: list[Step]) -> bool:
        root = Path(tempfile.mkdtemp())
        try:
            return bool(attempt(steps, backend, tick, root)[0])
        finally:
            shutil.rmtree(root, ignore_errors=True)

    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            fewer = steps[:start] + steps[start + size :]
            if fails(fewer):
                steps = fewer
            else:
                start += size
        size //= 2
    return steps
