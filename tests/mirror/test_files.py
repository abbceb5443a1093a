"""Reading and writing below a folder in which anything may lie."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from gitmem.mirror import files
from gitmem.mirror.files import Folder, Untouchable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def folder(root: Path, tmp_path: Path) -> Folder:
    return Folder(root, tmp_path / "spool")


def test_a_file_is_written_read_and_replaced(folder: Folder, root: Path, tmp_path: Path) -> None:
    assert folder.read("memory/a.md") is None
    stamp = folder.write("memory/a.md", b"one", None, durable=False)
    before = folder.read("memory/a.md")
    assert before
    assert before.content == b"one"
    assert before.stamp == stamp == folder.stamp("memory/a.md")
    assert folder.write("memory/a.md", b"two", before, durable=True)
    assert (root / "memory/a.md").read_bytes() == b"two"
    assert folder.write("memory/a.md", b"late", before, durable=False) is None
    assert folder.write("memory/a.md", b"late", None, durable=False) is None
    assert (root / "memory/a.md").read_bytes() == b"two"
    assert os.listdir(tmp_path / "spool") == []
    assert list(folder.stamps("memory")) == ["memory/a.md"]


def test_the_mode_is_kept(folder: Folder, root: Path) -> None:
    (root / "a").write_bytes(b"one")
    (root / "a").chmod(0o640)
    assert folder.write("a", b"two", folder.read("a"), durable=False)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_of_new_files(folder: Folder, root: Path) -> None:
    umask = os.umask(0o027)
    try:
        folder.write("a", b"x", None, durable=False)
    finally:
        os.umask(umask)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


def test_links_are_neither_followed_nor_replaced(folder: Folder, root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret")
    (root / "memory").symlink_to(outside)
    (root / "a.md").symlink_to(outside / "a.md")
    (root / "dangling").symlink_to(outside / "nothing")
    for path in ("a.md", "dangling", "memory/a.md"):
        name = path.split("/")[0]
        with pytest.raises(Untouchable, match=f"'{name}' is a symbolic link"):
            folder.read(path)
    for path in ("memory/a.md", "memory/b.md"):
        with pytest.raises(Untouchable, match="'memory' is a symbolic link"):
            folder.write(path, b"x", None, durable=False)
    with pytest.raises(Untouchable, match="'memory' is a symbolic link"):
        folder.stamps("memory")
    assert folder.write("dangling", b"x", None, durable=False) is None
    assert sorted(os.listdir(outside)) == ["a.md"]
    assert (outside / "a.md").read_text() == "secret"


def test_what_is_no_file_is_left_alone(folder: Folder, root: Path) -> None:
    (root / "folder").mkdir()
    os.mkfifo(root / "fifo")
    for path in ("folder", "fifo"):
        with pytest.raises(Untouchable, match="is no regular file"):
            folder.read(path)
    (root / "file").write_text("x")
    with pytest.raises(Untouchable, match="not a directory"):
        folder.write("file/a", b"x", None, durable=False)


def test_a_huge_file_is_left_alone(folder: Folder, root: Path) -> None:
    with open(root / "huge", "wb") as stream:
        stream.truncate(files.LARGEST + 1)
    with pytest.raises(Untouchable, match="larger than 5 MB"):
        folder.read("huge")


def test_a_read_only_file_is_left_alone(folder: Folder, root: Path) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(0o444)
    with pytest.raises(Untouchable, match="read-only"):
        folder.write("a", b"y", folder.read("a"), durable=False)
    assert (root / "a").read_text() == "x"


@pytest.mark.skipif(os.geteuid() == 0, reason="root is never refused")
def test_a_read_only_folder_is_left_alone(folder: Folder, root: Path) -> None:
    root.chmod(0o555)
    with pytest.raises(Untouchable, match="permission denied"):
        folder.write("a", b"y", None, durable=False)
    assert os.listdir(root) == []
    root.chmod(0o755)


def test_refused_without_privileges_nothing_is_written(folder: Folder, root: Path) -> None:
    """Root drops its privileges in a child, so that the refusal is real there too."""
    if os.geteuid() != 0:
        pytest.skip(
            "only root can drop privileges; test_a_read_only_folder_is_left_alone covers it"
        )
    for path in [root, *root.parents][:4]:
        path.chmod(0o755)
    spool = root.parent / "spool"
    spool.mkdir()
    spool.chmod(0o777)
    child = os.fork()
    if not child:
        os.setgid(65534)
        os.setuid(65534)
        try:
            folder.write("a", b"y", None, durable=False)
            os._exit(1)
        except Untouchable as error:
            os._exit(0 if "permission denied" in str(error) else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.listdir(root) == []
    assert os.listdir(spool) == []


def test_a_git_directory_on_another_file_system(
    folder: Folder, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def across(source: str, target: str, **fds: int) -> None:
        if source == "new":
            raise OSError(errno.EXDEV, "cross-device link")
        rename(source, target, **fds)

    monkeypatch.setattr(os, "rename", across)
    assert folder.write("a", b"x", None, durable=False)
    assert os.listdir(root) == ["a"]
    assert os.listdir(tmp_path / "spool") == []


def test_a_failed_write_leaves_nothing_behind(
    folder: Folder, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("x")
    before = folder.read("a")

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(Untouchable, match="no space left"):
        folder.write("a", b"y", before, durable=False)
    assert (root / "a").read_text() == "x"
    assert os.listdir(tmp_path / "spool") == []


def test_only_one_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lock"
    with files.locked(path) as mine:
        assert mine
        with files.locked(path, tries=2) as also:
            assert not also
    with files.locked(path, tries=1) as again:
        assert again
