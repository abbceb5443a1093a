"""Home, landed, carry: each sentence of the branches' rules, on real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.world import Eyes, World
from tests.support import git


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.new(tmp_path / "repo")


# -- sequences that broke earlier texts -------------------------------------------------------


def test_a_memory_on_a_fork_is_not_seen_from_the_trunk(world: World) -> None:
    world.fork("f")
    world.remember("P")
    world.switch("main")
    world.commit("m1")
    world.commit("m2")
    assert world.sees() == set()
    assert world.sees("f") == {"P"}


def test_a_rebase_that_drops_takes_nothing_from_the_parent(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.commit("c2")
    world.fork("g")
    world.rebase_todo("main", "/c2/d")
    world.remember("M")
    assert world.sees() == {"M"}
    assert world.sees("f") == set()


def test_a_reset_leaves_the_memory_to_the_branch_that_has_the_commit(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.git("branch", "g")
    world.commit("c2")
    world.remember("M")
    world.git("branch", "k")
    world.git("reset", "-q", "--hard", "HEAD~1")
    assert world.sees("g") == set()
    assert world.sees("k") == {"M"}
    assert world.sees() == {"M"}  # it belongs to the branch


def test_a_fixup_brings_the_pending_memory_home(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.commit("c2")
    world.fork("g")
    world.remember("P")
    world.rebase_todo("main", "/c2/s/pick/fixup/")
    world.fork("h")
    assert world.sees() == {"P"}
    assert world.sees("f") == set()
    world.switch("main")
    assert world.sees() == set()
    world.squash("g")
    assert world.sees() == {"P"}


@pytest.mark.parametrize("written", [True, False])
def test_a_squash_is_recognised_before_and_after_the_branch_goes_on(
    world: World, written: bool
) -> None:
    world.fork("f")
    world.remember("P")
    world.commit("c1")
    world.switch("main")
    world.squash("f")
    assert world.sees() == {"P"}
    world.look(write=written)
    world.switch("f")
    world.commit("c2")
    world.remember("Q")
    assert world.sees("main") == set() or written
    world.switch("main")
    assert world.sees() == {"P"}


def test_a_branch_name_used_again_by_a_colleague(world: World) -> None:
    clone = world.clone("clone")
    clone.fork("f")
    clone.remember("P")
    clone.switch("main")
    clone.delete("f")
    colleague = world.clone("colleague")
    colleague.fork("f")
    colleague.commit("other")
    colleague.git("push", "-q", "-u", "origin", "f")
    colleague.pull_memories(clone)
    assert colleague.sees() == set()
    third = world.clone("third")
    third.pull_memories(clone)
    third.switch("f")
    assert third.sees() == set()
    clone.git("fetch", "-q")
    clone.switch("f")
    assert clone.sees() == set()


def test_a_fast_forward_to_the_parent_gives_the_parent_nothing(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.fork("g")
    world.remember("P")
    world.switch("f")
    world.commit("c2")
    world.switch("g")
    world.git("merge", "-q", "--ff-only", "f")
    world.switch("main")
    world.squash("f")
    assert world.sees() == set()
    assert world.sees("g") == {"P"}


def test_a_rename_takes_everything_along(world: World) -> None:
    world.fork("f")
    world.remember("P")
    world.git("branch", "-m", "renamed")
    world.commit("c1")
    world.remember("Q")
    assert world.sees() == {"P", "Q"}
    assert world.sees("main") == set()
    world.switch("main")
    assert world.sees("renamed") == {"P", "Q"}
    world.merge("renamed")
    assert world.sees() == {"P", "Q"}


def test_a_forget_and_a_revise_are_both_seen_after_the_merge(world: World) -> None:
    world.remember("M")
    world.fork("f")
    world.commit("c1")
    world.event("forgotten", "forget", "M")
    world.switch("main")
    world.commit("m1")
    world.event("revised", "revise", "M")
    assert world.events() == {"M", "revised"}
    assert world.events("f") == {"M", "forgotten"}
    world.merge("f")
    assert world.events() == {"M", "revised", "forgotten"}


@pytest.mark.parametrize("looked", [True, False])
def test_a_private_memory_survives_a_rebase(world: World, looked: bool) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M", private=True)
    world.switch("main")
    world.commit("m1")
    world.switch("f")
    world.git("rebase", "-q", "main")
    world.look(write=looked)
    world.switch("main")
    world.git("merge", "-q", "--ff-only", "f")
    world.delete("f")
    assert world.sees() == {"M"}


def test_a_backup_branch_takes_nothing_away(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.git("branch", "backup")
    world.switch("main")
    world.merge("f")
    world.delete("f")
    assert world.sees() == {"M"}


def test_a_squash_that_edits_another_file_too(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.commit("c2")
    world.switch("main")
    world.squash("f", edit="version.txt")
    world.delete("f")
    world.commit("m2")
    world.commit("later", "c1.txt")
    assert world.sees() == {"M"}


def test_work_reverted_on_its_own_branch_does_not_land(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.git("revert", "--no-edit", "HEAD")
    world.switch("main")
    world.commit("m1")
    world.commit("m2", "README.md")
    assert world.sees() == set()


# -- merges -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["--no-ff", "--ff-only"])
@pytest.mark.parametrize("delete", [True, False])
def test_a_merge_brings_pending_and_anchored_memories(world: World, how: str, delete: bool) -> None:
    world.fork("f")
    world.remember("P")
    world.commit("c1")
    world.remember("Q")
    world.switch("main")
    world.git("merge", "-q", how, "f")
    if delete:
        world.delete("f")
    assert world.sees() == {"P", "Q"}


def test_an_octopus_merge(world: World) -> None:
    for name in ("f", "g", "h"):
        world.fork(name, "main")
        world.remember(name)
        world.commit(f"c{name}")
    world.switch("main")
    world.merge("f", "g", "h")
    assert world.sees() == {"f", "g", "h"}


def test_the_revert_of_a_merge_keeps_what_was_learned(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.merge("f")
    world.git("revert", "--no-edit", "-m", "1", "HEAD")
    assert world.sees() == {"M"}


def test_a_branch_without_own_commits_waits(world: World) -> None:
    world.fork("f")
    world.remember("P")
    world.switch("main")
    world.git("merge", "-q", "f")
    world.delete("f")
    assert world.sees() == set()
    assert world.carries() == []


def test_a_child_forked_before_the_parents_first_commit(world: World) -> None:
    world.fork("f")
    world.remember("P")
    world.fork("g")
    assert world.sees() == set()
    world.commit("g1")
    assert world.sees() == set()
    world.switch("f")
    world.commit("c1")
    world.fork("h")
    assert world.sees() == {"P"}


# -- rewritten anchors ------------------------------------------------------------------------


@pytest.mark.parametrize("private", [True, False])
def test_an_amend(world: World, private: bool) -> None:
    world.fork("f")
    old = world.commit("c1")
    world.remember("M", private=private)
    world.git("commit", "-q", "--amend", "-m", "c1 again")
    world.rewritten({old: world.head()})
    assert world.sees() == {"M"}
    world.fork("g")
    assert world.sees() == {"M"}
    world.switch("main")
    assert world.sees() == set()
    world.git("merge", "-q", "--ff-only", "f")
    assert world.sees() == {"M"}


def test_an_amended_trunk(world: World) -> None:
    world.commit("m1")
    world.remember("M")
    world.git("commit", "-q", "--amend", "-m", "m1 again")
    (carry,) = world.carries()
    assert carry.anchor == world.head()
    assert carry.events == ("M",)
    assert carry.branch == "main"
    world.fork("f")
    assert world.sees() == {"M"}


def test_a_trunk_event_whose_commit_another_branch_has_is_not_carried(world: World) -> None:
    world.commit("m1")
    world.remember("M")
    world.git("branch", "f")
    world.git("reset", "-q", "--hard", "HEAD~1")
    assert world.carries() == []
    assert world.sees("f") == world.sees() == {"M"}


def test_a_trunk_event_on_a_commit_that_was_not_fetched_is_not_carried(world: World) -> None:
    clone = world.clone("clone")
    clone.commit("m1")
    clone.remember("M")
    world.pull_memories(clone)
    assert world.sees() == {"M"}
    assert world.carries() == []


def test_filter_branch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.commit("m1")
    world.remember("M")
    world.fork("f")
    world.commit("c1")
    world.remember("P")
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")  # git would wait ten seconds
    world.git("filter-branch", "-f", "--msg-filter", "cat; echo more", "--", "--all")
    world.git("for-each-ref", "--format=delete %(refname)", "refs/original")
    world.git("update-ref", "-d", "refs/original/refs/heads/main")
    world.git("update-ref", "-d", "refs/original/refs/heads/f")
    assert world.sees() == {"M", "P"}
    world.look(write=True)  # as any verb or the hook does; after the merge nothing would tell
    world.switch("main")
    assert world.sees() == {"M"}
    world.merge("f")
    assert world.sees() == {"M", "P"}


def test_a_missing_anchor_goes_to_the_oldest_commit_that_the_trunk_lacks(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.git("commit", "-q", "--amend", "-m", "again")
    first = world.head()
    world.commit("c2")
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    (carry,) = world.carries()
    assert carry.anchor == first


def test_the_oldest_own_commit_after_the_anchor_carries(world: World) -> None:
    world.fork("f")
    first = world.commit("c1")
    world.remember("A")
    world.commit("c2")
    world.remember("B", private=True)
    world.git("commit", "-q", "--amend", "-m", "c2 again")
    second = world.head()
    world.commit("c3")
    (carry,) = world.carries()
    assert (carry.anchor, carry.events) == (second, ("B",))
    assert first not in {carry.anchor}


def test_an_orphan_branch(world: World) -> None:
    world.remember("M")
    world.git("checkout", "-q", "--orphan", "fresh")
    world.remember("P")
    assert world.sees() == {"P"}
    assert world.sees("main") == {"M"}
    world.commit("root")
    assert world.sees() == {"P"}
    world.fork("child")
    assert world.sees() == {"P"}
    world.switch("main")
    world.git("merge", "-q", "--allow-unrelated-histories", "-m", "join", "fresh")
    assert world.sees() == {"M", "P"}


def test_before_the_first_commit_everybody_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "new"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    world = World(path)
    world.remember("M")
    assert world.sees() == {"M"}
    world.commit("first")
    world.fork("f")
    assert world.sees() == {"M"}
    assert world.carries() == []


def test_detached_work_that_is_picked(world: World) -> None:
    world.switch("--detach")
    world.remember("P")
    commit = world.commit("loose")
    world.remember("M")
    assert world.sees() == {"M", "P"}
    world.switch("main")
    world.commit("m1")
    assert world.sees() == set()
    world.git("cherry-pick", commit)
    assert world.sees() == {"M", "P"}


# -- landed -----------------------------------------------------------------------------------


def test_a_squash_after_the_trunk_moved_on(world: World) -> None:
    world.commit("shared", "shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    world.fork("f")
    world.commit("c1", "shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
    world.remember("M")
    world.switch("main")
    world.commit("m2", "shared.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
    assert world.sees() == set()
    landed = world.squash("f")
    (carry,) = world.carries()
    assert (carry.anchor, carry.events, carry.branch) == (landed, ("M",), "main")
    assert carry.by == "Ada <ada@example.com>"
    world.delete("f")
    world.commit("m3", "shared.txt", "none of it\n")
    assert world.sees() == {"M"}


def test_a_rebase_merge(world: World) -> None:
    world.fork("f")
    for name in ("c1", "c2"):
        world.commit(name)
        world.remember(name)
    world.switch("main")
    world.commit("m1")
    world.git("cherry-pick", "main~1..f")
    assert world.sees() == {"c1", "c2"}
    anchors = {carry.anchor: carry.events for carry in world.carries()}
    assert anchors == {
        git(world.path, "rev-parse", "main~1"): ("c1",),
        world.head(): ("c2",),
    }


def test_a_partial_pick_brings_what_was_picked(world: World) -> None:
    world.fork("f")
    world.remember("P")
    first = world.commit("c1")
    world.remember("A")
    world.commit("c2")
    world.remember("B")
    world.switch("main")
    world.commit("m1")
    world.git("cherry-pick", first)
    assert world.sees() == {"P", "A"}


def test_a_squash_made_in_another_clone(world: World) -> None:
    clone = world.clone("clone")
    clone.fork("f")
    clone.remember("P")
    clone.commit("c1")
    clone.remember("M")
    clone.git("push", "-q", "-u", "origin", "f")
    world.commit("m1")
    world.squash("f")
    world.delete("f")
    clone.switch("main")
    clone.git("pull", "-q", "--prune", "--rebase")
    assert clone.sees() == {"P", "M"}
    clone.delete("f")
    assert clone.sees() == {"P", "M"}


def test_two_clones_write_the_same_carry(world: World) -> None:
    clone = world.clone("clone")
    clone.fork("f")
    clone.remember("P")
    clone.commit("c1")
    clone.remember("M")
    clone.look(write=True)
    clone.git("push", "-q", "-u", "origin", "f")
    other = world.clone("other")
    world.commit("m1")
    world.squash("f")
    for each in (clone, other):
        each.switch("main")
        each.git("pull", "-q", "--rebase")
    other.pull_memories(clone)
    assert other.carries() == clone.carries() != []
    clone.look(write=True)
    other.look(write=True)
    assert set(clone.facts) == set(other.facts)
    assert clone.carries() == other.carries() == []


def test_nothing_is_carried_twice(world: World) -> None:
    world.fork("f")
    world.remember("P")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.squash("f")
    (carry,) = world.carries()
    assert carry.events == ("M", "P")
    world.look(write=True)
    assert world.carries() == []
    world.commit("m2")
    assert world.carries() == []
    world.switch("f")
    assert world.carries() == []


def test_nested_squashes(world: World) -> None:
    world.fork("f")
    world.commit("f1")
    world.fork("g")
    world.commit("g1")
    world.remember("M")
    world.switch("f")
    world.commit("f2")
    world.squash("g")
    assert world.sees() == {"M"}
    world.look(write=True)
    assert world.sees("main") == set()
    world.switch("main")
    world.commit("m1")
    world.squash("f")
    assert world.sees() == {"M"}
    for name in ("f", "g"):
        world.delete(name)
    assert world.sees() == {"M"}


def test_the_parents_squash_does_not_bring_the_childs_memory(world: World) -> None:
    world.fork("f")
    world.commit("f1")
    world.remember("F")
    world.fork("g")
    world.commit("g1")
    world.remember("G")
    world.switch("main")
    world.squash("f")
    assert world.sees() == {"F"}
    world.squash("g")
    assert world.sees() == {"F", "G"}


def test_the_childs_squash_brings_the_parents_memory(world: World) -> None:
    world.fork("f")
    world.commit("f1")
    world.remember("F")
    world.fork("g")
    world.commit("g1")
    world.remember("G")
    world.switch("main")
    world.squash("g")
    assert world.sees() == {"F", "G"}


def test_an_abandoned_branch_never_lands(world: World) -> None:
    world.fork("f")
    world.remember("P")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.delete("f")
    world.commit("m1", "c1.txt", "something else\n")
    assert world.sees() == set()


def test_a_branch_without_net_change_never_lands(world: World) -> None:
    world.fork("f")
    world.commit("empty", "README.md", "same\n")
    world.git("revert", "--no-edit", "HEAD")
    world.remember("M")
    world.switch("main")
    world.commit("m1", "README.md", "same\n")
    assert world.sees() == set()


def test_a_root_commit_is_never_where_something_landed(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.git("checkout", "-q", "--orphan", "fresh")
    world.commit("root")
    assert world.sees() == set()


def test_what_is_younger_than_the_trunk_did_not_land_there(world: World) -> None:
    world.fork("f")
    world.git("branch", "late")
    world.switch("main")
    world.commit("same", "x.txt", "x\n")
    world.switch("late")
    world.commit("the same by another hand", "x.txt", "x\n")
    world.remember("M")
    world.switch("main")
    assert world.sees() == set()


def test_the_same_second_counts(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.git("merge", "-q", "--squash", "f")
    world.clock.now -= 60
    when = int(git(world.path, "log", "-1", "--format=%ct", "f"))
    world.clock.now = when - 10
    world.git("commit", "-q", "-m", "squash")
    assert git(world.path, "log", "-1", "--format=%ct") == str(when)
    assert world.sees() == {"M"}


def test_a_deletion_a_mode_and_a_link_land(world: World) -> None:
    world.commit("m1", "gone.txt")
    world.commit("m2", "run.sh")
    world.fork("f")
    world.git("rm", "-q", "gone.txt")
    (world.path / "run.sh").chmod(0o755)
    (world.path / "link").symlink_to("run.sh")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "c1")
    world.remember("M")
    world.switch("main")
    world.commit("m3")
    assert world.sees() == set()
    world.squash("f")
    assert world.sees() == {"M"}


def test_a_file_in_a_folder_and_names_that_are_odd(world: World) -> None:
    (world.path / "a b").mkdir()
    world.fork("f")
    for name in ("a b/ünïcode.txt", "a b/x.txt", "[*].txt", "a b/-dash"):
        world.commit("c", name)
    world.remember("M")
    world.switch("main")
    world.commit("m1")
    assert world.sees() == set()
    world.squash("f")
    assert world.sees() == {"M"}


def test_a_squash_whose_conflict_was_resolved_otherwise_is_not_seen(world: World) -> None:
    world.fork("f")
    world.commit("c1", "x.txt", "mine\n")
    world.remember("M")
    world.switch("main")
    world.commit("m1", "x.txt", "theirs\n")
    world.commit("resolved", "x.txt", "something between\n")
    assert world.sees() == set()


def test_a_partial_merge_and_a_squash_of_the_rest(world: World) -> None:
    world.fork("f")
    first = world.commit("c1", "x.txt", "1\n2\n3\n")
    world.commit("c2", "x.txt", "1\n2\n3\n4\n")
    world.remember("M")
    world.switch("main")
    world.commit("m1")
    world.git("merge", "-q", "--no-ff", "-m", "part", first)
    world.commit("m2", "x.txt", "one\n2\n3\n")
    assert world.sees() == set()
    world.commit("rest", "x.txt", "one\n2\n3\n4\n")
    assert world.sees() == {"M"}


def test_fast_forwarded_in_part_and_the_rest_picked(world: World) -> None:
    world.fork("f")
    first = world.commit("c1", "x.txt", "1\n2\n3\n")
    commit = world.commit("c2", "x.txt", "1\n2\n3\n4\n")
    world.remember("M")
    world.switch("main")
    assert world.sees() == set()
    world.git("merge", "-q", "--ff-only", first)
    world.commit("m2", "x.txt", "one\n2\n3\n")
    assert world.sees() == set()
    world.git("cherry-pick", commit)
    assert world.sees() == {"M"}


def test_landed_on_a_branch_is_seen_there_alone(world: World) -> None:
    world.fork("g")
    world.commit("g1")
    world.remember("M")
    world.fork("f", "main")
    world.commit("f1")
    world.squash("g")
    assert world.sees() == {"M"}
    world.look(write=True)
    assert world.sees("main") == set()
    world.switch("main")
    world.merge("f")
    assert world.sees() == {"M"}


# -- the index --------------------------------------------------------------------------------


def test_what_was_found_out_is_kept_and_may_vanish(world: World, tmp_path: Path) -> None:
    folder = world.folder = tmp_path / "derived"
    folder.mkdir()
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.commit("m1")
    assert world.sees() == set()
    world.squash("f")
    world.commit("m2")
    assert world.sees() == {"M"}
    (index,) = folder.glob("landing*")
    index.write_bytes(b"damaged" * 1000)
    assert world.sees() == {"M"}
    assert world.sees() == {"M"}
    index.unlink()
    assert world.sees() == {"M"}


def test_with_and_without_an_index_the_answer_is_the_same(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "derived"
    folder.mkdir()
    for number in range(4):
        world.fork(f"f{number}", "main")
        world.commit(f"c{number}")
        world.remember(f"M{number}")
        world.switch("main")
        world.commit(f"m{number}")
        if number % 2:
            world.squash(f"f{number}")
        world.folder = folder
        kept = world.carries()
        world.folder = None
        assert world.carries() == kept
    world.switch("f2")
    world.folder = folder
    assert world.sees() == {"M1", "M2"}
    world.switch("main")
    assert world.sees() == {"M1", "M3"}


def test_a_budget_spreads_the_look_over_calls(world: World, tmp_path: Path) -> None:
    world.folder = tmp_path / "derived"
    world.folder.mkdir()
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.squash("f")
    facts = list(world.facts.values())
    with Eyes(world) as eyes:
        first = eyes.landing.carries(facts, budget_seconds=0)
    assert not first.complete and first.carries == ()
    for _ in range(5):
        with Eyes(world) as eyes:
            last = eyes.landing.carries(facts, budget_seconds=0)
    with Eyes(world) as eyes:
        last = eyes.landing.carries(facts)
    assert last.complete
    assert [carry.events for carry in last.carries] == [("M",)]


# -- clones that lack history -----------------------------------------------------------------


def test_a_shallow_detached_clone(world: World) -> None:
    world.commit("m1")
    world.remember("M")
    world.fork("f")
    world.commit("c1")
    world.remember("P")
    world.switch("main")
    world.commit("m2")
    clone = world.clone("shallow", "--depth", "1")
    clone.switch("--detach")
    assert clone.sees() == {"M"}


def test_a_partial_clone_skips_and_counts(world: World) -> None:
    git(world.path, "config", "uploadpack.allowFilter", "true")
    world.commit("shared", "shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    world.fork("f")
    world.commit("c1", "shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
    world.remember("M")
    world.switch("main")
    world.commit("m2", "shared.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
    world.squash("f")
    world.commit("m3", "shared.txt", "later\n")
    clone = world.clone("partial", "--filter=blob:none")
    clone.git("remote", "set-url", "origin", "/nowhere")
    with Eyes(clone) as eyes:
        found = eyes.landing.carries(list(clone.facts.values()))
    assert found.carries == () and found.skipped == 1 and found.complete
    assert clone.sees() == set()


def test_a_bare_repository(world: World) -> None:
    world.fork("f")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.squash("f")
    bare = World(world.path.parent / "bare.git", world.clock, list(world.facts.values()))
    world.git("clone", "-q", "--bare", ".", str(bare.path))
    assert bare.sees() == {"M"}


def test_worktrees_see_their_own_branch(world: World) -> None:
    world.git("worktree", "add", "-q", "-b", "f", "../linked")
    linked = World(world.path.parent / "linked", world.clock)
    linked.remember("P")
    linked.commit("c1")
    world.facts = dict(linked.facts)
    assert linked.sees() == {"P"}
    assert world.sees() == set()
    world.merge("f")
    assert world.sees() == {"P"}


def test_two_lines_that_had_the_same_name_and_are_both_gone(world: World) -> None:
    world.fork("f")
    world.remember("P")
    world.commit("c1")
    world.remember("M")
    world.switch("main")
    world.delete("f")
    world.commit("m1")
    world.fork("f")
    world.remember("Q")
    world.commit("c2")
    world.switch("main")
    world.squash("f")
    world.delete("f")
    world.commit("m2")
    assert world.sees() == {"Q"}


def test_a_pushed_branch_that_follows_another_name_is_not_taken_for_it(world: World) -> None:
    clone = world.clone("clone")
    clone.fork("a/b")
    clone.commit("c1")
    clone.remember("M")
    clone.git("push", "-q", "-u", "origin", "a/b")
    other = world.clone("other")
    other.pull_memories(clone)
    other.git("checkout", "-q", "-b", "b", "--track", "origin/a/b")
    other.git("reset", "-q", "--hard", "origin/main")
    assert other.sees() == set()
    assert other.sees("origin/a/b") == {"M"}


def test_what_was_looked_at_from_elsewhere_does_not_mislead(world: World, tmp_path: Path) -> None:
    world.folder = tmp_path / "derived"
    world.folder.mkdir()
    world.fork("f")
    world.commit("f1", "x.txt", "1\n2\n3\n4\n5\n")
    world.fork("g")
    world.commit("g1", "README.md", "changed\n")
    world.git("revert", "--no-edit", "f")  # g takes back what f did
    world.commit("g2")
    world.remember("M")
    world.git("checkout", "-q", "--orphan", "alone")
    world.commit("root")
    world.switch("f")
    world.commit("f2")
    assert world.sees() == set()  # looked for from the parent, and from a history of its own
    world.switch("alone")
    world.commit("next")
    assert world.sees() == set()
    world.switch("main")
    world.commit("m1")
    assert world.sees() == set()
    world.squash("g")
    assert world.sees() == {"M"}
    world.switch("f")
    world.squash("g")
    assert world.sees() == {"M"}
