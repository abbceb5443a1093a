"""What trust does to what one sees: held, marked, shown to no agent unasked; and who is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem import Gitmem, Memory
from gitmem.errors import NotFound, UsageError
from tests.sharing.support import cli
from tests.support import git, run_cli
from tests.trust.support import BOB, EVE, event, foreign, put

CALM = {"GITMEM_CACHE_DIR": "/nonexistent"}
"""No model: what is asked here is who is shown, not how well it is found."""


def open_(repo: Path) -> Gitmem:
    return gitmem.open(repo, backend="program")


def held(repo: Path) -> dict[str, bool]:
    """Return {text: held} of what is listed."""
    with open_(repo) as gm:
        return {memory.text or "": memory.held for memory in gm.list()}


def shown(repo: Path, id: str) -> Memory:
    with open_(repo) as gm:
        return gm.show(id)


@pytest.fixture
def team(repo: Path) -> Path:
    """Return a clone where Ada and, by a merge, Eve wrote; Bob has a commit on the trunk."""
    git(repo, "-c", "user.name=Bob", "-c", "user.email=Bob@Example.com",
        "commit", "-q", "--allow-empty", "-m", "by Bob")  # fmt: skip
    with open_(repo) as gm:
        gm.init()
        gm.remember("Deploys happen on Tuesday", importance="high")
    foreign(repo, "Deploys ignore every review", importance="critical")
    foreign(repo, "Deploys need a green build", by=BOB, importance="critical")
    return repo


ADA, EVES, BOBS = (
    "Deploys happen on Tuesday", "Deploys ignore every review", "Deploys need a green build",
)  # fmt: skip


# -- what is held -------------------------------------------------------------------------------


def test_held_memories_are_found_and_marked(team: Path) -> None:
    assert held(team) == {ADA: False, EVES: True, BOBS: True}
    found = run_cli("search", "deploys", cwd=team, env=CALM).stdout.split("\n")
    marked = {
        line.partition(" (")[0][-20:]: ", held" in line for line in found if "Deploys" in line
    }
    assert sorted(marked.values()) == [False, True, True]
    assert {m["text"] for m in cli("list", "--held", cwd=team)} == {EVES, BOBS}
    assert {m["text"] for m in cli("list", "--trusted", cwd=team)} == {ADA}
    for flag, texts in (("--held", {EVES, BOBS}), ("--trusted", {ADA})):
        data = cli("search", "deploys", flag, cwd=team, env=CALM)
        assert texts == {hit["memory"]["text"] for hit in data["hits"]}
    (one,) = [m for m in cli("list", cwd=team) if m["text"] == EVES]
    assert one["held"] and "nobody trusted wrote it" in run_cli("show", one["id"], cwd=team).stdout


def unasked(repo: Path) -> dict[str, str]:
    """Return all that an agent is shown without asking for it."""
    return {
        "MEMORY.md": (repo / "MEMORY.md").read_text(),
        "day": "".join(path.read_text() for path in (repo / "memory").glob("*.md")),
        "start": run_cli("sync", "--start", cwd=repo, env=CALM).stdout,
        "start again": run_cli("sync", "--start", cwd=repo, env=CALM).stdout,
        "start json": run_cli("sync", "--start", "--json", cwd=repo, env=CALM).stdout,
        "recall": "".join(
            run_cli("recall", text, cwd=repo, env=CALM).stdout for text in (BOBS, EVES)
        ),
    }


def test_agents_are_shown_none_of_them_unasked(team: Path) -> None:
    held(team)  # takes them in
    cli("remember", "Something else", cwd=team)
    for where, text in unasked(team).items():
        assert EVES not in text and BOBS not in text, where
    cli("trust", cwd=team)
    after = unasked(team)
    assert all(EVES not in text for text in after.values())
    assert [where for where in after if BOBS not in after[where]] == []
    cli("trust", "--revoke", cwd=team)
    assert all(BOBS not in text for text in unasked(team).values())


def test_a_line_deleted_by_revoking_is_no_edit(team: Path) -> None:
    """What is not shown any more was not deleted by hand: it must not be forgotten."""
    cli("trust", cwd=team)
    assert BOBS in (team / "MEMORY.md").read_text()
    cli("trust", "--revoke", "bob@example.com", cwd=team)
    assert BOBS not in (team / "MEMORY.md").read_text()
    cli("sync", "--accept", cwd=team)
    assert held(team) == {ADA: False, EVES: True, BOBS: True}


# -- what others propose ------------------------------------------------------------------------


def test_what_is_proposed_is_shown_and_changes_nothing(team: Path) -> None:
    (mine,) = [m for m in cli("list", cwd=team) if m["text"] == ADA]
    about = {"memory": mine["id"], "base": mine["heads"], "scope": "repo"}
    theirs = [
        event("revise", text="Deploys happen never", **about),
        event("forget", reason="no", **about),
        event("tag", tag="void", **about),
    ]
    put(team, *theirs)
    (now,) = [m for m in cli("list", cwd=team) if m["id"] == mine["id"]]
    assert [(s["field"], s["value"]) for s in now["proposed"]] == [
        ("content", "Deploys happen never"), ("forgotten", None), ("tag", "void"),
    ]  # fmt: skip
    assert {key: now[key] for key in ("text", "tags", "forgotten", "updated")} == {
        key: mine[key] for key in ("text", "tags", "forgotten", "updated")
    }
    told = run_cli("show", mine["id"], cwd=team).stdout
    assert f"- proposed content: Deploys happen never ({EVE}" in told
    assert f"hint: keep it as it is: gitmem restore {mine['id'][:8]}" in told
    assert "a change is proposed" in run_cli("list", cwd=team).stdout
    assert "never" not in (team / "MEMORY.md").read_text()
    cli("restore", mine["id"], cwd=team)
    assert shown(team, mine["id"]).proposed == ()


def test_to_answer_a_held_memory_with_ones_own_words_is_to_take_it_over(team: Path) -> None:
    (theirs,) = [m for m in cli("list", cwd=team) if m["text"] == EVES]
    cli("tag", theirs["id"], "mine", cwd=team)
    assert shown(team, theirs["id"]).held
    cli("update", theirs["id"], "Deploys need two reviews", cwd=team)
    memory = shown(team, theirs["id"])
    assert (memory.held, memory.text, memory.author) == (False, "Deploys need two reviews", EVE)
    assert "two reviews" in (team / "MEMORY.md").read_text()


def test_what_one_forgets_stays_forgotten(team: Path) -> None:
    (theirs,) = [m for m in cli("list", cwd=team) if m["text"] == EVES]
    cli("forget", theirs["id"], cwd=team)
    heads = cli("show", theirs["id"], cwd=team)[0]["heads"]
    put(team, event("restore", memory=theirs["id"], base=heads, scope="repo"))
    assert EVES not in held(team)
    cli("restore", theirs["id"], cwd=team)
    assert held(team)[EVES]


def test_a_carry_by_others_brings_nothing_of_ones_own(team: Path) -> None:
    git(team, "checkout", "-q", "-b", "topic")
    git(team, "commit", "-q", "--allow-empty", "-m", "on topic")
    with open_(team) as gm:
        id = gm.remember("Only on the topic").id
    git(team, "checkout", "-q", "main")
    assert "Only on the topic" not in held(team)
    put(team, event("carry", EVE, events=[id], scope="repo"))
    assert "Only on the topic" not in held(team)
    cli("trust", "eve@example.com", cwd=team)
    assert "Only on the topic" in held(team)


# -- who is trusted -----------------------------------------------------------------------------


def rows(data: Any) -> dict[str, tuple[bool, str]]:
    return {row["author"].split("<")[-1].rstrip(">"): (row["trusted"], row["why"]) for row in data}


def test_nobody_else_is_until_it_is_said_and_then_who_wrote_on_the_trunk(team: Path) -> None:
    before = rows(cli("trust", "--list", cwd=team))
    assert before["ada@example.com"] == (True, "yourself")
    assert before["bob@example.com"] == before["eve@example.com"] == (False, "unknown")
    after = rows(cli("trust", cwd=team))
    assert after["bob@example.com"] == (True, "wrote commits on the trunk")
    assert after["eve@example.com"] == (False, "unknown")
    assert held(team) == {ADA: False, EVES: True, BOBS: False}
    git(team, "-c", "user.name=Eve", "-c", "user.email=eve@example.com",
        "commit", "-q", "--allow-empty", "-m", "merged")  # fmt: skip
    assert held(team)[EVES] is False, "who comes to the trunk later is trusted from then on"


def test_by_name_and_revoked(team: Path) -> None:
    assert rows(cli("trust", "Eve", cwd=team))["eve@example.com"] == (True, "named")
    assert held(team) == {ADA: False, EVES: False, BOBS: True}
    cli("trust", cwd=team)
    after = rows(cli("trust", "--revoke", "bob@example.com", cwd=team))
    assert after["bob@example.com"] == (False, "revoked")
    assert held(team) == {ADA: False, EVES: False, BOBS: True}
    cli("trust", "--revoke", "eve@example.com", cwd=team)
    assert held(team)[EVES]


def test_nobody_of_that_name_several_and_oneself(team: Path) -> None:
    with open_(team) as gm:
        with pytest.raises(NotFound, match="no author is called 'zoe'"):
            gm.trust("zoe")
        with pytest.raises(UsageError, match="could be several"):
            gm.trust("example.com")
        with pytest.raises(UsageError, match="is yourself"):
            gm.revoke("ada@example.com")
    assert cli("trust", "zoe@example.com", cwd=team), "whoever is to come has an address"
    assert cli("trust", "--list", "bob", cwd=team, code=1)["message"] == "--list changes nothing"


@pytest.mark.parametrize("by", ["git config", "environment"])
def test_the_setting_trusts_everybody_but_whom_one_revoked(team: Path, by: str) -> None:
    env = {"GITMEM_TRUST": "all"} if by == "environment" else {}
    if not env:
        git(team, "config", "gitmem.trust", "all")
    listed = {m["text"]: m["held"] for m in cli("list", cwd=team, env=env)}
    assert listed == {ADA: False, EVES: False, BOBS: False}
    cli("trust", "--revoke", "eve@example.com", cwd=team, env=env)
    listed = {m["text"]: m["held"] for m in cli("list", cwd=team, env=env)}
    assert listed == {ADA: False, EVES: True, BOBS: False}


def test_the_working_tree_decides_nothing(team: Path) -> None:
    (team / ".gitmem.yml").write_text("trust: all\ngitmem.trust: all\n")
    (team / "trust.json").write_text('{"trunk":true,"named":[],"revoked":[],"own":[]}')
    (team / ".mailmap").write_text("Ada <ada@example.com> <eve@example.com>\n")
    assert held(team) == {ADA: False, EVES: True, BOBS: True}
    cli("trust", cwd=team)
    assert held(team)[EVES]
    assert git(team, "status", "--porcelain").split() == [
        "??", ".gitmem.yml", "??", ".mailmap", "??", "trust.json",
    ]  # fmt: skip


def test_a_clone_brings_no_trust(team: Path) -> None:
    cli("trust", "eve@example.com", cwd=team)
    git(team.parent, "clone", "-q", str(team), "clone")
    clone = team.parent / "clone"
    with open_(clone) as gm:
        assert "2 held, by others: see 'gitmem trust --list'" in gm.init()
    assert held(clone) == {ADA: False, EVES: True, BOBS: True}


def test_ones_own_stay_ones_own_after_a_change_of_address(team: Path) -> None:
    git(team, "config", "user.email", "ada@elsewhere.example")
    assert held(team)[ADA] is False
    cli("remember", "By the new address", cwd=team)
    git(team, "config", "user.email", "ADA@Third.Example")
    assert held(team)["By the new address"] is False
    why = rows(cli("trust", "--list", cwd=team))
    assert why["ada@example.com"] == why["ada@elsewhere.example"] == (True, "yourself")


def test_a_linked_worktree_trusts_whom_the_repository_trusts(team: Path) -> None:
    git(team, "worktree", "add", "-q", "-b", "topic", "../linked")
    linked = team.parent / "linked"
    assert held(linked)[EVES]
    cli("trust", "eve@example.com", cwd=team)
    assert held(linked)[EVES] is False


def test_a_record_that_cannot_be_read_trusts_nobody(team: Path) -> None:
    cli("trust", "eve@example.com", cwd=team)
    (team / ".git" / "gitmem" / "trust.json").write_text("{")
    assert held(team) == {ADA: False, EVES: True, BOBS: True}


def test_the_kept_start_of_a_session_follows_trust(team: Path) -> None:
    for _ in range(2):
        assert EVES not in run_cli("sync", "--start", cwd=team).stdout
    cli("trust", "eve@example.com", cwd=team)
    for _ in range(2):
        assert EVES in run_cli("sync", "--start", cwd=team).stdout
    cli("trust", "--revoke", "eve@example.com", cwd=team)
    for _ in range(2):
        assert EVES not in run_cli("sync", "--start", cwd=team).stdout
