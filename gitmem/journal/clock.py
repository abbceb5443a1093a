"""The hybrid clock: event times that never run backwards, whatever the machine's clock does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
"""The fixed pattern of an event's ``at``."""

CREDIBLE = timedelta(days=1)
"""How far ahead of this machine's clock an event may be and still advance ours."""


def format_at(moment: datetime) -> str:
    """Return `moment` as ``2026-11-20T10:11:12.345678Z``."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_at(at: str) -> datetime:
    """Read an event time; ValueError where the digits are no date."""
    return datetime.strptime(at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def horizon(now: datetime) -> str:
    """Return the latest credible event time; one of the year 9999 must not stop the clock there."""
    return format_at(now + CREDIBLE)


def next_at(now: datetime, latest: str | None) -> str:
    """Return the next event's time: now, or a microsecond after `latest`, the greatest seen."""
    at = format_at(now)
    if latest is None or latest < at:
        return at
    try:
        return format_at(parse_at(latest) + timedelta(microseconds=1))
    except (ValueError, OverflowError):  # fits the pattern but names no date: 2026-02-31
        return at


def of_seconds(seconds: int) -> str:
    """Return an event time for seconds since 1970."""
    return format_at(datetime.fromtimestamp(seconds, UTC))
