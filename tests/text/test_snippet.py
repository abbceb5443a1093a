"""Snippets: short, on one line, and with what matched in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.analysis import terms
from gitmem.text.snippet import matches, snippet

LONG = "alpha " * 40 + "we chose PostgreSQL for its transactions " + "omega " * 40


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert snippet("two\n  lines", {"line"}.__contains__) == "two lines"


def test_the_passage_with_most_terms_is_shown() -> None:
    text = f"postgresql {LONG}"
    shown = snippet(text, {"postgresql", "transact"}.__contains__, 60)
    assert "PostgreSQL for its transactions" in shown
    assert shown.startswith("…") and shown.endswith("…")


def test_without_a_match_the_beginning_is_shown() -> None:
    assert snippet(LONG, {"zebra"}.__contains__, 30) == "alpha alpha alpha alpha…"


def test_matches_are_where_the_terms_stand() -> None:
    text = "我们的数据库: getUserName"
    wanted = {"数据", "据库", "get", "user"}.__contains__
    shown = [text[start:end] for start, end in matches(text, wanted)]
    assert shown == ["数据库", "getUser"]


@given(st.text(st.sampled_from("ab 数据_./\n"), max_size=300), st.integers(5, 60))
def test_a_snippet_is_no_longer_than_asked_and_holds_a_term(text: str, width: int) -> None:
    wanted = {term.text for term in terms(text) if term.end - term.start <= width - 2}
    shown = snippet(text, wanted.__contains__, width)
    assert len(shown) <= width
    assert "\n" not in shown
    assert not wanted or matches(shown, wanted.__contains__)
