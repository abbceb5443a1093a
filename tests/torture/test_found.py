"""What the torture has found, each made to happen once more, and for certain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.errors import Unavailable
from tests.sharing.support import SHARED, TRACKING, Team, cli, lines, tip
from tests.support import git

KEPT = "refs/gitmem/kept/shared"


def lose(repo: Path, oid: str) -> None:
    """Delete an object, as a gc or a power cut would."""
    (repo / ".git/objects" / oid[:2] / oid[2:]).unlink()


def test_what_a_fetch_brought_is_pruned_before_a_ref_names_it(tmp_path: Path) -> None:
    team = Team(tmp_path)
    one, two = team.clone("one"), team.clone("two")
    ids = team.remember(two, "First", "Second")
    cli("push", cwd=two)
    hook = one / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ $1 = prepared ] || exit 0\nrm "$0"\ngit prune --expire=now\n')
    hook.chmod(0o755)
    (one / ".git/gc.pid").write_text(f"{os.getpid()} here")
    assert sorted(cli("pull", cwd=one)["memories"]) == sorted(ids)
    assert not hook.exists()
    (one / ".git/gc.pid").unlink()
    assert team.texts(one) == {"First", "Second"}
    assert git(one, "fsck", "--strict", "--no-dangling") == ""


def test_what_a_merge_by_stock_git_dropped_comes_back(tmp_path: Path) -> None:
    """Its commit has the remote's journal as a parent: by ancestry, nothing is missing."""
    team = Team(tmp_path)
    one, two = team.clone("one"), team.clone("two")
    team.remember(one, "Of one")
    cli("push", cwd=one)
    team.remember(two, "Of two")
    git(two, "fetch", "-q", "origin")
    git(two, "notes", "--ref", SHARED, "merge", "-q", "-s", "ours", TRACKING)
    assert git(two, "merge-base", "--is-ancestor", TRACKING, SHARED) == ""
    assert len(lines(two)) == 1
    assert len(cli("list", cwd=two)) == 2
    assert team.texts(two) == {"Of one", "Of two"}
    cli("push", cwd=two)
    assert len(lines(team.remote)) == 2


def test_a_journal_that_stands_at_nothing_goes_back_to_what_was_kept(tmp_path: Path) -> None:
    team = Team(tmp_path)
    one = team.clone("one")
    team.remember(one, "First", "Second")
    last = tip(one)
    git(one, "update-ref", KEPT, f"{last}~1")
    lose(one, last)
    team.remember(one, "Third")
    assert team.texts(one) == {"First", "Third"}
    cli("push", cwd=one)
    assert team.texts(team.clone("two")) == {"First", "Third"}


def test_a_journal_of_which_nothing_is_left_is_told_of(tmp_path: Path) -> None:
    team = Team(tmp_path)
    one = team.clone("one")
    team.remember(one, "First")
    assert tip(one) == tip(one, KEPT)
    lose(one, tip(one))
    with team.open(one) as gm:
        assert [finding.code for finding in gm.doctor().findings] == ["gone"]
        with pytest.raises(Unavailable, match=f"'{SHARED}' stands at"):
            gm.push()
        with pytest.raises(Unavailable, match="is not in this clone"):
            gm.remember("Second")
