"""Which anchors a commit reaches: right whatever moved, and asked of git only for what changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.branches.ancestry import Ancestry
from gitmem.journal.branches.visibility import EMPTY_TREES, Fact
from gitmem.journal.git.discovery import discover
from gitmem.journal.git.history import History
from tests.journal.world import World
from tests.support import git


class Counted(History):
    """History that counts the processes it starts."""

    started = 0

    def attempt(self, *args: str | bytes, input: bytes = b""):  # type: ignore[no-untyped-def]
        """Count, and do it."""
        self.started += 1
        return super().attempt(*args, input=input)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.new(tmp_path / "repo")


def history(world: World) -> Counted:
    return Counted(discover(world.path))


def naive(world: World, commit: str, anchors: Iterable[str]) -> set[str]:
    return set(anchors) & set(git(world.path, "rev-list", commit).split())


def test_reaches_what_git_says(world: World, tmp_path: Path) -> None:
    first = world.head()
    world.fork("f")
    f = world.commit("c1")
    world.switch("main")
    m = world.commit("m2")
    blob = git(world.path, "hash-object", "-w", "--stdin", input="gitmem 2026-01")
    absent = "d" * 40
    empty = min(EMPTY_TREES)
    asked = [first, f, m, blob, absent, empty]
    ancestry = Ancestry(history(world))
    assert ancestry.reaches(m, asked) == {first, m, empty}
    assert ancestry.reaches(f, asked) == {first, f, empty}
    assert ancestry.reaches(None, asked) == {empty}
    assert ancestry.reaches(m, []) == set()
    assert ancestry.missing(asked) == {blob, absent}


def test_an_answer_is_kept_in_memory_and_on_disk(world: World, tmp_path: Path) -> None:
    asked = [world.commit(f"m{n}") for n in range(5)]
    Ancestry(history(world), tmp_path).reaches(asked[2], asked)
    again = history(world)
    ancestry = Ancestry(again, tmp_path)
    assert ancestry.reaches(asked[2], asked) == set(asked[:3])
    assert again.started == 0
    (tmp_path / "ancestry.json").write_text("{ damaged")
    assert Ancestry(again, tmp_path).reaches(asked[2], asked) == set(asked[:3])
    assert again.started > 0


def test_a_new_commit_costs_one_look_at_what_is_new(world: World, tmp_path: Path) -> None:
    asked = [world.commit(f"m{n}") for n in range(5)]
    asked.append("d" * 40)
    Ancestry(history(world), tmp_path).reaches(world.head(), asked)
    new = world.commit("new")
    again = history(world)
    assert Ancestry(again, tmp_path).reaches(new, [*asked, new]) == {*asked[:5], new}
    assert again.started == 1


def test_a_folder_that_cannot_be_written_is_no_error(world: World, tmp_path: Path) -> None:
    ancestry = Ancestry(history(world), tmp_path / "missing")
    assert ancestry.reaches(world.head(), [world.head()]) == {world.head()}


def test_an_old_answer_whose_commit_was_collected_is_left(world: World, tmp_path: Path) -> None:
    asked = [world.commit(f"m{n}") for n in range(3)]
    Ancestry(history(world), tmp_path).reaches(asked[2], asked)
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    assert Ancestry(history(world), tmp_path).reaches(asked[1], asked) == set(asked[:2])


def test_switching_back_and_forth_is_right(world: World, tmp_path: Path) -> None:
    commits = [world.head()]
    for name in ("f", "g"):
        world.fork(name, commits[0])
        commits += [world.commit(f"{name}{n}") for n in range(2)]
    world.switch("main")
    commits.append(world.merge("f"))
    for tip in ("main", "g", "f", "main", "g"):
        commit = git(world.path, "rev-parse", tip)
        ancestry = Ancestry(history(world), tmp_path)
        assert ancestry.reaches(commit, commits) == naive(world, commit, commits)


@settings(max_examples=15)
@given(data=st.data())
def test_any_order_of_questions_gives_the_naive_answer(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("world")
    world, commits = _graph(folder / "repo", data)
    for _ in range(6):
        commit = data.draw(st.sampled_from(commits))
        asked = data.draw(st.lists(st.sampled_from(commits), min_size=1, unique=True))
        ancestry = Ancestry(history(world), folder)
        assert ancestry.reaches(commit, asked) == naive(world, commit, asked)


def _graph(path: Path, data: st.DataObject) -> tuple[World, list[str]]:
    """Return a repository of ten commits with parents at random, several roots among them."""
    world = World.new(path)
    tree = git(path, "write-tree")
    commits: list[str] = []
    for number in range(10):
        parents = data.draw(
            st.lists(st.sampled_from(commits), max_size=2, unique=True) if commits else st.just([])
        )
        flags = [flag for parent in parents for flag in ("-p", parent)]
        commits.append(world.git("commit-tree", tree, *flags, "-m", str(number)))
    return world, commits


def test_shallow_absent_anchors_of_the_trunk_count(world: World) -> None:
    old = world.commit("m1")
    world.fork("f")
    merged = world.commit("c1")
    world.switch("main")
    world.merge("f")
    clone = world.clone("shallow", "--depth", "1")
    facts = [
        Fact("m", "m", "remember", "2026", (old,), branch="main"),
        Fact("f", "f", "remember", "2026", (merged,), branch="f", line="11"),
        Fact("p", "p", "remember", "2026", (merged,), branch="f", line="11", pending=True),
        Fact("h", "h", "remember", "2026", (clone.head(),), branch="f", line="11"),
        Fact("r", "r", "remember", "2026", ("d" * 40,), repo=True),
    ]
    reached = Ancestry(history(clone)).seen(clone.head(), facts, "main")
    assert reached.anchors == {old, clone.head()}
    assert reached.beyond == 1
    full = Ancestry(history(world)).seen(world.head(), facts, "main")
    assert full.anchors == {old, merged, world.head()}
    assert full.beyond == 0


def test_deepening_a_shallow_clone_asks_anew(world: World, tmp_path: Path) -> None:
    old = world.head()
    world.commit("m1")
    clone = world.clone("shallow", "--depth", "1")
    assert Ancestry(history(clone), tmp_path).reaches(clone.head(), [old]) == set()
    clone.git("fetch", "-q", "--unshallow")
    assert Ancestry(history(clone), tmp_path).reaches(clone.head(), [old]) == {old}


def test_a_partial_clone_is_asked_without_a_fetch(world: World) -> None:
    git(world.path, "config", "uploadpack.allowFilter", "true")
    old = world.head()
    world.commit("m1")
    clone = world.clone("partial", "--filter=blob:none", "--no-checkout")
    clone.git("remote", "set-url", "origin", "/nowhere")
    asked = [old, "d" * 40]
    assert Ancestry(history(clone)).reaches(clone.head(), asked) == {old}


def test_a_graft_does_not_change_what_is_seen(world: World) -> None:
    old = world.head()
    new = world.commit("m1")
    world.git("replace", "--graft", new)
    assert Ancestry(history(world)).reaches(new, [old]) == {old}


def test_merge_base_and_ancestor(world: World) -> None:
    first = world.head()
    world.fork("f")
    f = world.commit("c1")
    world.switch("main")
    m = world.commit("m2")
    ancestry = Ancestry(history(world))
    assert ancestry.merge_base(f, m) == first
    assert ancestry.is_ancestor(first, f)
    assert ancestry.is_ancestor(f, f)
    assert not ancestry.is_ancestor(f, m)
    assert ancestry.merge_base(f, "d" * 40) is None
