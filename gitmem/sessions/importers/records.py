"""Reading what others write, perhaps at this moment: torn, odd or endless, never fatal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.sessions.model import Skipped

LONGEST = 64 * 2**20
"""Bytes of the longest line or document that is read; a longer one is skipped."""


def lines(path: Path) -> Iterator[bytes | Skipped]:
    """Yield the lines of a regular file without their ends, in bounded memory.

    Raises:
        Unreadable: it is no regular file (a folder, a FIFO, a loop of links), or out of reach.
    """
    raise NotImplementedError


def records(path: Path) -> Iterator[Mapping[str, Any] | Skipped]:
    """Yield the JSON objects of a file of lines; a torn last line is left for the next time."""
    raise NotImplementedError


def document(path: Path) -> Any:
    """Return the one JSON value that a file holds.

    Raises:
        Unreadable: as `lines`, or it is no JSON, or longer than `LONGEST`.
    """
    raise NotImplementedError


def files(place: Path, *patterns: str) -> Iterator[Path]:
    """Yield the regular files below a folder that fit one of `patterns`, in order; or the file."""
    raise NotImplementedError


def utc(moment: object) -> str:
    """Return an ISO 8601 text, or seconds or milliseconds since 1970, as an event's time; or ''."""
    raise NotImplementedError
