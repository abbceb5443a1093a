"""A mirror file as bytes: gitmem's block in it, and every other byte as it was.

A region runs from the ``<`` of the begin marker to the ``>`` of the end marker. Where the end
marker is missing it stops after the last line that carries a memory's id: what follows may be
somebody's text, and text taken for the user's is kept, text taken for gitmem's is not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

ID_COMMENT = r"<!--\s*[0-9a-fA-F]{4,64}(?:\s+[^\s<>]+)*\s*-->"
"""A comment that may hold a memory's id."""

_BEGIN = (
    rb"(?m)^(?:\xef\xbb\xbf)?[ \t]{0,3}(<!--[ \t]*gitmem:begin(?:[ \t]+([^\s>]*))?[ \t]*-->)"
    rb"[ \t]*\r?$"
)
_END = rb"(?m)^[ \t]{0,3}(<!--[ \t]*gitmem:end[ \t]*-->)[ \t]*\r?$"
_CONFLICT = rb"(?m)^(?:<{7}|>{7}|\|{7})(?: .*)?\r?$"
_OWN_LINE = rb"(?m)^.*" + ID_COMMENT.encode() + rb".*$(?:\n(?:[ \t]*\r?\n)*[ \t]+\S.*$)*"

CONFLICT = "has conflict markers in gitmem's block; gitmem reads it when they are gone"
NOT_UTF8 = "has bytes that are not UTF-8 in gitmem's block; gitmem reads it when they are gone"
NOT_TEXT = "is not UTF-8 text; gitmem leaves it alone"


class Region(NamedTuple):
    """One block: where it is, the digest its marker gives, and its text with ``\\n`` line ends."""

    start: int
    end: int
    digest: str
    text: str
    closed: bool

    @property
    def edited(self) -> bool:
        """Whether somebody changed it since it was rendered."""
        return digest(self.text) != self.digest


class Document(NamedTuple):
    """A file as read; `problem` says why its blocks cannot be trusted, '' when they can."""

    raw: bytes
    regions: tuple[Region, ...] = ()
    problem: str = ""

    @property
    def edited(self) -> bool:
        """Whether any block was changed since it was rendered."""
        return any(region.edited for region in self.regions)

    def replace(self, block: str, moved: str = "") -> bytes:
        """Return the file with `block` in the first block's place and `moved` below it.

        Further blocks are dropped. A file without a block gets it at the end; a file that ends
        without a newline still does, which is how `without_block` knows what to take away.
        """
        newline = b"\r\n" if b"\r\n" in (self._first() or self.raw[-2:]) else b"\n"
        parts = [block] + ([moved] if moved else [])
        text = "\n\n".join(parts).encode().replace(b"\n", newline)
        if self.regions:
            gaps = self._outside()
            return gaps[0] + text + b"".join(gaps[1:])
        if not self.raw.strip(b"\xef\xbb\xbf"):
            return self.raw + text
        if self.raw.endswith(b"\n"):
            return self.raw + newline + text + newline
        return self.raw + newline * 2 + text

    def without_block(self) -> bytes:
        """Return the file without any block: after `replace` on a file without one, that file."""
        gaps = self._outside()
        if len(gaps) != 2:
            return b"".join(gaps)
        before, after = gaps
        newline = b"\r\n" if before.endswith(b"\r\n") else b"\n"
        if after in (b"", newline) and before.endswith(newline * 2):
            return before[: -len(newline) * (1 if after else 2)]
        return before + after

    def _outside(self) -> list[bytes]:
        """Return the bytes before, between and after the blocks."""
        starts = [*(region.start for region in self.regions), len(self.raw)]
        ends = [0, *(region.end for region in self.regions)]
        return [self.raw[end:start] for end, start in zip(ends, starts, strict=True)]

    def _first(self) -> bytes:
        region = self.regions[0] if self.regions else None
        return self.raw[region.start : region.end] if region else b""


def read(raw: bytes) -> Document:
    """Find gitmem's blocks in a file's bytes; anything is accepted."""
    if b"\0" in raw or raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Document(raw, problem=NOT_TEXT)
    spans = list(_spans(raw))
    if any(_overlaps(conflict, span[:2]) for conflict in _conflicts(raw) for span in spans):
        return Document(raw, problem=CONFLICT)
    try:
        regions = tuple(_region(raw, *span) for span in spans)
    except UnicodeDecodeError:
        return Document(raw, problem=NOT_UTF8)
    return Document(raw, regions)


def as_block(raw: bytes, start: int, end: int) -> Document:
    """Return a file without a block as if those bytes of it were one that somebody edited."""
    if any(_conflicts(raw)):
        return Document(raw, problem=CONFLICT)
    try:
        text = raw[start:end].decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return Document(raw, problem=NOT_UTF8)
    return Document(raw, (Region(start, end, "", text, closed=False),))


def digest(text: str) -> str:
    """Return the digest of a block's text; line ends and trailing white space do not count."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return hashlib.sha256("\n".join(lines).strip("\n").encode()).hexdigest()[:12]


def enclose(text: str) -> str:
    """Return a block: `text` between its markers."""
    return f"<!-- gitmem:begin {digest(text)} -->\n{text}\n<!-- gitmem:end -->"


def _spans(raw: bytes) -> Iterator[tuple[int, int, re.Match[bytes], re.Match[bytes] | None]]:
    """Yield start, end, begin marker and end marker of each block."""
    begins = list(re.finditer(_BEGIN, raw))
    for begin, following in zip(begins, [*begins, None][1:], strict=True):
        limit = following.start(1) if following else len(raw)
        end = re.compile(_END).search(raw, begin.end(), limit)
        yield begin.start(1), end.end(1) if end else _last_own(raw, begin.end(1), limit), begin, end


def _last_own(raw: bytes, start: int, limit: int) -> int:
    """Return where a block without an end marker stops."""
    stop = start
    for line in re.compile(_OWN_LINE).finditer(raw, start, limit):
        stop = line.end()
    return stop - raw[:stop].endswith(b"\r")


def _region(
    raw: bytes, start: int, stop: int, begin: re.Match[bytes], end: re.Match[bytes] | None
) -> Region:
    text = raw[begin.end(1) : end.start(1) if end else stop].decode().replace("\r\n", "\n")
    digest = (begin[2] or b"").decode()
    return Region(start, stop, digest, text.removeprefix("\n").removesuffix("\n"), end is not None)


def _conflicts(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans that conflict markers enclose; one that is alone spans its line."""
    opened: int | None = None
    for mark in re.finditer(_CONFLICT, raw):
        if mark[0].startswith(b"<"):
            opened = mark.start()
        elif mark[0].startswith(b">") and opened is not None:
            yield opened, mark.end()
            opened = None
        else:
            yield mark.span()
    if opened is not None:
        yield opened, opened + 7


def _overlaps(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
