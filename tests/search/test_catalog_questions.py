"""What the catalog is asked: filters, orders, prefixes, times, counts; and its rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.codec import decode
from gitmem.model import Alternative, Importance, JournalName, Link, Memory, Note, Scope
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import LONG_TERM, NEWEST, OLDEST, Filter, memory_from, row_of
from tests.journal.histories import remember, write
from tests.search.stack import Stack, from_scratch, opened, stored

# -- memories as rows ---------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
memories = st.builds(
    Memory,
    id=words,
    created=words,
    updated=words,
    author=words,
    text=st.none() | words,
    data=st.none() | st.dictionaries(words, st.none() | st.booleans() | st.integers() | words),
    kind=words,
    importance=st.sampled_from(Importance),
    tags=st.lists(words).map(tuple),
    links=st.lists(st.builds(Link, words, words, words), max_size=3).map(tuple),
    notes=st.lists(st.builds(Note, words, words, words), max_size=3).map(tuple),
    journal=st.sampled_from(JournalName),
    scope=st.sampled_from(Scope),
    branch=st.none() | words,
    expires=st.none() | words,
    source=st.dictionaries(words, words, max_size=2),
    paths=st.dictionaries(words, words, max_size=2),
    forgotten=st.booleans(),
    contested=st.lists(
        st.builds(Alternative, words, st.none() | words | st.just({"a": [0]}), words, words, words),
        max_size=2,
    ).map(tuple),
    heads=st.lists(words, max_size=3).map(tuple),
)


@given(memories)
def test_a_memory_comes_back_from_its_row(memory: Memory) -> None:
    read = memory_from(row_of(memory, 1)[-1])
    assert read == memory
    assert type(read.importance) is Importance and type(read.tags) is tuple


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "1", "null", "{}", '{"importance":"high"}', '{"links":3}', '{"x":1}']
)
def test_a_damaged_row_is_a_value_error(body: str) -> None:
    with pytest.raises(ValueError):
        memory_from(body)


# -- questions ----------------------------------------------------------------------------------

AUTHORS = ("Ada <ada@x>", "Bob <bob@x>")


def _many(rng: random.Random) -> Stack:
    stack = Stack()
    for n in range(80):
        more: dict[str, Any] = {
            "by": rng.choice(AUTHORS),
            "kind": rng.choice((None, "fact", "decision", "context")),
            "importance": rng.choice((None, "critical", "high", "low")),
            "tags": rng.sample(("a", "b", "c"), rng.randrange(3)),
            "scope": rng.choice((None, "repo")),
            "expires": rng.choice(
                (None, "2026-11-20T00:00:30.000000Z", "2030-01-01T00:00:00.000000Z")
            ),
        }
        root = remember(n, f"memory {n}", **more)
        stack.push(root, journal=rng.choice(("shared", "private", "user")))
        about = {"memory": root.id, "base": [root.id]}
        for op, fields in rng.sample(
            (("forget", {}), ("revise", {"text": "1"}), ("revise", {"text": "2"})), rng.randrange(4)
        ):
            stack.push(write(1000 + n, op, **about, **fields))
    return stack


@pytest.fixture(scope="module")
def many() -> Stack:
    return _many(random.Random(7))


filters = st.builds(
    Filter,
    kind=st.sampled_from((None, None, "fact", "note", "nothing")),
    without_kinds=st.sampled_from(((), ("context",), ("fact", "note"))),
    tags=st.sampled_from(((), ("a",), ("a", "b"), ("z",))),
    importance=st.sampled_from((None, None, "critical", "normal")),
    author=st.sampled_from((None, "ADA", "bob@x", "nobody")),
    scope=st.sampled_from((None, None, "repo", "user", "branch")),
    private=st.sampled_from((None, None, True, False)),
    since=st.sampled_from((None, "2026-11-20T00:00:20.000000Z")),
    until=st.sampled_from((None, "2026-11-20T00:01:00.000000Z")),
    forgotten=st.booleans(),
    contested=st.booleans(),
    now=st.sampled_from((None, "2026-11-20T00:01:30.000000Z")),
    order=st.sampled_from((NEWEST, OLDEST, LONG_TERM)),
    limit=st.sampled_from((None, 3)),
)


def passes(memory: Memory, filter: Filter) -> bool:
    return all(
        (
            memory.forgotten == filter.forgotten,
            filter.kind in (None, memory.kind),
            memory.kind not in filter.without_kinds,
            set(filter.tags) <= set(memory.tags),
            filter.importance in (None, memory.importance.value),
            filter.author is None or filter.author.lower() in memory.author.lower(),
            filter.scope in (None, memory.scope.value),
            filter.private in (None, memory.private),
            filter.since is None or memory.created >= filter.since,
            filter.until is None or memory.created < filter.until,
            not filter.contested or bool(memory.contested),
            filter.now is None or memory.expires is None or memory.expires > filter.now,
        )
    )


def in_order(memories: Iterable[Memory], order: str) -> list[Memory]:
    oldest = sorted(memories, key=lambda memory: (memory.created, memory.id))
    if order == OLDEST:
        return oldest
    newest = oldest[::-1]
    if order == NEWEST:
        return newest
    newest.sort(key=lambda m: (min(m.importance.rank, 2), "" if m.importance.rank < 2 else m.kind))
    return newest


@pytest.fixture(scope="module")
def catalog(many: Stack) -> Catalog:
    return opened(None, many)


@settings(max_examples=200)
@given(filter=filters)
def test_filters_and_orders(catalog: Catalog, many: Stack, filter: Filter) -> None:
    expected = [m for m in from_scratch(many.places).values() if passes(m, filter)]
    assert catalog.select(filter) == in_order(expected, filter.order)[: filter.limit]
    assert catalog.count(filter) == len(expected)
    assert catalog.tag_counts(filter) == Counter(tag for m in expected for tag in m.tags)
    assert catalog.counts("kind", filter) == Counter(m.kind for m in expected)
    counts = list(catalog.counts("author", filter).values())
    assert counts == sorted(counts, reverse=True)


def test_long_term_order_puts_what_matters_first(path: Path) -> None:
    stack = Stack()
    wanted = [
        remember(3, "b", importance="high"),
        remember(2, "a", importance="critical", kind="task"),
        remember(5, "d", kind="decision"),
        remember(4, "c", importance="low", kind="decision"),
        remember(1, "e", kind="fact"),
    ]
    stack.push(*wanted)
    texts = [m.text for m in opened(path, stack).select(Filter(order=LONG_TERM))]
    assert texts == ["a", "b", "d", "c", "e"]


@settings(max_examples=200)
@given(st.text("0123456789abcdef", max_size=6), st.integers(0, 100), st.integers(0, 64))
def test_prefixes_and_neighbours(catalog: Catalog, any_: str, which: int, length: int) -> None:
    ids = sorted(stored(catalog))
    for prefix in (any_, ids[which % len(ids)][:length]):
        matching = [id for id in ids if id.startswith(prefix)]
        assert catalog.with_prefix(prefix, 100) == matching
        assert catalog.with_prefix(prefix) == matching[:20]
        around = [id for id in ids if id < prefix][-1:] + [id for id in ids if id > prefix][:1]
        assert catalog.neighbours([prefix]) == {prefix: around}


def test_one_memory_and_its_life(catalog: Catalog, many: Stack) -> None:
    for id, memory in from_scratch(many.places).items():
        assert catalog.memory(id) == memory
        life = [decode(place.line) for place in many.places]
        life = [event for event in life if event.memory == id]
        newest = sorted(life, key=lambda event: (event.at, event.id), reverse=True)
        assert list(catalog.events(id)) == newest
    everything = list(catalog.events())
    assert [e.at for e in everything] == sorted((e.at for e in everything), reverse=True)
    assert len(everything) == catalog.event_count() == len({p.line for p in many.places})
    assert catalog.memory("f" * 64) is None and list(catalog.events("f" * 64)) == []


def test_times(path: Path) -> None:
    stack = Stack()
    catalog = opened(path, stack)
    horizon = "2026-11-21T00:00:00.000000Z"
    assert catalog.latest_at(horizon) is None and catalog.next_expiry(horizon) is None
    expiry = "2026-11-22T00:00:00.000000Z"
    stack.push(remember(5, "a"), remember(3, "b", expires=expiry))
    good = remember(5, "a").at
    for at in (
        "9999-12-31T23:59:59.999999Z",
        "2026-11-20T24:00:00.000000Z",
        "2026-11-20T00:99:00.000000Z",
    ):
        stack.push(remember(5, "x").line.replace(good.encode(), at.encode()))
    catalog.catch_up()
    assert catalog.latest_at(horizon) == good, "neither a far future nor what is no date"
    assert catalog.anomalies(horizon)["incredible"] == 3
    assert catalog.next_expiry(horizon) == expiry
    assert catalog.next_expiry(expiry) is None


def test_anomalies_are_counted(path: Path) -> None:
    stack = Stack()
    root = remember(0, "x")
    purged = remember(1, "y")
    stack.push(b"broken", b"also broken", b"broken", root, purged)
    stack.push(b"broken", anchor="b" * 40)
    stack.push(
        write(2, "tag", memory="e" * 64, tag="t"), write(3, "untag", memory="e" * 64, tag="t")
    )
    stack.push(write(4, "purge", memory=purged.id), write(5, "carry", events=[root.id]))
    stack.push(write(6, "sing", memory="d" * 64), root.line.replace(b'"v":1', b'"v":9'))
    found = opened(path, stack).anomalies("2027-01-01T00:00:00.000000Z")
    assert found == {"broken": 3, "later": 2, "orphaned": 1, "incredible": 0}
