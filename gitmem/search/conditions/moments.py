"""Dates, times and ages as people write them: each is a span of time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from gitmem.journal.clock import format_at

FORMS = "a date such as 2026-12-31, a time such as 2026-12-31T18:00 or an age such as 7d"
"""What `span` reads, for people."""

_AGE = re.compile(r"(\d{1,5})([hdwmy])", re.ASCII)
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?Z?)?", re.ASCII)


class Span(NamedTuple):
    """From `start` up to `end`, as event times; an age is a moment, and `end` empty."""

    start: str
    end: str


def span(text: str, now: datetime) -> Span:
    """Read a date (its day), a time (its minute or second), or an age before `now`, all in UTC.

    Raises:
        ValueError: it is none of them.
    """
    try:
        if match := _AGE.fullmatch(text):
            return Span(format_at(now - timedelta(hours=int(match[1]) * _HOURS[match[2]])), "")
        if match := _DATE.fullmatch(text):
            time = f"{match[1]}T{match[2] or '00:00'}{match[3] or ':00'}+00:00"
            start = datetime.fromisoformat(time)
            last = datetime.max.replace(
                tzinfo=start.tzinfo
            )  # the calendar's: no day comes after it
            length = _length(match)
            return Span(
                format_at(start), format_at(start + length if last - start > length else last)
            )
    except OverflowError:  # an age that leaves the calendar
        pass
    raise ValueError(f"'{text}' is no date")


def _length(match: re.Match[str]) -> timedelta:
    if match[3]:
        return timedelta(seconds=1)
    return timedelta(minutes=1) if match[2] else timedelta(days=1)
