"""Many memories: all commands work, on one commit and over a long history."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from benchmarks.history import Shape, build, sentences
from tests.support import git, run_cli

# The peer that keeps its state in one note dies of its 353rd memory: too long a command line.
HOT = Shape(memories=5_000, anchors=1, commits=10, writes=100)
LARGE = Shape(memories=100_000, anchors=5_000, commits=100_000, writes=100_000)


def test_2_000_memories_on_one_commit(tmp_path: Path, hermetic: Path) -> None:
    repo = tmp_path / "hot"
    build(repo, Shape(memories=2_000, anchors=1, commits=2, writes=20))
    _try_the_library(repo, 2_000)


def test_500_memories_written_one_by_one(repo: Path) -> None:
    with gitmem.open(repo) as gm:
        for text, _ in zip(sentences(), range(500), strict=False):
            gm.remember(text)
        assert len(gm.list()) == 500
        assert gm.doctor().clean
    packed = git(repo, "for-each-ref", "--format=%(objectname)", "refs/gitmem/packed/shared")
    assert packed == git(repo, "rev-parse", "refs/notes/gitmem/shared")  # the 500th packs them


@pytest.mark.long
@pytest.mark.parametrize("shape", [HOT, LARGE], ids=["5,000 on one commit", "100,000 over 5,000"])
def test_all_commands_work(tmp_path: Path, hermetic: Path, shape: Shape) -> None:
    repo = tmp_path / "large"
    build(repo, shape)
    _try_the_library(repo, shape.memories)
    took = dict(_run_all(repo))
    print(json.dumps(took, indent=1))  # shown by pytest -s


def _try_the_library(repo: Path, count: int) -> None:
    with gitmem.open(repo) as gm:
        assert gm.status().memories == count
        (new,) = [gm.remember("Use PostgreSQL: the team knows it", kind="decision")]
        assert gm.show(new.id[:12]) == new
        assert gm.list(limit=1) == [new]
        gm.update(new.id, "Use SQLite: one file is enough")
        gm.forget(new.id)
        gm.restore(new.id)
        gm.undo()
        assert gm.show(new.id).forgotten
        assert gm.stats().memories == count
        assert gm.sync_start().counts["memories"] == count
        assert gm.doctor().clean


def _run_all(repo: Path) -> Iterator[tuple[str, str]]:
    """Run every command once, and yield how many seconds it took."""
    id = run_cli("list", "--limit", "1", cwd=repo).stdout.split()[0]
    lines = (
        ["init"], ["remember", "the cache holds a day", "-t", "cache"], ["search", "postgres"],
        ["search", "redis streams"], ["list"], ["list", "--limit", "20"], ["list", "-t", "auth"],
        ["show", id], ["log", id], ["log", "--limit", "20"], ["get", "billing"], ["tags"],
        ["entities"], ["entity", "PostgreSQL"], ["update", id, "another text"],
        ["evolve", id, "more"], ["tag", id, "seen"], ["untag", id, "seen"],
        ["link", id, "src/app.py"], ["unlink", id, "src/app.py"], ["forget", id], ["restore", id],
        ["undo"], ["context", "set", "at work"], ["context"], ["status"], ["stats"], ["doctor"],
        ["sync", "--start"], ["sync", "--start"], ["sync", "--end", "a session"], ["export"],
        ["export", "--format", "markdown"], ["doctor", "--repair"], ["reindex"], ["deinit"],
    )  # fmt: skip
    for line in lines:
        start = time.perf_counter()
        done = run_cli(*line, cwd=repo)
        took = time.perf_counter() - start
        assert done.returncode == 0, (line, done.stderr)
        assert done.stderr == "", (line, done.stderr)
        yield " ".join(line), f"{took:.2f} s"
    assert git(repo, "status", "--short") == ""
