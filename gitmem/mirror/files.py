"""Reading and writing files below a folder that anybody may have put things into.

Every component of a path is opened relative to its parent and no link is followed: a
``MEMORY.md`` that is a link to ``~/.bashrc`` is neither read nor replaced.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import NamedTuple

LARGEST = 5_000_000
"""Largest file that is read, in bytes."""

Stamp = tuple[int, int, int]
"""What changes when a file does: modification time in ns, size, inode."""

_ASIDE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LINK = "is a symbolic link; gitmem does not follow it and leaves it alone"


class Untouchable(Exception):
    """A path that cannot be read or written; the message names it and says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"'{path}' {reason}")
        self.reason = reason


class Snapshot(NamedTuple):
    """A file's bytes, and what `os.fstat` said as they were read."""

    content: bytes
    stamp: Stamp
    mode: int


class Folder:
    """Files below `root`; new contents are written in `spool` and renamed into place."""

    def __init__(self, root: Path, spool: Path) -> None:
        self._root = root
        self._spool = spool

    def read(self, path: str) -> Snapshot | None:
        """Return a file's content, None if there is none.

        Raises:
            Untouchable: it is a link, no regular file, too large or not readable.
        """
        with self._reported(path), self._parent(path) as (parent, name):
            file = os.open(name, os.O_RDONLY | _ASIDE, dir_fd=parent)
            try:
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode):
                    raise Untouchable(path, "is no regular file; gitmem leaves it alone")
                if status.st_size > LARGEST:
                    raise Untouchable(path, "is larger than 5 MB; gitmem leaves it alone")
                chunks = iter(lambda: os.read(file, 1 << 20), b"")
                return Snapshot(b"".join(chunks), _stamp(status), stat.S_IMODE(status.st_mode))
            finally:
                os.close(file)
        return None

    def write(
        self, path: str, content: bytes, before: Snapshot | None, durable: bool
    ) -> Stamp | None:
        """Replace what `before` was read from, atomically; None if it changed since.

        Returns the new file's stamp, taken before anybody could touch it.

        `durable`: reach the disk first. For text of the user's, which nothing else holds.

        Raises:
            Untouchable: it cannot be written; nothing was.
        """
        with self._reported(path), self._parent(path, create=True) as (parent, name):
            if before and not _writable(name, parent, before.mode):
                raise Untouchable(path, "is read-only; gitmem leaves it as it is")
            return self._replace(_Place(parent, name, before), content, durable)
        return None

    def remove(self, path: str, before: Snapshot) -> bool:
        """Delete the file that `before` was read from; False if it changed since."""
        with self._reported(path), self._parent(path) as (parent, name):
            if _current(name, parent) == before.stamp:
                os.unlink(name, dir_fd=parent)
                return True
        return False

    def remove_folder(self, path: str) -> None:
        """Delete a folder if it is empty."""
        with suppress(OSError), self._parent(path) as (parent, name):
            os.rmdir(name, dir_fd=parent)

    def stamp(self, path: str) -> Stamp | None:
        """Return a path's stamp without following links; None if nothing is there."""
        with suppress(OSError), self._parent(path) as (parent, name):
            return _current(name, parent)
        return None

    def stamps(self, folder: str) -> dict[str, Stamp]:
        """Return the stamps of what is directly in `folder`, by path; empty if there is none.

        Raises:
            Untouchable: it is a link or no folder.
        """
        found: dict[str, Stamp] = {}
        with self._reported(folder), self._parent(f"{folder}/") as (parent, _):
            for name in os.listdir(parent):
                if stamp := _current(name, parent):
                    found[f"{folder}/{name}"] = stamp
        return found

    @contextmanager
    def _parent(self, path: str, create: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that `path` is in, and yield its descriptor and the last component."""
        *folders, name = path.split("/")
        parent = os.open(self._root, _FOLDER)
        try:
            for folder in folders:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=parent)
                below = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
                os.close(parent)
                parent = below
            yield parent, name
        finally:
            os.close(parent)

    @contextmanager
    def _reported(self, path: str) -> Iterator[None]:
        """Let what is missing pass; turn what else the system says into one sentence."""
        try:
            yield
        except FileNotFoundError:
            return
        except OSError as error:
            parts = path.split("/")
            for part in ("/".join(parts[: count + 1]) for count in range(len(parts))):
                if os.path.islink(self._root / part):
                    raise Untouchable(part, _LINK) from error
            said = os.strerror(error.errno or 0).lower()
            raise Untouchable(path, f"cannot be read or written: {said}") from error

    def _replace(self, place: _Place, content: bytes, durable: bool) -> Stamp | None:
        """Write aside and rename: in the git directory, where a crash leaves no litter in sight."""
        self._spool.mkdir(parents=True, exist_ok=True)
        spool = os.open(self._spool, _FOLDER)
        try:
            return place.fill(spool, "new", content, durable)
        except OSError as error:
            if error.errno != errno.EXDEV:  # the git directory is on another file system
                raise
            return place.fill(place.parent, f".{place.name}.gitmem", content, durable)
        finally:
            os.close(spool)


class _Place(NamedTuple):
    """A name in an open folder, and the file that is expected there."""

    parent: int
    name: str
    before: Snapshot | None

    def fill(self, folder: int, aside: str, content: bytes, durable: bool) -> Stamp | None:
        """Write `aside` in `folder` and rename it to this place, unless that changed since."""
        with suppress(FileNotFoundError):  # left by a process that was killed
            os.unlink(aside, dir_fd=folder)
        try:
            stamp = self._write(folder, aside, content, durable)
            expected = self.before.stamp if self.before else None
            if _current(self.name, self.parent) != expected:
                return None
            os.rename(aside, self.name, src_dir_fd=folder, dst_dir_fd=self.parent)
            return stamp
        finally:
            with suppress(FileNotFoundError):  # it is in its place
                os.unlink(aside, dir_fd=folder)

    def _write(self, folder: int, aside: str, content: bytes, durable: bool) -> Stamp:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ASIDE
        with open(os.open(aside, flags, 0o666, dir_fd=folder), "wb") as stream:
            stream.write(content)
            stream.flush()
            if self.before:
                os.fchmod(stream.fileno(), self.before.mode)
            if durable:
                os.fsync(stream.fileno())
            return _stamp(os.fstat(stream.fileno()))


@contextmanager
def locked(path: Path, tries: int = 100) -> Iterator[bool]:
    """Hold an advisory lock; yields False if another process holds it for `tries` × 50 ms.

    ``flock`` and not the filelock package, whose import alone costs 50 ms of every command. The
    system drops it when the process dies.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # nothing can be written there, so no two writers can meet
        yield True
        return
    try:
        yield _acquire(file, tries)
    finally:
        os.close(file)


def _acquire(file: int, tries: int) -> bool:
    for _ in range(tries):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            sleep(0.05)
        except OSError:  # a file system without locks
            return True
    return False


def _current(name: str, parent: int) -> Stamp | None:
    try:
        return _stamp(os.stat(name, dir_fd=parent, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _writable(name: str, parent: int, mode: int) -> bool:
    """Whether a file may be replaced: renaming does not ask, and root may do anything."""
    return bool(mode & 0o222) and os.access(name, os.W_OK, dir_fd=parent)
