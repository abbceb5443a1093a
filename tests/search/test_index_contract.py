"""One contract over every index: the one in memory, that tests stand on, and the lexical one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.search.base import (
    Change,
    Document,
    Index,
    IndexMoved,
    IndexUnusable,
    PlainIndex,
    Removed,
    Seen,
    catch_up,
)
from gitmem.search.lexical.index import Lexical
from gitmem.text.query import plain

Make = Callable[[], Index]


@pytest.fixture(params=["fake", "lexical"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Return what opens the index under test, the same one each time."""
    if request.param == "lexical":
        return lambda: Lexical(tmp_path / "lexical")
    fake = PlainIndex()
    return lambda: fake


@pytest.fixture
def index(make: Make) -> Index:
    return make()


def fill(index: Index, *texts: str) -> None:
    """Put documents 0, 1, 2 … in the index."""
    index.apply([Document(str(n), text) for n, text in enumerate(texts)], {"all": "filled"}, {})


def ids(index: Index, query: str, limit: int = 10) -> list[str]:
    return [candidate.id for candidate in index.search(query, limit)]


def test_a_new_index_has_seen_and_finds_nothing(index: Index) -> None:
    assert index.seen() == {}
    assert index.search("anything", 10) == []


def test_what_was_applied_is_found_and_remembered(make: Make) -> None:
    make().apply([Document("a", "Use PostgreSQL")], {"shared": "c1", "private": "c2"}, {})
    assert make().seen() == {"shared": "c1", "private": "c2"}
    assert ids(make(), "postgresql") == ["a"]


def test_a_document_takes_the_place_of_the_one_before(index: Index) -> None:
    index.apply([Document("a", "first words"), Document("b", "first")], {"j": "1"}, {})
    index.apply([Document("a", "second words")], {"j": "2"}, {"j": "1"})
    assert ids(index, "first") == ["b"]
    assert ids(index, "words") == ["a"]


def test_of_two_changes_to_one_document_the_last_counts(index: Index) -> None:
    changes = [Document("a", "early"), Removed("a"), Document("a", "late"), Document("b", "late")]
    index.apply([*changes, Removed("b")], {"j": "1"}, {})
    assert (ids(index, "early"), ids(index, "late")) == ([], ["a"])


def test_what_is_removed_is_not_found_and_can_come_back(index: Index) -> None:
    index.apply([Document("a", "here"), Document("b", "here")], {"j": "1"}, {})
    index.apply([Removed("a"), Removed("never was")], {"j": "2"}, {"j": "1"})
    assert ids(index, "here") == ["b"]
    index.apply([Removed("a")], {"j": "3"}, {"j": "2"})
    index.apply([Document("a", "here again")], {"j": "4"}, {"j": "3"})
    assert sorted(ids(index, "here")) == ["a", "b"]


def test_changes_from_nothing_replace_everything(index: Index) -> None:
    index.apply([Document("a", "old")], {"j": "1"}, {})
    index.apply([Document("b", "new")], {"j": "2"}, {})
    assert (ids(index, "old"), ids(index, "new")) == ([], ["b"])


def test_everything_can_be_removed(index: Index) -> None:
    fill(index, "one", "two")
    index.apply([Removed("0"), Removed("1")], {"j": "2"}, {"all": "filled"})
    assert ids(index, "one two") == []
    index.apply([Document("c", "three")], {"j": "3"}, {"j": "2"})
    assert ids(index, "one two three") == ["c"]


def test_changes_that_start_from_elsewhere_are_refused(index: Index) -> None:
    index.apply([Document("a", "kept")], {"j": "1"}, {})
    with pytest.raises(IndexMoved):
        index.apply([Document("b", "lost")], {"j": "3"}, {"j": "2"})
    assert index.seen() == {"j": "1"}
    assert ids(index, "kept lost") == ["a"]


def test_work_that_is_done_already_is_not_even_looked_at(index: Index) -> None:
    def work() -> Iterator[Change]:
        raise AssertionError("looked at")
        yield

    index.apply([Document("a", "text")], {"j": "1"}, {})
    index.apply(work(), {"j": "1"}, {})
    assert ids(index, "text") == ["a"]


