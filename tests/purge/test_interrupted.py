"""Killed at any moment, or beside others who write: the old state or the new, and nothing lost."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import gitmem
from gitmem.journal.purging import sweep
from gitmem.journal.purging.purge import folder, unfinished
from gitmem.journal.purging.unfinished import load, save
from tests.purge.conftest import live
from tests.purge.support import SHARED, lines, traces, whole
from tests.purge.test_meeting import REST
from tests.purge.test_sweep import losses, pack_all
from tests.reliability.processes import BACKENDS, Writer, stored
from tests.support import git


def killed(repo: Path, id: str, moment: int, *push: str) -> int | None:
    """Purge in another process, killed at a moment; return how many there were if it lived."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.purge.killed", str(repo), id, str(moment), *push],
        cwd=repo, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, -9), done.stderr
    return int(done.stdout) if done.returncode == 0 else None


@pytest.fixture
def prepared(repo: Path) -> tuple[Path, str]:
    """Return a repository with a memory to purge, half of it packed, and the memory's id."""
    with gitmem.open(repo) as gm:
        gm.init()
        id = live(gm)
        losses(repo)
        git(repo, "reset", "-q", "--hard")
        pack_all(repo)
        gm.remember("After the pack")
        gm.tag(id, "quixotry")
    return repo, id


@pytest.mark.parametrize("share", [12, pytest.param(1000, marks=pytest.mark.long)])
def test_killed_at_any_moment_it_can_be_ended(
    prepared: tuple[Path, str], tmp_path: Path, share: int
) -> None:
    repo, id = prepared
    original = tmp_path / "original"
    shutil.copytree(repo, original, symlinks=True)
    mine = set(git(repo, "rev-list", "--all", "--objects", "--no-object-names", "HEAD").split())
    count = killed(repo, id, 0)
    assert count and count > 40
    moments = range(1, count + 1)
    chosen = moments if share >= count else sorted(random.Random(count).sample(moments, share))
    for moment in chosen:
        shutil.rmtree(repo)
        shutil.copytree(original, repo, symlinks=True)
        assert killed(repo, id, moment) is None
        for lock in (repo / ".git").rglob("*.lock"):
            if "refs" in lock.parts or lock.name == "packed-refs.lock":
                lock.unlink()  # git's own, which the next one names
        with gitmem.open(repo) as gm:
            texts = {memory.text for memory in gm.list()}
            rest = REST | {"After the pack"}
            assert rest <= texts and len(texts) <= 5, moment
            assert whole(repo), moment
            gm.purge(id)
            assert {memory.text for memory in gm.list()} == rest
            assert gm.doctor().clean
        assert whole(repo)
        assert traces(repo) == [], moment
        assert not list((repo / ".git").rglob("purging.json")), moment
        assert mine <= set(
            git(repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
        ) | set(git(original, "rev-list", "--objects", "--no-object-names", SHARED).split())


def test_killed_among_the_commits_it_deletes(prepared: tuple[Path, str]) -> None:
    """Whatever came first: a tip whose ancestors are gone cannot be walked any more."""
    repo, id = prepared
    tips = git(repo, "rev-list", SHARED).split()
    killed_after_the_refs_moved(repo, id)
    with gitmem.open(repo) as gm:
        journal = next(iter(gm._journals))
        record = load(folder(journal))
        everything = git(repo, "rev-list", "--objects", "--no-object-names", tips[0]).split()
        record.objects = sorted(everything)
        save(folder(journal), record)
        for oid in tips[1:]:
            (repo / ".git" / "objects" / oid[:2] / oid[2:]).unlink(missing_ok=True)
        gm.purge(id)
    assert traces(repo) == []
    assert whole(repo)


def test_one_that_was_killed_is_ended_by_the_next(prepared: tuple[Path, str]) -> None:
    """Also if that is about another memory."""
    repo, id = prepared
    count = killed_after_the_refs_moved(repo, id)
    assert count
    with gitmem.open(repo) as gm:
        journal = next(iter(gm._journals))
        assert list(unfinished(journal)) == [id]
        assert [finding.code for finding in gm.doctor().findings] == ["purging"]
        gm.purge(gm.remember("Kwyjibo again").id)
        assert not unfinished(journal)
    assert traces(repo) == []
    assert whole(repo)


def killed_after_the_refs_moved(repo: Path, id: str) -> int:
    """Kill purges, each a moment later, until one has moved the journal."""
    tip = git(repo, "rev-parse", SHARED)
    for moment in range(1, 200):
        assert killed(repo, id, moment) is None
        if git(repo, "rev-parse", SHARED) != tip:
            return moment
    return 0


def test_purging_beside_writers_loses_nothing_of_theirs(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "GRACE", -3600)
    with gitmem.open(repo) as gm:
        gm.init()
        ids = [gm.remember(f"Kwyjibo number {number}: Quixotry").id for number in range(4)]
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                Writer(repo, f"writer {number}", backend=BACKENDS[number % 2], count=15)
            )
            for number in range(4)
        ]
        for writer in writers:
            writer.wait_until_ready()
        for writer in writers:
            writer.go()
        with gitmem.open(repo) as gm:
            for id in ids:
                gm.purge(id)
        acknowledged = stored([line for writer in writers for line in writer.finish()])
    assert len(acknowledged) == 60
    with gitmem.open(repo) as gm:
        assert {memory.id for memory in gm.list()} == set(acknowledged)
        assert gm.doctor().clean
        assert whole(repo)
        for id in ids:  # what they left behind who were about to lose a race
            gm.purge(id)
    assert traces(tmp_path) == []
    assert whole(repo)


def test_a_writer_that_lost_to_a_purge_does_not_bring_it_back(repo: Path) -> None:
    """It had appended to the old tip, and looks whether its line is still there."""
    with gitmem.open(repo) as gm, gitmem.open(repo, backend="libgit2") as other:
        id = live(gm)
        journal = next(iter(other._journals))
        append = journal.notes.append

        def late(*args: object) -> object:
            done = append(*args)  # type: ignore[arg-type]
            gm.purge(id)
            return done

        journal.notes.append = late  # type: ignore[method-assign,assignment]
        mine = other.remember("Written this moment").id
    with gitmem.open(repo) as gm:
        assert mine in {memory.id for memory in gm.list()}
    assert not any(id in line and "purge" not in line for line in lines(repo))
    assert not any("Quixotry" in line for line in lines(repo))
    assert whole(repo)


def test_two_purges_at_once(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        ids = [live(gm), gm.remember("The Kwyjibo is a beast").id]
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "gitmem", "purge", id, "--yes"],
            cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for id in ids
    ]  # fmt: skip
    for child in both:
        _, errors = child.communicate()
        assert (child.returncode, errors) == (0, "")
    assert traces(tmp_path) == []
    assert whole(repo)


def test_a_full_disk_or_a_lock_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gitmem.errors import Unavailable
    from gitmem.journal import notes

    monkeypatch.setattr(notes, "STUCK", 0.2)
    with gitmem.open(repo) as gm:
        id = live(gm)
        lock = repo / ".git" / f"{SHARED}.lock"
        lock.touch()
        with pytest.raises(Unavailable, match=r"\.lock"):
            gm.purge(id)
        lock.unlink()
        assert len(gm.list()) == 4
        gm.purge(id)
    assert traces(repo) == []
