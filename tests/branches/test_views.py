"""What shows branches: `branches`, `diff`, `adopt`, `history`, and looks from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem.errors import NotFound, UsageError
from tests.branches.world import SHARED, World
from tests.support import git


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A trunk with T, a branch f with P, and HEAD on the trunk, one commit further."""
    world = World(tmp_path)
    world.begin()
    world.remember("T")
    world.git("switch", "-q", "-c", "f")
    world.commit("c1")
    world.remember("P")
    world.git("switch", "-q", "main")
    world.commit("m1")
    yield world
    world.close()


def letters(memories: object) -> set[str]:
    return {memory.body for memory in memories}  # type: ignore[attr-defined]


def test_branches_counts(world: World) -> None:
    main, f = world.gm.branches()
    assert (main.name, main.current, main.orphaned) == ("main", True, False)
    assert (main.knows, main.own, main.inherited, main.waiting) == (1, 1, 0, 0)
    assert (f.name, f.current, f.orphaned) == ("f", False, False)
    assert (f.knows, f.own, f.inherited, f.waiting) == (2, 1, 1, 1)


def test_nothing_waits_after_a_merge_or_a_squash(world: World) -> None:
    world.git("merge", "-q", "--squash", "f")
    world.git("commit", "-q", "-m", "squash")
    assert {info.name: info.waiting for info in world.gm.branches()} == {"main": 0, "f": 0}
    world.git("branch", "-D", "-q", "f")
    assert [info.name for info in world.gm.branches()] == ["main"]


def test_a_deleted_branch_is_orphaned_until_adopted(world: World) -> None:
    world.git("branch", "-D", "-q", "f")
    assert [(info.name, info.orphaned) for info in world.gm.branches()] == [
        ("main", False), ("f", True)
    ]  # fmt: skip
    assert letters(world.gm.adopt("f")) == {"P"}
    assert [info.name for info in world.gm.branches()] == ["main"]


def test_adopt_carries_to_where_one_stands(world: World) -> None:
    assert letters(world.gm.adopt("f")) == {"P"}
    assert set(world.seen()) == {"T", "P"}
    assert world.gm.adopt("f") == []
    world.git("switch", "-q", "-c", "g", "HEAD~1")
    assert set(world.seen()) == {"T"}


def test_adopt_on_a_branch_does_not_reach_the_trunk(world: World) -> None:
    world.git("switch", "-q", "-c", "g")
    world.gm.adopt("f")
    assert set(world.seen()) == {"T", "P"}
    assert set(world.seen("main")) == {"T"}
    world.commit("c2")
    world.git("switch", "-q", "main")
    world.git("merge", "-q", "--no-ff", "--no-edit", "g")
    assert set(world.seen()) == {"T", "P"}


def test_adopting_what_nobody_wrote_is_an_error(world: World) -> None:
    with pytest.raises(NotFound):
        world.gm.adopt("nowhere")


def test_search_as_seen_from_a_branch(world: World) -> None:
    assert [hit.memory.body for hit in world.gm.search("P").hits] == []
    assert [hit.memory.body for hit in world.gm.search("P", branch="f").hits] == ["P"]
    assert [hit.memory.body for hit in world.gm.search("P").hits] == []


def test_the_session_start_of_another_branch(world: World) -> None:
    assert "P" in world.gm.sync_start(branch="f").markdown.split()
    assert "P" not in world.gm.sync_start().markdown.split()


def test_a_look_from_a_branch_that_is_not_there(world: World) -> None:
    with pytest.raises(NotFound):
        world.gm.list(branch="nowhere")


def test_a_look_from_a_remote_branch(world: World) -> None:
    world.git("clone", "-q", ".", "../copy")
    world.go("copy")
    world.git("fetch", "-q", "origin", f"{SHARED}:{SHARED}")
    assert letters(world.gm.list(branch="origin/f")) == {"T", "P"}
    assert letters(world.gm.list()) == {"T"}


def test_a_memory_of_another_branch_is_found_by_its_id_alone(world: World) -> None:
    assert set(world.seen()) == {"T"}
    assert world.gm.show(world.ids["P"]).body == "P"
    assert world.gm.show(world.ids["P"], branch="f").body == "P"


def test_diff(world: World) -> None:
    world.remember("U")
    world.git("switch", "-q", "f")
    world.revise("T", "second")
    difference = world.gm.diff("main..f")
    assert letters(difference.left) == {"U"}
    assert letters(difference.right) == {"P"}
    assert [(old.body, new.body) for old, new in difference.changed] == [("T", "second")]


