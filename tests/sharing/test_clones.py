"""Clones of every kind, and settings of git's that must not leak into what is pushed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gitmem
from tests.sharing.support import SHARED, TRACKING, Team, cli, lines, tip
from tests.support import git, run_cli


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Return a remote that has memories on several commits."""
    team = Team(tmp_path)
    one = team.clone("one")
    for number in range(3):
        git(one, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
        team.remember(one, f"On commit {number}")
    git(one, "push", "-q", "origin", "main")
    cli("push", cwd=one)
    return team


ALL = {f"On commit {number}" for number in range(3)}


@pytest.mark.parametrize(
    "options", [["--depth=1"], ["--filter=blob:none"], ["--filter=tree:0"], ["--single-branch"]]
)
def test_shallow_and_partial_clones(team: Team, options: list[str]) -> None:
    git(team.remote, "config", "uploadpack.allowFilter", "true")
    two = team.clone("two", *options, url=team.remote.as_uri())
    assert team.texts(two) == ALL
    one = team.folder / "one"
    (later,) = team.remember(one, "Later")
    cli("push", cwd=one)
    git(two, "fetch", "-q")
    team.remember(two, "Of two")
    assert cli("pull", cwd=two)["remote"] == "origin"
    assert team.texts(two) == ALL | {"Later", "Of two"}
    assert len(cli("push", cwd=two)["memories"]) == 1
    assert cli("pull", cwd=one)["events"] == 1
    assert lines(one) == lines(team.remote) == lines(two)
    # Every object is here: reading them asks nobody.
    git(two, "remote", "set-url", "origin", str(team.folder / "nowhere"))
    assert git(two, "rev-list", "--objects", "--missing=error", SHARED)


def test_what_a_plain_fetch_left_out_a_pull_brings(team: Team) -> None:
    git(team.remote, "config", "uploadpack.allowFilter", "true")
    two = team.clone("two", "--filter=blob:none", url=team.remote.as_uri())
    one = team.folder / "one"
    team.remember(one, "Later")
    cli("push", cwd=one)
    team.remember(two, "Of two")
    git(two, "fetch", "-q")
    done = run_cli("list", cwd=two)
    assert done.stdout.count("\n") == 4, done.stderr
    assert "the memories of 'origin' wait" in done.stderr and "gitmem pull" in done.stderr
    assert len(cli("pull", cwd=two)["memories"]) == 1
    assert team.texts(two) == ALL | {"Later", "Of two"}
    assert run_cli("list", cwd=two).stderr == ""


def test_linked_worktrees_share_one_journal(team: Team) -> None:
    one = team.folder / "one"
    git(one, "worktree", "add", "-q", "-b", "topic", "../linked")
    linked = team.folder / "linked"
    team.remember(linked, "In the other worktree")
    assert cli("status", cwd=one)["unpushed"] == 1
    assert len(cli("push", cwd=linked)["memories"]) == 1
    assert cli("status", cwd=one)["unpushed"] == 0
    git(one, "remote", "set-url", "origin", "../remote.git")
    assert cli("pull", cwd=linked)["events"] == 0, "a relative address counts from each alike"


def test_a_bare_repository_pushes_too(team: Team) -> None:
    bare = team.folder / "bare.git"
    git(team.folder, "clone", "-q", "--bare", str(team.remote), str(bare))
    assert cli("pull", cwd=bare)["events"] == 3
    with gitmem.open(bare) as gm:
        gm.remember("From a server")
        assert len(gm.push().memories) == 1


def test_several_remotes_are_merged_and_each_gets_what_it_lacks(team: Team) -> None:
    one = team.folder / "one"
    other = team.folder / "other.git"
    git(team.folder, "clone", "-q", "--bare", str(one), str(other))
    fork = team.folder / "fork"
    git(team.folder, "clone", "-q", str(other), str(fork))
    (theirs,) = team.remember(fork, "In the fork")
    cli("push", cwd=fork)
    git(one, "remote", "add", "Fork.2", str(other))
    assert cli("pull", "Fork.2", cwd=one)["memories"] == [theirs]
    assert cli("push", cwd=one)["memories"] == [theirs]
    assert len(cli("push", "Fork.2", cwd=one)["memories"]) == 3
    assert lines(team.remote) == lines(other)
    with team.open(one) as gm:
        assert any("remote.Fork.2.fetch" in line for line in gm.init())
    team.remember(fork, "Again")
    cli("push", cwd=fork)
    git(one, "fetch", "-q", "--all")
    assert "Again" in team.texts(one)
    with team.open(one) as gm:
        gm.deinit()
    assert "refs/notes/gitmem" not in (one / ".git" / "config").read_text()


def test_a_renamed_remote_goes_on(team: Team) -> None:
    one, two = team.folder / "one", team.clone("two")
    git(two, "remote", "rename", "origin", "upstream")
    team.remember(one, "Later")
    cli("push", cwd=one)
    git(two, "fetch", "-q")
    assert team.texts(two) == ALL | {"Later"}
    team.remember(two, "Of two")
    assert cli("push", cwd=two)["remote"] == "upstream"


@pytest.mark.parametrize(
    "settings",
    [
        {"push.followTags": "true", "push.recurseSubmodules": "on-demand"},
        {"push.default": "nothing", "remote.origin.push": "refs/heads/*:refs/heads/*"},
        {"push.gpgSign": "if-asked", "fetch.prune": "true", "fetch.pruneTags": "true"},
        {"remote.origin.mirror": "true"},
        {"remote.origin.tagOpt": "--tags", "fetch.recurseSubmodules": "true"},
        {"push.autoSetupRemote": "true", "remote.pushDefault": "nobody"},
        {"core.hooksPath": "hooks-of-mine"},
    ],
)
def test_nothing_but_the_journal_moves(team: Team, settings: dict[str, str]) -> None:
    one = team.folder / "one"
    hooks = one / "hooks-of-mine"
    hooks.mkdir()
    (hooks / "pre-push").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-push").chmod(0o755)
    git(one, "commit", "-q", "--allow-empty", "-m", "mine")
    git(one, "tag", "-a", "-m", "mine", "v1")
    git(one, "branch", "topic")
    git(team.remote, "tag", "theirs", "main")
    (one / ".git" / "FETCH_HEAD").write_text("mine\n")
    for key, value in settings.items():
        git(one, "config", key, value)
    team.remember(one, "Later")
    config = (one / ".git" / "config").read_bytes()
    before, there = _refs(one), _refs(team.remote)
    cli("push", cwd=one)
    cli("pull", cwd=one)
    assert {name for name, _ in _refs(team.remote) ^ there} == {SHARED}
    moved = {name for name, _ in _refs(one) ^ before}
    assert moved == {TRACKING}
    assert (one / ".git" / "config").read_bytes() == config
    assert (one / ".git" / "FETCH_HEAD").read_text() == "mine\n"


def _refs(repo: Path) -> set[tuple[str, str]]:
    listed = git(repo, "for-each-ref", "--format=%(refname) %(objectname)").split("\n")
    return {(name, oid) for name, oid in (line.split(" ") for line in listed)}


def test_what_a_hook_has_set_for_its_own_git_leads_nowhere(team: Team) -> None:
    """A hook of another repository has GIT_DIR and more in its environment."""
    one = team.folder / "one"
    team.remember(one, "Later")
    elsewhere = team.folder / "elsewhere"
    git(team.folder, "init", "-q", str(elsewhere))
    env = {
        "GIT_DIR": str(one / ".git"),
        "GIT_INDEX_FILE": str(elsewhere / "index"),
        "GIT_OBJECT_DIRECTORY": str(elsewhere / ".git" / "objects"),
        "GIT_NAMESPACE": "other",
        "GIT_PREFIX": "deep/",
    }
    assert len(cli("push", cwd=one, env=env)["memories"]) == 1
    assert tip(team.remote) == tip(one)


def test_a_locale_that_is_not_english(team: Team) -> None:
    one, two = team.folder / "one", team.clone("two")
    for clone in (one, two):
        team.remember(clone, f"Of {clone.name}")
    env = {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"} if os.name == "posix" else {}
    cli("push", cwd=one, env=env)
    assert cli("push", cwd=two, env=env)["tries"] == 2


def test_the_remote_lost_its_journal_and_a_pull_notices(team: Team) -> None:
    one = team.folder / "one"
    git(team.remote, "update-ref", "-d", SHARED)
    assert cli("pull", cwd=one)["tip"] is None
    assert tip(one, TRACKING) == ""
    assert cli("status", cwd=one)["unpushed"] == 3
    assert len(cli("push", cwd=one)["memories"]) == 3


def test_what_is_fetched_and_is_no_journal_is_said(team: Team) -> None:
    one = team.folder / "one"
    blob = git(one, "hash-object", "-w", "--stdin", input="no commit")
    for what in (blob, "0123456789" * 4):
        (one / ".git" / TRACKING).write_text(f"{what}\n")
        done = run_cli("list", cwd=one)
        assert done.stdout.count("\n") == 3
        assert "the memories of 'origin' wait" in done.stderr
    cli("pull", cwd=one)
    assert run_cli("list", cwd=one).stderr == ""
