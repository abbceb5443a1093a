"""gitmem packs its own objects: to good effect, and while others write."""

from __future__ import annotations

from pathlib import Path

import gitmem
from gitmem.journal.git.opening import open_repository
from tests.reliability.processes import BACKENDS, race
from tests.support import git


def test_packing_while_others_write_loses_nothing(repo: Path) -> None:
    acknowledged = race(repo, writers=6, each=20, pack_every=5)
    assert git(repo, "for-each-ref", "refs/gitmem/packed")
    with gitmem.open(repo) as gm:
        assert {memory.id for memory in gm.list()} == set(acknowledged)
        assert len(acknowledged) == 120
        gm.sync_end()
        assert gm.doctor().findings == []
    assert git(repo, "fsck", "--no-dangling") == ""
    git(repo, "prune", "--expire=now")  # what those wrote who lost a race
    assert _loose(repo) == 3  # the commit, tree and blob of the fixture


def test_what_was_packed_is_no_longer_loose_and_all_else_is(repo: Path) -> None:
    mine = git(repo, "hash-object", "-w", "--stdin", input="somebody's own")
    with gitmem.open(repo) as gm:
        for number in range(20):
            gm.remember(f"fact {number}")
        assert _loose(repo) > 100
        assert gm.sync_end().packed
        assert not gm.sync_end().packed
    assert _loose(repo) == 1 + 3  # the blob, and what the fixture committed
    assert git(repo, "cat-file", "-p", mine) == "somebody's own"
    for backend in BACKENDS:
        port = open_repository(repo, backend)
        tip = port.ref("refs/notes/gitmem/shared")
        assert tip and len(list(port.walk(tip))) == 20
        port.close()


def _loose(repo: Path) -> int:
    return int(git(repo, "count-objects").split()[0])
