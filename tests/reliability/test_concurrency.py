"""Many writers at once: nothing that was acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import gitmem
from tests.reliability.processes import race
from tests.support import git


def test_20_processes_of_10_writes_keep_200_of_200(repo: Path) -> None:
    acknowledged = race(repo, writers=20, each=10)
    assert len(set(acknowledged)) == 200
    with gitmem.open(repo) as gm:
        assert {memory.id for memory in gm.list()} == set(acknowledged)
        assert [gm.show(id).id for id in acknowledged] == acknowledged
        assert gm.doctor().clean
    assert len(git(repo, "notes", "--ref=gitmem/shared", "show", "HEAD").split("\n")) == 200
    assert git(repo, "fsck", "--no-dangling") == ""


def test_20_processes_race_to_make_the_private_journal(repo: Path) -> None:
    acknowledged = race(repo, writers=20, each=3, private=True)
    with gitmem.open(repo) as gm:
        assert {memory.id for memory in gm.list(private=True)} == set(acknowledged)
        assert len(acknowledged) == 60
        assert gm.doctor().clean
    assert [path.name for path in (repo / ".git" / "gitmem").glob("private.git*")] == [
        "private.git"
    ]
    assert git(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
