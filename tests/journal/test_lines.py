"""Trunk, identities and pending: what an event written now carries, on real repositories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.errors import NotFound
from gitmem.journal.branches.lines import Lines, Stamp
from gitmem.journal.branches.visibility import Fact, Vantage
from gitmem.journal.git.history import History
from tests.journal.world import Eyes, World
from tests.support import git


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.new(tmp_path / "repo")


def stamp(world: World) -> Stamp:
    with Eyes(world) as eyes:
        return eyes.lines.stamp()


def here(world: World) -> Vantage:
    with Eyes(world) as eyes:
        return eyes.lines.here()


def of(world: World, branch: str) -> Vantage:
    with Eyes(world) as eyes:
        return eyes.lines.of(branch)


def trunk(world: World, recorded: str | None = None) -> str | None:
    with Eyes(world) as eyes:
        lines = Lines(eyes.git, eyes.history, eyes.ancestry, trunk=world.trunk, recorded=recorded)
        return lines.trunk()


# -- the trunk --------------------------------------------------------------------------------


def test_the_trunk_is_found_in_order(tmp_path: Path) -> None:
    world = World.new(tmp_path / "repo", "only")
    assert trunk(world) == "only"
    world.fork("recorded")
    assert trunk(world) is None
    assert trunk(world, "recorded") == "recorded"
    assert trunk(world, "gone") is None
    for name in ("master", "main"):
        world.git("branch", name)
        assert trunk(world, "recorded") == name
    world.git("branch", "develop")
    world.git("config", "init.defaultBranch", "develop")
    assert trunk(world) == "develop"
    world.git("remote", "add", "another", "/nowhere")
    world.git("update-ref", "refs/remotes/another/stable", "HEAD")
    world.git("symbolic-ref", "refs/remotes/another/HEAD", "refs/remotes/another/stable")
    assert trunk(world) == "stable"
    world.git("remote", "add", "origin", "/nowhere")
    world.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    assert trunk(world) == "stable"
    world.git("update-ref", "refs/remotes/origin/next", "HEAD")
    world.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/next")
    assert trunk(world) == "next"
    world.trunk = "set"
    assert trunk(world) == "set"


def test_the_trunk_of_an_unborn_repository_is_its_branch(tmp_path: Path) -> None:
    path = tmp_path / "new"
    path.mkdir()
    git(path, "init", "-q", "-b", "develop")
    assert trunk(World(path)) == "develop"
    assert stamp(World(path)) == Stamp("develop", None, False)


def test_a_default_branch_called_develop(tmp_path: Path) -> None:
    clone = World.new(tmp_path / "repo", "develop").clone("clone")
    clone.fork("main")
    assert trunk(clone) == "develop"
    assert here(clone) == Vantage(clone.head(), "main", None, "develop")


# -- stamps -----------------------------------------------------------------------------------


def test_on_the_trunk_an_event_is_never_pending_and_has_no_line(world: World) -> None:
    assert stamp(world) == Stamp("main", None, False)


def test_pending_until_the_branch_has_a_commit_of_its_own(world: World) -> None:
    world.fork("f")
    first = stamp(world)
    assert first.pending and first.branch == "f" and first.line
    world.commit("c1")
    assert stamp(world) == first._replace(pending=False)
    world.fork("g")
    second = stamp(world)
    assert second.pending and second.line != first.line
    world.switch("main")
    world.merge("f")
    world.switch("f")
    assert stamp(world).pending  # the trunk reaches it


def test_a_branch_that_others_fork_or_back_up_keeps_its_commits(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.git("branch", "backup")
    assert not stamp(world).pending


def test_a_push_takes_nothing_away(world: World) -> None:
    clone = world.clone("clone")
    clone.fork("f")
    clone.commit("c1")
    clone.git("push", "-q", "origin", "f")
    assert not stamp(clone).pending
    colleague = world.clone("colleague")
    colleague.switch("f")
    assert not stamp(colleague).pending
    colleague.fork("g")
    assert stamp(colleague).pending


def test_the_remote_trunk_counts_as_trunk(world: World) -> None:
    clone = world.clone("clone")
    clone.fork("f")
    clone.commit("c1")
    clone.git("push", "-q", "origin", "f:main")
    assert stamp(clone).pending


def test_a_dropped_commit_is_not_the_branchs_own(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.commit("c2")
    world.fork("g")
    world.rebase_todo("main", "/c2/d")
    assert stamp(world).pending


def test_detached(world: World) -> None:
    world.switch("--detach")
    assert stamp(world) == Stamp(None, None, True)
    assert here(world) == Vantage(world.head(), None, None, "main")
    world.commit("loose")
    assert stamp(world) == Stamp(None, None, False)


def test_an_orphan_branch_in_a_repository_that_has_commits(world: World) -> None:
    world.git("checkout", "-q", "--orphan", "fresh")
    now = stamp(world)
    assert now.pending and now.branch == "fresh"
    assert here(world).commit is None


def test_an_unborn_trunk_beside_other_branches(world: World) -> None:
    world.git("branch", "-m", "other")
    world.git("checkout", "-q", "--orphan", "main")
    assert stamp(world) == Stamp("main", None, True)


def test_during_a_rebase_the_branch_is_the_one_being_rebased(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    line = stamp(world).line
    world.commit("c2")
    world.rebase_todo("main", "1s/pick/edit/")
    assert git(world.path, "branch", "--show-current") == ""
    world.git("commit", "-q", "--amend", "-m", "other")
    assert stamp(world) == Stamp("f", line, False)
    assert here(world) == Vantage(world.head(), "f", line, "main")


def test_during_a_rebase_with_apply(world: World) -> None:
    world.fork("f")
    world.commit("c1", "same.txt")
    line = stamp(world).line
    world.switch("main")
    world.commit("m2", "same.txt")
    world.switch("f")
    with pytest.raises(AssertionError):
        world.git("rebase", "--apply", "main")
    assert here(world).line == line


def test_stamping_the_trunk_starts_no_git(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[object, ...]] = []
    ask = History.attempt

    def counted(self: History, *args: str | bytes, input: bytes = b""):  # type: ignore[no-untyped-def]
        started.append(args)
        return ask(self, *args, input=input)

    monkeypatch.setattr(History, "attempt", counted)
    assert not stamp(world).pending
    assert started == []
    world.fork("f")
    stamp(world)  # gives it a line
    started.clear()
    assert stamp(world).pending  # just forked
    assert started == []
    world.commit("c1")
    assert not stamp(world).pending
    assert len(started) == 1
    world.fork("g")
    stamp(world)
    started.clear()
    assert stamp(world).pending
    assert len(started) == 2


# -- identity ---------------------------------------------------------------------------------


def test_the_line_goes_with_a_rename_and_away_with_the_branch(world: World) -> None:
    world.fork("f")
    line = stamp(world).line
    assert line is not None and len(line) == 16 and int(line, 16) >= 0
    world.git("branch", "-m", "f", "a/b")
    assert here(world).line == line
    assert git(world.path, "config", "branch.a/b.gitmem") == line
    world.switch("main")
    world.delete("a/b")
    world.fork("a/b")
    assert here(world).line is None
    assert stamp(world).line not in (None, line)


def test_a_copy_of_a_branch_has_its_line(world: World) -> None:
    world.fork("f")
    line = stamp(world).line
    world.git("branch", "-c", "f", "copy")
    assert of(world, "copy").line == line


def test_a_rename_over_a_branch_brings_its_own_line(world: World) -> None:
    for name in ("old", "new"):
        world.fork(name, "main")
        world.commit(name)
        line = stamp(world).line
    world.git("branch", "-M", "new", "old")
    assert here(world).branch == "old"
    assert here(world).line == line


@pytest.mark.parametrize(
    "name", ["a/b", "a-b", "100%", "x@y", "ünïcode", "a.b", "UPPER", "caf\udce9"]
)
def test_names(world: World, name: str) -> None:
    world.git("checkout", "-q", "-b", name)
    line = stamp(world).line
    assert line and here(world).line == line
    assert here(world).branch == ("caf%E9" if name == "caf\udce9" else name)
    assert of(world, name).line == line


def test_a_branch_beside_one_of_a_similar_name(world: World) -> None:
    lines = set()
    for name in ("a/b", "a-b", "A-b"):
        world.fork(name, "main")
        lines.add(stamp(world).line)
    assert len(lines) == 3


def test_where_config_cannot_be_written_the_name_serves(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.fork("f")
    (world.path / ".git" / "config.lock").write_text("")
    now = stamp(world)
    assert now == Stamp("f", None, True)
    world.remember("P")
    assert world.sees() == {"P"}
    world.switch("main")
    assert world.sees() == set()


def test_writers_at_the_same_time_agree_on_the_line(world: World) -> None:
    from concurrent.futures import ThreadPoolExecutor

    world.fork("f")
    with ThreadPoolExecutor(8) as pool:
        lines = set(pool.map(lambda _: stamp(world).line, range(16)))
    assert len(lines) == 1 and None not in lines


def test_of_and_at(world: World) -> None:
    first = world.head()
    clone = world.clone("clone")
    clone.fork("f")
    line = stamp(clone).line
    clone.commit("c1")
    assert of(clone, "f") == Vantage(clone.head(), "f", line, "main")
    assert of(clone, "main") == Vantage(first, "main", None, "main")
    assert of(clone, "origin/main") == Vantage(first, "main", None, "main")
    with Eyes(clone) as eyes:
        assert eyes.lines.at("f~1") == Vantage(first, None, None, "main")
        for call in (eyes.lines.of, eyes.lines.at):
            for name in ("gone", "origin/gone", "-x"):
                with pytest.raises(NotFound):
                    call(name)


# -- taking over ------------------------------------------------------------------------------


def _pushed(world: World, own: bool) -> tuple[World, str]:
    """Return a clone with a memory on `f`, which is pushed, and the line of `f`."""
    clone = world.clone("clone")
    clone.fork("f")
    if own:
        clone.commit("c1")
    clone.remember("P")
    line = stamp(clone).line
    if not own:
        clone.commit("c1")
        clone.look(write=True)
    clone.git("push", "-q", "-u", "origin", "f")
    assert line is not None
    return clone, line


def test_a_clone_takes_the_line_over_from_upstream(world: World) -> None:
    clone, line = _pushed(world, own=True)
    colleague = world.clone("colleague")
    colleague.pull_memories(clone)
    colleague.switch("f")
    assert here(colleague).line == line
    assert of(colleague, "origin/f").line == line
    assert stamp(colleague) == Stamp("f", line, False)
    assert git(colleague.path, "config", "--default=", "branch.f.gitmem") == ""


def _other_name(colleague: World) -> None:
    colleague.git("checkout", "-q", "-b", "mine", "--track", "origin/f")


def _no_upstream(colleague: World) -> None:
    colleague.git("checkout", "-q", "--no-track", "-b", "f", "origin/f")


def _merged(colleague: World) -> None:
    colleague.git("checkout", "-q", "f")
    colleague.git("push", "-q", "origin", "f:main")


def _unrelated(colleague: World) -> None:
    colleague.git("push", "-q", "--force", "origin", "main:f")
    colleague.switch("f")


@pytest.mark.parametrize("spoil", [_other_name, _no_upstream, _merged, _unrelated])
def test_a_line_is_not_taken_over(world: World, spoil: Callable[[World], None]) -> None:
    clone, line = _pushed(world, own=True)
    colleague = world.clone("colleague")
    colleague.pull_memories(clone)
    spoil(colleague)
    assert here(colleague).line is None
    assert stamp(colleague).line not in (None, line)


def test_of_several_lines_the_latest_is_taken_over(world: World) -> None:
    clone, line = _pushed(world, own=True)
    anchors = (clone.head(),)
    older = Fact("Q", "Q", "remember", "2001", anchors, branch="f", line="0" * 16)
    newer = older._replace(id="R", at="2999", line="f" * 16)
    other = newer._replace(id="S", at="2999-2", branch="g", line="e" * 16)
    colleague = world.clone("colleague")
    colleague.switch("f")
    colleague.pull_memories(clone)
    colleague.facts |= {"Q": older}
    assert here(colleague).line == line
    colleague.facts |= {"R": newer, "S": other}
    assert here(colleague).line == "f" * 16


def test_a_carry_of_the_line_counts_as_the_line(world: World) -> None:
    clone = world.clone("clone")
    clone.fork("f")
    clone.remember("P")
    commit = clone.commit("c1")
    carry = Fact("K", None, "carry", "2026", (commit,), carries=("P",))
    clone.git("push", "-q", "-u", "origin", "f")
    colleague = world.clone("colleague")
    colleague.switch("f")
    colleague.pull_memories(clone)
    assert here(colleague).line is None  # a pending event's anchor is the trunk's
    colleague.facts["K"] = carry
    assert here(colleague).line == clone.facts["P"].line