def test_diff_of_no_span(world: World) -> None:
    with pytest.raises(UsageError):
        world.gm.diff("main")


def test_the_life_of_a_memory(world: World) -> None:
    world.git("switch", "-q", "f")
    world.revise("T", "second")
    tip, fork = git(world.here, "rev-parse", "f", "main~1").split("\n")
    revised, remembered = world.gm.history(world.ids["T"])
    assert (revised.event.op, revised.branch, revised.commits, revised.visible) == (
        "revise", "f", (tip,), True
    )  # fmt: skip
    assert (remembered.branch, remembered.commits, remembered.visible) == ("main", (fork,), True)
    world.git("switch", "-q", "main")
    assert [life.visible for life in world.gm.history(world.ids["T"])] == [False, True]
    assert [event.op for event in world.gm.log(world.ids["T"])] == ["revise", "remember"]


def test_a_rewritten_commit_is_one_more_place_of_the_same_event(world: World) -> None:
    world.git("switch", "-q", "f")
    old = git(world.here, "rev-parse", "f")
    world.git("rebase", "-q", "main")
    (life,) = world.gm.history(world.ids["P"])
    assert set(life.commits) == {old, git(world.here, "rev-parse", "f")}


def test_what_was_known_at_a_commit(world: World) -> None:
    world.remember("U")
    world.commit("m2")
    world.revise("T", "second")
    world.git("merge", "-q", "--no-edit", "f")
    assert letters(world.gm.list()) == {"second", "U", "P"}
    assert letters(world.gm.list(at="HEAD~1")) == {"second", "U"}
    assert letters(world.gm.list(at="HEAD~2")) == {"T", "U"}
    assert letters(world.gm.list(at="HEAD~3")) == {"T"}
    assert world.gm.show(world.ids["T"], at="HEAD~2").body == "T"
    with pytest.raises(NotFound):
        world.gm.show(world.ids["U"], at="HEAD~3")
    with pytest.raises(NotFound):
        world.gm.list(at="no-such-commit")


def test_base_names_what_the_writer_saw(world: World) -> None:
    world.git("switch", "-q", "f")
    world.forget("T")
    world.git("switch", "-q", "main")
    world.revise("T", "second")
    revised = next(event for event in world.gm.log(world.ids["T"]) if event.op == "revise")
    assert list(revised.base) == [world.ids["T"]]


def test_the_mirror_follows_head(world: World) -> None:
    def mirrored() -> str:
        world.gm.sync_start()
        files = [world.here / "MEMORY.md", *sorted((world.here / "memory").rglob("*.md"))]
        return "\n".join(path.read_text() for path in files if path.is_file())

    world.git("switch", "-q", "f")
    world.remember("Sparrow")
    assert "Sparrow" in mirrored()
    world.git("switch", "-q", "main")
    assert "Sparrow" not in mirrored()
    world.git("merge", "-q", "--no-edit", "f")
    assert "Sparrow" in mirrored()


def test_a_hand_edit_on_another_branch_is_recorded_there(world: World) -> None:
    world.git("switch", "-q", "f")
    world.gm.sync_start()
    world.git("switch", "-q", "main")
    world.gm.sync_start()
    assert set(world.seen()) == {"T"}
    assert set(world.seen("f")) == {"T", "P"}


def test_deinit_takes_the_keys_of_branches_away(world: World) -> None:
    assert git(world.here, "config", "branch.f.gitmem")
    world.gm.deinit()
    assert git(world.here, "config", "--get-regexp", r"\.gitmem$", check=False) == ""
    assert git(world.here, "config", "--get-all", "notes.rewriteRef", check=False) == ""


def test_without_its_key_a_branch_is_known_by_its_commits(world: World) -> None:
    world.gm.deinit()
    assert set(world.seen("f")) == {"T", "P"}
    assert set(world.seen("main")) == {"T"}


def test_an_open_object_sees_a_branch_that_was_made_since(world: World) -> None:
    with gitmem.open(world.here, backend="libgit2") as gm:
        assert letters(gm.list()) == {"T"}
        git(world.here, "switch", "-q", "f")
        assert letters(gm.list()) == {"T", "P"}
        git(world.here, "switch", "-q", "-c", "g", "main")
        assert letters(gm.list()) == {"T"}
        git(world.here, "merge", "-q", "--no-edit", "f")
        assert letters(gm.list()) == {"T", "P"}
        git(world.here, "reset", "-q", "--hard", "HEAD~1")
        assert letters(gm.list()) == {"T"}
