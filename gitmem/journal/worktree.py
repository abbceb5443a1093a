"""The files of a work tree: which there are, as git sees them, and what is in them.

Asked over the git program, whatever the port's backend. Every component of a path is opened
relative to its parent and no link is followed: what is read lies in the work tree.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gitmem.journal.git import Layout
from gitmem.journal.history import History
from gitmem.journal.objects import decode, encode
from gitmem.journal.spawn import failed, first_line

ATTRIBUTES = ".gitattributes"

_FILES = ("100644", "100755")
_AS_LISTED = b"H"  # neither marked as unchanged, whatever it holds, nor left out of a sparse tree
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Listed(NamedTuple):
    """A file that is tracked, or neither tracked nor ignored; it may be gone or be no file.

    `oid` is the blob that the index has for it, None where the file may hold something else.
    """

    path: str
    oid: str | None


class Content(NamedTuple):
    """A file's bytes, and a stamp that changes when it does; empty if that happened meanwhile."""

    data: bytes
    stamp: str


class WorkTree:
    """The work tree at `root`. A repository without one has no files."""

    def __init__(self, layout: Layout, root: Path) -> None:
        self.layout = layout
        self._root = os.fsencode(root)
        # No daemon is started for what a look at every file tells as well.
        settled = ("-C", self._root, b"--work-tree=" + self._root, "-c", "core.fsmonitor=false")
        self._attempt = partial(History(layout).attempt, *settled)

    def files(self) -> list[Listed]:
        """Return the files, those of submodules and links left out.

        Raises:
            GitFailed: git cannot read its index, or the folder is not there.
        """
        if self.layout.workdir is None:
            return []
        # Git compares what it can without reading. A file that was only touched is named as well.
        options = ("--name-only", "--no-ext-diff", "--no-renames", "--ignore-submodules=all")
        differ = set(self._ask("diff-files", "-z", *options).split(b"\0"))
        listed = self._ask("ls-files", "-z", "-v", "-s", "-o", "--exclude-standard")
        found = (_listed(entry, differ) for entry in listed.split(b"\0") if entry)
        return list({one.path: one for one in found if one}.values())

    def attribute(self, name: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Return what an attribute is set to, for each path where it is specified."""
        if not paths:
            return {}
        asked = b"".join(encode(path) + b"\0" for path in paths)
        told = self._ask("check-attr", "-z", "--stdin", name, input=asked).split(b"\0")
        values = zip(told[::3], told[2::3], strict=False)
        return {decode(path): decode(value) for path, value in values if value != b"unspecified"}

    def own_rules(self) -> str:
        """Return the stamp of the attributes that this clone alone has; empty if it has none."""
        try:
            return _stamp((self.layout.common_dir / "info" / "attributes").stat())
        except OSError:
            return ""

    def stamp(self, path: str) -> str | None:
        """Return what `read` would stamp a file with; None where there is none."""
        try:
            status = os.lstat(os.path.join(self._root, encode(path)))
        except (OSError, ValueError):
            return None
        return _stamp(status) if stat.S_ISREG(status.st_mode) else None

    def read(self, path: str, largest: int) -> Content | None:
        """Return what a file holds; None if it is no file, larger, not readable or not there."""
        try:
            with self._opened(path) as file:
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode) or before.st_size > largest:
                    return None
                data = b"".join(iter(partial(os.read, file, largest + 1), b""))
                same = _stamp(before) == _stamp(os.fstat(file))
        except (OSError, ValueError):
            return None
        return Content(data, _stamp(before) if same else "") if len(data) <= largest else None

    def _ask(self, *args: str, input: bytes = b"") -> bytes:
        done = self._attempt(*args, input=input)
        if done.returncode:
            raise failed(first_line(done.stderr))
        return done.stdout

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        *folders, name = encode(path).split(b"/")
        parent = os.open(self._root, _FOLDER)
        try:
            for folder in folders:
                below = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
                os.close(parent)
                parent = below
            file = os.open(name, _FILE, dir_fd=parent)
        finally:
            os.close(parent)
        try:
            yield file
        finally:
            os.close(file)


def _listed(entry: bytes, differ: set[bytes]) -> Listed | None:
    """Read ``H mode id stage TAB path``, or ``? path`` of what is not tracked."""
    tag, rest = entry[:1], entry[2:]
    if tag == b"?":  # a repository within is listed as a folder
        return None if rest.endswith(b"/") else Listed(decode(rest), None)
    facts, _, path = rest.partition(b"\t")
    mode, oid, stage = facts.decode().split(" ")
    if mode not in _FILES:
        return None
    as_listed = tag == _AS_LISTED and stage == "0" and path not in differ
    return Listed(decode(path), oid if as_listed else None)


def _stamp(status: os.stat_result) -> str:
    when = (status.st_mtime_ns, status.st_ctime_ns)
    return " ".join(map(str, (*when, status.st_size, status.st_ino)))
