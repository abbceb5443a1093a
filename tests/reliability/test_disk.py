"""A full disk, a read-only one, and no permission: said in one line, with nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem, GitmemError
from gitmem.errors import Unavailable
from gitmem.mirror import document
from tests.support import git

NOBODY = 65534
PROSE = b"# Notes of the team\n\nnot gitmem's\n"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a disk of 4 MiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if _mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", place):
        pytest.skip("a small disk needs the right to mount one")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def small(disk: Path) -> Path:
    """Return a repository on it, with a mirror, the user's own text, and one memory."""
    repo = disk / "repo"
    git(disk, "init", "-q", "--template=", "repo")
    git(repo, "commit", "-q", "--allow-empty", "-m", "first")
    (repo / "MEMORY.md").write_bytes(PROSE)
    with gitmem.open(repo) as gm:
        gm.init()
        gm.remember("before")
    return repo


VERBS: dict[str, Callable[[Gitmem], object]] = {
    "remember": lambda gm: gm.remember("x" * 3_000),
    "private": lambda gm: gm.remember("x" * 3_000, private=True),
    "update": lambda gm: gm.update(_id(gm), "x" * 3_000),
    "start": lambda gm: gm.sync_start(),
    "end": lambda gm: gm.sync_end("x" * 3_000),
    "init": lambda gm: gm.init(),
}


@pytest.mark.parametrize("name", VERBS)
def test_a_disk_that_is_full_or_nearly(small: Path, name: str) -> None:
    for room in (0, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128):
        repo = small.with_name(f"with {room} kB")
        shutil.copytree(small, repo, symlinks=True)
        ballast = _fill(small.parent, room * 1024)
        done = _try(repo, VERBS[name])
        ballast.unlink()
        with gitmem.open(repo) as gm:
            gm.sync_start()
            texts = sorted(str(memory.text)[:6] for memory in gm.list())
            assert gm.doctor(repair=True).findings == []  # the search index may be half written
            assert texts == _texts(name, done), room
            VERBS[name](gm)
            assert gm.warnings == []
        whole = document.read((repo / "MEMORY.md").read_bytes())
        assert whole.raw.startswith(PROSE)
        assert len(whole.regions) == 1 and not whole.edited
        shutil.rmtree(repo)


def _try(repo: Path, verb: Callable[[Gitmem], object]) -> bool:
    try:
        with gitmem.open(repo) as gm:
            verb(gm)
        return True
    except GitmemError as error:
        assert isinstance(error, Unavailable)
        assert "\n" not in error.message
        return False


def _texts(name: str, done: bool) -> list[str]:
    if not done or name in ("start", "init"):
        return ["before"]
    return ["xxxxxx"] if name == "update" else ["before", "xxxxxx"]


def _id(gm: Gitmem) -> str:
    return gm.list()[-1].id


def _fill(place: Path, room: int) -> Path:
    ballast = place / "ballast"
    free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
    ballast.write_bytes(b"\0" * max(0, free - room))
    return ballast


def test_a_read_only_disk_can_be_read(disk: Path, small: Path) -> None:
    shutil.rmtree(small / ".git" / "gitmem")  # nor is there anything derived yet
    assert _mount("-o", "remount,ro", disk) == 0
    with gitmem.open(small) as gm:
        before = git(small, "for-each-ref")
        assert gm.sync_start().counts["memories"] == 1
        assert [memory.text for memory in gm.list()] == ["before"]
        assert gm.search("before").hits[0].memory.text == "before"
        assert gm.show(_id(gm)).text == "before"
        assert all("\n" not in line for line in gm.warnings)
        assert 1 <= len(gm.warnings) <= 2
        for verb in ("remember", "private", "update"):
            with pytest.raises(Unavailable, match="cannot be (written|made)"):
                VERBS[verb](gm)
        assert git(small, "for-each-ref") == before


@pytest.fixture
def public() -> Iterator[Path]:
    """Return a repository that everybody can read, with a mirror and one memory."""
    folder = Path(tempfile.mkdtemp(prefix="gitmem-public-"))
    folder.chmod(0o755)
    repo = folder / "repo"
    git(folder, "init", "-q", "repo")
    git(repo, "commit", "-q", "--allow-empty", "-m", "first")
    with gitmem.open(repo) as gm:
        gm.init()
        gm.remember("before")
    yield repo
    shutil.rmtree(folder)


def test_another_user_reads_and_is_refused_to_write(
    public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = git(public, "for-each-ref")
    monkeypatch.setenv("HOME", "/nonexistent")
    said = _as_nobody(public)
    assert len(said) == 1 and "another user owns it" in said[0]
    settings = {"user.name": "Eve", "user.email": "eve@example.com", "safe.directory": str(public)}
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (key, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    read, *refused = _as_nobody(public)
    assert read == "1 before"
    assert len(refused) == 4
    assert all(line.startswith("Unavailable: ") for line in refused), refused
    assert git(public, "for-each-ref") == before


def _as_nobody(repo: Path) -> list[str]:
    """Read and write as a user without rights, in a child, and return what it said."""
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = list(_read_and_write(repo))
        except BaseException as error:  # the parent is to see it, whatever it is
            said = [f"{type(error).__name__}: {error}"]
        os.write(writing, json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        found: list[str] = json.load(pipe)
    return found


def _read_and_write(repo: Path) -> Iterator[str]:
    with gitmem.open(repo) as gm:
        yield f"{gm.sync_start().counts['memories']} {gm.list()[0].text}"
        for name in ("remember", "private", "update", "init"):
            try:
                VERBS[name](gm)
                yield f"{name}: done"
            except GitmemError as error:
                yield f"{type(error).__name__}: {error}"


def _mount(*args: str | Path) -> int:
    return subprocess.run(["mount", *args], capture_output=True, check=False).returncode
