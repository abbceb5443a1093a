"""Many who push at once, writers beside a push, and a push that is killed: nothing is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitmem.errors import RefMoved, Unavailable
from gitmem.journal.sharing import exchange as sharing
from gitmem.journal.sharing.transfer import Remote
from tests.sharing.support import SHARED, TRACKING, Team, cli, lines, tip
from tests.support import git


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Return a remote."""
    return Team(tmp_path)


def begin(path: Path, *args: str) -> subprocess.Popen[str]:
    """Start a command."""
    command = [sys.executable, "-m", "gitmem", *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=path, stdout=pipe, stderr=pipe, text=True)


def test_many_clones_push_at_once(team: Team) -> None:
    clones = [team.clone(f"clone{number}") for number in range(8)]
    ids = [team.remember(clone, f"Of {clone.name}")[0] for clone in clones]
    started = [begin(clone, "push", "--json") for clone in clones]
    receipts = []
    for process in started:
        out, err = process.communicate()
        assert process.returncode == 0, out + err
        receipts.append(json.loads(out)["data"])
    assert [receipt["memories"] for receipt in receipts] == [[id] for id in ids]
    assert len(lines(team.remote)) == len(clones)
    assert sum(receipt["tries"] for receipt in receipts) > len(clones), "somebody had to try again"
    for clone in clones:
        cli("pull", cwd=clone)
    assert {tip(clone) for clone in clones} == {tip(team.remote)}


def test_writers_beside_pushes_in_one_clone(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(two, "Of two")
    cli("push", cwd=two)
    running = [begin(one, "remember", f"Number {number}") for number in range(6)]
    running += [begin(one, "push") for _ in range(3)]
    for process in running:
        out, err = process.communicate()
        assert process.returncode == 0, out + err
    cli("push", cwd=one)
    cli("pull", cwd=two)
    assert team.texts(one) == team.texts(two) == {f"Number {n}" for n in range(6)} | {"Of two"}


def test_a_push_that_is_killed_can_be_repeated(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    expected = set()
    moments = random.Random(6)
    for number in range(6):
        for clone in (one, two):
            expected.update(team.remember(clone, f"Number {number} of {clone.name}"))
        cli("push", cwd=two)
        process = begin(one, "push")
        time.sleep(moments.uniform(0, 0.5))
        process.kill()
        process.communicate()
    for _ in range(2):  # the git that the killed one had started may still be pushing
        cli("push", cwd=one)
        cli("pull", cwd=two)
    with team.open(two) as gm:
        assert {memory.id for memory in gm.list()} == expected
    assert tip(one) == tip(two) == tip(team.remote)
    git(team.remote, "fsck", "--strict")


def move_meanwhile(team: Team, clone: Path) -> None:
    """Let another fetch into a clone move the tracking ref while the next one is under way."""
    hook = team.folder / "meanwhile"
    move = f"env -u GIT_DIR git --git-dir={clone}/.git update-ref {TRACKING} HEAD"
    once = "git config --global --unset uploadpack.packObjectsHook"
    hook.write_text(f'#!/bin/sh\n{once}\n{move}\nexec "$@"\n')
    hook.chmod(0o755)
    git(clone, "config", "--global", "uploadpack.packObjectsHook", str(hook))


def test_a_fetch_that_another_overtakes_is_tried_again(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(two, "First")
    cli("push", cwd=two)
    cli("pull", cwd=one)
    team.remember(two, "Second")
    cli("push", cwd=two)
    move_meanwhile(team, one)
    cli("pull", cwd=one)
    assert team.texts(one) == {"First", "Second"}
    assert tip(one, TRACKING) == tip(team.remote)


def test_a_fetch_beside_a_gc_is_tried_again(team: Team) -> None:
    """A gc removes the folder of an object that is about to be written."""
    one, two = team.clone("one"), team.clone("two")
    team.remember(two, "Of two")
    cli("push", cwd=two)
    folder = team.folder / "bin"
    folder.mkdir()
    failed = folder / "failed"
    (folder / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" fetch "*) if ! [ -e {failed} ]; then touch {failed};'
        " echo 'error: unable to write file objects/ab/cd: No such file or directory' >&2;"
        f' exit 1; fi;; esac\nexec {shutil.which("git")} "$@"\n'
    )
    (folder / "git").chmod(0o755)
    cli("pull", cwd=one, env={"PATH": f"{folder}:{os.environ['PATH']}"})
    assert failed.exists() and team.texts(one) == {"Of two"}


def test_a_lock_on_the_tracking_ref_is_named(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(two, "Of two")
    cli("push", cwd=two)
    lock = one / ".git" / f"{TRACKING}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    error = cli("pull", cwd=one, code=4)
    assert "cannot be noted" in error["message"] and str(lock) in error["message"]
    assert "remove" in error["hint"]
    lock.unlink()
    cli("pull", cwd=one)
    assert team.texts(one) == {"Of two"}


def test_others_that_never_stop_pushing(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(one, "Of one")

    def beaten(self: Remote, ref: str, new: str) -> None:
        team.remember(two, "Again")
        git(two, "push", "-q", "origin", SHARED)
        raise RefMoved(ref)

    monkeypatch.setattr(Remote, "push", beaten)
    monkeypatch.setattr(sharing, "PATIENCE", 1.0)
    with team.open(one) as gm:
        with pytest.raises(Unavailable, match=r"rejected \d+ pushes: others keep pushing"):
            gm.push()
        assert gm.status().unpushed == 1
    assert "Of one" in team.texts(one)


def test_a_remote_that_rejects_and_has_nothing_new(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = team.clone("one")
    team.remember(one, "Of one")
    tried = []

    def rejected(self: Remote, ref: str, new: str) -> None:
        tried.append(new)
        raise RefMoved(ref)

    monkeypatch.setattr(Remote, "push", rejected)
    with team.open(one) as gm, pytest.raises(Unavailable, match="does not say what it has"):
        gm.push()
    assert 1 < len(tried) < 10


def test_the_pauses_grow_and_differ(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty clones that wait equally long would meet again."""
    one = team.clone("one")
    team.remember(one, "Of one")
    pauses: list[float] = []
    push = Remote.push

    def late(self: Remote, ref: str, new: str) -> None:
        if len(pauses) < 4:
            raise RefMoved(ref)
        push(self, ref, new)

    monkeypatch.setattr(Remote, "push", late)
    monkeypatch.setattr("gitmem.journal.sharing.exchange.random.uniform", lambda low, high: high)
    monkeypatch.setattr("gitmem.journal.sharing.exchange.time.sleep", pauses.append)
    with team.open(one) as gm:
        assert gm.push().tries == 5
    assert pauses == sorted(set(pauses)) and len(pauses) == 4
