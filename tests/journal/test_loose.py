"""A large object written beside git is as git would have written it."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from gitmem.errors import Unavailable
from gitmem.journal.git import loose
from gitmem.journal.git.objects import object_id
from tests.support import git

TEXT = b"a line that says something\n" * 20_000


def written(repo: Path, data: bytes = TEXT, algorithm: str = "sha1") -> str:
    oid = object_id("blob", data, algorithm)
    loose.write(repo / ".git" / "objects", oid, "blob", data)
    return oid


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_git_reads_what_was_written(tmp_path: Path, algorithm: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={algorithm}")
    oid = written(tmp_path, TEXT, algorithm)
    read = subprocess.run(
        ["git", "cat-file", "blob", oid], cwd=tmp_path, capture_output=True, check=True
    )
    assert read.stdout == TEXT
    assert git(tmp_path, "fsck", "--strict", "--no-dangling") == ""
    assert written(tmp_path, TEXT, algorithm) == oid


def test_whoever_may_read_the_folder_may_read_the_object(repo: Path) -> None:
    objects = repo / ".git" / "objects"
    for mode, kept in ((0o700, 0o400), (0o2775, 0o444)):
        objects.chmod(mode)
        oid = written(repo, TEXT + str(mode).encode())
        place = objects / oid[:2] / oid[2:]
        assert stat.S_IMODE(place.stat().st_mode) == kept
        assert stat.S_IMODE(place.parent.stat().st_mode) == mode


def test_what_another_try_left_is_in_nobodys_way(repo: Path) -> None:
    oid = object_id("blob", TEXT, "sha1")
    folder = repo / ".git" / "objects" / oid[:2]
    folder.mkdir()
    (folder / f"tmp_obj_{os.getpid()}").write_bytes(b"half")
    assert written(repo) == oid
    assert [path.name for path in folder.iterdir()] == [oid[2:]]


def test_a_folder_that_cannot_be_written_is_said(repo: Path) -> None:
    oid = object_id("blob", TEXT, "sha1")
    (repo / ".git" / "objects" / oid[:2]).write_bytes(b"no folder")
    with pytest.raises(Unavailable, match=r"objects"):
        written(repo)
