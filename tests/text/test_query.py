"""The query language: what is read as syntax, and that everything else is words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.query import Clause, content_terms, parse, plain, snippet_of


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("how did we decide on the database?", "decid databas"),
        ("What kind of cache did Ada choose?", "cach ada choos"),
        ("what type checker", "type checker"),
        ("how long does it take", "take"),
        ("数据库用的是什么", "数 数据 据 据库 库 库用 用 用的"),
        ("データは何を使う", "デー ータ タは を使 使 使う"),
        ("--dry-run", "--dry-run dry-run dri run"),
        ("std::vector", "std::vector std vector"),
        ("http://x.y", "http://x.y http x.y x y"),
        ("colour:red", "colour:red colour red"),
        ("a - b", "b"),
        ('"unclosed quote', "unclos quot"),
        (r"^(foo|bar)\d{3}$", "foo bar d 3"),
        (".*foo.*", "foo"),
        ("* ? [", ""),
    ],
)
def test_words(query: str, words: str) -> None:
    parsed = parse(query)
    assert set(parsed.words) == set(words.split())
    assert not (parsed.prefixes or parsed.required or parsed.excluded)


def test_only_stop_words_are_better_than_nothing() -> None:
    assert parse("what is it").words == ("what", "is", "it")
    assert parse("it tag:x").words == ()
    assert content_terms("什么") == ("什", "什么", "么") or content_terms("什么") == (
        "什",
        "么",
        "什么",
    )


@pytest.mark.parametrize(
    ("query", "clause"),
    [
        ('"connection pools"', Clause(("connect", "pool"))),
        ("“connection pool”", Clause(("connect", "pool"))),
        ("「数据库」", Clause(("数据", "据库"))),
        ('"#482"', Clause(("#482",))),
        ('"C++"', Clause(("c++",))),
        ('"OAuth2Client"', Clause(("oauth2client",))),
        ("tag:db-migration", Clause(("db", "migrat"), "tags")),
        ('TAG:"db migration"', Clause(("db", "migrat"), "tags")),
        ("kind:decision", Clause(("decis",), "kind")),
        ("by:ada@example.com", Clause(("ada",), "author")),
        ("path:src/*", Clause(("src",), "paths", "src/", frozenset({"src/"}))),
    ],
)
def test_what_has_to_match(query: str, clause: Clause) -> None:
    assert parse(query).required == (clause,)
    assert parse(f"-{query}").excluded == (clause,)


def test_a_prefix_may_end_in_the_middle_of_an_ending() -> None:
    assert parse("migratio*").prefixes[0].forms == {"migrat", "migratio"}
    assert "databas" in parse("database*").prefixes[0].forms
    assert "data" not in parse("database*").prefixes[0].forms


@pytest.mark.parametrize(
    ("query", "prefix"),
    [("migra*", "migra"), ("getUser*", "getuser"), ("./src/app/*", "src/app/"), ("数*", "数")],
)
def test_prefixes(query: str, prefix: str) -> None:
    assert [clause.prefix for clause in parse(query).prefixes] == [prefix]


def test_words_only_rank_beside_a_phrase_and_are_needed_beside_a_field() -> None:
    assert not parse('"connection pool" size').needs_word
    assert parse("tag:db size").needs_word
    assert not parse("tag:db").needs_word


@pytest.mark.parametrize(
    ("query", "quotes"),
    [
        ('who wrote "The Hobbit"?', True),
        ('"The Hobbit"', False),
        ("who wrote The Hobbit?", False),
        ('wrote "The Hobbit" -tolkien', False),
        ('wrote "The Hobbit" tag:books', False),
    ],
)
def test_what_quotes_among_words(query: str, quotes: bool) -> None:
    assert parse(query).quotes is quotes


def test_an_exclusion_alone_looks_for_nothing() -> None:
    assert not parse("-redis")
    assert parse("cache -redis")


@pytest.mark.parametrize("flag", ["-m", "-P", "-9"])
def test_the_flag_of_a_pasted_command_excludes_nothing(flag: str) -> None:
    query = parse(f"python {flag} pytest -redis")
    assert query.excluded == (Clause(("redi",)),)
    assert "python" in query.words


def test_what_is_sought_in_plain_words() -> None:
    assert parse('"connection pool" tag:db size -redis').text == "connection pool db size"


def test_a_prompt_has_no_syntax() -> None:
    query = plain('He said "no such thing": kind:x -force')
    assert not (query.required or query.excluded)
    assert {"kind:x", "forc", "thing"} <= set(query.words)


def test_a_snippet_shows_why_it_matched() -> None:
    text = "Nothing here. " * 30 + "The pool holds fifty connections. " + "Nor here. " * 30
    for query in ('"connection" -nothing', "fift*", "connectio*"):
        assert "pool holds fifty connections" in snippet_of(query, text, 80)


@given(st.text() | st.text(st.sampled_from('ab "-:*()[]^\\tagkind数'), max_size=60))
def test_nothing_is_an_error(text: str) -> None:
    query = parse(text)
    assert len(set(query.words)) == len(query.words)
    assert all(clause.terms for clause in (*query.prefixes, *query.required, *query.excluded))


@pytest.mark.parametrize("bit", ["foo bar ", '"', "a:", '"a', "a*", "数", "tag:", "(", "a/.", "-a"])
def test_a_hundred_kilobytes(bit: str) -> None:
    assert len(parse(bit * (100_000 // len(bit.encode()))).prefixes) <= 1
