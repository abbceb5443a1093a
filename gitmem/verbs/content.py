"""What may be remembered: input, checked and brought into the form that events hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from gitmem.errors import UsageError
from gitmem.journal.clock import format_at
from gitmem.journal.codec import without_floats
from gitmem.journal.fold import NEVER
from gitmem.model import Importance, Scope, render_data
from gitmem.verbs.redaction import WHOLLY_PRIVATE, without_spans

LARGEST = 64 * 1024
"""Longest text of one memory, in bytes of UTF-8."""

LONGEST_TAG = 100
_KIND = re.compile(r"[^\W_][\w-]{0,39}")
_AGE = re.compile(r"(\d{1,5})([hdwmy])", re.ASCII)
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?Z?)?", re.ASCII)


def content(value: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``text`` or ``data`` of an event.

    Raises:
        UsageError: it is empty, too long, has a NUL character, or cannot be written as JSON.
    """
    fields: dict[str, Any] = {}
    if isinstance(value, str):
        fields["text"] = text = value
    else:
        fields["data"], text = _data(value)
    if not text.strip():
        raise UsageError(
            "there is nothing to remember", "give a text, a JSON object, or '-' to read it"
        )
    if "text" in fields and without_spans(text) == WHOLLY_PRIVATE:
        raise UsageError(
            "the text is private as a whole, and nothing of it would be kept",
            "take '<private>' away and give --private: then it stays in this clone",
        )
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LARGEST:
        raise UsageError(
            f"the text has {size:,} bytes, and a memory holds {LARGEST:,}",
            "remember the conclusion, and link the document by its path",
        )
    if "\0" in text:
        raise UsageError(
            "the text has a NUL character", "remove it: git and Markdown treat it as binary"
        )
    return fields


def _data(value: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    try:
        data: dict[str, Any] = without_floats(dict(value))
        return data, render_data(data)
    except (TypeError, ValueError, RecursionError) as error:
        # Not an object; a date or a set within; a number of 5,000 digits; an object within itself.
        raise UsageError(f"this is no JSON object: {error}", "give its text instead") from None


def reason(value: str) -> str:
    """Return a reason or comment, or nothing; see `content` for what it may not be."""
    return str(content(value)["text"]) if value.strip() else ""


def tags(values: Sequence[str]) -> list[str]:
    """Return tags without ``#``, in Unicode's composed form, in order, once each.

    Raises:
        UsageError: one is empty, longer than `LONGEST_TAG` characters, or has a space.
    """
    return list(dict.fromkeys(tag(value) for value in values))


def tag(value: str) -> str:
    """Check one tag; see `tags`."""
    word = unicodedata.normalize("NFC", value.strip().removeprefix("#"))
    shown = word if len(word) <= 30 else word[:30] + "…"
    if not word:
        raise UsageError("a tag is empty", "tags are words, separated by commas")
    if len(word) > LONGEST_TAG:
        raise UsageError(
            f"the tag '{shown}' is longer than {LONGEST_TAG} characters", "a tag is a word or two"
        )
    if not word.isprintable() or any(char.isspace() or char == "," for char in word):
        raise UsageError(f"the tag {shown!r} has a space or a control character", "use '-' instead")
    return word


def importance(value: str | None) -> str | None:
    """Return an importance by its name or first letter.

    Raises:
        UsageError: there is none of that name.
    """
    if value is None:
        return None
    for known in Importance:
        if value.lower() in (known.value, known.value[0]):
            return known.value
    raise UsageError(
        f"unknown importance '{value}'", "critical, high, normal or low; their first letters do"
    )


def kind(value: str | None) -> str | None:
    """Return a kind, one word of an open vocabulary, in lower case.

    Raises:
        UsageError: it is no word, or longer than 40 characters.
    """
    if value is None or _KIND.fullmatch(value):
        return value and value.lower()
    raise UsageError(
        f"the kind '{value[:40]}' is not one word", "for example decision, fact or lesson"
    )


def scope(value: str | None, private: bool, kind: str) -> Scope:
    """Return the scope of a new memory; preferences are the repository's, all else the branch's.

    Raises:
        UsageError: there is no such scope.
    """
    if value is None:
        return Scope.REPO if kind == "preference" and not private else Scope.BRANCH
    try:
        return Scope(value)
    except ValueError:
        raise UsageError(f"unknown scope '{value}'", "branch, repo or user") from None


def moment(value: str, now: datetime, ahead: bool) -> str:
    """Read a date, a time, or an age such as ``30d`` (`ahead` of now, or ago) as an event time.

    Raises:
        UsageError: it is none of them.
    """
    try:
        if match := _AGE.fullmatch(value):
            span = timedelta(hours=int(match[1]) * _HOURS[match[2]])
            return format_at(now + span if ahead else now - span)
        if match := _DATE.fullmatch(value):
            time = f"{match[1]}T{match[2] or '00:00'}{match[3] or ':00'}+00:00"
            return format_at(datetime.fromisoformat(time))
    except (ValueError, OverflowError):  # no such day, or an age that leaves the calendar
        pass
    raise UsageError(
        f"'{value}' is no date", "write 2026-12-31, 2026-12-31T18:00 or an age such as 30d"
    )


def expiry(value: str | None, now: datetime) -> str | None:
    """Return when a memory expires; ``never`` takes an expiry back."""
    if value is None or value == NEVER:
        return value
    return moment(value, now, ahead=True)
