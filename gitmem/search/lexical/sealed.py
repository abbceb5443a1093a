"""The folder of a derived index, with a seal: what wrote it, how far, and which files it holds.

Libraries such as Whoosh unpickle what they find and notice damage late or never. So a folder is
used only when it is ours alone and every file is as it was when the seal was written: told by size
and time, as git's index does, and where the time differs (a copied repository) by checksum.

The seal is written last, by renaming. Who dies before that leaves a folder that is not as its seal
says: it counts as missing, and is made again.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from gitmem.search.base import IndexUnusable, Seen

SEAL = "seal.json"
LOCK = "lock"
PATIENCE = 10.0
"""Seconds to wait for another process that is writing, where the caller does not say."""

_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Seal:
    """What wrote the folder, how far it has caught up, and {file: (size, time in ns, CRC-32)}."""

    made: str
    seen: Seen
    files: Mapping[str, tuple[int, int, int]]


class SealedFolder:
    """The folder at `path`, used as long as `made` (the writer and its versions) sealed it."""

    def __init__(self, path: Path, made: str, patience: float = PATIENCE) -> None:
        self.path = path
        self._made = made
        self._patience = patience

    def signature(self) -> tuple[int, int] | None:
        """Return what differs after every sealing; None where there is no seal."""
        try:
            found = (self.path / SEAL).lstat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def seal(self) -> Seal | None:
        """Return the seal if the folder is as it says, else None.

        Raises:
            IndexUnusable: the folder is not ours alone, or another process keeps writing it.
        """
        if not self._is_ours():
            return None
        if seal := self._held():
            return seal
        if not set(os.listdir(self.path)) - {LOCK}:
            return None
        try:
            with self._lock():  # a writer changes files just before it seals: look again after it
                return self._held()
        except OSError:  # nothing can be locked in a read-only folder, and nobody writes it
            return None

    @contextmanager
    def writing(self) -> Iterator[Seal | None]:
        """Hold the folder, made if need be, and yield its seal; what that does not name is gone."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._is_ours()
        with self._lock():
            held = self._held()
            self._sweep(held)
            yield held

    def commit(self, seen: Seen, before: Seal | None) -> None:
        """Seal the folder as it is now; what `before` knows of a file is not computed again."""
        known = before.files if before else {}
        files = {name: self._facts(name, known.get(name)) for name in self._names()}
        draft = self.path / f"{SEAL}.new"
        draft.write_text(json.dumps(asdict(Seal(self._made, dict(seen), files))))
        os.replace(draft, self.path / SEAL)

    def spoil(self) -> None:
        """Break the seal, if that can be done: the folder counts as missing from now on."""
        with suppress(OSError):
            (self.path / SEAL).unlink()

    def is_damaged(self) -> bool:
        """Whether `made` sealed the folder, and it is not as the seal says any more."""
        return self._read() is not None and self._held() is None

    def is_vacant(self) -> bool:
        """Whether nothing was ever written here, and something could be."""
        if self.path.is_dir() and set(os.listdir(self.path)) - {LOCK}:
            return False
        there = next(path for path in (self.path, *self.path.parents) if path.exists())
        effective = os.access in os.supports_effective_ids
        return os.access(there, os.W_OK | os.X_OK, effective_ids=effective)

    def clear(self) -> None:
        """Delete the content; the folder and its lock stay, for whoever waits for it."""
        if self._is_ours():
            with self._lock():
                self._sweep(None)

    # -- what is there ------------------------------------------------------------------------

    def _is_ours(self) -> bool:
        """Whether the folder is there; refuses one through which others could run their code."""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise IndexUnusable(f"'{self.path}' is not a folder", "remove it")
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise IndexUnusable(f"'{self.path}' can be written by others", "remove it")
        return True

    def _read(self) -> Seal | None:
        try:
            raw = json.loads((self.path / SEAL).read_bytes())
            files = {name: (int(a), int(b), int(c)) for name, (a, b, c) in raw["files"].items()}
            seal = Seal(raw["made"], dict(raw["seen"]), files)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # whatever is no seal says nothing
        return seal if seal.made == self._made else None

    def _held(self) -> Seal | None:
        seal = self._read()
        return seal if seal and self._intact(seal) else None

    def _intact(self, seal: Seal) -> bool:
        try:
            found = {name: self._facts(name, facts) for name, facts in seal.files.items()}
        except OSError:
            return False
        return all((found[n][0], found[n][2]) == (f[0], f[2]) for n, f in seal.files.items())

    def _facts(self, name: str, known: tuple[int, int, int] | None) -> tuple[int, int, int]:
        """Return size, time and checksum of a file, the last as `known` where the others are."""
        found = (self.path / name).lstat()
        if known and (found.st_size, found.st_mtime_ns) == known[:2]:
            return known
        checksum = zlib.crc32((self.path / name).read_bytes())
        return found.st_size, found.st_mtime_ns, checksum

    def _names(self) -> list[str]:
        return sorted(set(os.listdir(self.path)) - {SEAL, LOCK})

    def _sweep(self, keep: Seal | None) -> None:
        kept = {LOCK, SEAL, *keep.files} if keep else {LOCK}
        for name in sorted(set(os.listdir(self.path)) - kept, key=SEAL.__ne__):  # the seal first
            entry = self.path / name
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        # flock, for the kernel lets go of it when its holder is killed; and not the filelock
        # package, whose import takes as long as Whoosh's and would be paid by every search.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.path / LOCK, flags, 0o600)
        try:
            self._acquire(handle)
            yield
        finally:
            os.close(handle)

    def _acquire(self, handle: int) -> None:
        for attempt in range(int(self._patience / _PAUSE) + 1):
            time.sleep(_PAUSE * bool(attempt))
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
        raise IndexUnusable(f"'{self.path}' is being written by another process", "try again")
