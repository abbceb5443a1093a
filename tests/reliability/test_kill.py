"""kill -9 at random points: what was acknowledged is there, and nothing is half-written."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.errors import Unavailable
from gitmem.journal import notes
from gitmem.journal.git.port import Backend
from gitmem.mirror import document
from tests.reliability.processes import BACKENDS, Writer
from tests.support import git

PROSE = b"# Notes of the team\n\nkept *as typed*  \r\n\n"

Said = Sequence[Sequence[str]]


class Expected:
    """What must be there, and what a killed writer may or may not have changed."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.forgotten: set[str] = set()
        self.open: list[Sequence[str]] = []

    def hear(self, said: Said) -> None:
        """Take in what one writer said before it was killed."""
        for word, rest in said:
            id, _, text = rest.partition(" ")
            if word in ("remembered", "updated"):
                self.texts[id] = text
            elif word == "forgotten":
                self.forgotten.add(id)
        if said and said[-1][0] in ("remembering", "updating", "forgetting"):
            self.open.append(said[-1])

    def settle(self, gm: Gitmem) -> None:
        """Compare with what is there; what was under way is wholly there or not at all."""
        there = {memory.id: memory.text for memory in _all(gm) if memory.kind != "episode"}
        forgotten = {memory.id for memory in gm.list(forgotten=True)}
        for word, rest in self.open:
            id, _, text = rest.partition(" ")
            if word == "remembering":
                self.texts |= {id: text for id, text in there.items() if text == rest}
            elif word == "updating" and there[id] == text:
                self.texts[id] = text
            elif word == "forgetting" and id in forgotten:
                self.forgotten.add(id)
        self.open = []
        assert there == self.texts
        assert forgotten == self.forgotten


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.long)])
def test_whoever_is_killed_leaves_every_memory_whole(
    repo: Path, kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "STUCK", 0.2)
    (repo / "MEMORY.md").write_bytes(PROSE)
    with gitmem.open(repo) as gm:
        gm.init()
    chosen = random.Random(kills)
    expected = Expected()
    for number in range(kills // 2):
        for said in _lives(repo, number, chosen):
            expected.hear(said)
        _remove_stale_locks(repo)
        with gitmem.open(repo) as gm:
            gm.sync_start()
            assert gm.doctor().findings == []
            assert gm.warnings == []
            expected.settle(gm)
            assert not any(event.fields.get("source") for event in gm.log())  # no hand edit seen
            assert not any(event.reason for event in gm.log())
        _check_files(repo)
    assert len(expected.texts) > kills // 2  # they came to write
    assert git(repo, "fsck", "--no-dangling") == ""


def _lives(repo: Path, number: int, chosen: random.Random) -> Iterable[Said]:
    """Let two writers work for a moment, kill them, and return what each said.

    Every other time git outlives them, as it does when the system kills the largest process.
    """
    pair = [Writer(repo, f"life {number}.{n}", "live", backend=BACKENDS[n]) for n in (0, 1)]
    for writer in pair:
        writer.wait_until_ready()
    for writer in pair:
        writer.go()
    for _ in zip(range(chosen.randrange(8)), pair[0].lines(), strict=False):
        pass  # it has begun, or even done, that much
    time.sleep(chosen.uniform(0, 0.05))
    for writer in pair:
        writer.kill(alone=bool(number % 2))
    return [writer.finish() for writer in pair]


def _remove_stale_locks(repo: Path) -> None:
    for lock in [path for path in (repo / ".git").rglob("*.lock") if "refs" in path.parts]:
        check_stale_lock(repo, lock)
        lock.unlink()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["notes/gitmem/shared", "gitmem/kept/shared"])
def test_a_lock_that_a_killed_git_left_is_named_and_not_removed(
    repo: Path, name: str, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "STUCK", 0.2)
    with gitmem.open(repo, backend=backend) as gm:
        gm.remember("before")
    lock = repo / ".git" / "refs" / f"{name}.lock"
    lock.touch()
    check_stale_lock(repo, lock, backend)
    assert lock.exists()
    lock.unlink()
    with gitmem.open(repo, backend=backend) as gm:
        gm.remember("after")
        assert [memory.text for memory in gm.list()] == ["after", "before"]
        assert gm.doctor().findings == []


def check_stale_lock(repo: Path, lock: Path, backend: Backend = "auto") -> None:
    """See that a lock is named, to whoever writes and, once it is old, by the doctor."""
    with gitmem.open(repo, backend=backend) as gm:
        before = gm.log()
        with pytest.raises(Unavailable, match=re.escape(str(lock))) as refused:
            gm.remember("while it is locked", private="private.git" in lock.parts)
        assert "remove" in refused.value.hint
        assert gm.log() == before
        os.utime(lock, (time.time() - 300,) * 2)
        # Killed between its two refs, libgit2 leaves the kept one behind: the next write mends it.
        codes = {finding.code for finding in gm.doctor().findings}
        assert codes - {"vanished"} == {"locked"}


def _check_files(repo: Path) -> None:
    """The Markdown files are whole: gitmem's block as rendered, the user's text as typed."""
    found = [repo / "MEMORY.md", *(repo / "memory").glob("*.md")]
    assert len(found) > 1
    for path in found:
        read = document.read(path.read_bytes())
        assert read.regions and not read.problem and not read.edited, path
    assert (repo / "MEMORY.md").read_bytes().startswith(PROSE)


def _all(gm: Gitmem) -> list[gitmem.Memory]:
    return [*gm.list(), *gm.list(forgotten=True)]
