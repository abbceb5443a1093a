"""A large object, written as git keeps it loose.

``git unpack-objects`` takes it out of a pack, checks both, and compresses it again: of 3 MB, a long
conversation that grew by a turn, 45 ms went into that while an agent waited.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from gitmem.journal.git.spawn import failed

LARGE = 2**18
"""Bytes from which on an object is written so."""

_FAST = 1
"""The compression that git has for loose objects too."""


def write(folder: Path, oid: str, kind: str, data: bytes) -> None:
    """Write an object into the folder of objects, unless it is there.

    Raises:
        Unavailable: it cannot be written. `GitFailed` where another try may do it.
    """
    place = folder / oid[:2] / oid[2:]
    if place.exists():
        return
    beside = place.with_name(f"tmp_obj_{os.getpid()}")  # left behind, a gc takes it
    try:
        _fill(folder, beside, b"%s %d\0" % (kind.encode(), len(data)), data)
        beside.replace(place)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise failed(f"'{place}': {error.strerror}", [place.parent], len(data)) from error


def _fill(folder: Path, file: Path, head: bytes, data: bytes) -> None:
    shared = folder.stat().st_mode & 0o7777  # as `core.sharedRepository` has it, or the umask
    if not file.parent.is_dir():
        file.parent.mkdir(exist_ok=True)
        file.parent.chmod(shared)
    file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    packer = zlib.compressobj(_FAST)
    with os.fdopen(os.open(file, flags, 0o600), "wb") as stream:
        stream.write(packer.compress(head) + packer.compress(data) + packer.flush())
        stream.flush()
        os.fchmod(stream.fileno(), shared & 0o444)
        os.fsync(stream.fileno())  # as git does: a ref that outlives a power cut must find it
