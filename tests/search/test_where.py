"""The language of --where: what it means, in SQL and in Python alike, and how it says no."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.errors import UsageError
from gitmem.model import Importance, JournalName, Memory, Scope
from gitmem.search.catalog.rows import MEMORY, SCHEMA, Filter, row_of
from gitmem.search.conditions.fields import FIELDS, facts
from gitmem.search.conditions.moments import span
from gitmem.search.conditions.patterns import Pattern
from gitmem.search.conditions.where import DEEPEST, LONGEST, MOST, parse

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def make(id: str = "1", **fields: Any) -> Memory:
    values: dict[str, Any] = {
        "id": id,
        "created": "2026-06-01T10:00:00.000000Z",
        "updated": "2026-11-20T11:00:00.000000Z",
        "author": "Ada Lovelace <ada@example.com>",
        "text": "Use PostgreSQL",
        "kind": "decision",
        "branch": "feature/login",
        "tags": ("db", "sql"),
    }
    return Memory(**values | fields)


def holds(condition: str, memory: Memory) -> bool:
    """Whether a condition holds for a memory, which SQL and Python must agree on."""
    (found,) = select(condition, [memory])
    return found


def select(condition: str, memories: list[Memory]) -> list[bool]:
    """Return for each memory whether the condition holds."""
    parsed = parse(condition, NOW)
    tested = [parsed.test(facts(memory)) for memory in memories]
    with closing(catalog(memories)) as db:
        where, args = Filter(where=parsed.sql()).sql()
        found = {id for (id,) in db.execute(f"SELECT id FROM memories {where}", args)}
    assert [memory.id in found for memory in memories] == tested, condition
    return tested


def catalog(memories: list[Memory]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    for statement in SCHEMA:
        db.execute(statement)
    for memory in memories:
        db.execute(f"INSERT INTO memories VALUES ({MEMORY})", row_of(memory, 1))
        db.executemany("INSERT INTO tags VALUES (?,?)", [(tag, memory.id) for tag in memory.tags])
    return db


# -- what it means ------------------------------------------------------------------------------

TRUE = """
kind = decision
KIND = Decision and not kind = fact
kind != fact
kind <> 'fact'
kind in (fact, decision)
kind not in (fact, lesson)
kind LIKE 'dec%'
kind LIKE DEC_SION
kind NOT LIKE fact
tag = db
tag = #sql
tags IN (a, b, db)
tag NOT IN (a, b)
tag = db AND tag = sql
tag LIKE 's_l'
tag IS NOT NULL
importance = normal
importance >= n
importance < high
importance > low
importance IN (high, normal)
author = ada
author = ADA@EXAMPLE
author = "ada lovelace"
author LIKE 'Ada% <%>'
branch = feature/login
branch LIKE 'feature/%'
branch IS NOT NULL
scope = branch
scope != repo
session IS NULL AND agent IS NULL
session = ''
session != abc
session NOT IN (abc, def)
created_at > 2026-01-01
created > 2026-06-01
created_at = 2026-06-01
created_at = 2026-06-01T10:00
created_at = 2026-06-01T10:00:00Z
created_at != 2026-06-02
created_at IN (2026-05-31, 2026-06-01)
created_at <= '2026-06-01 10:00'
updated_at > 2h
updated_at < 0h AND updated_at >= 7d AND created_at < 7d
NOT private
private = false
private != yes
text = postgres
text LIKE '%POSTGRES%'
text != mysql
kind = fact OR kind = decision AND tag = db
(kind = decision OR kind = fact) AND NOT (tag = a OR tag = b)
NOT NOT kind = decision
kind == decision
"""


@pytest.mark.parametrize("condition", TRUE.strip().split("\n"))
def test_a_condition_holds_and_its_opposite_does_not(condition: str) -> None:
    assert holds(condition, make())
    assert not holds(f"NOT ({condition})", make())


def test_and_binds_tighter_than_or() -> None:
    assert holds("kind = decision OR kind = a AND tag = none", make())
    assert not holds("(kind = decision OR kind = a) AND tag = none", make())


def test_the_example_of_the_manual() -> None:
    condition = (
        "kind = decision AND tag IN (a,b) AND created_at > 2026-01-01 AND branch LIKE 'feature/%'"
    )
    assert holds(condition, make(tags=("b",)))
    assert not holds(condition, make())
    assert not holds(condition, make(tags=("b",), branch="main"))


def test_where_a_memory_comes_from() -> None:
    told = make(source={"session": "5f3a-11", "agent": "claude-code", "rounds": "1-3"})
    assert holds("session = 5f3a-11 AND agent LIKE 'claude%'", told)
    assert holds("session IS NOT NULL AND agent != codex", told)
    assert not holds("session = 7", make(source={"session": 7}))


def test_a_private_memory_and_one_of_the_user() -> None:
    assert holds("private", make(journal=JournalName.PRIVATE))
    assert holds("private AND scope = user", make(journal=JournalName.USER, scope=Scope.USER))


def test_what_has_no_branch_is_not_on_main() -> None:
    nowhere = make(branch=None)
    assert holds("branch != main AND NOT branch = main AND branch NOT IN (main)", nowhere)
    assert holds("branch IS NULL AND branch = '' AND branch NOT LIKE 'm%'", nowhere)


def test_a_json_memory_is_searched_as_json() -> None:
    memory = make(text=None, data={"engine": "PostgreSQL", "größe": [1, {"ü": None}]})
    assert holds('text = postgresql AND text = \'"größe":[1,{"ü":null}]\'', memory)
    assert holds("text IS NULL", make(text=""))


def test_quotes_and_signs_in_values() -> None:
    assert holds("tag = 'it''s'", make(tags=("it's",)))
    assert holds("tag = \"it's\" AND tag = it's", make(tags=("it's",)))
    assert holds('tag = "say ""hi"""', make(tags=('say "hi"',)))
    assert holds("branch = release!1 OR kind = 'AND'", make(branch="release!1"))
    assert holds("kind='decision'AND(tag=db)", make())


