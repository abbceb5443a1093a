"""Private keys between `-----BEGIN …-----` and `-----END …-----`, and those with one of the two.

Tool output is cut in the middle of a key as often as not, so half a key is taken for a key; a
sentence that only names the markers is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

MARKER = re.compile(r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
HEADERS = re.compile(r"(?:(?:\s|\\n){1,4}[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,100}){0,9}")
NUMBER = r"(?<=\n)[ ]{0,8}\d{1,6}(?:→|\t)"  # of a line, as agents' tools print files
TOKEN = re.compile(rf"{NUMBER}|\\{{1,4}}[nrt]|(?P<run>[A-Za-z0-9+/=]+)")
GAP = re.compile(rf"(?:{NUMBER}|\s|\\{{1,4}}[nrt]|[\"'>|+,#*]){{0,24}}")
"""What may stand between two lines of a key: white space, its escapes, and what marks a line."""

NEWLINE = re.compile(r"[ \t]*(?:\r?\n|\\{1,4}[nr])")

LINE, SHORT = 20, 200
"""Fewest characters of a line of base64 that is not the last one, and of a key's lines."""

LAST = re.compile(r"[0-9+/=]|[a-z][A-Z]")
"""What a last line has, short or cut short, and the word after a torn key has not."""

Span = tuple[int, int]


def private_keys(text: str) -> Iterator[Span]:
    """Yield where private keys stand in `text`, whole or torn, in order."""
    if "PRIVATE KEY" not in text:
        return
    edges: list[tuple[str, int, int]] = [("", 0, 0)]
    edges += [(mark[1], *mark.span()) for mark in MARKER.finditer(text)]
    edges.append(("", len(text), len(text)))
    for (before, start, begin), (after, end, stop) in pairwise(edges):
        if before == "BEGIN" and after == "END" and _is_key(text, begin, end):
            yield start, stop
            continue
        if before == "BEGIN" and (torn := _after(text, begin, end)):
            yield start, torn
        if after == "END" and (torn := _before(text, begin, end)) is not None:
            yield torn, stop


def _is_key(text: str, start: int, end: int) -> bool:
    """Return whether a key stands between two markers, or next to nothing, and not a sentence."""
    length = sum(len(run[0]) for run in _runs(text, start, end) if len(run[0]) >= LINE)
    short = end - start < SHORT and bool(NEWLINE.match(text, start, end))
    return short or 2 * length > end - start


def _after(text: str, start: int, end: int) -> int | None:
    """Return where the key that begins at `start` is torn, None if there is none."""
    headers = HEADERS.match(text, start, end)
    place = headers.end() if headers else start
    found = None
    for run in _runs(text, place, end):
        line = len(run[0]) >= LINE or (found and LAST.search(run[0]))
        if not (line and GAP.fullmatch(text, place, run.start())):
            break
        found = place = run.end()
    return found


def _before(text: str, start: int, end: int) -> int | None:
    """Return where the rest of a key that ends at `end` begins, None if there is none."""
    place, found = end, None
    for run in reversed(list(_runs(text, start, end))):
        last = place == end  # may be short
        if not GAP.fullmatch(text, run.end(), place) or (len(run[0]) < LINE and not last):
            break
        place = run.start()
        found = place if len(run[0]) >= LINE else found
    return found


def _runs(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the runs of base64 between two places; the n of an escaped line end is none."""
    return (token for token in TOKEN.finditer(text, start, end) if token["run"])
