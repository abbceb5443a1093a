"""The kept session-start answer: given, it is what a fresh one would be."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gitmem
from gitmem import Gitmem, startup
from tests.support import git, run_cli

DAY = 86_400.0


@dataclass
class World:
    """A repository, a clock that can be turned, and an environment."""

    repo: Path
    home: Path
    ahead: float = DAY  # so that no file is of this moment, which is never kept
    environ: dict[str, str] = field(default_factory=dict)
    count: itertools.count[int] = field(default_factory=itertools.count)

    def now(self) -> datetime:
        """Return the time by the turned clock."""
        return datetime.fromtimestamp(time.time() + self.ahead, UTC)

    def open(self) -> Gitmem:
        """Open the repository at this time."""
        return gitmem.open(self.repo, now=self.now)

    def turned(self) -> AbstractContextManager[Any]:
        """Let the short way see this time too."""
        clock = SimpleNamespace(time=lambda: self.now().timestamp())
        return mock.patch.object(startup, "time", clock)

    def kept(self) -> tuple[str, Any] | None:
        """Return the kept answer, if it still holds."""
        with self.turned():
            found = startup.load(str(self.repo))
        return (str(found["markdown"]), found["compact"]) if found else None

    def fresh(self) -> tuple[str, Any]:
        """Make the answer anew, and keep it."""
        with self.turned(), self.open() as gm:
            briefing = gm.sync_start()
        return briefing.markdown, json.loads(json.dumps(briefing.compact))


def _some(gm: Gitmem, number: int) -> str | None:
    found = [memory for memory in gm.list() if memory.kind != "context"]
    return found[number % len(found)].id if found else None


def _remember(world: World, number: int) -> None:
    importance = ("critical", "high", "normal")[number % 3]
    with world.open() as gm:
        gm.remember(f"fact {next(world.count)}", importance=importance, private=number % 4 == 0)


def _remember_for_a_while(world: World, number: int) -> None:
    with world.open() as gm:
        gm.remember(f"soon gone {next(world.count)}", expires=f"{number + 1}d", importance="high")


def _for_the_user(world: World, number: int) -> None:
    with world.open() as gm:
        gm.remember(f"mine {next(world.count)}", scope="user")


def _forget(world: World, number: int) -> None:
    with world.open() as gm:
        if id := _some(gm, number):
            gm.forget(id)


def _context(world: World, number: int) -> None:
    with world.open() as gm:
        gm.set_context(f"working on {next(world.count)}")


def _edit(world: World, number: int) -> None:
    path = world.repo / "MEMORY.md"
    text = path.read_text() if path.exists() else "<!-- gitmem:end -->"
    path.write_text(
        text.replace("<!-- gitmem:end", f"- typed {next(world.count)}\n<!-- gitmem:end")
    )


def _edit_many(world: World, number: int) -> None:
    """Delete most lines of the block: an edit that is held."""
    path = world.repo / "MEMORY.md"
    if path.exists():
        path.write_text("".join(x for x in path.read_text().splitlines(True) if x[:2] != "- "))


def _commit(world: World, number: int) -> None:
    git(world.repo, "add", "-f", "MEMORY.md", check=False)
    git(world.repo, "commit", "--allow-empty", "-q", "-m", "work")


def _switch(world: World, number: int) -> None:
    branch = ("main", "topic/a", "topic-b")[number % 3]
    git(world.repo, "checkout", "-q", "-f", branch, check=False)
    git(world.repo, "checkout", "-q", "-f", "-b", branch, check=False)


def _another_branch(world: World, number: int) -> None:
    """Move, make or delete a branch that one does not stand on, here or in a remote."""
    step = (
        ("branch", "-f", "topic/a", "HEAD"),
        ("branch", "-D", "topic-b"),
        ("update-ref", "refs/remotes/origin/main", "HEAD"),
        ("branch", "-m", "topic/a", "topic/renamed"),
    )[number % 4]
    git(world.repo, *step, check=False)


def _land(world: World, number: int) -> None:
    """Squash or merge a branch into the one where one stands."""
    how = ("--squash", "--no-ff")[number % 2]
    git(world.repo, "merge", "-q", how, "-m", "land", "topic/a", check=False)
    git(world.repo, "commit", "--allow-empty", "-q", "-m", "landed", check=False)


def _detach(world: World, number: int) -> None:
    git(world.repo, "checkout", "-q", "-f", "--detach")


def _configure(world: World, number: int) -> None:
    scope = ("--local", "--global")[number % 2]
    git(world.repo, "config", scope, "gitmem.budget", str(60 + 40 * (number % 5)))


def _include(world: World, number: int) -> None:
    git(world.repo, "config", "--global", "include.path", "more.config")
    if number % 2:
        (world.home / "more.config").write_text(f"[gitmem]\n\tbudget = {80 + 20 * number}\n")


def _team(world: World, number: int) -> None:
    (world.repo / ".gitmem.yml").write_text(f"budget: {70 + 30 * (number % 5)}\n")


def _environment(world: World, number: int) -> None:
    if number % 3:
        os.environ["GITMEM_BUDGET"] = str(50 + 50 * number)
    else:
        os.environ.pop("GITMEM_BUDGET", None)


def _turn_the_clock(world: World, number: int) -> None:
    world.ahead = max(DAY, world.ahead + (number - 3) * DAY * 0.7)


def _stock_git(world: World, number: int) -> None:
    """Move the journal as somebody would who has never heard of gitmem."""
    notes = ("notes", "--ref=gitmem/shared")
    line = f"broken line {number}"
    step = (("append", "-m", line), ("remove", "--ignore-missing", "HEAD"), ("prune",))[number % 3]
    git(world.repo, *notes, *step)


def _kept_ref(world: World, number: int) -> None:
    ref, journal = "refs/gitmem/kept/shared", "refs/notes/gitmem/shared"
    if number % 2 or not git(world.repo, "for-each-ref", journal):
        git(world.repo, "update-ref", "-d", ref)
    else:
        git(world.repo, "update-ref", "-d", journal)


def _pack(world: World, number: int) -> None:
    git(world.repo, *(("gc", "-q"), ("pack-refs", "--all"))[number % 2])


def _initialise(world: World, number: int) -> None:
    with world.open() as gm:
        gm.init() if number % 2 else gm.deinit()


OPERATIONS: tuple[Callable[[World, int], None], ...] = (
    _remember, _remember_for_a_while, _for_the_user, _forget, _context, _edit, _edit_many, _commit,
    _switch, _another_branch, _land, _detach, _configure, _include, _team, _environment,
    _turn_the_clock, _stock_git, _kept_ref, _pack, _initialise,
)  # fmt: skip

STEPS = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 6)), max_size=8)


def _hold(repo: Path, home: Path, steps: list[tuple[Callable[[World, int], None], int]]) -> None:
    """After each step: a kept answer, if there is one, is the fresh one."""
    world = World(repo, home)
    with mock.patch.dict(os.environ):
        with world.open() as gm:
            gm.init()
            gm.remember("never deploy on a Friday", importance="critical")
        world.fresh()
        assert world.kept() == world.fresh(), "nothing changed, and it was made anew"
        for operation, number in steps:
            operation(world, number)
            kept = world.kept()
            fresh = world.fresh()
            assert kept in (None, fresh)
            again = world.fresh()
            assert world.kept() == again, "nothing changed, and it was made anew"


@settings(max_examples=10)
@given(steps=STEPS)
def test_a_kept_answer_is_the_fresh_one(
    tmp_path_factory: pytest.TempPathFactory, hermetic: Path, steps: list[Any]
) -> None:
    _hold(_new(tmp_path_factory.mktemp("repo")), hermetic, steps)


@pytest.mark.long
@settings(max_examples=300)
@given(steps=STEPS)
def test_a_kept_answer_is_the_fresh_one_at_length(
    tmp_path_factory: pytest.TempPathFactory, hermetic: Path, steps: list[Any]
) -> None:
    _hold(_new(tmp_path_factory.mktemp("repo")), hermetic, steps)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_alone(repo: Path, hermetic: Path, operation: Any) -> None:
    _hold(repo, hermetic, [(operation, number) for number in range(4)])


def _new(repo: Path) -> Path:
    git(repo, "init", "-q")
    git(repo, "commit", "-q", "--allow-empty", "-m", "first")
    return repo


def test_an_edit_of_the_same_size_in_the_same_moment_is_seen(repo: Path) -> None:
    with gitmem.open(repo) as gm:
        gm.init()
        gm.remember("alpha", importance="critical")
        gm.sync_start()
        path = repo / "MEMORY.md"
        moment = path.stat().st_mtime_ns
        gm.sync_start()
        with path.open("r+b") as file:  # in place: the same inode
            content = file.read().replace(b"alpha", b"omega")
            file.seek(0)
            file.write(content)
        os.utime(path, ns=(moment, moment))  # as a coarse clock would have it
        kept = startup.load(str(repo))
        assert kept is None or "omega" in str(kept["markdown"])


def test_a_linked_gitconfig_is_followed(repo: Path, hermetic: Path) -> None:
    world = World(repo, hermetic)
    dotfiles = hermetic / "dotfiles"
    (hermetic / ".gitconfig").rename(dotfiles)
    (hermetic / ".gitconfig").symlink_to(dotfiles)
    world.fresh()
    world.fresh()
    assert world.kept()
    dotfiles.write_text(dotfiles.read_text() + "[gitmem]\n\tbudget = 1\n")
    assert world.kept() is None


def test_a_server_that_is_open_for_long_keeps_no_old_settings(repo: Path, hermetic: Path) -> None:
    world = World(repo, hermetic)
    with world.open() as gm:
        for number in range(9):
            gm.remember(f"fact {number}", importance="critical")
        with world.turned():
            gm.sync_start()
            git(repo, "config", "gitmem.budget", "60")
            gm.sync_start()
    assert world.kept() in (None, world.fresh())


def test_the_command_line_gives_the_kept_answer(repo: Path) -> None:
    run_cli("init", cwd=repo)
    run_cli("remember", "alpha", "-i", "critical", cwd=repo)
    for _ in range(3):
        first = run_cli("sync", "--start", cwd=repo)
        time.sleep(2 * startup.RACY)
    assert "alpha" in first.stdout
    without_git = run_cli("sync", "--start", cwd=repo, env={"PATH": ""})
    assert (without_git.stdout, without_git.returncode) == (first.stdout, 0)
    compact = ("sync", "--start", "--format", "compact")
    assert json.loads(run_cli(*compact, cwd=repo, env={"PATH": ""}).stdout)["n"] == 1
