"""Push, pull and fetch where somebody has purged: nothing is brought back, nobody is overruled."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.errors import Refused
from tests.purge.support import traces
from tests.sharing.support import SHARED, Team, cli
from tests.support import git, run_cli

TEXT = "The Kwyjibo vault opens with Quixotry-4711"


class Shared:
    """Two clones that both have a memory which the first has purged, and forced onto the remote."""

    def __init__(self, folder: Path, same_person: bool = False) -> None:
        self.team = Team(folder)
        self.one, self.two = self.team.clone("one"), self.team.clone("two")
        if same_person:
            git(self.two, "config", "user.email", "one@example.com")
        self.id, _ = self.team.remember(self.one, TEXT, "Beside it")
        cli("push", cwd=self.one)
        cli("pull", cwd=self.two)
        self.team.remember(self.two, "Of two")

    def purge(self) -> None:
        """Purge it in the first clone, and at the remote."""
        with self.team.open(self.one) as gm:
            assert gm.purge(self.id, push=True).pushed == "origin"


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """Two people, one of whom purges."""
    made = Shared(tmp_path)
    made.purge()
    return made


LEFT = {"Beside it", "Of two"}


@pytest.mark.parametrize("command", ["push", "pull"])
def test_somebody_elses_purge_asks_first(shared: Shared, command: str) -> None:
    error = cli(command, cwd=shared.two, code=5)
    assert error["code"] == "refused"
    assert "one <one@example.com> purged 1 memory at 'origin'" in error["message"]
    assert error["hint"] == "to purge it here too: gitmem pull origin --yes"
    assert shared.team.texts(shared.two) == LEFT | {TEXT}
    done = cli("pull", "--yes", cwd=shared.two)
    assert done["memories"] == []
    assert shared.team.texts(shared.two) == LEFT
    assert traces(shared.two) == []
    assert len(cli("push", cwd=shared.two)["memories"]) == 1
    cli("pull", cwd=shared.one)
    assert shared.team.texts(shared.one) == LEFT
    git(shared.team.remote, "gc", "-q", "--prune=now")
    assert traces(shared.team.remote, shared.one, shared.two) == []


def test_a_plain_fetch_of_it_changes_nothing_and_is_said(shared: Shared) -> None:
    git(shared.two, "fetch", "-q")
    for _ in range(2):
        done = run_cli("list", cwd=shared.two)
        assert done.stdout.count("\n") == 3
        assert "one <one@example.com> purged 1 memory at 'origin'" in done.stderr
    cli("pull", "--yes", cwd=shared.two)
    assert run_cli("list", cwd=shared.two).stderr == ""
    assert shared.team.texts(shared.two) == LEFT
    assert traces(shared.two) == []


def test_after_a_plain_fetch_no_push_brings_it_back(shared: Shared) -> None:
    """Nor does the command in between, which restores what vanished."""
    git(shared.two, "fetch", "-q")
    run_cli("remember", "Written in between", cwd=shared.two)
    error = cli("push", cwd=shared.two, code=5)
    assert error["hint"] == "to purge it here too: gitmem pull origin --yes"
    git(shared.team.remote, "gc", "-q", "--prune=now")
    assert traces(shared.team.remote) == []
    cli("pull", "--yes", cwd=shared.two)
    assert len(cli("push", cwd=shared.two)["memories"]) == 2
    git(shared.one, "fetch", "-q")
    left = LEFT | {"Written in between"}
    assert shared.team.texts(shared.one) == shared.team.texts(shared.two) == left
    git(shared.team.remote, "gc", "-q", "--prune=now")
    assert traces(shared.team.remote, shared.one, shared.two) == []


def test_a_plain_fetch_of_what_is_new_beside_ones_own_purge(tmp_path: Path) -> None:
    """One person, two clones: what a fetch brought waits for a pull, which need not be asked."""
    shared = Shared(tmp_path, same_person=True)
    shared.purge()
    git(shared.two, "fetch", "-q")
    done = run_cli("list", cwd=shared.two)
    assert done.stderr == "**warning:** you purged 1 memory at 'origin' (gitmem pull origin)\n"
    cli("pull", cwd=shared.two)
    assert shared.team.texts(shared.two) == LEFT
    assert traces(shared.two) == []


def test_what_a_stock_merge_brought_back_does_not_leave(shared: Shared) -> None:
    """The stale clone had merged by hand before gitmem looked: nothing of it is pushed."""
    git(shared.two, "fetch", "-q", "origin", f"{SHARED}:refs/notes/theirs")
    git(shared.two, "notes", "--ref", SHARED, "merge", "-q", "-s", "cat_sort_uniq", "theirs")
    git(shared.two, "update-ref", "-d", "refs/notes/theirs")
    error = cli("push", cwd=shared.two, code=5)
    assert "this would bring it back" in error["message"]
    assert error["hint"] == f"gitmem purge {shared.id[:8]} --push"
    git(shared.team.remote, "gc", "-q", "--prune=now")
    assert traces(shared.team.remote) == []
    cli("purge", shared.id, "--push", "--yes", cwd=shared.two)
    assert shared.team.texts(shared.two) == LEFT
    assert traces(shared.two) == []


def test_what_is_new_beside_a_purge_arrives_with_it(shared: Shared) -> None:
    (later,) = shared.team.remember(shared.one, "Later")
    cli("push", cwd=shared.one)
    assert cli("pull", "--yes", cwd=shared.two)["memories"] == [later]
    assert shared.team.texts(shared.two) == LEFT | {"Later"}


def test_ones_own_purge_is_taken_over_by_the_way(tmp_path: Path) -> None:
    shared = Shared(tmp_path, same_person=True)
    shared.purge()
    assert len(cli("push", cwd=shared.two)["memories"]) == 1
    assert shared.team.texts(shared.two) == LEFT
    assert traces(shared.two) == []


def test_a_purge_that_was_not_pushed_stays_purged(tmp_path: Path) -> None:
    shared = Shared(tmp_path)
    with shared.team.open(shared.one) as gm:
        gm.purge(shared.id)
    cli("push", cwd=shared.two)
    # The remote still has it: a fetch or a pull brings what is new, and not that.
    git(shared.one, "fetch", "-q")
    assert run_cli("list", cwd=shared.one).stdout.count("Kwyjibo") == 0
    cli("pull", cwd=shared.one)
    assert shared.team.texts(shared.one) == LEFT
    error = cli("push", cwd=shared.one, code=5)
    assert error["message"] == "'origin' has what is purged here"
    assert error["hint"] == f"gitmem purge {shared.id[:8]} --push --remote origin"
    with shared.team.open(shared.one) as gm:
        gm.purge(shared.id, push=True)
    cli("pull", "--yes", cwd=shared.two)
    assert shared.team.texts(shared.two) == shared.team.texts(shared.one) == LEFT
    git(shared.team.remote, "gc", "-q", "--prune=now")
    assert traces(shared.team.remote, shared.one, shared.two) == []


def test_a_purge_under_way_elsewhere_and_a_stock_push_between(shared: Shared) -> None:
    """A clone without gitmem brings the old journal back: that is said, and one purge ends it."""
    git(shared.two, "fetch", "-q", "origin", f"{SHARED}:refs/notes/theirs")
    git(
        shared.two,
        "notes",
        "--ref",
        SHARED,
        "merge",
        "-q",
        "-s",
        "cat_sort_uniq",
        "refs/notes/theirs",
    )
    git(shared.two, "push", "-q", "origin", SHARED)
    with shared.team.open(shared.one) as gm:
        gm.pull()
        assert TEXT not in {memory.text for memory in gm.list()}
        with pytest.raises(Refused, match="has what is purged here"):
            gm.remember("Later")
            gm.push()
        gm.purge(shared.id, push=True)
    git(shared.team.remote, "gc", "-q", "--prune=now")
    assert traces(shared.team.remote, shared.one) == []
