"""The short way to read a time says what the long way says."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gitmem.journal.clock import format_at
from gitmem.sessions.importers.records import utc

PARTS = st.tuples(*(st.integers(0, limit) for limit in (9999, 13, 32, 25, 61, 61, 999)))


@given(PARTS)
def test_a_time_as_javascript_writes_it(parts: tuple[int, ...]) -> None:
    text = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z".format(*parts)
    try:
        *rest, milliseconds = parts
        expected = format_at(datetime(*rest, milliseconds * 1000, tzinfo=UTC))
    except ValueError:
        expected = ""
    assert utc(text) == expected
