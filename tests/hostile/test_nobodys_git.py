"""Nobody's git changes: what git says and does, with gitmem and without it, in equal repositories.

Both worlds have a remote, somebody's clone and a colleague's who has never heard of gitmem. In one,
somebody runs gitmem between the git commands. Every difference that there is stands in `ALLOWED`
or has a test of its own below.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import gitmem
from tests.support import git

ALLOWED = re.compile(r".*refs/(?:notes/)?gitmem/.*\n")
"""Lines by which git tells of a ref of gitmem's, where all refs were asked for or fetched."""

FROM = re.compile(r"^From \S+\n\Z", re.MULTILINE)
"""The line above them, where nothing else is below it."""


class Outcome(NamedTuple):
    """What a command did: what it said, and what is there afterwards."""

    who: str
    args: tuple[str, ...]
    code: int
    said: str
    refs: str
    head: str
    status: str
    files: tuple[str, ...]


class World:
    """A remote and two clones, in which a story is played."""

    def __init__(self, folder: Path, memory: Callable[[Path, str], None]) -> None:
        self.folder = folder
        self._memory = memory
        self._seconds = 0
        self.outcomes: list[Outcome] = []
        folder.mkdir()
        self._git(folder, "init", "-q", "--bare", "remote")
        for who in ("me", "colleague"):
            self._git(folder, "clone", "-q", "remote", who)
            for key, value in (("name", who), ("email", f"{who}@example.com")):
                git(folder / who, "config", f"user.{key}", value)
            git(folder / who, "config", "remote.origin.url", "../remote")

    def write(self, who: str, name: str, text: str) -> None:
        """Write a file."""
        (self.folder / who / name).write_text(text)

    def remember(self, text: str) -> None:
        """Run gitmem, in the world that has it."""
        self._memory(self.folder / "me", text)

    def run(self, who: str, *args: str) -> str:
        """Run git in a clone, and note what came of it."""
        place = self.folder / who
        done = self._git(place, *args)
        said = FROM.sub("", ALLOWED.sub("", done.stdout + done.stderr))
        refs = self._told(place, "for-each-ref", "--format=%(refname) %(objectname) %(upstream)")
        self.outcomes.append(
            Outcome(
                who, args, done.returncode, said.replace(str(self.folder), "FOLDER"),
                "".join(line for line in refs.splitlines(True) if "/gitmem/" not in line),
                self._told(place, "rev-parse", "--symbolic-full-name", "HEAD", "@"),
                self._told(place, "status", "--porcelain=v2", "--branch", "--untracked-files=all"),
                tuple(sorted(path.name for path in place.glob("*") if path.name not in OWN)),
            )
        )  # fmt: skip
        return done.stdout

    def _told(self, place: Path, *args: str) -> str:
        return subprocess.run(
            ["git", *args], cwd=place, capture_output=True, text=True, check=False
        ).stdout

    def _git(self, place: Path, *args: str) -> subprocess.CompletedProcess[str]:
        self._seconds += 10
        dates = dict.fromkeys(
            ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{1_800_000_000 + self._seconds} +0000"
        )
        return subprocess.run(
            ["git", *args], cwd=place, env={**os.environ, **dates},
            capture_output=True, text=True, check=False,
        )  # fmt: skip


OWN = ("MEMORY.md", "memory")
"""Files of the mirror: ignored, and so in no output."""


