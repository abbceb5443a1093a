"""Dates that a question names, and how near to them something was said. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from math import exp
from typing import NamedTuple

TOLD_LATER = 10.0
"""Days after which what happened is told a third as often: people write of last week too."""

TOLD_BEFORE = 3.0
"""The same for what is told before it happens."""

_MONTHS = "january february march april may june july august september october november december"
_NUMBER = {name[:size]: i for i, name in enumerate(_MONTHS.split(), 1) for size in (3, len(name))}
_NUMBER["sept"] = 9
_AGO = {"day": 1, "week": 7, "month": 30, "year": 365}


_SIGNS = frozenset([*_NUMBER, "today", "yesterday", "this", "last", "ago"])
"""Words of which one stands in a text that names a date without a digit."""


class Span(NamedTuple):
    """The days from `first` to `last`; where `yearly`, of any year."""

    first: date
    last: date
    yearly: bool = False


def named_dates(text: str, today: date | None = None) -> tuple[Span, ...]:
    """Return the days, months and years that `text` names; "yesterday" needs `today`."""
    if _SIGNS.isdisjoint(re.findall(r"\w+", text.lower())) and not any(
        char.isdigit() or char in "今昨上去" for char in text
    ):
        return ()  # most questions: ten expressions are not compiled for them
    found = [*_absolute(text), *(_relative(text, today) if today else ())]
    return tuple(dict.fromkeys(found))


def nearness(spans: Sequence[Span], at: str) -> float:
    """Return how near to the nearest span it is, 1 for within, falling to 0 with the days between.

    `at` is a UTC string as in events; anything else is near to nothing.
    """
    try:
        day = date.fromisoformat(at[:10])
    except ValueError:
        return 0.0
    return max((_near(fixed, day) for span in spans for fixed in _fixed(span, day)), default=0.0)


def _near(span: Span, day: date) -> float:
    later, before = (day - span.last).days, (span.first - day).days
    return exp(-later / TOLD_LATER) if later > 0 else exp(-max(before, 0) / TOLD_BEFORE)


def _fixed(span: Span, day: date) -> Iterator[Span]:
    """Yield a span, or where it is yearly those of the years about `day`."""
    if not span.yearly:
        yield span
        return
    for year in range(max(day.year - 1, 1), min(day.year + 1, 9999) + 1):
        month, ends = span.first.month, (span.first.day, span.last.day)
        last = monthrange(year, month)[1]
        first, final = (date(year, month, min(end, last)) for end in ends)
        yield Span(first, final)


# -- reading ----------------------------------------------------------------------------------


@cache  # not at import: most questions name no date
def _patterns() -> tuple[re.Pattern[str], ...]:
    month = rf"(?P<month>{'|'.join(sorted(_NUMBER, key=len, reverse=True))})\b\.?"
    year, day = r"(?P<year>(?:19|20)\d\d)(?!\d)", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\w)"
    within = (
        r"\b(?:in|of|by|since|until|till|before|after|during|early|mid|late|last|this|next)[ -]"
    )
    return tuple(
        re.compile(form, re.IGNORECASE)
        for form in (
            r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)(?!\d)",
            r"(?<!\d)(?:(?P<year>(?:19|20)\d\d) ?年 ?)?(?P<month>\d\d?) ?月"
            r"(?: ?(?P<day>\d\d?) ?[日号號])?",
            rf"(?<!\w){day} (?:of )?{month}(?:,? {year})?",
            rf"\b{month} {day}(?:,? ?{year})?",
            rf"\b{month},? {year}",
            r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/](?P<month>\d\d)(?![-/\d])",
            rf"{within}(?:the )?{month}",  # a bare "may" or "march" is a word
            rf"(?<![\w.#/-]){year}(?![\w/-]|\.\d)",
        )
    )


def _absolute(text: str) -> Iterator[Span]:
    for pattern in _patterns():
        for match in pattern.finditer(text):
            span = _span(match.groupdict())
            if span:
                yield span
        text = pattern.sub(lambda match: " " * len(match[0]), text)


def _span(named: dict[str, str | None]) -> Span | None:
    month, day = named.get("month"), named.get("day")
    year = int(named.get("year") or 0)
    try:
        number = (_NUMBER.get(month.lower()) or int(month)) if month else 0
        if not number:
            return Span(date(year, 1, 1), date(year, 12, 31))
        last = monthrange(year or 2000, number)[1]
        first = date(year or 2000, number, int(day or 1))
        return Span(first, first if day else first.replace(day=last), yearly=not year)
    except ValueError:  # the 31st of June, month 13
        return None


_COUNT = {name: n for n, name in enumerate("one two three four five six".split(), 1)}
_COUNT |= {"a": 1, "an": 1}
_CJK = {
    "今天": (0, 0),
    "昨天": (1, 1),
    "上周": (13, 1),
    "上个月": (60, 1),
    "上個月": (60, 1),
    "去年": (700, 30),
}
"""Days from the first to the last that is meant, counted back: people say it loosely."""


@cache
def _relative_pattern() -> re.Pattern[str]:
    unit = "(day|week|month|year)"
    return re.compile(
        rf"\b(?:(today|yesterday)|(this|last) {unit}|(\d{{1,3}}|{'|'.join(_COUNT)}) {unit}s? ago)\b"
        rf"|({'|'.join(_CJK)})",
        re.IGNORECASE,
    )


def _relative(text: str, today: date) -> Iterator[Span]:
    """Yield the days that are named by how long ago they were."""
    for match in _relative_pattern().finditer(text.lower()):
        day, which, unit, count, of, cjk = match.groups()
        if day:
            first = last = int(day == "yesterday")
        elif cjk:
            first, last = _CJK[cjk]
        elif which:
            length = _AGO[unit]
            first, last = (length - 1, 0) if which == "this" else (2 * length - 1, 1)
        else:
            ago = _AGO[of] * (_COUNT.get(count) or int(count))
            first, last = ago + _AGO[of] // 2, ago - _AGO[of] // 2
        try:
            yield Span(today - timedelta(first), today - timedelta(last))
        except OverflowError:  # 999 years before the year 500
            continue
