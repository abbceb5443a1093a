"""What may be remembered, and what is a usage error before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import UsageError
from gitmem.journal.clock import AT, parse_at
from gitmem.journal.codec import DEEPEST, encode
from gitmem.model import Importance, Scope
from gitmem.verbs import content

NOW = datetime(2026, 11, 20, 10, 11, 12, 345678, UTC)


def refused(error: pytest.ExceptionInfo[UsageError], *words: str) -> None:
    """Check that an error has the form of all errors: in lower case, no full stop, with a hint."""
    message = error.value.message
    assert message[:1].islower() or message[:1] == "'"
    assert error.value.hint and not message.endswith(".")
    assert all(word in message for word in words), message


# -- text and data ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Use PostgreSQL",
        "  kept as typed\n\n",
        "two\nlines\r\n\tand a tab",
        "\u202eright to left\u200f",
        "🎉 é e\u0301 \u2028",
        "\x1b[31mred\x07",
        "x" * content.LARGEST,
        "é" * (content.LARGEST // 2),
    ],
)
def test_text_is_stored_as_typed(text: str) -> None:
    assert content.content(text) == {"text": text}


@pytest.mark.parametrize("text", ["", " ", "\n\t\r\n", "\u2028\u00a0", "\x1f \x0b"])
def test_no_text_is_nothing_to_remember(text: str) -> None:
    with pytest.raises(UsageError) as error:
        content.content(text)
    refused(error, "nothing to remember")


def test_no_object_is_nothing_to_remember() -> None:
    with pytest.raises(UsageError):
        content.content({})


@pytest.mark.parametrize("text", ["x" * (content.LARGEST + 1), "é" * content.LARGEST, "x" * 2**20])
def test_text_that_is_too_long(text: str) -> None:
    size = f"{len(text.encode()):,}"
    for value in (text, {"key": text}):
        with pytest.raises(UsageError) as error:
            content.content(value)
        refused(error, "65,536")
        assert isinstance(value, dict) or size in error.value.message


@pytest.mark.parametrize("value", ["a\0b", {"key": "a\0b"}, {"a\0b": 1}])
def test_a_nul_character(value: str | Mapping[str, Any]) -> None:
    with pytest.raises(UsageError) as error:
        content.content(value)
    refused(error, "NUL")


def test_an_object_is_stored_with_its_floats_as_text() -> None:
    value = {"a": 0.5, "b": [1, {"c": 2.5}], "d": (True, None), 3: "x"}
    stored = {"a": "0.5", "b": [1, {"c": "2.5"}], "d": [True, None], "3": "x"}
    assert content.content(value) == {"data": stored}  # type: ignore[arg-type]


def _within_itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


NO_JSON = {
    "a list": ["x"],
    "a number": 7,
    "nothing": None,
    "bytes": b"x",
    "a date within": {"when": date(2026, 11, 20)},
    "a set within": {"tags": [{"a", "b"}]},
    "a number of 5,000 digits": {"n": 10**5000},
    "an object within itself": _within_itself(),
}


@pytest.mark.parametrize("value", NO_JSON.values(), ids=NO_JSON.keys())
def test_what_is_no_json_object(value: Any) -> None:
    with pytest.raises(UsageError) as error:
        content.content(value)
    refused(error, "no JSON object")


def test_half_a_character_and_deep_nesting_are_refused_on_the_way_to_a_line() -> None:
    deep: Any = "x"
    for _ in range(DEEPEST):
        deep = [deep]
    for value in ("half \ud83d", {"half": "\ud83d"}, {"\udcff": 1}, {"deep": deep}):
        with pytest.raises(UsageError):
            encode({"at": "2026", "op": "remember", **content.content(value)})


@given(st.text(), st.dictionaries(st.text(), st.text() | st.floats() | st.lists(st.floats())))
def test_whatever_is_accepted_can_be_written(text: str, data: dict[str, Any]) -> None:
    for value in (text, data):
        try:
            fields = content.content(value)
            encode({"at": "2026", "op": "remember", **fields})
        except UsageError:
            continue


# -- tags, kinds, importance, scope -------------------------------------------------------------


def test_tags_lose_their_hash_and_their_doubles() -> None:
    given = ["database", "#sql", " db ", "topic:Auth", "sql", "数据库", "c++", "a_b-c.d"]
    expected = ["database", "sql", "db", "topic:Auth", "数据库", "c++", "a_b-c.d"]
    assert content.tags(given) == expected
    assert content.tags([]) == []
    assert content.tag("x" * content.LONGEST_TAG)


@pytest.mark.parametrize(
    "tag",
    ["", " ", "#", "# ", "a b", "a,b", "a\tb", "a\nb", "a\0", "\x1b[1m", "a\u202eb", "a\u2028b",
     "x" * 101, "x" * 10_000, "\ud83d", "a\u00a0b"],
)  # fmt: skip
def test_what_is_no_tag(tag: str) -> None:
    with pytest.raises(UsageError) as error:
        content.tags(["good", tag])
    refused(error, "tag")
    assert len(error.value.message) < 100
    error.value.message.encode("utf-8")


@pytest.mark.parametrize("importance", Importance)
def test_importance_by_name_or_letter(importance: Importance) -> None:
    for word in (importance.value, importance.value[0], importance.value.upper()):
        assert content.importance(word) == importance.value
    assert content.importance(None) is None


@pytest.mark.parametrize("word", ["", "urgent", "hi", "critical ", "0", "нормально"])
def test_an_unknown_importance(word: str) -> None:
    with pytest.raises(UsageError) as error:
        content.importance(word)
    refused(error, "importance")
    assert "critical" in error.value.hint


def test_a_kind_is_one_word() -> None:
    assert content.kind("Decision") == "decision"
    assert content.kind("api-note_2") == "api-note_2"
    assert content.kind("決定") == "決定"
    assert content.kind(None) is None


@pytest.mark.parametrize("word", ["", " ", "two words", "-x", "_x", "a\n", "a/b", "x" * 41, "#x"])
def test_what_is_no_kind(word: str) -> None:
    with pytest.raises(UsageError) as error:
        content.kind(word)
    refused(error, "kind")


@pytest.mark.parametrize(
    ("value", "private", "kind", "scope"),
    [
        (None, False, "decision", Scope.BRANCH),
        (None, False, "preference", Scope.REPO),
        (None, True, "preference", Scope.BRANCH),
        ("branch", False, "preference", Scope.BRANCH),
        ("repo", False, "note", Scope.REPO),
        ("user", False, "note", Scope.USER),
    ],
)
def test_scope(value: str | None, private: bool, kind: str, scope: Scope) -> None:
    assert content.scope(value, private, kind) is scope


@pytest.mark.parametrize("word", ["", "Branch", "world"])
def test_an_unknown_scope(word: str) -> None:
    with pytest.raises(UsageError) as error:
        content.scope(word, False, "note")
    refused(error, "scope")


# -- times --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2026-12-31", "2026-12-31T00:00:00.000000Z"),
        ("2026-12-31T18:00", "2026-12-31T18:00:00.000000Z"),
        ("2026-12-31 18:00:59", "2026-12-31T18:00:59.000000Z"),
        ("2026-12-31T18:00:59Z", "2026-12-31T18:00:59.000000Z"),
        ("0001-01-01", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31", "9999-12-31T00:00:00.000000Z"),
    ],
)
def test_dates(value: str, at: str) -> None:
    assert content.moment(value, NOW, ahead=True) == content.moment(value, NOW, ahead=False) == at


@pytest.mark.parametrize(
    ("value", "ahead", "ago"),
    [
        ("1h", "2026-11-20T11:11:12", "2026-11-20T09:11:12"),
        ("30d", "2026-12-20T10:11:12", "2026-10-21T10:11:12"),
        ("2w", "2026-12-04T10:11:12", "2026-11-06T10:11:12"),
        ("1m", "2026-12-20T10:11:12", "2026-10-21T10:11:12"),
        ("1y", "2027-11-20T10:11:12", "2025-11-20T10:11:12"),
        ("0d", "2026-11-20T10:11:12", "2026-11-20T10:11:12"),
    ],
)
def test_ages(value: str, ahead: str, ago: str) -> None:
    assert content.moment(value, NOW, ahead=True) == f"{ahead}.345678Z"
    assert content.moment(value, NOW, ahead=False) == f"{ago}.345678Z"


@pytest.mark.parametrize(
    "value",
    ["", "soon", "2026", "2026-02-31", "2026-13-01", "2026-12-31T24:00", "2026-12-31T18",
     "2026-12-31+01:00", "0000-01-01", "-1d", "1.5d", "1d ", "99999y", "9999y", "100000d",
     "٣d", "２０２６-12-31"],
)  # fmt: skip
def test_what_is_no_date(value: str) -> None:
    for ahead in (True, False):
        with pytest.raises(UsageError) as error:
            content.moment(value, NOW, ahead)
        refused(error, "date")


@given(st.text(max_size=12) | st.from_regex(r"[0-9]{1,5}[hdwmy]", fullmatch=True), st.booleans())
def test_a_moment_is_an_event_time_or_a_usage_error(value: str, ahead: bool) -> None:
    try:
        at = content.moment(value, NOW, ahead)
    except UsageError:
        return
    assert AT.fullmatch(at) and parse_at(at)


def test_an_expiry_is_ahead_and_can_be_taken_back() -> None:
    assert content.expiry("1d", NOW) == "2026-11-21T10:11:12.345678Z"
    assert content.expiry("never", NOW) == "never"
    assert content.expiry(None, NOW) is None


def test_a_tag_typed_on_a_mac_is_the_tag_typed_elsewhere() -> None:
    assert content.tags(["cafe\u0301", "caf\u00e9"]) == ["caf\u00e9"]
