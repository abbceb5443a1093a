"""Where each journal lives: what is private is in no object of the repository, nor in a hook."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend
from gitmem.journal.journals import Journals, Place
from gitmem.model import JournalName
from tests.journal.conftest import ADA, KEPT, REF
from tests.journal.test_journals import NOW, ONE, TWO, append, lines
from tests.support import git

AT = datetime.fromtimestamp(NOW, UTC)
SECRET = b'{"secret":"the salary is 7"}'


def everything(repository: Path) -> str:
    """Return every object of a repository, reachable or not, as text."""
    command = ["git", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    done = subprocess.run(command, cwd=repository, capture_output=True, check=True)
    return done.stdout.decode("latin-1")


@pytest.fixture(params=["program", "libgit2"])
def backend(request: pytest.FixtureRequest) -> Backend:
    value: Backend = request.param
    return value


def journals_of(repo: Path, backend: Backend) -> Journals:
    return Journals(open_repository(repo, backend), repo.parent / "data" / "user.git", backend)


def test_private_lines_are_in_no_object_of_the_repository(
    repo: Path, tmp_path: Path, backend: Backend
) -> None:
    journals = journals_of(repo, backend)
    append(journals.writable(JournalName.SHARED), ONE, b"shared")
    append(journals.writable(JournalName.PRIVATE), ONE, SECRET)
    append(journals.writable(JournalName.USER), ONE, b"my own")
    assert lines(journals.writable(JournalName.PRIVATE)) == {(ONE, SECRET)}
    refs = git(repo, "for-each-ref", "--format=%(refname)").split("\n")
    assert sorted(refs) == sorted(["refs/heads/main", REF, KEPT])
    git(tmp_path, "init", "-q", "--bare", "mirror.git")
    git(repo, "push", "-q", "--mirror", str(tmp_path / "mirror.git"))
    for place in (repo, tmp_path / "mirror.git"):
        assert "salary" not in everything(place) and "my own" not in everything(place)
        assert "shared" in everything(place)
    private = repo / ".git" / "gitmem" / "private.git"
    assert "salary" in everything(private)
    assert git(private, "for-each-ref", "--format=%(refname)").split("\n") == [
        "refs/gitmem/kept/private",
        "refs/notes/gitmem/private",
    ]
    assert git(repo, "status", "--porcelain", "--ignored") == ""
    journals.close()


def test_in_a_hook_private_lines_still_go_to_the_private_journal(
    repo: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git sets these for its hooks; taken at their word they name the repository that is pushed."""
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / ".git" / "index"))
    for _ in range(2):
        journals = journals_of(repo, backend)
        journals.writable(JournalName.PRIVATE).append({ONE: [SECRET]}, "x", ADA, NOW)
        assert lines(journals.writable(JournalName.PRIVATE)) == {(ONE, SECRET)}
        journals.close()
        journals = journals_of(repo, backend)
        assert set(journals.tips()) == {"private"}
        journals.close()
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert "salary" not in everything(repo)


def test_reading_makes_no_journal(repo: Path, backend: Backend) -> None:
    journals = journals_of(repo, backend)
    assert journals.tips() == {} and list(journals.read({})) == []
    assert journals.settle(ADA, AT) == 0
    assert [journal.name for journal in journals] == [JournalName.SHARED]
    assert journals.get(JournalName.PRIVATE) is None
    assert not (repo / ".git" / "gitmem").exists() and not (repo.parent / "data").exists()
    journals.close()


def test_all_journals_are_read_together(repo: Path, backend: Backend) -> None:
    journals = journals_of(repo, backend)
    append(journals.writable(JournalName.SHARED), ONE, b"s1")
    old = journals.tips()
    append(journals.writable(JournalName.PRIVATE), ONE, b"p1")
    append(journals.writable(JournalName.SHARED), TWO, b"s2")
    append(journals.writable(JournalName.USER), TWO, b"u1")
    new = journals.tips()
    assert set(old) == {"shared"} and set(new) == {"shared", "private", "user"}
    shared, private, user = JournalName.SHARED, JournalName.PRIVATE, JournalName.USER
    came = {Place(private, ONE, b"p1"), Place(shared, TWO, b"s2"), Place(user, TWO, b"u1")}
    assert set(journals.added(old, new)) == came
    assert set(journals.read(new)) == {Place(shared, ONE, b"s1"), *came}
    assert set(journals.read(old)) == {Place(shared, ONE, b"s1")}
    assert journals.added(new, new) == []
    with pytest.raises(KeyError):
        journals.added({"shared": "d" * 40}, new)
    journals.close()


def test_settling_mends_every_journal(repo: Path, backend: Backend) -> None:
    journals = journals_of(repo, backend)
    for name in JournalName:
        append(journals.writable(name), ONE, name.encode(), b"second")
        journals.writable(name).git.delete_ref(f"refs/notes/gitmem/{name}")
    assert journals.settle(ADA, AT) == 6
    assert all(journal.settled for journal in journals)
    assert len(list(journals.read(journals.tips()))) == 6
    journals.close()


def test_the_users_journal_is_shared_by_repositories(
    repo: Path, tmp_path: Path, backend: Backend
) -> None:
    git(tmp_path, "init", "-q", "other")
    here, there = journals_of(repo, backend), journals_of(tmp_path / "other", backend)
    append(here.writable(JournalName.USER), ONE, b"from here")
    append(there.writable(JournalName.USER), ONE, b"from there")
    assert {p.line for p in here.read(here.tips())} == {b"from here", b"from there"}
    here.close()
    there.close()


def test_a_journal_made_meanwhile_by_another_process_is_seen(repo: Path, backend: Backend) -> None:
    mine, theirs = journals_of(repo, backend), journals_of(repo, backend)
    assert mine.tips() == {}
    append(theirs.writable(JournalName.PRIVATE), ONE, b"p1")
    assert set(mine.tips()) == {"private"}
    append(mine.writable(JournalName.PRIVATE), ONE, b"p2")
    assert lines(theirs.writable(JournalName.PRIVATE)) == {(ONE, b"p1"), (ONE, b"p2")}
    mine.close()
    theirs.close()


def test_linked_worktrees_share_all_journals(repo: Path, backend: Backend) -> None:
    git(repo, "worktree", "add", "-q", "-b", "topic", "../linked")
    here, there = journals_of(repo, backend), journals_of(repo.parent / "linked", backend)
    append(there.writable(JournalName.SHARED), ONE, b"s1")
    append(there.writable(JournalName.PRIVATE), ONE, b"p1")
    assert here.tips() == there.tips() and len(here.tips()) == 2
    here.close()
    there.close()


def _make_private(repo: Path, backend: Backend, number: int, gate: object) -> None:
    journals = journals_of(repo, backend)
    gate.wait()  # type: ignore[attr-defined]
    append(journals.writable(JournalName.PRIVATE), ONE, b"line %d" % number)
    journals.close()
    os._exit(0)


def test_processes_that_make_the_private_journal_at_once(repo: Path, backend: Backend) -> None:
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(4)
    makers = [
        context.Process(target=_make_private, args=(repo, backend, number, gate))
        for number in range(4)
    ]
    for process in makers:
        process.start()
    for process in makers:
        process.join()
    assert [process.exitcode for process in makers] == [0] * 4
    journals = journals_of(repo, backend)
    private = journals.writable(JournalName.PRIVATE)
    assert lines(private) == {(ONE, b"line %d" % number) for number in range(4)}
    assert [path.name for path in (repo / ".git" / "gitmem").iterdir()] == ["private.git"]
    journals.close()
