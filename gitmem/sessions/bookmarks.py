"""How far each long transcript was read: what was read before and is as it was is not read again.

A bookmark holds while the file begins with the very bytes that were read, and as long as the
conversations hold what was in them.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gitmem.sessions.model import Bookmark

LONG = 256 * 1024
"""Bytes from which on a transcript has a bookmark."""

MOST = 20
"""Transcripts that have one: those read last."""

_PIECE = 2**20


class Bookmarks:
    """The bookmarks of transcripts; `kept` are those of the last time, as `saved` returned them."""

    def __init__(self, kept: object) -> None:
        self._kept: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
        self._digests: dict[str, tuple[int, Any]] = {}

    def saved(self) -> dict[str, Any]:
        """Return all bookmarks as a JSON object."""
        return dict(list(self._kept.items())[-MOST:])

    def of(self, name: str, path: Path) -> Bookmark | None:
        """Return where to go on reading a transcript; None: at its start."""
        try:
            offset, known, state = self._kept[name]
            digest = _read(path, 0, offset, blake2b(digest_size=16))
        except (LookupError, TypeError, ValueError, OSError):
            return None
        if digest.hexdigest() != known or not isinstance(state, dict):
            return None
        self._digests[name] = offset, digest
        return Bookmark(offset, state)

    def note(self, name: str, path: Path, bookmark: Bookmark) -> None:
        """Note how far a transcript was read; it is left out where that cannot be told."""
        self._kept.pop(name, None)
        if bookmark.offset < LONG:
            return
        begun, digest = self._digests.get(name, (0, blake2b(digest_size=16)))
        try:
            digest = _read(path, begun, bookmark.offset, digest)
        except (OSError, ValueError):
            return
        self._kept[name] = [bookmark.offset, digest.hexdigest(), dict(bookmark.state)]


def _read(path: Path, start: int, end: int, digest: Any) -> Any:
    """Return a digest grown by the bytes from `start` to `end`, where a line ends.

    Raises:
        ValueError: the file is shorter, or no line ends there.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(handle, "rb") as stream:
        stream.seek(start)
        left, last = end - start, b"\n"
        while left > 0 and (piece := stream.read(min(left, _PIECE))):
            digest.update(piece)
            left, last = left - len(piece), piece[-1:]
    if left or last != b"\n":
        raise ValueError(path)
    return digest
