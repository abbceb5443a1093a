"""Terms of mixed text: what a reader would type to find a word is among them."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.analysis import LONGEST, fold, joined, stem, terms


def found(text: str) -> set[str]:
    return {term.text for term in terms(text)}


def leaves(text: str) -> list[str]:
    return [term.text for term in terms(text) if term.leaf]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running migrations", "run migrat"),
        ("the user’s caches", "the user cach"),
        ("Use PostgreSQL", "use postgresql postgr sql"),
        ("getUserName", "getusernam get user name"),
        ("HTTPServer", "httpserver http server"),
        ("OAuth2Client", "oauth2client auth2 client"),
        ("get_user_name", "get_user_name get user name"),
        ("src/app/cache.py", "src/app/cache.py src app cache.py cach py"),
        (r"src\app", r"src\app src app"),
        ("./scripts/demo", "scripts/demo script demo"),
        ("--dry-run", "--dry-run dry-run dri run"),
        ("fixes #482", "fix #482 482"),
        ("v2.1.3", "v2.1.3 2.1.3"),
        ("v2.1.3-rc1", "v2.1.3-rc1 v2.1.3 2.1.3 rc1 rc"),
        ("python 3.11", "python 3.11"),
        ("sha256", "sha256 sha 256"),
        ("k8s", "k8s"),
        ("C++ and C#", "c++ c and c#"),
        (".env", ".env env"),
        ("@ada", "@ada ada"),
        ("std::vector", "std::vector std vector"),
        ("9f3c2a7be1d04c58", "9f3c2a7be1d04c58"),
        ("https://example.com/a", "https://example.com/a https example.com exampl com a"),
        ("ＦＵＬＬ", "full"),
        ("Straße", "strass"),
        ("soft\u00adhyphen", "softhyphen"),
    ],
)
def test_words_and_identifiers(text: str, expected: str) -> None:
    assert found(text) - {"1"} == set(expected.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("数据库", "数 据 库 数据 据库"),
        ("我们使用PostgreSQL做", "我 们 使 用 我们 们使 使用 postgresql postgr sql 做"),
        ("データ", "デー ータ"),
        ("ﾃﾞｰﾀ", "デー ータ"),
        ("値を", "値 値を"),
        ("한국어", "한국 국어"),
        ("สวัสดี", "สวั วัส สดี"),
        ("हिन्दी में", "हिन्दी में"),
        ("Привет, МИР", "привет мир"),
        ("שלום", "שלום"),
    ],
)
def test_other_scripts(text: str, expected: str) -> None:
    assert found(text) == set(expected.split())


@pytest.mark.parametrize(
    "text", ["", " ", "--", "_ __", "!?…", "🙂", "\x00\x01", "\ufe0f", "\udc80"]
)
def test_what_has_no_term(text: str) -> None:
    assert not found(text)


def test_a_phrase_is_the_same_however_it_is_written() -> None:
    assert leaves("PostgreSQL Database") == leaves("postgresql, database")
    assert leaves("src/app/cache.py") == leaves("src app cache py") == leaves("SRC_APP-cache.py")


def test_what_stands_beside_a_leaf_has_its_position() -> None:
    places = {term.text: term.position for term in terms("open src/getUser.py now")}
    assert places["src/getuser.py"] == places["src"] == 1
    assert places["getuser.py"] == places["getus"] == places["get"] == places["user"] == 2
    assert places["now"] == 4


def test_a_composed_and_a_decomposed_letter_are_one() -> None:
    assert found(normalize("NFD", "café naïve")) == found("café naïve") == {"café", "naïve"}


def test_a_huge_word_is_cut_and_a_huge_identifier_left_to_its_parts() -> None:
    assert found("a" * 500) == {"a" * LONGEST}
    assert found("/".join(["part"] * 100)) == {"part"}


def test_the_stemmer_is_not_the_one_that_makes_runn_of_running() -> None:
    assert [stem(word) for word in ("running", "skies", "dying", "café")] == [
        "run",
        "sky",
        "die",
        "café",
    ]


MIXED = st.text(st.sampled_from("aBc1_./-#@:'+ \n数据ーデ한é\u0301\u0e31\ufe0f’ßİ"), max_size=40)


@given(st.text() | MIXED)
def test_any_text_has_terms_in_order(text: str) -> None:
    before = 0
    positions = []
    for term in terms(text):
        assert 0 <= term.start < term.end <= len(text)
        assert term.text == stem(fold(text[term.start : term.end])[:LONGEST])
        assert before <= term.position
        before = term.position
        positions += [term.position] if term.leaf else []
    assert positions == list(range(len(positions)))


@given(st.text() | MIXED)
def test_joined_terms_are_the_terms(text: str) -> None:
    assert joined(text).split() == [term.text for term in terms(text)]


@given(MIXED)
def test_leaves_do_not_depend_on_letter_case(text: str) -> None:
    assert leaves(fold(text)) == leaves(text) or not text.isascii()
