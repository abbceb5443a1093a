"""A `git gc --prune=now` beside a write takes nothing of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend
from gitmem.journal.git.written import Written
from gitmem.journal.journals import SHARED_REF, Journal
from gitmem.journal.notes import Appended
from gitmem.model import JournalName
from tests.support import git

ADA = "Ada <ada@example.com>"
ANCHOR = "ab" * 20
PRUNE = "#!/bin/sh\n[ $1 != prepared ] || git prune --expire=now\n"


@pytest.fixture(params=["program", "libgit2"])
def journal(request: pytest.FixtureRequest, repo: Path) -> Iterator[Journal]:
    """Yield a journal that has a line, for each backend."""
    backend: Backend = request.param
    opened = open_repository(repo, backend)
    made = Journal(JournalName.SHARED, opened)
    append(made, b"first")
    yield made
    opened.close()


def append(journal: Journal, line: bytes) -> Appended:
    """Append a line."""
    done = journal.append({ANCHOR: [line]}, "written", ADA, 1_700_000_000)
    assert done
    return done


def intact(journal: Journal, repo: Path) -> set[bytes]:
    """Return the lines as they are on disk; nothing else is missing there."""
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""
    return set(git(repo, "notes", "--ref", SHARED_REF, "show", ANCHOR).encode().split(b"\n"))


def packs(repo: Path) -> int:
    """Return how many packs there are."""
    return len(list((repo / ".git/objects/pack").glob("*.pack")))


def test_a_prune_while_the_ref_moves(journal: Journal, repo: Path) -> None:
    hook = repo / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(PRUNE)
    hook.chmod(0o755)
    append(journal, b"second")
    hook.unlink()
    assert intact(journal, repo) == {b"first", b"second"}


def test_a_prune_before_the_ref_moves(
    journal: Journal, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Written.before

    def prune(self: Written) -> None:
        before(self)
        git(repo, "prune", "--expire=now")

    monkeypatch.setattr(Written, "before", prune)
    append(journal, b"second")
    assert intact(journal, repo) == {b"first", b"second"}


def test_a_prune_that_is_late(journal: Journal, repo: Path) -> None:
    """A running gc saw the refs as they were, and comes to the new objects after they are named."""
    mark = repo / ".git/gc.pid"
    mark.write_text(f"{os.getpid()} here")
    loose = set((repo / ".git/objects").glob("??/*"))
    append(journal, b"second")
    for path in set((repo / ".git/objects").glob("??/*")) - loose:
        path.unlink()
    assert intact(journal, repo) == {b"first", b"second"}
    mark.write_text("4194999 here")  # no process can have that number
    before = packs(repo)
    append(journal, b"third")
    assert packs(repo) == before, "a gc that was killed does not matter"


def test_without_a_gc_nothing_is_written_twice(journal: Journal, repo: Path) -> None:
    append(journal, b"second")
    assert packs(repo) == 0
    assert intact(journal, repo) == {b"first", b"second"}
