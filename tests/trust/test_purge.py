"""A purge by whom one does not trust: it removes nothing, and nothing slips back behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.purge.support import traces
from tests.sharing.support import SHARED, Team, cli, lines
from tests.support import git, run_cli
from tests.trust.support import EMPTY_TREE, event, put

TEXT = "The Kwyjibo vault opens with Quixotry-4711"
EVE = "eve <eve@example.com>"


class Trio:
    """Ada wrote a memory that Eve purges; Ada does not trust her."""

    def __init__(self, folder: Path) -> None:
        self.team = Team(folder)
        self.ada, self.eve = self.team.clone("ada"), self.team.clone("eve")
        git(self.ada, "config", "--unset", "gitmem.trust")
        self.id, _ = self.team.remember(self.ada, TEXT, "Beside it")
        self.short = self.id[:8]
        cli("push", cwd=self.ada)
        cli("pull", cwd=self.eve)

    def purge(self) -> None:
        """Purge it as Eve, at the remote too, by a forced push."""
        with self.team.open(self.eve) as gm:
            assert gm.purge(self.id, push=True).pushed == "origin"

    def sneak(self) -> None:
        """Write a purge as Eve, and take the lines out, by stock git: nothing is rewritten."""
        put(self.eve, event("purge", EVE, memory=self.id), at=EMPTY_TREE)
        listed = git(self.eve, "notes", f"--ref={SHARED}", "list").split("\n")
        for anchor in (row.split(" ")[1] for row in listed):
            if anchor != EMPTY_TREE:
                git(self.eve, "notes", f"--ref={SHARED}", "remove", anchor)
        git(self.eve, "push", "-q", "origin", SHARED)

    def proposed(self) -> list[tuple[str, str]]:
        """Return what is proposed about it in Ada's clone."""
        (memory,) = cli("show", self.id, cwd=self.ada)
        assert memory["text"] == TEXT and not memory["held"]
        return [(side["field"], side["by"]) for side in memory["proposed"]]


@pytest.fixture
def trio(tmp_path: Path) -> Trio:
    """Ada and Eve, and what Ada wrote."""
    return Trio(tmp_path)


ALL = {TEXT, "Beside it"}


@pytest.mark.parametrize("way", ["purge", "sneak"])
@pytest.mark.parametrize("command", ["pull", "pull --yes", "fetch"])
def test_it_removes_nothing_and_is_proposed(trio: Trio, way: str, command: str) -> None:
    before = lines(trio.ada)
    getattr(trio, way)()
    if command == "fetch":
        git(trio.ada, "fetch", "-q")
    else:
        done = run_cli(*command.split(), cwd=trio.ada)
        assert done.returncode == 0
        assert f"{EVE} purged '{trio.short}' at 'origin', and is not trusted" in done.stderr
    assert trio.proposed() == [("purged", EVE)]
    assert trio.team.texts(trio.ada) == ALL
    assert before <= lines(trio.ada)
    assert "a change is proposed" in run_cli("list", cwd=trio.ada).stdout
    assert "Kwyjibo" in (trio.ada / "MEMORY.md").read_text()


def test_what_is_new_beside_it_arrives(trio: Trio) -> None:
    trio.purge()
    (later,) = trio.team.remember(trio.eve, "Later")
    cli("push", cwd=trio.eve)
    assert cli("pull", cwd=trio.ada)["memories"] == [later]
    held = {memory["text"] for memory in cli("list", "--held", cwd=trio.ada)}
    assert held == {"Later"}


def test_nothing_is_brought_back_until_somebody_decides(trio: Trio) -> None:
    """It may have been a secret: then it must not come back with the next push of anybody."""
    trio.purge()
    trio.team.remember(trio.ada, "Mine")
    for _ in range(2):
        error = cli("push", cwd=trio.ada, code=5)
        assert error["message"] == f"{EVE} has purged '{trio.short}', and this would bring it back"
        assert error["hint"] == (
            f"gitmem purge {trio.short} --push; or, to keep it, gitmem restore {trio.short}"
        )
    cli("update", trio.id, "--kind", "fact", cwd=trio.ada)
    assert cli("push", cwd=trio.ada, code=5)["code"] == "refused"
    git(trio.team.remote, "gc", "-q", "--prune=now")
    assert traces(trio.team.remote) == []


