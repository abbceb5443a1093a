"""Two clones and more exchange memories through a bare remote; nobody loses one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem.errors import NotFound, Unavailable, UsageError
from tests.sharing.support import SHARED, TRACKING, Team, cli, lines, tip
from tests.support import git, run_cli

KINDS = {
    "program": ("program",),
    "libgit2": ("libgit2",),
    "sha256": ("program", "--object-format=sha256"),
}


@pytest.fixture(params=KINDS)
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    """Yield a remote for each backend and object format."""
    backend, *init = KINDS[request.param]
    yield Team(tmp_path, backend, *init)  # type: ignore[arg-type]


def test_what_one_pushes_the_other_pulls(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    ids = team.remember(one, "Use PostgreSQL", "Nothing is cached")
    with team.open(one) as gm:
        pushed = gm.push()
    assert (pushed.remote, pushed.memories, pushed.events, pushed.tries) == ("origin", ids, 2, 1)
    assert pushed.tip == tip(team.remote) == tip(one)
    with team.open(two) as gm:
        pulled = gm.pull()
        assert (pulled.memories, pulled.events, pulled.tip) == (ids, 2, pushed.tip)
        assert [memory.author for memory in gm.list()] == ["one <one@example.com>"] * 2
        assert "Use PostgreSQL" in (two / "MEMORY.md").read_text()
        again = gm.pull()
    assert (again.memories, again.events) == ([], 0)
    assert tip(two) == pushed.tip


def test_both_wrote_and_a_stock_merge_came_between(team: Team) -> None:
    one, two, three = (team.clone(name) for name in ("one", "two", "three"))
    first = team.remember(one, "From the start")
    with team.open(one) as gm:
        gm.push()
    for clone in (two, three):
        with team.open(clone) as gm:
            gm.pull()
    with team.open(two) as gm:
        gm.tag(first[0], "two")
        gm.remember("Of two")
    with team.open(three) as gm:
        gm.tag(first[0], "three")
        gm.remember("Of three")
        gm.push()
    # Two has no gitmem at hand, and merges as git's own manual says.
    git(two, "fetch", "-q", "origin", f"{SHARED}:refs/notes/theirs")
    git(two, "notes", "--ref", SHARED, "merge", "-s", "cat_sort_uniq", "refs/notes/theirs")
    git(two, "push", "-q", "origin", SHARED)
    team.remember(one, "Of one")
    with team.open(one) as gm:
        pushed = gm.push()
        assert len(pushed.received) == 3 and pushed.tries == 2
    for clone in (two, three):
        with team.open(clone) as gm:
            gm.pull()
    everything = {"From the start", "Of one", "Of two", "Of three"}
    for clone in (one, two, three):
        assert team.texts(clone) == everything
        assert lines(clone) == lines(team.remote)
        with team.open(clone) as gm:
            assert sorted(gm.show(first[0]).tags) == ["three", "two"]
    assert tip(one) == tip(two) == tip(three)


def test_a_merge_has_both_parents_and_nothing_is_forced(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    for clone in (one, two):
        team.remember(clone, f"Of {clone.name}")
    with team.open(one) as gm:
        gm.push()
    before, mine = tip(team.remote), tip(two)
    git(team.remote, "config", "receive.denyNonFastForwards", "true")
    with team.open(two) as gm:
        gm.push()
    assert git(two, "log", "-1", "--format=%P", SHARED).split() == [mine, before]
    assert git(two, "log", "-1", "--format=%an: %s", SHARED) == "two: merge: memories from origin"
    assert git(team.remote, "merge-base", "--is-ancestor", before, SHARED) == ""


def test_a_plain_fetch_brings_memories_and_the_next_command_merges_them(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(one, "Of one")
    team.remember(two, "Of two")
    with team.open(one) as gm:
        gm.push()
    git(two, "fetch", "-q")
    assert tip(two, TRACKING) == tip(one)
    assert run_cli("list", cwd=two).stdout.count("Of ") == 2
    with team.open(two) as gm:
        assert gm.push().events == 1
    git(one, "pull", "-q")
    assert team.texts(one) == {"Of one", "Of two"}


def test_a_fresh_clone_has_everything_after_init(team: Team) -> None:
    one = team.clone("one")
    team.remember(one, "Of one")
    with team.open(one) as gm:
        gm.push()
    two = team.folder / "two"
    git(team.folder, "clone", "-q", str(team.remote), str(two))
    git(two, "config", "gitmem.trust", "all")
    with team.open(two) as gm:
        assert "1 memory fetched from 'origin'" in gm.init()
        assert not [line for line in gm.init() if "fetched" in line]
    assert team.texts(two) == {"Of one"}
    assert "Of one" in (two / "MEMORY.md").read_text()


def test_vanished_lines_come_back_after_a_fast_forward(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(one, "Of one", "And another")
    with team.open(one) as gm:
        gm.push()
    with team.open(two) as gm:
        gm.pull()
    git(two, "notes", "--ref", SHARED, "remove", "HEAD")
    git(two, "push", "-q", "origin", SHARED)
    with team.open(one) as gm:
        assert gm.pull().events == 0
        assert gm.push().events == 2
    assert team.texts(one) == {"Of one", "And another"}
    assert len(lines(team.remote)) == 2


def test_nothing_to_push_asks_the_remote_all_the_same(team: Team) -> None:
    one = team.clone("one")
    with team.open(one) as gm:
        assert gm.push().tip is None
        assert gm.pull().tip is None
        gm.remember("Of one")
        assert gm.push().events == 1
        again = gm.push()
        assert (again.tip, again.memories, again.tries) == (tip(one), [], 0)
        git(team.remote, "update-ref", "-d", SHARED)
        assert gm.push().events == 1
    assert tip(team.remote) == tip(one)


def test_private_memories_stay(team: Team) -> None:
    one = team.clone("one")
    with team.open(one) as gm:
        gm.remember("Kwyjibo", private=True)
        gm.remember("Kwyjibo of mine", scope="user")
        gm.set_context("Kwyjibo at hand")
        gm.remember("Of all")
        assert len(gm.push().memories) == 1
    git(one, "push", "-q", "--mirror", "origin")
    listed = git(team.remote, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    for oid in listed.split():
        assert "Kwyjibo" not in git(team.remote, "cat-file", "-p", oid)


def test_which_remote(team: Team) -> None:
    one = team.clone("one")
    team.remember(one, "Of one")
    other = team.folder / "other side.git"
    git(team.folder, "init", "-q", "--bare", str(other))
    git(one, "remote", "rename", "origin", "team/a")
    with team.open(one) as gm:
        assert gm.push().remote == "team/a"
    git(one, "remote", "add", "fork", str(other))
    with team.open(one) as gm:
        with pytest.raises(UsageError, match="several remotes: 'fork', 'team/a'"):
            gm.push()
        with pytest.raises(NotFound, match="no remote 'nobody'"):
            gm.push("nobody")
    assert cli("remote", "fork", cwd=one) == {"remote": "fork"}
    with team.open(one) as gm:
        states = {state.name: state for state in gm.remotes()}
        assert states["fork"].default and states["fork"].unpushed == 1
        assert not states["team/a"].default and states["team/a"].unpushed == 0
    git(other, "config", "receive.denyCurrentBranch", "ignore")
    if git(other, "rev-parse", "--show-object-format") == git(
        one, "rev-parse", "--show-object-format"
    ):
        with team.open(one) as gm:
            assert gm.push().remote == "fork"
        assert lines(other) == lines(one)
    git(one, "remote", "remove", "fork")
    git(one, "remote", "remove", "team/a")
    git(one, "config", "--unset", "gitmem.remote")
    with team.open(one) as gm, pytest.raises(NotFound, match="no remote to share"):
        gm.push()


def test_the_status_says_how_many_are_unpushed(team: Team) -> None:
    one = team.clone("one")
    with team.open(one) as gm:
        assert (gm.status().remote, gm.status().unpushed) == ("origin", 0)
        first = gm.remember("Of one").id
        gm.remember("Another")
        assert gm.status().unpushed == 2
        gm.push()
        assert gm.status().unpushed == 0
        gm.tag(first, "later")
        assert gm.status().unpushed == 1
    git(one, "remote", "set-url", "origin", str(team.folder / "nowhere"))
    with team.open(one) as gm:
        gm.remember("Offline")
        with pytest.raises(Unavailable, match="'origin' cannot be reached"):
            gm.push()
        with pytest.raises(Unavailable, match="'origin' cannot be reached"):
            gm.pull()
        assert gm.status().unpushed == 2


def test_the_receipt_lists_the_ids(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    ids = team.remember(one, "Of one", "Another")
    pushed = cli("push", cwd=one)
    assert pushed["memories"] == ids and pushed["tip"] == tip(team.remote)
    assert cli("pull", "origin", cwd=two)["memories"] == ids
    assert "everything was already at 'origin'" in run_cli("push", cwd=one).stdout
    assert "nothing new at 'origin'" in run_cli("pull", cwd=two).stdout


def test_init_adds_the_refspec_and_deinit_takes_it_back(team: Team) -> None:
    path = team.folder / "plain"
    git(team.folder, "clone", "-q", str(team.remote), str(path))
    git(path, "remote", "add", "Other", "https://example.com/x.git")
    git(path, "config", "--unset-all", "gitmem.line", check=False)
    before = (path / ".git" / "config").read_bytes()
    with team.open(path) as gm:
        said = gm.init()
        assert sum(".fetch = +refs/notes/gitmem/shared*" in line for line in said) == 2
        assert gm.init() == []
        assert git(path, "config", "--get-all", "remote.Other.fetch").split("\n") == [
            "+refs/heads/*:refs/remotes/Other/*",
            "+refs/notes/gitmem/shared*:refs/gitmem/remotes/Other/shared*",
        ]
        gm.deinit()
    assert (path / ".git" / "config").read_bytes() == before


def test_what_git_has_for_a_refspec_is_left_alone(team: Team) -> None:
    """A remote without one has git fetch its HEAD; a mirror has all there is."""
    path = team.folder / "plain"
    git(team.folder, "clone", "-q", str(team.remote), str(path))
    git(path, "config", "--unset-all", "remote.origin.fetch")
    git(path, "config", "remote.mirror.url", str(team.remote))
    git(path, "config", "remote.mirror.fetch", "+refs/*:refs/*")
    with gitmem.open(path, backend="program") as gm:
        assert not [line for line in gm.init() if ".fetch" in line]
