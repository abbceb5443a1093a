from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli.inert import one_line, visible


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("plain, with\ttab", "plain, with\ttab"),
        ("two\nlines\r\n", r"two\nlines\r\n"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u2028b", r"a\u{2028}b"),
        ("\u202egnp.exe", r"\u{202e}gnp.exe"),
        ("\u2067isolated\u2069", r"\u{2067}isolated\u{2069}"),
        ("pass\u200bword", r"pass\u{200b}word"),
        ("tag\U000e0041", r"tag\u{e0041}"),
        ("\ufeffmark", r"\u{feff}mark"),
        ("lone \ud800", r"lone \u{d800}"),
        ("a\u200db", r"a\u{200d}b"),
    ],
)
def test_a_terminal_shows_what_it_would_obey_or_hide(text: str, spelled: str) -> None:
    assert visible(text) == spelled


@pytest.mark.parametrize(
    "text", ["👨‍👩‍👧 family", "❤️", "می‌خواهم", "क्‍ष", "שלום", "数据库", "naïve", "👍🏽"]
)
def test_scripts_and_emoji_are_left_alone(text: str) -> None:
    assert visible(text) == text


def test_a_pipe_keeps_everything_but_what_breaks_the_line() -> None:
    assert one_line("a\nb\u2028c\u0085d\x1b\u202ee\u200bf\tg") == (
        "a\\nb\\u{2028}c\\x85d\\x1b\u202ee\u200bf\tg"
    )


@given(st.text())
def test_one_line_is_one_line_by_anybodys_count(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert len(visible(text).splitlines()) <= 1


@given(st.text())
def test_what_is_visible_stays(text: str) -> None:
    assert visible(visible(text)) == visible(text)
