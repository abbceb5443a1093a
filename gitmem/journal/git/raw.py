"""Objects as bytes, of any kind: read from one process that stays, written as packs.

What rewrites or deletes history needs more of a commit than the port tells, so it goes to the git
program whatever the port's backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from types import TracebackType
from typing import Self

from gitmem.errors import Unavailable
from gitmem.journal.git import objects
from gitmem.journal.git.history import History
from gitmem.journal.git.port import Layout, TreeEntry
from gitmem.journal.git.spawn import (
    WINDOW,
    Answer,
    Arg,
    Reader,
    beside_gc,
    failed,
    first_line,
    object_folders,
    stream,
)

UNPACK_LIMIT = 100
"""Objects up to which what was written stays loose, as in `transfer.unpackLimit`."""

HELD_BACK = 32 * 2**20
"""Bytes of new objects held in memory."""


class RawObjects:
    """The objects of one repository. Use as a context manager, or `close` it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.history = History(layout)
        self._reader = Reader(self.history.command, layout.git_dir, self.history.environ)
        self._held: dict[str, tuple[str, bytes]] = {}
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the process that reads."""
        self._reader.close()

    def get(self, oid: str) -> Answer:
        """Return one object as (id, kind, content), also one that was just written.

        Raises:
            Unavailable: it is not here.
        """
        if held := self._held.get(oid):
            return oid, *held
        return next(iter(self.each([oid])))

    def each(self, oids: Iterable[str]) -> Iterator[Answer]:
        """Yield (id, kind, content) in the order asked for; see `get`."""
        rest = iter(oids)
        while window := list(islice(rest, WINDOW)):
            for oid, answer in zip(window, self._reader.ask(window), strict=True):
                if answer is None:
                    raise Unavailable(f"'{oid[:12]}' is not in this clone", "see `git fsck`")
                yield answer

    def tree(self, oid: str) -> list[TreeEntry]:
        """Return the entries of a tree."""
        return objects.decode_tree(self.get(oid)[2], self.layout.hex_length // 2)

    def put(self, kind: str, data: bytes) -> str:
        """Return the id of a new object, which is on disk after `flush`."""
        oid = objects.object_id(kind, data, self.layout.object_format)
        if oid not in self._held:
            self._held[oid] = (kind, data)
            self._bytes += len(data)
            if self._bytes > HELD_BACK:
                self.flush()
        return oid

    def flush(self) -> None:
        """Write what is held back."""
        if not self._held:
            return
        pack = objects.pack(self._held.values(), self.layout.object_format)
        many = len(self._held) > UNPACK_LIMIT
        command = ("index-pack", "--stdin") if many else ("unpack-objects", "-q")
        beside_gc(lambda: self.run(*command, input=pack))
        self._held.clear()
        self._bytes = 0

    def run(self, *args: Arg, input: bytes = b"") -> bytes:
        """Run git and return what it prints.

        Raises:
            Unavailable: it failed, with the reason.
        """
        done = self.history.attempt(*args, input=input)
        if done.returncode:
            folders = object_folders(self.layout.common_dir)
            raise failed(first_line(done.stderr), folders, len(input))
        return done.stdout

    def lines(self, *args: Arg) -> Iterator[list[bytes]]:
        """Yield the lines that git prints, many at a time; it must come to its end.

        Raises:
            GitFailed: it did not.
        """
        command = [*self.history.command, *args]
        where, environ = self.layout.git_dir, self.history.environ
        rest = b""
        with closing(stream(command, where, environ, whole=True)) as pieces:
            for piece in pieces:
                *whole, rest = (rest + piece).split(b"\n")
                yield whole
