"""A full disk, a read-only one, and no permission: said in one line, with nothing half-written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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
            assert gm.doctor().findings == []
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
            with pytest.raises(Unavailable, match="cannot be written|cannot make"):
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


ANOTHER_USER = """
import gitmem, sys
with gitmem.open(sys.argv[1]) as gm:
    print([memory.text for memory in gm.list()])
    print(gm.sync_start().counts["memories"])
    for verb in (lambda: gm.remember("mine"), lambda: gm.remember("mine", private=True), gm.init):
        try:
            verb()
        except gitmem.GitmemError as error:
            print(type(error).__name__, bool(error.hint))
"""


def test_another_user_reads_and_is_refused_to_write(public: Path, tmp_path: Path) -> None:
    before = git(public, "for-each-ref")
    allowed = {"GIT_CONFIG_COUNT": "3", "HOME": "/nonexistent", **_identity(), **_safe(public)}
    done = _as_nobody(ANOTHER_USER, str(public), env=allowed)
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["['before']", "1", *["Unavailable True"] * 3, ""]
    assert git(public, "for-each-ref") == before
    refused = _as_nobody(ANOTHER_USER, str(public), env={"HOME": "/nonexistent"})
    assert "another user owns it" in refused.stderr


def _identity() -> dict[str, str]:
    return {"GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Eve",
            "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "eve@example.com"}  # fmt: skip


def _safe(repo: Path) -> dict[str, str]:
    return {"GIT_CONFIG_KEY_2": "safe.directory", "GIT_CONFIG_VALUE_2": str(repo)}


def _as_nobody(script: str, *args: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    command = [sys.executable, "-c", script, *args]
    try:
        subprocess.run([sys.executable, "-c", "import gitmem"], check=True, cwd="/", **as_nobody)  # type: ignore[call-overload]
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("another user cannot run this interpreter, or read this checkout")
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, capture_output=True, text=True, check=False, cwd="/",
        env={**os.environ, **env}, **as_nobody,
    )  # fmt: skip


def _mount(*args: str | Path) -> int:
    return subprocess.run(["mount", *args], capture_output=True, check=False).returncode
