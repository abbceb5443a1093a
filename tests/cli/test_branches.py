"""The commands that show branches, and what the others say of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Gitmem
from tests.support import git

USAGE, NOT_FOUND = 1, 2
"""Exit codes."""

Ask = Callable[..., Any]
Remember = Callable[..., str]


def commit(repo: Path, name: str) -> None:
    (repo / name).write_text(name)
    git(repo, "add", name)
    git(repo, "commit", "-q", "-m", name)


@pytest.fixture
def branched(repo: Path, remember: Remember) -> tuple[str, str]:
    """`f` with a commit and a memory beside `main` with another; HEAD is on `f`."""
    trunk = remember("Use PostgreSQL")
    git(repo, "checkout", "-q", "-b", "f")
    commit(repo, "a")
    return trunk, remember("Use SQLite in the tests")


def test_branches(repo: Path, gitmem: Gitmem, ask: Ask, branched: tuple[str, str]) -> None:
    assert gitmem("branches").stdout.splitlines() == [
        "* f 2 (1 own, 1 inherited, 1 waiting)",
        "  main 1 (1 own, 0 inherited)",
    ]
    f, main = ask("branches")
    assert (f["name"], f["current"], f["knows"], f["waiting"]) == ("f", True, 2, 1)
    assert (main["name"], main["current"], main["orphaned"]) == ("main", False, False)


def test_branches_count_what_is_seen_and_not_forgotten(
    repo: Path, gitmem: Gitmem, branched: tuple[str, str]
) -> None:
    trunk, of_f = branched
    gitmem("forget", trunk)
    assert gitmem("branches").stdout.splitlines() == [
        "* f 1 (1 own, 0 inherited, 1 waiting)",
        "  main 1 (1 own, 0 inherited)",
    ]
    git(repo, "branch", "-m", "g")
    git(repo, "checkout", "-q", "main")
    gitmem("tag", of_f, "seen")
    assert gitmem("branches").stdout.splitlines() == [
        "* main 2 (1 own, 1 inherited)",
        "  g 1 (1 own, 0 inherited)",
    ]


def test_a_branch_that_is_gone_waits_to_be_adopted(
    repo: Path, gitmem: Gitmem, ask: Ask, branched: tuple[str, str]
) -> None:
    assert "waiting f: 1" in gitmem("status").stdout
    git(repo, "checkout", "-q", "main")
    git(repo, "branch", "-q", "-D", "f")
    gone = gitmem("branches").stdout.splitlines()
    assert gone[1:] == [
        "  f 1 (1 own, 1 waiting, the branch is gone)",
        "hint: if the work was taken over: gitmem adopt f",
    ]
    told = gitmem("status").stdout
    assert "orphaned f: 1" in told and "hint: if the work was taken over: gitmem adopt f" in told
    assert "waiting f" not in told
    assert ask("status")["orphaned"] == {"f": 1}
    (adopted,) = gitmem("adopt", "f").stdout.splitlines()
    assert adopted == f"{branched[1]} adopted: Use SQLite in the tests"
    assert branched[1] in gitmem("list").stdout
    assert gitmem("branches").stdout.splitlines() == ["* main 2 (1 own, 1 inherited)"]
    again = gitmem("adopt", "f")
    assert (again.stdout, again.stderr) == ("", "everything of 'f' is seen from here already\n")


def test_merge_branch_is_adopt(gitmem: Gitmem, repo: Path, branched: tuple[str, str]) -> None:
    git(repo, "checkout", "-q", "main")
    envelope = json.loads(gitmem("merge-branch", "f", "--json").stdout)
    assert (envelope["command"], len(envelope["data"])) == ("adopt", 1)
    assert "merge-branch" not in gitmem("--help").stdout


def test_adopting_what_nobody_wrote(gitmem: Gitmem) -> None:
    assert "no memory was written on 'f'" in gitmem("adopt", "f", code=NOT_FOUND).stderr


def test_diff(gitmem: Gitmem, ask: Ask, branched: tuple[str, str]) -> None:
    trunk, of_f = branched
    gitmem("update", trunk, "Use PostgreSQL 17")
    lines = gitmem("diff", "main..f").stdout.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        f"> {of_f} **note** Use SQLite in the tests",
        f"< {trunk} **note** Use PostgreSQL",
        f"> {trunk} **note** Use PostgreSQL 17",
        "(0 only on main, 1 only on f, 1 differs)",
    ]
    data = ask("diff", "f..main")
    assert [memory["text"] for memory in data["left"]] == ["Use SQLite in the tests"]
    assert data["right"] == []
    assert [old["text"] for old, _ in data["changed"]] == ["Use PostgreSQL 17"]
    same = gitmem("diff", "f..f")
    assert (same.stdout, same.stderr) == ("", "f and f know the same\n")


@pytest.mark.parametrize(
    ("span", "code", "said"),
    [
        ("main", USAGE, "'main' is no span of two branches"),
        ("main..", USAGE, "'main..' is no span of two branches"),
        ("main..nowhere", NOT_FOUND, "no branch or commit 'nowhere'"),
    ],
)
def test_diff_of_what_is_not_there(span: str, code: int, said: str, gitmem: Gitmem) -> None:
    assert f"**error:** {said}" in gitmem("diff", span, code=code).stderr


def test_looking_from_another_branch(
    repo: Path, gitmem: Gitmem, ask: Ask, branched: tuple[str, str]
) -> None:
    trunk, of_f = branched
    gitmem("update", trunk, "Use PostgreSQL 17")
    git(repo, "checkout", "-q", "main")
    assert [memory["id"][:8] for memory in ask("list")] == [trunk]
    assert {memory["id"][:8] for memory in ask("list", "--branch", "f")} == {trunk, of_f}
    assert ask("search", "sqlite")["hits"] == []
    assert len(ask("search", "sqlite", "--branch", "f")["hits"]) == 1
    assert ask("show", trunk)[0]["text"] == "Use PostgreSQL"
    assert ask("show", trunk, "--branch", "f")[0]["text"] == "Use PostgreSQL 17"
    assert "SQLite" not in gitmem("sync", "--start").stdout
    assert "SQLite" in gitmem("sync", "--start", "--branch", "f").stdout
    assert gitmem("sync", "--end", "--branch", "f", code=USAGE).stderr.startswith(
        "**error:** --branch goes with --start"
    )


def test_looking_back(repo: Path, gitmem: Gitmem, ask: Ask, branched: tuple[str, str]) -> None:
    trunk, of_f = branched
    assert {memory["id"][:8] for memory in ask("list", "--at", "f")} == {trunk, of_f}
    assert [memory["id"][:8] for memory in ask("list", "--at", "HEAD~1")] == [trunk]
    gitmem("update", trunk, "Use PostgreSQL 17")
    assert ask("show", trunk, "--at", "HEAD~1")[0]["text"] == "Use PostgreSQL"
    assert "no memory has the id" in gitmem("show", of_f, "--at", "main", code=NOT_FOUND).stderr
    assert "no commit 'v9'" in gitmem("list", "--at", "v9", code=NOT_FOUND).stderr
    assert "one looks from a branch or from a commit" in (
        gitmem("list", "--at", "f", "--branch", "f", code=USAGE).stderr
    )


def test_the_life_of_a_memory(
    repo: Path, gitmem: Gitmem, ask: Ask, branched: tuple[str, str]
) -> None:
    trunk, _ = branched
    gitmem("update", trunk, "Use PostgreSQL 17")
    on_f, on_main = git(repo, "rev-parse", "f", "main").split()
    git(repo, "checkout", "-q", "main")
    revised, remembered = gitmem("log", trunk).stdout.splitlines()
    assert "**revise** by Ada <ada@example.com> on f: Use PostgreSQL 17" in revised
    assert revised.endswith(f" [at {on_f[:8]}; not seen from here]")
    assert remembered.endswith(f" [at {on_main[:8]}]")
    data = ask("log", trunk)
    assert [step["visible"] for step in data] == [False, True]
    assert [step["commits"] for step in data] == [[on_f], [on_main]]
    assert [step["branch"] for step in data] == ["f", "main"]
    assert len(ask("log", trunk, "-n", "1")) == 1
    assert "commits" not in ask("log")[0], "without an id, as before"


def test_remember_says_that_it_waits(repo: Path, gitmem: Gitmem, branched: tuple[str, str]) -> None:
    assert "waits" not in gitmem("remember", "on a commit of its own").stdout
    git(repo, "checkout", "-q", "-b", "g")
    said = gitmem("remember", "too early").stdout
    assert said.endswith(" remembered: too early (waits on g until it has a commit of its own)\n")
    assert "waits" not in gitmem("remember", "for all", "--scope", "repo").stdout
    assert "waits" not in gitmem("remember", "for me", "--scope", "user").stdout
    commit(repo, "b")
    assert "waits" not in gitmem("remember", "late enough").stdout
    git(repo, "checkout", "-q", "--detach", "main")
    assert gitmem("remember", "nowhere").stdout.endswith("(waits: HEAD is on no branch)\n")


def test_forget_says_that_the_trunk_still_sees_it(
    repo: Path, gitmem: Gitmem, remember: Remember, branched: tuple[str, str]
) -> None:
    trunk, of_f = branched
    assert gitmem("forget", of_f).stdout.endswith("forgot: Use SQLite in the tests\n")
    assert gitmem("forget", trunk).stdout.endswith("Use PostgreSQL (still seen from main)\n")
    everywhere = remember("for all", "--scope", "repo")
    assert gitmem("forget", everywhere).stdout.endswith("forgot: for all\n")
    git(repo, "checkout", "-q", "main")
    assert gitmem("forget", trunk).stdout.endswith("forgot: Use PostgreSQL\n")


def test_a_change_from_the_trunk_publishes_and_says_so(
    repo: Path, gitmem: Gitmem, branched: tuple[str, str]
) -> None:
    _, of_f = branched
    git(repo, "checkout", "-q", "main")
    said = gitmem("tag", of_f, "x").stdout
    assert said.endswith("tagged: Use SQLite in the tests (from now on seen from main)\n")
    assert of_f in gitmem("list").stdout
    assert "seen from" not in gitmem("tag", of_f, "y").stdout


def test_forgetting_from_the_trunk_publishes_nothing(
    repo: Path, gitmem: Gitmem, branched: tuple[str, str]
) -> None:
    _, of_f = branched
    git(repo, "checkout", "-q", "main")
    assert gitmem("forget", of_f).stdout.endswith("(was not seen from main)\n")
    assert of_f not in gitmem("list", "--forgotten").stdout


def test_init_shows_notes_and_takes_another_trunk(repo: Path, gitmem: Gitmem) -> None:
    mine = "refs/notes/review"
    git(repo, "config", "notes.displayRef", mine)
    before = git(repo, "config", "--local", "--list")
    said = gitmem("init", "--show-notes", "--trunk", "develop").stdout
    assert "git config: added notes.displayRef = refs/notes/gitmem/shared" in said
    assert "git config: set gitmem.trunk = develop" in said
    assert "displayRef" not in gitmem("init", "--show-notes").stdout
    shown = git(repo, "config", "--get-all", "notes.displayRef").split()
    assert shown == [mine, "refs/notes/gitmem/shared"]
    gitmem("remember", "beside the commit")
    assert "beside the commit" in git(repo, "log", "-1")
    gitmem("deinit")
    assert git(repo, "config", "--local", "--list") == before
    assert "beside the commit" not in git(repo, "log", "-1")


def test_deinit_leaves_what_somebody_changed_since(repo: Path, gitmem: Gitmem) -> None:
    gitmem("init", "--show-notes")
    git(repo, "config", "notes.displayRef", "refs/notes/*")
    gitmem("deinit")
    assert git(repo, "config", "notes.displayRef") == "refs/notes/*"


def test_init_installs_hooks_when_asked(repo: Path, gitmem: Gitmem) -> None:
    assert ".git/hooks/post-commit: written" in gitmem("init", "--hooks").stdout
    assert gitmem("init", "--hooks").stdout == "everything is in place\n"
    assert ".git/hooks/post-commit: removed" in gitmem("deinit").stdout
