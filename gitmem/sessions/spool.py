"""Rounds on their way into a blob: in memory while they are few, in a file when they are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import IO

from gitmem.errors import Unavailable
from gitmem.journal.git.history import History
from gitmem.journal.git.port import Git
from gitmem.journal.git.spawn import stream

MANY = 5_000
"""Rounds from which on a session is read in pieces: it may be larger than memory."""

IN_MEMORY = 4 * 2**20
"""Bytes that are held before a file is made."""


class Spool:
    """The lines of one session, appended to and then written as a blob."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._parts: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, line: bytes) -> None:
        """Append a line, given without its end."""
        self._put(line + b"\n")

    def extend(self, pieces: Iterable[bytes]) -> None:
        """Append whole lines, given in any pieces."""
        for piece in pieces:
            self._put(piece)

    def blob(self) -> str:
        """Write the blob and return its id."""
        if self._file is None:
            return self._git.write_blob(b"".join(self._parts))
        self._flush()
        done = _streaming(self._git).attempt("hash-object", "-w", "--no-filters", self._file.name)
        if done.returncode:
            raise Unavailable("a conversation cannot be written", "is the disk full?")
        return done.stdout.decode().strip()

    def close(self) -> None:
        """Delete the file, if there is one."""
        if self._file is not None:
            self._file.close()
        self._file, self._parts, self._size = None, [], 0

    def _put(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > IN_MEMORY:
            self._flush()

    def _flush(self) -> None:
        if self._file is None:
            import tempfile  # for the few sessions that are that long

            self._file = tempfile.NamedTemporaryFile(prefix="gitmem-rounds-")  # noqa: SIM115
        self._file.writelines(self._parts)
        self._file.flush()
        self._parts, self._size = [], 0


def lines_of(git: Git, oid: str, count: int) -> Iterator[bytes]:
    """Yield the lines of a blob that has `count` of them; of a large one in bounded memory."""
    rest = b""
    for piece in pieces_of(git, oid, count):
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line for line in whole if line)
    if rest:
        yield rest


def pieces_of(git: Git, oid: str, count: int) -> Iterator[bytes]:
    """Yield a blob of `count` lines: at once, or a large one in pieces."""
    if count < MANY:
        yield git.blob(oid)
        return
    history = _streaming(git)
    command = [*history.command, "cat-file", "blob", oid]
    yield from stream(command, git.layout.git_dir, history.environ)


def _streaming(git: Git) -> History:
    """Return a git that streams large blobs, which by default it holds up to half a gigabyte of."""
    history = History(git.layout)
    history.command[1:1] = ("-c", "core.bigFileThreshold=16m")
    return history
