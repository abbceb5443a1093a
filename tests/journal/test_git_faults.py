"""What goes wrong under git's feet: killed children, locks, permissions, full disks, damage."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel, Option

from gitmem.errors import GitFailed, RefMoved, Unavailable
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend, Git, RefUpdate
from gitmem.journal.git.program import GitProgram
from gitmem.journal.git.spawn import beside_gc
from tests.journal.conftest import KEPT, REF, commit_file, land
from tests.support import git

BACKENDS: list[Backend] = ["program", "libgit2"]
NOBODY = 65534


def reader_of(port: Git) -> int:
    """Return the process id of the port's reader."""
    assert isinstance(port, GitProgram)
    child = port._reader._child
    assert child
    return child.pid


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_killed_reader_is_an_error_once_and_then_replaced(repo: Path, end: int) -> None:
    port = open_repository(repo, "program")
    head = str(port.head().commit)
    assert port.has(head)
    os.kill(reader_of(port), end)
    if end == signal.SIGSTOP:  # killed while the question waits in the pipe
        subprocess.Popen(["sh", "-c", f"sleep 0.1; kill -9 {reader_of(port)}"])
    with pytest.raises(GitFailed, match="signal 9"):
        port.commit(head)
    assert port.commit(head).message == "first"
    port.close()


def test_an_interrupt_between_question_and_answer_leaves_no_stray_answer(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = open_repository(repo, "program")
    assert isinstance(port, GitProgram)
    head = str(port.head().commit)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(port._reader, "_answer", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        port.has(head)
    assert port.tree(port.commit(head).tree)[0].name == "README.md"
    port.close()


def test_closing_twice_or_unused_is_harmless(plain: Git) -> None:
    plain.close()
    plain.close()


def test_a_damaged_object_is_an_error_with_gits_reason(plain: Git, repo: Path) -> None:
    oid = git(repo, "rev-parse", "HEAD:README.md")
    loose = repo / ".git" / "objects" / oid[:2] / oid[2:]
    loose.chmod(0o644)
    loose.write_bytes(b"damaged")
    with pytest.raises(GitFailed):
        plain.blob(oid)
    assert plain.head().branch == "main"
    assert plain.commit(str(plain.head().commit)).message == "first"


@pytest.mark.parametrize("locked", [f"{REF}.lock", f"{KEPT}.lock"])
def test_a_lock_left_behind_counts_as_moved(plain: Git, repo: Path, locked: str) -> None:
    first, second = commit_file(plain), commit_file(plain, b"y")
    plain.update_refs([RefUpdate(REF, first, None), RefUpdate(KEPT, first, None)], "m")
    lock = repo / ".git" / locked
    lock.touch()
    moves = [RefUpdate(REF, second, first), RefUpdate(KEPT, second, first)]
    with pytest.raises(RefMoved, match="lock"):
        plain.update_refs(moves, "m")
    assert (plain.ref(REF), plain.ref(KEPT)) == (first, first)
    assert lock.exists()
    lock.unlink()
    plain.update_refs(moves, "m")
    assert (plain.ref(REF), plain.ref(KEPT)) == (second, second)
    assert not list((repo / ".git").rglob("*.lock"))


def test_a_hook_that_forbids_a_move_is_heard(repo: Path) -> None:
    hook = repo / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not today' >&2\nexit 1\n")
    hook.chmod(0o755)
    port = open_repository(repo, "program")
    with pytest.raises(GitFailed, match="hook"):
        land(port, commit_file(port))
    assert port.ref(REF) is None
    port.close()


def test_tracing_does_not_hide_what_git_says(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TRACE", "1")
    port = open_repository(repo, "program")
    with pytest.raises(GitFailed, match="refusing to update ref with bad name"):
        port.delete_ref("refs/heads/..")
    port.close()


@pytest.fixture
def public(hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a repository, and a home, that another user can reach."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        home = root / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        pygit2.option(Option.SET_SEARCH_PATH, ConfigLevel.GLOBAL, str(home))
        for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG):
            pygit2.option(Option.SET_SEARCH_PATH, level, "")
        (home / ".gitconfig").write_text(
            "[user]\n\tname = A\n\temail = a@b\n[safe]\n\tdirectory = *\n"
        )
        git(root, "init", "-q", "repo")
        git(root / "repo", "commit", "-q", "--allow-empty", "-m", "first")
        yield root / "repo"
        for path in (root, *root.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)


def unprivileged(action: Callable[[], object]) -> object:
    """Run `action` in a child without root's rights, and return or raise what it does."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            result = action()
        except BaseException as error:  # everything is handed to the parent, which raises it
            result = error
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pickle.load(pipe)
    os.waitpid(child, 0)
    if isinstance(result, BaseException):
        raise result
    return result


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("folder", ["objects", "refs/notes/gitmem"])
def test_without_permission_to_write_there_is_a_hint(
    public: Path, backend: Backend, folder: str
) -> None:
    port = open_repository(public, backend)
    tip = land(port, commit_file(port))
    for path in (public, *public.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    for path in (public / ".git" / folder).glob("**"):
        path.chmod(0o555)

    def write() -> None:
        port = open_repository(public, backend)
        assert port.commit(tip).message == "a note"
        land(port, commit_file(port, b"never"))

    with pytest.raises(Unavailable, match="cannot be written") as refused:
        unprivileged(write)
    assert type(refused.value) is Unavailable
    assert str(public / ".git" / folder) in refused.value.message
    assert "permissions" in refused.value.hint
    assert port.ref(REF) == tip
    port.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_folder_of_another_user_is_named(public: Path, backend: Backend) -> None:
    """`sudo git …` leaves such folders behind."""
    port = open_repository(public, backend)
    oid = port.write_blob(b"never")
    theirs = public / ".git" / "objects" / oid[:2]
    for path in (public, *public.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    theirs.mkdir(exist_ok=True)
    for path in theirs.iterdir():
        path.unlink()
    theirs.chmod(0o555)

    def write() -> None:
        port = open_repository(public, backend)
        land(port, commit_file(port, b"never"))

    with pytest.raises(Unavailable, match=f"'{theirs}' cannot be written"):
        unprivileged(write)


def test_objects_are_written_again_when_gc_took_their_folder() -> None:
    tries: list[int] = []

    def write() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise GitFailed("unable to create temporary file: No such file or directory")
        return "written"

    def full() -> str:
        tries.append(1)
        raise Unavailable("the disk is full")

    assert beside_gc(write) == "written"
    tries.clear()
    with pytest.raises(Unavailable):
        beside_gc(full)
    assert len(tries) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_full_disk_is_said_and_harms_nothing(tmp_path: Path, backend: Backend) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        git(disk, "init", "-q", "--template=", "repo")
        port = open_repository(disk / "repo", backend)
        tip = land(port, commit_file(port))
        with pytest.raises(Unavailable, match="is full") as full:
            land(port, commit_file(port, os.urandom(2_000_000), (tip,)))
        assert "space" in full.value.hint
        assert port.ref(REF) == tip
        port.close()
        assert git(disk / "repo", "fsck", "--no-dangling") == ""
    finally:
        subprocess.run(["umount", str(disk)], check=True)