def play(world: World) -> None:
    """Play a working day: every command that the promise names, and those people use most."""
    me, colleague = "me", "colleague"
    world.remember("before the first commit")
    world.write(me, "a.txt", "one\n")
    for args in (["add", "-A"], ["commit", "-m", "first"], ["push", "-u", "origin", "HEAD"]):
        world.run(me, *args)
    world.remember("one")
    world.run(colleague, "pull")
    world.write(colleague, "b.txt", "two\n")
    for args in (["add", "-A"], ["commit", "-m", "by a colleague"], ["push", "origin", "HEAD"],
                 ["push", "origin", "HEAD:refs/heads/gone"]):  # fmt: skip
        world.run(colleague, *args)
    for args in (["fetch"], ["fetch", "--all"], ["status"], ["pull", "--ff-only"]):
        world.run(me, *args)
    world.run(colleague, "push", "origin", ":gone")
    for args in (["fetch", "--prune"], ["remote", "prune", "origin"], ["branch", "-a", "-vv"]):
        world.run(me, *args)
    world.remember("two")
    world.write(me, "a.txt", "one\nmore\n")
    world.write(me, "untracked.txt", "x\n")
    for args in (["status"], ["status", "--short", "--branch"], ["diff"], ["stash", "push"],
                 ["stash", "list"], ["stash", "pop"], ["stash", "push", "--include-untracked"],
                 ["stash", "show", "-p"], ["stash", "apply"], ["stash", "drop"],
                 ["clean", "--dry-run", "-d"], ["add", "-A"],
                 ["commit", "-m", "more"]):  # fmt: skip
        world.run(me, *args)
    world.remember("three")
    for args in (["commit", "--amend", "-m", "more, amended"], ["log"], ["log", "--stat", "-3"],
                 ["log", "--oneline", "--graph", "--decorate", "--branches"],
                 ["log", "--format=%H %an %s %N"], ["show"], ["blame", "a.txt"], ["reflog"],
                 ["shortlog", "-sn", "HEAD"], ["describe", "--all", "--always"]):  # fmt: skip
        world.run(me, *args)
    world.run(me, "checkout", "-b", "feature")
    world.remember("on a branch")
    world.write(me, "c.txt", "three\n")
    for args in (["add", "-A"], ["commit", "-m", "on feature"], ["checkout", "main"],
                 ["merge", "--no-ff", "-m", "merge", "feature"], ["branch", "-d", "feature"],
                 ["cherry-pick", "--allow-empty", "HEAD~1"], ["cherry-pick", "--skip"],
                 ["revert", "--no-edit", "HEAD~1"], ["reset", "--hard", "HEAD~1"],
                 ["rebase", "--force-rebase", "HEAD~1"], ["tag", "v1"],
                 ["tag", "-a", "-m", "annotated", "v2"], ["push"], ["push", "--tags"],
                 ["push", "--all"], ["push", "--dry-run", "--porcelain"],
                 ["push", "--follow-tags", "--force-with-lease"], ["tag", "--list"],
                 ["ls-files"], ["ls-tree", "-r", "HEAD"], ["worktree", "add", "../tree", "v1"],
                 ["worktree", "list"], ["worktree", "remove", "../tree"],
                 ["submodule", "status"], ["remote", "-v"], ["bisect", "log"],
                 ["notes", "list"], ["archive", "--list"], ["grep", "-n", "one"]):  # fmt: skip
        world.run(me, *args)
    world.remember("four")
    for args in (["gc", "--quiet"], ["gc", "--prune=now"], ["prune", "--dry-run"], ["prune"],
                 ["repack", "-a", "-d", "-q"], ["pack-refs", "--all"], ["fsck"],
                 ["fsck", "--full", "--strict"], ["maintenance", "run", "--quiet"],
                 ["reflog", "expire", "--expire=now", "--all"], ["gc", "--prune=now"],
                 ["fsck", "--connectivity-only"], ["status"], ["log", "--oneline"]):  # fmt: skip
        world.run(me, *args)
    world.remember("five")
    for args in (["fetch", "--prune", "--prune-tags"], ["pull"], ["pull", "--rebase"], ["push"]):
        world.run(me, *args)
    git(world.folder, "init", "-q", "--bare", "mirror")
    for args in (["push", "--mirror", "../mirror"], ["push", "--mirror", "../mirror"],
                 ["push", "../mirror", "--delete", "v1"]):  # fmt: skip
        world.run(me, *args)
    for place in ("me", "remote"):
        world.run(colleague, "clone", f"../{place}", f"../clone-of-{place}")
        world.run(f"clone-of-{place}", "status")
        world.run(f"clone-of-{place}", "log", "--oneline", "--all")
        world.run(f"clone-of-{place}", "branch", "-a")
        world.run(f"clone-of-{place}", "fetch")
    for args in (["fetch"], ["fetch", "--prune"], ["pull"], ["status"], ["log"], ["fsck"], ["gc"],
                 ["log", "--all", "--oneline"], ["remote", "show", "origin"]):  # fmt: skip
        world.run(colleague, *args)


