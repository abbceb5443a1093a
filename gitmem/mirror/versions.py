"""The last renderings of each file's block, one file of lines: disposable, as all the mirror keeps.

::

    BYTES                       what the file had when it was last thinned out
    PATH <TAB> DIGEST <TAB> [IDS, TEXT]    a block as rendered, the latest below

A rendering is appended: a file and a folder for each took a third of the time of a first pull,
which renders hundreds. Each begins with a newline, so that what was cut off spoils itself alone.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.mirror.document import digest

KEPT = 20
"""Versions that are kept of each file."""

SLACK = 2**20
"""Bytes that may be there beyond twice what was kept, before it is thinned out again."""


class Versions:
    """The last renderings of each file, by digest. For one process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, path: str, text: str, ids: Mapping[str, Sequence[str]]) -> None:
        """Keep a block's text and the ids in it; the oldest of `path` gives way in time.

        Raises:
            OSError: it cannot be written.
        """
        line = f"\n{path}\t{digest(text)}\t{json.dumps([ids, text], ensure_ascii=False)}"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(line.encode())
            size = file.tell()
        if size > SLACK and size > SLACK + 2 * self._kept_bytes():
            with suppress(OSError):  # what can be appended to is large, and works
                self._thin_out()

    def get(self, path: str, digest_: str) -> tuple[str, dict[str, list[str]]] | None:
        """Return a rendering and its ids; None if it is not kept any more, or damaged."""
        content = self._content()
        head = f"\n{path}\t{digest_}\t".encode()
        start = content.rfind(head)
        if start < 0:
            return None
        with suppress(ValueError, TypeError):
            ids, text = json.loads(content[start + len(head) :].split(b"\n", 1)[0])
            if digest(text) == digest_:
                return text, ids
        return None

    def drop(self, wanted: Callable[[str, bytes], bool]) -> None:
        """Forget the renderings for which `wanted` says so of their digest and their content."""
        lines = self._content().split(b"\n")[1:]
        kept = [line for line in lines if not wanted(*_digest_and_content(line))]
        if len(kept) < len(lines):
            self._write(kept)

    def _thin_out(self) -> None:
        latest: dict[bytes, dict[bytes, bytes]] = defaultdict(dict)
        for line in self._content().split(b"\n")[1:]:
            path, _, rest = line.partition(b"\t")
            latest[path].pop(rest, None)
            latest[path][rest] = line
        self._write([line for each in latest.values() for line in [*each.values()][-KEPT:]])

    def _kept_bytes(self) -> int:
        with suppress(OSError, ValueError), self._path.open("rb") as file:
            return int(file.readline(20))
        return 0

    def _content(self) -> bytes:
        with suppress(OSError):
            return self._path.read_bytes()
        return b""

    def _write(self, lines: Sequence[bytes]) -> None:
        size = sum(len(line) + 1 for line in lines)
        aside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            aside.write_bytes(b"\n".join([b"%d" % size, *lines]))
            aside.replace(self._path)
        finally:
            aside.unlink(missing_ok=True)


def _digest_and_content(line: bytes) -> tuple[str, bytes]:
    """Return a rendering's digest, and its ids and text as they were; of a damaged line, all."""
    try:
        _, name, body = line.decode().split("\t", 2)
        ids, text = json.loads(body)
        return name, f"{json.dumps(ids)}\n{text}".encode()
    except (ValueError, TypeError):
        return "", line