def test_to_agree_is_to_purge_it_oneself(trio: Trio) -> None:
    trio.purge()
    trio.team.remember(trio.ada, "Mine")
    cli("push", cwd=trio.ada, code=5)
    assert cli("purge", trio.short, "--push", "--yes", cwd=trio.ada)["pushed"] == "origin"
    assert trio.team.texts(trio.ada) == {"Beside it", "Mine"}
    cli("pull", "--yes", cwd=trio.eve)
    assert trio.team.texts(trio.eve) == {"Beside it", "Mine"}
    git(trio.team.remote, "gc", "-q", "--prune=now")
    assert traces(trio.ada, trio.eve, trio.team.remote) == []


def test_to_keep_it_is_to_restore_it(trio: Trio) -> None:
    trio.purge()
    cli("pull", cwd=trio.ada)
    cli("restore", trio.short, cwd=trio.ada)
    assert trio.proposed() == []
    assert trio.id in cli("push", cwd=trio.ada)["memories"]
    assert cli("restore", trio.short, cwd=trio.ada, code=1)["message"].endswith("is not forgotten")


def test_to_trust_her_is_to_do_as_she_says(trio: Trio) -> None:
    trio.purge()
    cli("pull", cwd=trio.ada)
    cli("trust", "eve@example.com", cwd=trio.ada)
    with trio.team.open(trio.ada) as gm:
        assert {memory.text for memory in gm.list()} == {"Beside it"}
        (finding,) = gm.doctor().findings
        assert finding.code == "returned"
    error = cli("push", cwd=trio.ada, code=5)
    assert error["hint"] == f"gitmem purge {trio.short} --push"
    cli("purge", trio.short, "--push", "--yes", cwd=trio.ada)
    assert trio.team.texts(trio.ada) == {"Beside it"}
    assert traces(trio.ada) == []


def test_the_doctor_advises_no_purge_for_it(trio: Trio) -> None:
    trio.sneak()
    cli("pull", cwd=trio.ada)
    with trio.team.open(trio.ada) as gm:
        assert [finding.code for finding in gm.doctor(repair=True).findings] == ["proposed"]


def test_ones_own_purge_beside_it_counts(trio: Trio) -> None:
    """Her line comes first in the note: it must not stand for ours."""
    put(trio.ada, event("purge", EVE, memory=trio.id), at=EMPTY_TREE)
    assert trio.proposed() == [("purged", EVE)]
    cli("purge", trio.short, "--yes", cwd=trio.ada)
    assert trio.team.texts(trio.ada) == {"Beside it"}
    purges = [line for line in lines(trio.ada) if '"op":"purge"' in line]
    assert len(purges) == 2
    # A stale clone brings the lines; hers would not keep them out, and ours does.
    cli("pull", cwd=trio.ada)
    assert trio.team.texts(trio.ada) == {"Beside it"}
    assert traces(trio.ada) == []


def test_two_who_trust_each_other_are_not_asked_by_a_third(trio: Trio) -> None:
    """Eve's purge is proposed, Bob's, who is trusted, asks; to accept one is not the other."""
    bob = trio.team.clone("bob")
    cli("pull", cwd=bob)
    beside = next(m["id"] for m in cli("list", cwd=bob) if m["text"] == "Beside it")
    trio.purge()
    cli("pull", "--yes", cwd=bob)
    with trio.team.open(bob) as gm:
        gm.purge(beside, push=True)
    cli("trust", "bob@example.com", cwd=trio.ada)
    error = cli("pull", cwd=trio.ada, code=5)
    assert "bob <bob@example.com> purged 1 memory" in error["message"]
    done = run_cli("pull", "--yes", cwd=trio.ada)
    assert f"{EVE} purged '{trio.short}'" in done.stderr
    assert trio.team.texts(trio.ada) == {TEXT}
    assert trio.proposed() == [("purged", EVE)]
