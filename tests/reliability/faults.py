"""The n-th operation of gitmem on git or on files fails; everything else is real."""

from __future__ import annotations

import builtins
import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from gitmem.errors import GitFailed, Unavailable
from gitmem.journal.git.opening import open_bare, open_repository
from gitmem.journal.git.port import Backend, Git

Mode = Literal["once", "lasting", "late"]
"""It fails once; from then on; or it is done and yet reported as failed, once."""

FILE_OPERATIONS = (
    "open",
    "mkdir",
    "rename",
    "replace",
    "unlink",
    "fsync",
    "fchmod",
    "chmod",
    "scandir",
)
_BETWEEN = ("pathlib", "contextlib", "shutil", "os", __name__)


@dataclass
class Fault:
    """Counts operations and fails the `at`-th; `at` 0 fails none and only counts."""

    at: int
    mode: Mode = "once"
    count: int = 0

    @property
    def fired(self) -> bool:
        """Whether an operation has failed."""
        return 0 < self.at <= self.count

    def run(self, operation: Callable[[], Any], error: Callable[[], Exception]) -> Any:
        """Run one operation, or fail it."""
        self.count += 1
        failing = self.count >= self.at if self.mode == "lasting" else self.count == self.at
        if not self.at or not failing:
            return operation()
        if self.mode == "late":
            operation()
        raise error()


class FaultyGit:
    """A repository by the real git, of which some calls fail."""

    def __init__(self, git: Git, fault: Fault) -> None:
        self._git = git
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._git, name)
        if not callable(found) or name == "close":
            return found

        def call(*args: Any, **options: Any) -> Any:
            return self._fault.run(lambda: found(*args, **options), lambda: _git_error(name))

        return call


def _git_error(name: str) -> Exception:
    if name.startswith(("write", "update", "init", "config_")):
        return Unavailable(f"the disk is full: '{name}'")
    return GitFailed(f"'{name}' failed")


@contextmanager
def faulty_git(fault: Fault) -> Iterator[None]:
    """Let every repository that is opened inside fail by `fault`."""

    def repository(path: Path, backend: Backend = "auto") -> Git:
        return FaultyGit(open_repository(path, backend), fault)  # type: ignore[return-value]

    def bare(path: Path, backend: Backend = "auto") -> Git:
        return FaultyGit(open_bare(path, backend), fault)  # type: ignore[return-value]

    with (
        mock.patch("gitmem.api.core.open_repository", repository),
        mock.patch("gitmem.journal.journals.open_bare", bare),
    ):
        yield


@contextmanager
def faulty_files(fault: Fault) -> Iterator[None]:
    """Let what gitmem's own modules do to files fail by `fault`: half of a write is written."""
    errors = (errno.ENOSPC, errno.EACCES, errno.EIO)

    def error() -> OSError:
        number = errors[fault.at % len(errors)]
        return OSError(number, os.strerror(number))

    def wrap(found: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if not _called_by_gitmem():
                return found(*args, **options)
            return fault.run(lambda: found(*args, **options), error)

        return call

    def opened(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if not _called_by_gitmem() or mode.startswith("r"):
            return open_(file, mode, *args, **options)
        return _Stream(fault.run(lambda: open_(file, mode, *args, **options), error), fault, error)

    open_ = builtins.open
    with (
        mock.patch.multiple(os, **{name: wrap(getattr(os, name)) for name in FILE_OPERATIONS}),
        mock.patch.object(builtins, "open", opened),
        mock.patch.object(io, "open", opened),
    ):
        yield


class _Stream:
    """A file open for writing, of which `write` may fail halfway."""

    def __init__(self, stream: Any, fault: Fault, error: Callable[[], Exception]) -> None:
        self._stream = stream
        self._fault = fault
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def write(self, content: Any) -> int:
        """Write `content`, or half of it."""
        half = len(content) // 2
        self._stream.write(content[:half])
        rest = self._fault.run(lambda: self._stream.write(content[half:]), self._error)
        return half + int(rest)


def _called_by_gitmem() -> bool:
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__name__") in _BETWEEN:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).startswith("gitmem.")
