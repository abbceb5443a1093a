"""What to show of a text that matched: the passage with most of the terms, and where they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from gitmem.text.analysis import terms

ELLIPSIS = "…"

_SLACK = 20  # characters given up at either end so as to cut between words


def matches(text: str, wanted: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return where `wanted` terms stand in `text`, as (start, end) in order, none touching."""
    merged: list[tuple[int, int]] = []
    for start, end, _ in sorted(_found(text, wanted)):
        if merged and start <= merged[-1][1]:
            start, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((start, end))
    return merged


def snippet(text: str, wanted: Callable[[str], bool], width: int = 160) -> str:
    """Return the passage of `text`, on one line, that holds most `wanted` terms; else its start.

    It is at most `width` characters long, the ellipses at its ends included.
    """
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    room = max(1, width - 2 * len(ELLIPSIS))
    first, last = _densest(line, wanted, room)
    begin = max(0, min(first - (room - (last - first)) // 3, len(line) - room))
    end = begin + room
    if begin and (space := line.find(" ", begin - 1, min(begin + _SLACK, first))) >= 0:
        begin = space + 1
    if end < len(line) and (space := line.rfind(" ", max(end - _SLACK, last), end + 1)) >= 0:
        end = space
    head, tail = ELLIPSIS * (begin > 0), ELLIPSIS * (end < len(line))
    return f"{head}{line[begin:end].strip()}{tail}"


def _found(text: str, wanted: Callable[[str], bool]) -> list[tuple[int, int, str]]:
    return [(t.start, t.end, t.text) for t in terms(text) if wanted(t.text)]


def _densest(line: str, wanted: Callable[[str], bool], room: int) -> tuple[int, int]:
    """Return where the stretch of at most `room` characters with most distinct terms is."""
    found = [place for place in _found(line, wanted) if place[1] - place[0] <= room]
    inside: Counter[str] = Counter()
    best, most, first = (0, 0), 0, 0
    for _, end, term in found:
        inside[term] += 1
        while end - found[first][0] > room:
            inside[found[first][2]] -= 1
            first += 1
        distinct = sum(1 for count in inside.values() if count)
        if distinct > most:
            best, most = (found[first][0], end), distinct
    return best