def test_a_percent_sign_and_an_underscore_can_be_escaped() -> None:
    assert holds(r"branch LIKE '100\%'", make(branch="100%"))
    assert not holds(r"branch LIKE '100\%'", make(branch="1000"))
    assert holds(r"branch LIKE 'a\_b\\c\d\'", make(branch="a_b\\c\\d\\"))


def test_a_round_that_says_little() -> None:
    said = {"session": "s1", "agent": "codex", "created_at": "", "text": "Try Redis"}
    for condition in ("session = s1", "text = redis", "NOT private", "kind != fact", "tag IS NULL"):
        assert parse(condition, NOW).test(said), condition
    for condition in ("created_at > 2000-01-01", "created_at < 3000-01-01", "importance >= low"):
        assert not parse(condition, NOW).test(said), condition
    assert parse("tag = x AND importance = high", NOW).test({"tag": ["x"], "importance": "high"})


# -- SQL and Python agree -----------------------------------------------------------------------

KINDS = ("decision", "fact", "and")
TAGS = ("a", "b", "it's", "ü%", "A", "")
BRANCHES = ("main", "feature/x", "feature/y", "MAIN", "100%", "a_b", "a\\b", "ветка", "")
PEOPLE = ("Ada <ada@x>", "BOB", "ÄDA", "")
TEXTS = ("Use it", "use_IT", "", "数据库 100%", "a\nb", "K\u212a")
TIMES = (
    "2026-01-01T00:00:00.000000Z",
    "2026-01-01T10:11:12.345678Z",
    "2026-11-13T12:00:00.000000Z",
)
DATES = ("2026-01-01", "2026-01-01T10:11", "2026-01-01T10:11:12Z", "2025-12-31", "9999-12-31")
SOURCES = ({}, {"session": "a"}, {"session": 3, "agent": ["a"]}, {"agent": "A", "session": "a_b"})

