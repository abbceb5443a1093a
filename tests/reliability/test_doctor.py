"""What the doctor finds, each made by what really makes it, and what `--repair` mends of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from tests.sharing.support import SHARED, TRACKING, Team, smuggle
from tests.support import git

KEPT = "refs/gitmem/kept/shared"


def remember(path: Path, *texts: str) -> None:
    with gitmem.open(path) as gm:
        for text in texts:
            gm.remember(text)


def vanished(repo: Path) -> None:
    """Somebody removed a note, and gitmem has not looked since."""
    remember(repo, "of yesterday")
    git(repo, "notes", "--ref", SHARED, "remove", "HEAD")
    git(repo, "update-ref", "-d", KEPT)
    remember(repo, "of today")


def half_a_memory(repo: Path) -> None:
    """Only the later event of two came over, say from a patch applied by hand."""
    remember(repo, "the first event")
    with gitmem.open(repo) as gm:
        gm.update(gm.list()[0].id, "the second event")
    second = git(repo, "notes", "--ref", SHARED, "show", "HEAD").split("\n")[-1]
    git(repo, "update-ref", "-d", KEPT)
    git(repo, "update-ref", "-d", SHARED)
    shutil.rmtree(repo / ".git" / "gitmem")
    git(repo, "notes", "--ref", SHARED, "add", "-m", second)


def of_a_gone_branch(repo: Path) -> None:
    git(repo, "switch", "-q", "-c", "attempt")
    remember(repo, "tried and given up")
    git(repo, "switch", "-q", "main")
    git(repo, "branch", "-q", "-D", "attempt")


def written_elsewhere(repo: Path) -> None:
    """The memory came with the notes, its commit did not: nobody pushed that branch."""
    git(repo, "switch", "-q", "-c", "attempt")
    git(repo, "commit", "-q", "--allow-empty", "-m", "work")
    remember(repo, "written on a commit")
    other = repo.parent / "other"
    git(repo, "clone", "-q", "--single-branch", "-b", "main", "--no-local", str(repo), str(other))
    git(other, "fetch", "-q", "origin", f"{SHARED}:{SHARED}")
    repo.rename(repo.with_name("elsewhere"))
    other.rename(repo)


def ahead(repo: Path) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() + 3600))
    remember(repo, "of now")
    line = git(repo, "notes", "--ref", SHARED, "show", "HEAD")
    old = line.partition('"at":"')[2].partition('"')[0]
    git(repo, "notes", "--ref", SHARED, "append", "-m", line.replace(old, at))


def unset_identity(repo: Path) -> None:
    for key in ("user.name", "user.email"):
        git(repo, "config", "--global", "--unset", key)
    git(repo, "config", "user.useConfigOnly", "true")


def lossy_rewrite(repo: Path) -> None:
    git(repo, "config", "notes.rewriteMode", "overwrite")


def by_a_stranger(repo: Path) -> None:
    git(repo, "config", "gitmem.trust", "known")
    git(repo, "config", "user.email", "eve@example.com")
    smuggle(repo, "by somebody")
    git(repo, "config", "user.email", "ada@example.com")


def damaged_index(repo: Path) -> None:
    remember(repo, "something to find")
    with gitmem.open(repo) as gm:
        assert gm.search("something")
    index = repo / ".git" / "gitmem" / "lexical"
    segments = [path for path in index.rglob("*") if path.is_file() and path.stat().st_size > 100]
    assert segments
    for path in segments:
        path.write_bytes(path.read_bytes()[:50])


MADE: dict[str, Callable[[Path], None]] = {
    "gone-branch": of_a_gone_branch,
    "away": written_elsewhere,
    "ahead": ahead,
    "orphaned": half_a_memory,
    "no-identity": unset_identity,
    "rewrite-mode": lossy_rewrite,
    "untrusted": by_a_stranger,
}


def codes(gm: Gitmem) -> set[str]:
    return {finding.code for finding in gm.doctor().findings}


@pytest.mark.parametrize("code", MADE)
def test_it_is_found(repo: Path, code: str) -> None:
    with gitmem.open(repo) as gm:
        assert codes(gm) == set()
    MADE[code](repo)
    with gitmem.open(repo) as gm:
        report = gm.doctor()
    (finding,) = (finding for finding in report.findings if finding.code == code)
    assert finding.message
    assert finding.hint
    serious = [finding.code for finding in report.findings if finding.level != "info"]
    assert set(serious) <= {code, "vanished"}  # the latter: what stock git did, no reader has seen


def test_lines_that_vanished_from_the_history_come_back(repo: Path) -> None:
    vanished(repo)
    with gitmem.open(repo) as gm:
        report = gm.doctor(repair=True)
        assert any("brought 1 vanished" in said for said in report.repaired)
        assert {memory.text for memory in gm.list()} == {"of today", "of yesterday"}
        assert gm.doctor(repair=True).repaired == []


def test_what_was_fetched_and_is_not_merged(tmp_path: Path) -> None:
    team = Team(tmp_path)
    one, two = team.clone("one"), team.clone("two")
    team.remember(one, "Of one")
    with team.open(one) as gm:
        gm.push()
    with team.open(two) as gm:
        assert codes(gm) == set()
        git(two, "fetch", "-q", "origin")
        assert codes(gm) == {"unmerged"}
        report = gm.doctor(repair=True)
        assert report.findings == []
        assert [memory.text for memory in gm.list()] == ["Of one"]


def test_a_tracking_ref_that_stands_at_nothing(tmp_path: Path) -> None:
    team = Team(tmp_path)
    one = team.clone("one")
    team.remember(one, "Of one")
    with team.open(one) as gm:
        gm.push()
    (one / ".git" / TRACKING).write_text("1" * 40 + "\n")
    with team.open(one) as gm:
        assert codes(gm) == {"tracking"}
        gm.doctor(repair=True)
        assert codes(gm) == set()


def test_a_damaged_index_is_made_anew(repo: Path) -> None:
    damaged_index(repo)
    with gitmem.open(repo) as gm:
        gm.doctor(repair=True)
        assert codes(gm) == set()
        assert [hit.memory.text for hit in gm.search("something").hits if hit.memory] == [
            "something to find"
        ]