def nothing(place: Path, text: str) -> None:
    """Be the world without gitmem."""


def writer(hooks: bool) -> Callable[[Path, str], None]:
    """Return what runs gitmem between the commands, here and in the clone of one who has it too."""

    def remember(place: Path, text: str) -> None:
        other = place.with_name("other")
        if not other.exists():
            git(place.parent, "clone", "-q", "remote", "other")
        for clone in (other, place):
            with gitmem.open(clone, backend="program") as gm:
                gm.init(hooks=hooks)
                gm.remember(f"{text} in {clone.name}")
                gm.remember(text, private=True)
                gm.sync_start()
                gm.push()
                gm.sync_end(f"the end of {text}")
        with gitmem.open(other, backend="program") as gm:  # so that the next fetch brings something
            gm.remember(f"{text} once more")
            gm.push()

    return remember


@pytest.mark.parametrize("hooks", [False, True], ids=["", "hooks"])
def test_git_says_and_does_the_same(tmp_path: Path, hooks: bool) -> None:
    without = World(tmp_path / "without", nothing)
    beside = World(tmp_path / "beside", writer(hooks))
    play(without)
    play(beside)
    assert git(beside.folder / "remote", "rev-parse", "refs/notes/gitmem/shared")
    for plain, other in zip(without.outcomes, beside.outcomes, strict=True):
        assert other == plain
    assert all(outcome.code == 0 for outcome in without.outcomes[:2])


def test_who_asks_for_all_refs_gets_the_journal(tmp_path: Path) -> None:
    """The two exceptions, as with all notes: a mirror has it, but nothing private, and so has
    `git log --all`, where `--exclude` leaves it out.
    """
    without, beside = (
        World(tmp_path / "without", nothing),
        World(tmp_path / "beside", writer(False)),
    )
    play(without)
    play(beside)
    listed = "for-each-ref", "--format=%(refname)"
    plain, mirror = (git(w.folder / "mirror", *listed).split() for w in (without, beside))
    extra = set(mirror) - set(plain)
    assert {"refs/notes/gitmem/shared"} <= extra and set(plain) <= set(mirror)
    assert not [ref for ref in extra if "/gitmem/" not in ref or "private" in ref]
    told = "--all", "--format=%H %s"
    excluded = ["--exclude=refs/notes/*", "--exclude=refs/gitmem/*", *told]
    one, other = (git(world.folder / "me", "log", *excluded) for world in (without, beside))
    assert one == other
    assert "remember: five in me" in git(beside.folder / "me", "log", *told)


@pytest.mark.parametrize("section", ["push", "remote.origin.push", "remote.origin.mirror", "alias"])
def test_no_setting_of_a_push_is_touched(tmp_path: Path, section: str) -> None:
    world = World(tmp_path / "beside", writer(True))
    world.write("me", "a.txt", "one\n")
    world.run("me", "add", "-A")
    world.run("me", "commit", "-m", "first")
    world.remember("one")
    assert git(world.folder / "me", "config", "--get-regexp", f"^{section}", check=False) == ""


def test_git_is_as_it_was_after_deinit(tmp_path: Path) -> None:
    world = World(tmp_path / "beside", nothing)
    me = world.folder / "me"
    world.write("me", "a.txt", "one\n")
    world.run("me", "add", "-A")
    world.run("me", "commit", "-m", "first")
    config, exclude = (me / ".git/config").read_text(), (me / ".git/info/exclude").read_text()
    hooks = sorted(path.name for path in (me / ".git/hooks").iterdir())
    with gitmem.open(me, backend="program") as gm:
        gm.init(hooks=True, show_notes=True, trunk="main")
        gm.remember("one")
        gm.deinit()
    assert (me / ".git/config").read_text() == config
    assert (me / ".git/info/exclude").read_text() == exclude
    assert sorted(path.name for path in (me / ".git/hooks").iterdir()) == hooks
    assert sorted(path.name for path in me.iterdir()) == [".git", "a.txt"]