memories = st.builds(
    Memory,
    id=st.uuids().map(lambda id: id.hex),
    created=st.sampled_from(TIMES),
    updated=st.sampled_from(TIMES),
    author=st.sampled_from(PEOPLE),
    text=st.none() | st.sampled_from(TEXTS),
    data=st.none() | st.dictionaries(st.sampled_from(TEXTS), st.sampled_from((None, 1, "Use"))),
    kind=st.sampled_from(KINDS),
    importance=st.sampled_from(Importance),
    tags=st.lists(st.sampled_from(TAGS), unique=True, max_size=3).map(tuple),
    journal=st.sampled_from(JournalName),
    scope=st.sampled_from(Scope),
    branch=st.none() | st.sampled_from(BRANCHES),
    source=st.sampled_from(SOURCES),
)

VALUES: dict[str, tuple[str, ...]] = {
    "importance": (*Importance, "c", "L"),
    "scope": tuple(Scope),
    "created_at": DATES,
    "updated_at": DATES,
    "private": ("true", "no", "1"),
}
AGES = ("7d", "1h", "99999y")
ANYTHING = (*KINDS, *TAGS, *BRANCHES, *PEOPLE, *TEXTS, "%", "_", "a%", "%E%x", "\\", "%%_", "feat%")


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw the text of a condition."""
    if depth and (word := draw(st.sampled_from((None, None, "AND", "OR", "NOT", "(")))):
        inner = draw(conditions(depth - 1))
        if word == "NOT":
            return f"NOT {inner}"
        return f"({inner})" if word == "(" else f"{inner} {word} {draw(conditions(depth - 1))}"
    name = draw(st.sampled_from(tuple(FIELDS)))
    operators = {"=", "!=", "IN", "NOT IN"}
    for operator in FIELDS[name].operators:
        operators |= {operator, operator.replace("LIKE", "NOT LIKE").replace("IS ", "IS NOT ")}
    operator = draw(st.sampled_from(sorted(operators)))
    if operator.endswith("NULL"):
        return f"{name} {operator}"
    values = VALUES.get(name, ANYTHING)
    if name in ("author", "text") and "LIKE" not in operator:  # every text has an empty part
        values = tuple(filter(None, values))
    if name.endswith("_at") and operator[0] in "<>":
        values += AGES[:2]
    quoted = st.sampled_from(values).map(lambda value: "'" + value.replace("'", "''") + "'")
    if operator.endswith("IN"):
        return f"{name} {operator} ({', '.join(draw(st.lists(quoted, min_size=1, max_size=3)))})"
    return f"{name} {operator} {draw(quoted)}"


@given(st.lists(memories, max_size=6, unique_by=lambda m: m.id), conditions())
def test_sql_and_python_agree(some: list[Memory], condition: str) -> None:
    select(condition, some)


@given(st.text("aAbK\u212a%_\\ü", max_size=8), st.text("aAbBkK\u212a%_\\ü\n", max_size=8))
def test_like_is_sqlites(pattern: str, value: str) -> None:
    read = Pattern(pattern)
    with closing(sqlite3.connect(":memory:")) as db:
        (expected,) = db.execute("SELECT ? LIKE ? ESCAPE '\\'", (value, read.sql)).fetchone()
        assert read.matches(value) == bool(expected)
        if "\\" not in pattern:
            (written,) = db.execute("SELECT ? LIKE ?", (value, pattern)).fetchone()
            assert written == expected


def test_a_pattern_of_many_parts_ends_soon() -> None:
    assert not Pattern("%a" * 2_000 + "b").matches("a" * 5_000)


@pytest.mark.parametrize("attack", ["'; DROP TABLE memories; --", "x' OR '1'='1", '") OR 1=1 --'])
def test_no_value_becomes_sql(attack: str) -> None:
    quoted = "'" + attack.replace("'", "''") + "'"
    for name in ("kind", "tag", "author", "branch", "session", "text"):
        for form in (f"{name} = {quoted}", f"{name} LIKE {quoted}", f"{name} IN (zzz, {quoted})"):
            text, args = parse(form, NOW).sql()
            assert "DROP" not in text and "1=1" not in text and "'1'" not in text
            assert len(args) == text.count("?")
            assert not holds(form, make())


# -- how it says no -----------------------------------------------------------------------------

REFUSED = {
    "kind =": "expected a value, not the end, at column 7",
    "kind": "expected =, !=, IN, LIKE or IS NULL, not the end, at column 5",
    "kind = and": "expected a value, which a keyword is in quotes, not 'and', at column 8",
    "kind = a tag = b": "expected AND, OR or the end, not 'tag', at column 10",
    "kind = a,b": "expected AND, OR or the end, not ',', at column 9",
    "(kind = a": "expected AND, OR or ')', not the end, at column 10",
    "kind = a)": "expected AND, OR or the end, not ')', at column 9",
    "kind = a AND": "expected a field: kind, tag, importance",
    "= a": "expected a field: kind, tag",
    "'kind' = a": "expected a field: kind, tag",
    "knd = a": "unknown field 'knd' at column 1 of the condition: the fields are kind, tag",
    "tag < b": "expected =, !=, IN, LIKE or IS NULL, not '<', at column 5",
    "tag 'b'": "expected =, !=, IN, LIKE or IS NULL, not 'b', at column 5",
    "tag NOT = b": "expected =, !=, IN, LIKE or IS NULL, not '=', at column 9",
    "tag IN a": "expected '(', not 'a', at column 8",
    "tag IN ()": "expected a value, not ')', at column 9",
    "tag IN (a b)": "expected ',' or ')', not 'b', at column 11",
    "branch IS main": "expected NULL or NOT NULL, not 'main', at column 11",
    "branch IS NOT main": "expected NULL, not 'main', at column 15",
    "importance LIKE 'h%'": "expected =, !=, IN, <, <=, > or >=, not 'LIKE', at column 12",
    "importance = urgent": "expected critical, high, normal or low, not 'urgent', at column 14",
    "scope = all": "expected branch, repo or user, not 'all', at column 9",
    "private = maybe": "expected true or false, not 'maybe', at column 11",
    "created_at > soon": "expected a date such as 2026-12-31",
    "created_at > 2026-02-31": "expected a date such as 2026-12-31",
    "created_at = 7d": "expected a date or time; an age goes with < or >, not '7d', at column 14",
    "created_at > 99999y": "expected a date such as 2026-12-31",
    "text = ''": "expected a part of it that is not empty, not '', at column 8",
    "kind = 'abc": "a quote that is not closed at column 8",
    "kind = abc'": "a quote that is not closed at column 11",
    "kind ! abc": "expected =, !=, IN, LIKE or IS NULL, not '!', at column 6",
    "kind = \ud800": "a character that no text has at column 8",
    "kind = 'a\0'": "a character that no text has at column 10",
    "": "the condition is empty",
    " \n": "the condition is empty",
}


@pytest.mark.parametrize(("condition", "message"), REFUSED.items())
def test_what_is_none_is_refused(condition: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(condition, NOW)
    assert refused.value.message.startswith(message)


def test_an_unknown_field_lists_all_of_them() -> None:
    with pytest.raises(UsageError) as refused:
        parse("color = red", NOW)
    assert refused.value.message.endswith(", ".join(FIELDS))


def pointed_at(condition: str) -> tuple[str, str]:
    with pytest.raises(UsageError) as refused:
        parse(condition, NOW)
    shown, pointer = refused.value.hint.split("\n")
    return shown, pointer


def test_a_caret_stands_below_the_place() -> None:
    assert pointed_at("kind = a AND knd = b") == ("kind = a AND knd = b", " " * 13 + "^")
    assert pointed_at("kind =\ta\nAND x = b") == ("kind = a AND x = b", " " * 13 + "^")


def test_the_caret_knows_wide_characters_and_marks() -> None:
    assert pointed_at("tag = 数据库 x")[1] == " " * 13 + "^"
    assert pointed_at("tag = e\u0301 x")[1] == " " * 8 + "^"


def test_of_a_long_condition_the_place_is_shown() -> None:
    shown, pointer = pointed_at("tag = a AND " * 50 + "wrong = 1" + " AND tag = a" * 50)
    assert shown[pointer.index("^") :].startswith("wrong = 1") and len(shown) == 60


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 4_000 + "kind = a" + ")" * 4_000,
        "NOT " * 2_000 + "private",
        "tag IN (" + "a," * MOST + "a)",
        "private AND " * MOST + "private",
        "tag = " + "a" * LONGEST,
    ],
)
def test_what_is_too_large_is_refused(condition: str) -> None:
    with pytest.raises(UsageError):
        parse(condition, NOW)


@pytest.mark.parametrize(
    "condition",
    [
        "(private OR " * DEEPEST + "private" + ")" * DEEPEST,
        "(NOT private AND " * (DEEPEST // 2) + "NOT private" + ")" * (DEEPEST // 2),
        "(" * DEEPEST + "author IN (" + ",".join("a" * (MOST - 1)) + ")" + ")" * DEEPEST,
        " OR ".join(["author = a"] * (MOST)),
        "tag NOT LIKE '" + "\\%ü" * (LONGEST // 3 - 10) + "'",
        "tag NOT LIKE '" + "🙂" * (LONGEST - 20) + "'",
    ],
)
def test_the_largest_that_is_read_is_good_sql(condition: str) -> None:
    select(condition, [make()])


TOKENS = (
    *("AND", "or", "NOT", "IN", "LIKE", "IS", "NULL", "(", ")", ",", "=", "!=", "<", "<=", ">"),
    *FIELDS, "a", "7d", "2026-01-01", "high", "'x'", '"y', "''", "!", "%", "\n", "数", "\0",
)  # fmt: skip


def texts() -> Iterator[st.SearchStrategy[str]]:
    yield st.lists(st.sampled_from(TOKENS), max_size=12).map(" ".join)
    yield st.lists(st.sampled_from(TOKENS), max_size=12).map("".join)
    yield st.text()


@given(st.one_of(*texts()))
@example("kind = \udcff")
@example("'" * 3_333)
def test_any_text_is_a_condition_or_is_refused_at_a_column(text: str) -> None:
    try:
        parse(text, NOW)
    except UsageError as refused:
        if "column" in refused.message:
            column = int(refused.message.split("at column ")[1].split(" ")[0])
            assert 1 <= column <= len(text) + 1
            assert refused.hint.split("\n")[1].strip() == "^"
        return
    select(text, [make(), make("2", branch=None, tags=())])


# -- moments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-01-31", "2026-01-31T00:00:00.000000Z", "2026-02-01T00:00:00.000000Z"),
        ("2026-01-31T23:59", "2026-01-31T23:59:00.000000Z", "2026-02-01T00:00:00.000000Z"),
        ("2026-01-31 10:00:07Z", "2026-01-31T10:00:07.000000Z", "2026-01-31T10:00:08.000000Z"),
        ("9999-12-31", "9999-12-31T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"),
        ("36h", "2026-11-19T00:00:00.000000Z", ""),
        ("2w", "2026-11-06T12:00:00.000000Z", ""),
    ],
)
def test_a_moment_is_a_span(text: str, start: str, end: str) -> None:
    assert span(text, NOW) == (start, end)


@pytest.mark.parametrize("text", ["", "7", "7 d", "2026-13-01", "2026-1-1", "１d", "2026-02-30"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError):
        span(text, NOW)
