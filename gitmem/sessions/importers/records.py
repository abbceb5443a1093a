"""Reading what others write, perhaps at this moment: torn, odd or endless, never fatal."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from gitmem.errors import Unreadable
from gitmem.journal.clock import format_at
from gitmem.sessions.model import Skipped

LONGEST = 64 * 2**20
"""Bytes of the longest line or document that is read; a longer one is skipped."""

_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile("[\ud800-\udfff]")
_MILLISECONDS = re.compile(r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z", re.ASCII)
"""What follows the date in the times that JavaScript writes."""
_KINDS = {
    stat.S_ISDIR: "is a folder",
    stat.S_ISFIFO: "is a FIFO",
    stat.S_ISSOCK: "is a socket",
}
_UNITS = [(1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9)]
"""[(below it, a second's worth)]: 1e11 is the year 5138 in seconds, and 1973 in milliseconds."""


def lines(path: Path, *, ends: bool = False) -> Iterator[bytes | Skipped]:
    """Yield the lines of a regular file, with or without their ends, in bounded memory.

    Raises:
        Unreadable: it is no regular file (a folder, a FIFO, a loop of links), out of reach, or
            empty.
    """
    for line in _ended(path):
        yield line if ends or isinstance(line, Skipped) else line.rstrip(b"\r\n")


def records(path: Path) -> Iterator[Mapping[str, Any] | Skipped]:
    """Yield the JSON objects of a file of lines; a torn last line is left for the next time.

    Raises:
        Unreadable: as `lines`, or lines there are, but none is a JSON object.
    """
    return iter(Records(path))


class Records:
    """The JSON objects of a file of lines from `start` (bytes) on, as `records` yields them.

    Afterwards `end` is where to go on; None where the last line counts and has no end yet, or a
    line was too long.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self._path = path
        self._start = start
        self.end: int | None = None

    def __iter__(self) -> Iterator[Mapping[str, Any] | Skipped]:
        odd, sound, end = False, self._start > 0, self._start
        whole = True
        for line in _ended(self._path, self._start):
            found = line if isinstance(line, Skipped) else _record(line)
            if isinstance(line, bytes) and line.endswith(b"\n"):
                end += len(line)
            elif found is not None:
                whole = False
            if found is None:
                continue
            odd, sound = odd or isinstance(found, Skipped), sound or isinstance(found, dict)
            yield found
        if odd and not sound:
            raise Unreadable(f"'{shown(self._path)}' has no line that is a JSON object")
        self.end = end if whole else None


def document(path: Path) -> Any:
    """Return the one JSON value that a file holds.

    Raises:
        Unreadable: as `lines`, or it is no JSON, or longer than `LONGEST`.
    """
    with _opened(path) as stream:
        content = _read(path, stream, LONGEST + 1)
    if len(content) > LONGEST:
        raise Unreadable(f"'{shown(path)}' is longer than {LONGEST >> 20} MB")
    try:
        return parsed(content)
    except UnicodeDecodeError as error:
        raise Unreadable(f"'{shown(path)}' is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"'{shown(path)}' is no JSON, or torn") from error


def parsed(content: bytes) -> Any:
    """Parse JSON; half a surrogate pair, which no UTF-8 can hold, becomes U+FFFD.

    Raises:
        ValueError: it is no JSON, or no UTF-8.
        RecursionError: it is nested too deeply.
    """
    value = json.loads(content.removeprefix(_BOM).decode())
    return _whole(value) if b"\\ud" in content.lower() else value


def beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file.

    Raises:
        Unreadable: as `lines`.
    """
    with _opened(path) as stream:
        return _read(path, stream, size)


def shown(path: Path) -> str:
    """Return a path as text that can be written anywhere: names need not be UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def files(place: Path, *patterns: str) -> Iterator[Path]:
    """Yield the files below a folder that fit one of `patterns`, in order; or the file itself.

    A pattern without a slash is of names, one with slashes of the ends of paths. Links are
    followed, each folder is entered once. What is no regular file or cannot be listed is yielded
    too: reading it says why. A place that does not exist holds nothing.
    """
    if not place.is_dir():
        if os.path.lexists(place):
            yield place
        return
    yield from _below(place, patterns, set())


def utc(moment: object) -> str:
    """Return an ISO 8601 text, or seconds to nanoseconds since 1970, as an event's time; or ''."""
    if isinstance(moment, str):
        text = moment.strip()
        if len(text) >= 10 and text.isascii() and text.isdigit():
            return _since_1970(float(text))
        return _iso(text)
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return _since_1970(moment)
    return ""


def _ended(path: Path, at: int = 0) -> Iterator[bytes | Skipped]:
    """Yield the lines from a place on, with their ends: only the last may have none."""
    with _opened(path) as stream:
        stream.seek(at)
        start = b"" if at else _BOM
        while line := _read_line(path, stream):
            if len(line) <= LONGEST:
                yield line.removeprefix(start)
            else:
                while line and not line.endswith(b"\n"):
                    line = _read_line(path, stream)
                yield Skipped(f"a line longer than {LONGEST >> 20} MB")
            start = b""


def _record(line: bytes) -> Mapping[str, Any] | Skipped | None:
    """Return a line's object; None where there is nothing, or the line is still being written."""
    if not line.strip():
        return None
    try:
        value = parsed(line)
    except UnicodeDecodeError:
        reason = "a line that is not UTF-8"
    except (ValueError, RecursionError):
        reason = "a line that is no JSON"
    else:
        if isinstance(value, dict):
            return value
        reason = "a line that is no JSON object"
    torn = line.startswith(b"{") and not line.endswith(b"\n")
    return None if torn else Skipped(reason)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def _opened(path: Path) -> BinaryIO:
    """Open a regular file that is not empty; a FIFO would be waited for without `O_NONBLOCK`."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise _unreadable(path, error) from error
    status = os.fstat(file)
    if stat.S_ISREG(status.st_mode) and status.st_size:
        return os.fdopen(file, "rb")
    os.close(file)
    if stat.S_ISREG(status.st_mode):
        raise Unreadable(f"'{shown(path)}' is empty")
    said = next((says for fits, says in _KINDS.items() if fits(status.st_mode)), "is no file")
    raise Unreadable(f"'{shown(path)}' {said}")


def _read(path: Path, stream: BinaryIO, size: int) -> bytes:
    try:
        return stream.read(size)
    except OSError as error:  # the disk, or a network file system
        raise _unreadable(path, error) from error


def _read_line(path: Path, stream: BinaryIO) -> bytes:
    try:
        return stream.readline(LONGEST + 1)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError | ValueError) -> Unreadable:
    said = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
    return Unreadable(f"'{shown(path)}' cannot be read: {said.lower()}")


def _below(
    folder: Path, patterns: tuple[str, ...], entered: set[tuple[int, int]]
) -> Iterator[Path]:
    try:
        status = folder.stat()
        names = sorted(os.listdir(folder))
    except OSError:
        yield folder
        return
    if (status.st_dev, status.st_ino) in entered:
        return
    entered.add((status.st_dev, status.st_ino))
    for path in (folder / name for name in names):
        if os.path.isdir(path):
            yield from _below(path, patterns, entered)
        elif any(path.match(pattern) for pattern in patterns):
            yield path


@lru_cache(maxsize=64)
def _is_day(text: str) -> bool:
    """Whether it is a day such as 2026-11-20, in the one form that `format_at` writes."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _iso(text: str) -> str:
    """Read a text; one without a zone is taken to be UTC."""
    if len(text) == 24 and _MILLISECONDS.fullmatch(text, 10) and _is_day(text[:10]):
        return f"{text[:-1]}000Z"  # nearly all times in transcripts: to parse them takes long
    try:
        moment = datetime.fromisoformat(text)
        return format_at(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):  # the year 1 in a zone east of Greenwich
        return ""


def _since_1970(number: float) -> str:
    unit = next((unit for bound, unit in _UNITS if 0 <= number < bound), None)
    return format_at(datetime.fromtimestamp(number / unit, UTC)) if unit else ""
