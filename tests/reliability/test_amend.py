"""Writers beside ``git commit --amend`` with ``notes.rewriteRef``, which drops what they write."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

import gitmem
from tests.reliability.processes import BACKENDS, Writer, stored
from tests.support import git


@pytest.mark.parametrize(
    ("writes", "amends"),
    [(150, 15), pytest.param(1_500, 100, marks=pytest.mark.long)],
)
def test_every_write_beside_amends_is_there(repo: Path, writes: int, amends: int) -> None:
    with gitmem.open(repo) as gm:
        gm.init()  # adds notes.rewriteRef: without it an amended commit loses its notes altogether
    assert git(repo, "config", "notes.rewriteRef") == "refs/notes/gitmem/*"
    acknowledged = _write_beside_amends(repo, writes, amends)
    with gitmem.open(repo) as gm:
        assert {memory.id for memory in gm.list()} == set(acknowledged)
        assert len(acknowledged) == writes
        assert gm.doctor().clean


def _write_beside_amends(repo: Path, writes: int, amends: int) -> list[str]:
    """Let three processes write, and amend whenever the first has written a few more."""
    each = writes // 3
    with ExitStack() as stack:
        writers = [
            stack.enter_context(Writer(repo, f"w{n}", backend=BACKENDS[n % 2], count=each))
            for n in range(3)
        ]
        for writer in writers:
            writer.wait_until_ready()
        for writer in writers:
            writer.go()
        done = 0
        for heard, _ in enumerate(writers[0].lines(), 1):
            while done < amends * heard // each:
                git(repo, "commit", "--amend", "--allow-empty", "-q", "-m", "amended")
                done += 1
        assert done == amends
        return stored([line for writer in writers for line in writer.finish()])
