"""What reflogs say of which commit was made on which branch, on real reflogs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.journal.git.discovery import discover
from gitmem.journal.git.history import History
from gitmem.journal.git.reflogs import Made, Reflogs, asked
from tests.journal.world import World
from tests.support import git


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.new(tmp_path / "repo")


def reflogs(world: World) -> Reflogs:
    return Reflogs(History(discover(world.path)))


def left_on(world: World, branch: str) -> set[str]:
    return {made.commit for made in reflogs(world).replay.made if made.branch == branch}


def test_what_is_committed_is_made_on_its_branch_alone(world: World) -> None:
    world.fork("f")
    commit = world.commit("c1")
    world.fork("g")
    assert reflogs(world).made_on("f") == {commit}
    assert reflogs(world).made_on("g") == set()
    assert left_on(world, "f") == {commit}


def _amend(world: World) -> None:
    world.git("commit", "-q", "--amend", "-m", "again")


def _pick(world: World) -> None:
    world.git("cherry-pick", "side")


def _revert(world: World) -> None:
    world.git("revert", "--no-edit", "HEAD")


def _merge(world: World) -> None:
    world.merge("side")


def _octopus(world: World) -> None:
    world.merge("side", "other")


def _am(world: World) -> None:
    patch = git(world.path, "format-patch", "-1", "--stdout", "side")
    (world.path.parent / "patch").write_text(patch + "\n")
    world.git("am", "-q", "../patch")


@pytest.mark.parametrize("make", [_amend, _pick, _revert, _merge, _octopus, _am])
def test_made_also_means(world: World, make: Callable[[World], None]) -> None:
    for name in ("side", "other"):
        world.fork(name, "main")
        world.commit(name)
    world.fork("f", "main")
    world.commit("c1")
    make(world)
    assert world.head() in reflogs(world).made_on("f")
    world.switch("main")
    assert world.git("rev-parse", "f") in left_on(world, "f")


def test_moving_a_branch_makes_nothing(world: World) -> None:
    world.fork("side")
    world.commit("s1")
    world.fork("f", "main")
    world.git("merge", "-q", "--ff-only", "side")
    world.git("reset", "-q", "--hard", "main")
    world.git("cherry-pick", "--ff", "side")
    assert reflogs(world).made_on("f") == set()


def test_a_rebase_makes_its_picks_on_its_branch(world: World) -> None:
    world.fork("f")
    old = {world.commit("c1"), world.commit("c2")}
    world.switch("main")
    world.commit("m2")
    world.switch("f")
    world.git("rebase", "-q", "main")
    new = set(world.git("rev-list", "main..f").split())
    assert reflogs(world).made_on("f") == old | new
    world.switch("main")
    world.delete("f")
    assert left_on(world, "f") == old | new


@pytest.mark.parametrize("script", ["/c2/d", "1s/pick/pick/"])
def test_a_rebase_that_drops_or_does_nothing_makes_nothing(world: World, script: str) -> None:
    world.fork("f")
    world.commit("c1")
    world.commit("c2")
    world.fork("g")
    world.rebase_todo("main", script)
    assert reflogs(world).made_on("g") == set()


def test_a_rebase_that_fast_forwards_makes_nothing(world: World) -> None:
    world.fork("g")
    world.switch("main")
    world.commit("m2")
    world.switch("g")
    world.git("rebase", "-q", "main")
    assert "finish" in git(world.path, "reflog", "g")
    assert reflogs(world).made_on("g") == set()


def test_an_edit_that_stops_on_an_old_commit_does_not_make_it(world: World) -> None:
    world.fork("f")
    old = world.commit("c1")
    world.commit("c2")
    world.fork("g")
    world.rebase_todo("main", "1s/pick/edit/")
    world.git("commit", "-q", "--amend", "-m", "c1 again")
    world.git("rebase", "--continue")
    made = reflogs(world).made_on("g")
    assert made >= set(world.git("rev-list", "main..g").split())
    assert old not in made


def test_a_fixup_makes_its_commit(world: World) -> None:
    world.fork("g")
    world.commit("c1")
    world.commit("c2")
    world.rebase_todo("main", "/c2/s/pick/fixup/")
    assert world.head() in reflogs(world).made_on("g")


def test_a_reflog_goes_with_a_rename(world: World) -> None:
    world.fork("f")
    old = world.commit("c1")
    world.switch("main")
    world.commit("m2")
    world.switch("f")
    world.git("rebase", "-q", "main")
    world.git("branch", "-m", "g/h")
    assert reflogs(world).made_on("g/h") == {old, world.head()}
    assert reflogs(world).replay.renamed["f"] == {"g/h"}


def test_the_tip_that_was_left_is_told(world: World) -> None:
    world.fork("f")
    tip = world.commit("c1")
    world.switch("main")
    world.delete("f")
    assert Made(tip, "f", world.clock.now - 10) in reflogs(world).replay.left


def test_every_worktree_has_a_head(world: World) -> None:
    world.git("worktree", "add", "-q", "-b", "f", "../linked")
    linked = World(world.path.parent / "linked", world.clock)
    commit = linked.commit("c1")
    linked.switch("--detach")
    world.delete("f")
    assert left_on(world, "f") == {commit}
    assert left_on(linked, "f") == {commit}


def test_names_that_are_no_utf8(world: World) -> None:
    world.git("checkout", "-q", "-b", "caf\udce9")
    commit = world.commit("c1")
    assert reflogs(world).made_on("caf\udce9") == {commit}


def test_asked_of_git_a_reflog_says_the_same(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.commit("c2")
    logs = reflogs(world)
    for ref in ("refs/heads/f", "refs/heads/main"):
        assert asked(History(discover(world.path)), ref) == logs.of(ref) != []


def test_without_reflogs_nothing_is_known(world: World) -> None:
    world.git("config", "core.logAllRefUpdates", "false")
    world.fork("f")
    world.commit("c1")
    assert reflogs(world).made_on("f") == set()
    assert reflogs(world).since("f") is None
