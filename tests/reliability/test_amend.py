"""Writers beside ``git commit --amend`` with ``notes.rewriteRef``, which overwrites what they write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import gitmem
from tests.reliability.processes import BACKENDS, Writer, stored
from tests.support import git


@pytest.mark.parametrize(
    ("writes", "amends"),
    [(300, 30), pytest.param(1_500, 100, marks=pytest.mark.long)],
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
    with ExitStack() as stack:
        writers = [
            stack.enter_context(Writer(repo, f"w{n}", backend=BACKENDS[n % 2], count=writes // 3))
            for n in range(3)
        ]
        for writer in writers:
            writer.wait_until_ready()
            writer.go()
        for _ in _while_writing(writers, amends):
            git(repo, "commit", "--amend", "--allow-empty", "-q", "-m", "amended")
        return stored([line for writer in writers for line in writer.finish()])


def _while_writing(writers: list[Writer], amends: int) -> Iterator[int]:
    """Yield `amends` times, and go on as long as somebody writes."""
    done = 0
    while done < amends or any(writer.running for writer in writers):
        yield done
        done += 1
