"""Files as passages: what of a file is text that somebody wrote, and where it is cut. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

FEWEST, MOST = 20, 40
"""Lines of a passage, where a blank line allows it."""

WIDEST = 8_000
"""Characters of a passage, unless one line has more."""

_FOLDERS = frozenset(
    ".tox .venv .yarn __pycache__ bower_components jspm_packages node_modules site-packages".split()
)
_NAMES = re.compile(
    r"""
    .*\.(?:lock|lockfile|lock\.hcl) | .*[.-]lock\.(?:json|yaml|yml)
    | go\.sum | npm-shrinkwrap\.json | .*\.snap
    | .*[.-](?:min|bundle)\.(?:js|mjs|cjs|css) | .*\.(?:js|mjs|cjs|css|ts)\.map
    | .*_pb2(?:_grpc)?\.pyi? | .*\.pb(?:\.gw)?\.(?:go|cc|h) | .*\.(?:g|freezed)\.dart
    | .*\.designer\.cs
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MARK = re.compile(r"^\W{1,5}\s*(?:Code generated .* DO NOT EDIT|@generated\b)", re.MULTILINE)
_MARKED_WITHIN = 2_000

_DENSE = re.compile(r".*\.(?:js|mjs|cjs|css|json|html?)", re.IGNORECASE)
_MINIFIED, _DATA = 200, 2_000  # mean length of a line, where a tool wrote it
_SMALL = 10_000

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_LATIN = 0.1


class Passage(NamedTuple):
    """Lines of a file, from `line` on; the first is 1."""

    line: int
    text: str


def text_of(data: bytes) -> str | None:
    """Return the text that bytes hold, lines ended as on Unix; None if they are none.

    Mostly ASCII that is no UTF-8 is read as Latin-1: what is sought in it is rarely an umlaut.
    """
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        ascii = len(data.translate(None, bytes(range(128, 256))))
        if len(data) - ascii > _LATIN * len(data) or len(data.translate(None, _CONTROLS)) < len(
            data
        ):
            return None
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n")


def named_as_generated(path: str) -> bool:
    """Whether a path is that of a lock file, of a minified or generated one, or of a package's."""
    *folders, name = path.split("/")
    return not _FOLDERS.isdisjoint(folders) or bool(_NAMES.fullmatch(name))


def looks_generated(path: str, text: str) -> bool:
    """Whether a text says that it is generated, or has lines that nobody wrote."""
    if _MARK.search(text[:_MARKED_WITHIN]):
        return True
    lines = text.count("\n") + 1
    return len(text) > max(_SMALL, lines * (_MINIFIED if _DENSE.fullmatch(path) else _DATA))


def cut(text: str) -> Iterator[Passage]:
    """Yield the passages of a text, in order, those without a word or sign left out."""
    lines = text.split("\n")
    start = 0
    while start < len(lines):
        end = _end(lines, start)
        passage = "\n".join(lines[start:end])
        if not passage.isspace() and passage:
            yield Passage(start + 1, passage)
        start = end


def _end(lines: list[str], start: int) -> int:
    """Return the line after a passage: of those that a blank line sets off, the least indented.

    Of several the last is taken.
    """
    room = WIDEST
    best, least = 0, 0
    for at in range(start, min(start + MOST, len(lines))):
        if at - start >= FEWEST and lines[at] and not lines[at - 1].strip():
            indent = len(lines[at]) - len(lines[at].lstrip())
            if not best or indent <= least:
                best, least = at, indent
        room -= len(lines[at]) + 1
        if room < 0:
            return max(at, start + 1)
    end = start + MOST
    return len(lines) if end >= len(lines) else best or end
