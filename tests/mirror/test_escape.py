"""Laws of the escapes: exact inverses, and nothing that could open or close a comment."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.mirror import escape
from tests.mirror.support import texts


@given(texts | st.text(st.characters(exclude_categories=["Cs"])))
@example("<!---->")
@example("-\\-\\\\-")
@example("&amp;amp;#x2D;")
@example("a\n\n")
@example("\n \n a")
def test_text_comes_back_exactly(text: str) -> None:
    written = escape.escape(text)
    assert escape.unescape(written) == text
    assert "<!--" not in written
    assert "-->" not in written


@given(texts)
def test_words_come_back_exactly_and_are_words(text: str) -> None:
    word = escape.escape_word(text)
    assert escape.unescape(word) == text
    assert not set(word) & set(" \t\n")
    assert "--" not in word


@given(texts)
def test_guards_come_back_exactly(text: str) -> None:
    line = text.replace("\n", " ")
    assert escape.unguard_tail(escape.guard_tail(line)) == line
    assert escape.unguard_lines(escape.guard_lines(text)) == text
    assert escape.unguard_conflicts(escape.guard_conflicts(text)) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("use --no-ff", "use -\\-no-ff"),
        ("`git commit --amend` it --now", "`git commit --amend` it -\\-now"),
        ("`a --> b`", "`a -\\-> b`"),
        ("```\n--amend <!-- x\n```\n--x", "```\n--amend <!-\\- x\n```\n-\\-x"),
        ("|---|---|", "|---|---|"),
        ("a\n---\nb", "a\n---\nb"),
        ("tail\n", "tail&#xA;"),
        ("R&D", "R&D"),
        ("evil\u202etxt", "evil&#x202E;txt"),
    ],
)
def test_only_what_must_be_is_escaped(text: str, written: str) -> None:
    assert escape.escape(text) == written


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("*a* b_c", "_a_ b_c"),
        ("**a**", "__a__"),
        ("a\nb   c", "a b\nc"),
        ("* a\n* b", "- a\n- b"),
        ("1) a", "1. a"),
        ("a \\* b", "a * b"),
        ("| a | b |\n|---|---|", "| a   | b   |\n| --- | --- |"),
        ("a\n***\nb", "a\n\n---\n\nb"),
        ("~~~py\nx\n~~~", "```py\nx\n```"),
        ("> a b\n> c", "> a\n> b c"),
    ],
)
def test_formatters_spellings_are_alike(one: str, other: str) -> None:
    assert escape.alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("a_b", "a*b"), ("v1.2", "v1,2"), ("a b", "ab"), ("a", "A"), ("x", "")]
)
def test_other_texts_are_not_alike(one: str, other: str) -> None:
    assert not escape.alike(one, other)
