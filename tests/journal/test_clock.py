"""The hybrid clock: a writer's times run forwards, past all it has seen that can be believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.journal.clock import AT, CREDIBLE, format_at, horizon, next_at, parse_at

NOW = datetime(2026, 2, 28, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
skews = st.timedeltas(timedelta(days=-400), timedelta(days=400))
NO_DATES = [
    "2026-02-31T00:00:00.000000Z",
    "2026-03-00T00:00:00.000000Z",
    "2026-02-28T24:00:00.000000Z",
    "2026-02-28T12:60:00.000000Z",
    "2026-02-28T13:00:61.000000Z",
]


@given(moments)
def test_a_time_has_the_fixed_form_and_reads_back(moment: datetime) -> None:
    at = format_at(moment)
    assert AT.fullmatch(at) and len(at) == 27
    assert parse_at(at) == moment


@given(moments, moments)
def test_times_sort_as_text(one: datetime, other: datetime) -> None:
    assert (format_at(one) < format_at(other)) == (one < other)


def test_a_time_of_another_zone_is_written_in_utc() -> None:
    east = datetime(2026, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert format_at(east) == "2026-02-28T23:30:00.000000Z"


@given(moments, skews)
def test_the_next_is_after_the_latest_and_not_before_now(now: datetime, skew: timedelta) -> None:
    latest = format_at(now + skew)
    at = next_at(now, latest)
    assert at == max(format_at(now), format_at(now + skew + MICROSECOND))
    assert at > latest and at >= format_at(now)


def test_the_first_is_now() -> None:
    assert next_at(NOW, None) == format_at(NOW)


@given(moments, st.integers(1, 50))
def test_a_clock_that_stands_still_still_advances(now: datetime, count: int) -> None:
    times: list[str] = []
    for _ in range(count):
        times.append(next_at(now, times[-1] if times else None))
    assert times == sorted(set(times))


@given(st.lists(st.tuples(st.integers(0, 3), skews, st.booleans()), max_size=40), moments)
def test_writers_with_wrong_clocks_never_run_backwards(
    steps: list[tuple[int, timedelta, bool]], start: datetime
) -> None:
    """Each writer's clock jumps as it likes; what it has seen and can believe lies behind it."""
    journal: list[str] = []
    seen: dict[int, list[str]] = {writer: [] for writer in range(4)}
    for writer, skew, reads in steps:
        if reads:
            seen[writer] = list(journal)
        now = start + skew
        credible = [at for at in seen[writer] if at <= horizon(now)]
        at = next_at(now, max(credible, default=None))
        assert all(at > other for other in credible)
        assert at <= format_at(now + CREDIBLE + MICROSECOND)
        journal.append(at)
        seen[writer].append(at)


def test_a_day_ahead_is_credible_and_more_is_not() -> None:
    assert horizon(NOW) == "2026-03-01T12:00:00.000000Z"
    assert horizon(NOW) < "9999-12-31T23:59:59.999999Z"
    assert next_at(NOW, horizon(NOW)) == "2026-03-01T12:00:00.000001Z"


@pytest.mark.parametrize("at", [*NO_DATES, "9999-12-31T23:59:59.999999Z"])
def test_a_latest_that_has_no_next_does_not_stop_the_clock(at: str) -> None:
    assert AT.fullmatch(at)
    assert next_at(NOW, at) == format_at(NOW)


@pytest.mark.parametrize("at", NO_DATES)
def test_what_fits_the_pattern_and_names_no_date_cannot_be_read(at: str) -> None:
    with pytest.raises(ValueError):
        parse_at(at)