def test_what_fails_while_changes_are_made_changes_nothing(index: Index) -> None:
    def broken() -> Iterator[Change]:
        yield Document("b", "text")
        raise ZeroDivisionError

    index.apply([Document("a", "text")], {"j": "1"}, {})
    with pytest.raises(ZeroDivisionError):
        index.apply(list(broken()), {"j": "2"}, {"j": "1"})
    assert (index.seen(), ids(index, "text")) == ({"j": "1"}, ["a"])


def test_a_cleared_index_is_new(index: Index) -> None:
    fill(index, "text")
    index.clear()
    index.clear()
    test_a_new_index_has_seen_and_finds_nothing(index)
    test_what_was_applied_is_found_and_remembered(lambda: index)


# -- asking -----------------------------------------------------------------------------------

LIBRARY = [
    Document("pg", "We use PostgreSQL as the primary database", "decision", ("db", "area/storage")),
    Document("pool", "The connection pool holds 50; pool the connections", "fact", ("db-tuning",)),
    Document("redis", "Caching is done with Redis", "decision", entities=("Redis",)),
    Document("cache", "See src/app/cache.py and getUserName()", paths=("src/app/cache.py",)),
    Document("flag", "Run with --dry-run, see #482; fixed in v2.1.3", author="Ada <ada@x.org>"),
    Document("zh", "我们决定使用 PostgreSQL 作为主数据库，因为需要事务支持"),
    Document("ja", "データベースにはPostgreSQLを採用する。キャッシュはRedis"),
    Document("ru", "Мы храним настройки в файле"),
]


@pytest.fixture
def library(index: Index) -> Index:
    index.apply(LIBRARY, {"j": "1"}, {})
    return index


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what databases do we use?", "pg"),
        ("postgresql", "pg zh ja"),
        ("数据库", "zh"),
        ("数", "zh"),
        ("库*", "zh"),
        ("データベース", "ja"),
        ("настройки", "ru"),
        ("user", "cache"),
        ("getUserName", "cache"),
        ("get_user_name", "cache"),
        ("cache.py", "cache redis"),
        ("app/cache.py", "cache redis"),
        ("dry-run", "flag"),
        ("--dry-run", "flag"),
        ("#482", "flag"),
        ("2.1.3", "flag"),
        ('"connection pool"', "pool"),
        ('"pool connection"', ""),
        ('"主数据库"', "zh"),
        ('"PRIMARY   Database"', "pg"),
        ('"primary" redis', "pg"),
        ("redis -caching", "ja"),
        ("redis -tag:db", "redis ja"),
        ('redis -"done with"', "ja"),
        ("tag:db", "pg pool"),
        ("tag:storage", "pg"),
        ("tag:area/storage", "pg"),
        ("tag:db connection", "pool"),
        ("kind:decision", "pg redis"),
        ("kind:decision tag:db", "pg"),
        ("kind:decision nonsense", ""),
        ("entity:redis", "redis"),
        ("author:ada", "flag"),
        ("by:ada@x.org", "flag"),
        ("ada", "flag"),
        ("org", ""),
        ("path:src/*", "cache"),
        ("path:app", "cache"),
        ("text:redis", "redis ja"),
        ("post*", "pg zh ja"),
        ("postgres*", "pg zh ja"),
        ("cachi*", "redis cache"),
        ("caching*", "redis cache"),
        ("src/app/*", "cache"),
        ("-redis", ""),
        ("unknown:redis", "redis ja"),
        ("", ""),
        ("   ", ""),
        ("?!", ""),
        ("🙂", ""),
        ('"', ""),
        ('""', ""),
        ("-", ""),
        ("*", ""),
        ("tag:", ""),
        ("tag:!", ""),
        ("zebra", ""),
        (r"^redis(\d+|[a-z]*)$", "redis ja"),
        ("(((redis AND", "redis ja"),
        ("redis\x00\udc80", "redis ja"),
        ("REDIS", "redis ja"),
        ("ｒｅｄｉｓ", "redis ja"),
    ],
)
def test_asking(library: Index, query: str, expected: str) -> None:
    assert set(ids(library, query)) == set(expected.split())


def test_only_stop_words_find_what_has_them(library: Index) -> None:
    assert "pg" in ids(library, "we")


