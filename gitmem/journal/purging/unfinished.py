"""What is written down of a purge under way, so that whoever is killed can be followed by another.

``purging.json`` in the ``gitmem`` folder of the journal's repository holds ids alone, no text; the
file ``purging.lock`` beside it is held by the one purge that is going on.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gitmem.errors import Unavailable

RECORD = "purging.json"
LOCK = "purging.lock"
PATIENCE = 60.0
"""Seconds to wait for another purge."""


@dataclass(slots=True)
class Unfinished:
    """A purge under way: the memories, the old tips, and the objects that these alone reached.

    `lines` are the ids of the purged events.
    """

    memories: list[str] = field(default_factory=list)
    tips: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)


def load(folder: Path) -> Unfinished:
    """Return what is written down; nothing where there is no purge under way."""
    try:
        return Unfinished(**json.loads((folder / RECORD).read_bytes()))
    except (OSError, ValueError, TypeError):
        return Unfinished()


def save(folder: Path, record: Unfinished) -> None:
    """Write it down for good: the next thing may be the power cut. An empty record is deleted.

    Raises:
        Unavailable: it cannot be written.
    """
    path = folder / RECORD
    beside = path.with_name(f"{RECORD}.new")
    try:
        if record == Unfinished():
            path.unlink(missing_ok=True)
            return
        with beside.open("w") as file:
            json.dump(asdict(record), file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other purges of the same journal away.

    Raises:
        Unavailable: another one did not end within `PATIENCE` seconds.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise _unwritable(path, error) from None
    with file:
        _acquire(file.fileno(), time.monotonic() + PATIENCE)
        yield


def now(folder: Path) -> float:
    """Return the time by the clock of the file system, which may be a server's."""
    lock = folder / LOCK
    os.utime(lock)
    return lock.stat().st_mtime


def _acquire(lock: int, until: float) -> None:
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise Unavailable("another purge is under way", "wait for it to end") from None
            time.sleep(0.05)


def _unwritable(path: Path, error: OSError) -> Unavailable:
    reason = (error.strerror or str(error)).lower()
    return Unavailable(f"'{path}' cannot be written: {reason}", "check its owner and permissions")