@pytest.mark.parametrize("bit", ["redis ", '"', "(", "数据", "redis/", "tag:x ", "-a ", "a* "])
def test_a_hundred_kilobytes_of_query(library: Index, bit: str) -> None:
    query = bit * (100_000 // len(bit.encode()))
    assert len(library.search(query, 3)) <= 3
    assert len(library.search(plain(query), 3)) <= 3


def test_a_prompt_of_many_words_finds_by_its_rarest(library: Index) -> None:
    words = " ".join(f"word{n:x}z" for n in range(5000))
    assert [hit.id for hit in library.search(plain(f"{words} tuning: {words}"), 3)] == ["pool"]


# -- ranking ----------------------------------------------------------------------------------


def test_more_and_rarer_words_come_first(index: Index) -> None:
    fill(index, "cache", "cache zebra", "cache", "cache", "cache zebra yak")
    assert ids(index, "cache zebra yak")[:2] == ["4", "1"]


def test_scores_fall(library: Index) -> None:
    scores = [hit.score for hit in library.search("we use redis as primary database", 10)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) > 2


def test_no_more_than_asked_for(index: Index) -> None:
    fill(index, *["same words"] * 20)
    assert [len(ids(index, "words", limit)) for limit in (0, 1, 7, 100)] == [0, 1, 7, 20]


@pytest.mark.parametrize("query", ["kind:note", "same", '"same words"'])
def test_the_newest_of_equals_comes_first(index: Index, query: str) -> None:
    days = (3, 1, 2)
    index.apply(
        [Document(f"d{day}", "same words", "note", at=f"2026-01-0{day}") for day in days],
        {"j": "1"},
        {},
    )
    assert ids(index, query) == ["d3", "d2", "d1"]


# -- catching up ------------------------------------------------------------------------------


def test_catching_up_asks_for_what_came_since(index: Index) -> None:
    asked: list[Seen] = []

    def changes(since: Seen) -> Iterable[Change]:
        asked.append(since)
        return [Document("a", "text")]

    assert catch_up(index, {"j": "1"}, changes)
    assert not catch_up(index, {"j": "1"}, changes)
    assert catch_up(index, {"j": "2"}, changes)
    assert asked == [{}, {"j": "1"}]


def test_catching_up_starts_again_where_another_was_first(index: Index) -> None:
    asked: list[Seen] = []

    def changes(since: Seen) -> Iterator[Change]:
        asked.append(since)
        yield Document("a", "text")

    index.apply([], {"j": "1"}, {})

    def stale(since: Seen) -> Iterable[Change]:
        if not asked:
            index.clear()
            asked.append(since)
        return changes(since)

    assert catch_up(index, {"j": "2"}, stale)
    assert asked == [{"j": "1"}, {"j": "1"}, {}] or asked == [{"j": "1"}, {}]
    assert ids(index, "text") == ["a"]


class Elusive(PlainIndex):
    """An index that somebody else always writes first."""

    def apply(self, changes: Iterable[Change], seen: Seen, since: Seen) -> None:
        raise IndexMoved("gone")


def test_catching_up_does_not_try_for_ever() -> None:
    with pytest.raises(IndexUnusable):
        catch_up(Elusive(), {"j": "1"}, lambda since: [])


# -- one answer from both ---------------------------------------------------------------------

WORDS = st.sampled_from(
    ["cache", "caches", "a_b", "b", "Pool", "x/y.py", "数据库", "库", "#1", "the"]
)
TEXT = st.lists(WORDS, max_size=6).map(" ".join)
CLAUSE = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "", "-"]),
        st.sampled_from(["", "", "tag:", "text:", "nope:"]),
        WORDS | TEXT.map('"{}"'.format) | WORDS.map("{}*".format),
    ),
)
CHANGES = st.lists(
    st.builds(Document, st.sampled_from("abcd"), TEXT, tags=st.lists(WORDS, max_size=2).map(tuple))
    | st.builds(Removed, st.sampled_from("abcd")),
    max_size=6,
)


@settings(max_examples=60)
@given(st.lists(CHANGES, min_size=1, max_size=3), st.lists(CLAUSE, max_size=4))
def test_both_find_the_same(batches: list[list[Change]], clauses: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fake, lexical = PlainIndex(), Lexical(Path(folder) / "lexical")
        since: Seen = {}
        for turn, batch in enumerate(batches):
            seen = {"j": str(turn)}
            fake.apply(batch, seen, since)
            lexical.apply(batch, seen, since)
            since = seen
        query = " ".join(clauses)
        assert set(ids(lexical, query)) == set(ids(fake, query))
        lexical.close()
