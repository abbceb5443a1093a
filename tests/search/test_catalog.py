"""The catalog: always the fold of all lines, however they came and whatever its file is."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.codec import BrokenLine, Event, decode
from gitmem.journal.fold import fold_memory
from gitmem.journal.git import open_repository
from gitmem.journal.journals import Journals, Place
from gitmem.model import Alternative, Importance, JournalName, Link, Memory, Note, Scope
from gitmem.search import database
from gitmem.search.catalog import Catalog, Mark
from gitmem.search.rows import LONG_TERM, NEWEST, OLDEST, Filter, memory_from, row_of
from tests.journal.histories import histories, remember, write
from tests.support import git

ANCHOR = "a" * 40


@dataclass
class Stack:
    """A source in memory: a pile of places, whose tips say how high it was."""

    places: list[Place] = field(default_factory=list)
    rewritten: str = ""

    def push(self, *lines: bytes | Event, journal: str = "shared", anchor: str = ANCHOR) -> None:
        for line in lines:
            line = line.line if isinstance(line, Event) else line
            self.places.append(Place(JournalName(journal), anchor, line))

    def tips(self) -> dict[str, str]:
        heights = Counter(place.journal.value for place in self.places)
        return {name: f"{height}{self.rewritten}" for name, height in heights.items()}

    def read(self, tips: Mapping[str, str]) -> Iterator[Place]:
        for name in sorted(tips, reverse=True):  # shared before private, as the journals are read
            yield from self._of(name)[: int(tips[name].rstrip("r"))]

    def added(self, old: Mapping[str, str], new: Mapping[str, str]) -> list[Place]:
        if any(tip.count("r") < len(self.rewritten) for tip in old.values()):
            raise KeyError("an old tip is gone")
        since = {name: int(old.get(name, "0").rstrip("r")) for name in new}
        return [place for name in new for place in self._of(name)[since[name] :]]

    def _of(self, name: str) -> list[Place]:
        return [place for place in self.places if place.journal == name]


def from_scratch(places: Iterable[Place]) -> dict[str, Memory]:
    """Fold all lines, memory by memory; a line that also stands in the shared journal is shared."""
    groups: dict[str, dict[str, Event]] = {}
    journals: dict[str, JournalName] = {}
    for place in places:
        try:
            event = decode(place.line)
        except BrokenLine:
            continue
        if journals.get(event.id) is not JournalName.SHARED:
            journals.setdefault(event.id, place.journal)
        if place.journal is JournalName.SHARED:
            journals[event.id] = place.journal
        if event.memory:
            groups.setdefault(event.memory, {})[event.id] = event
    folded = {
        id: fold_memory(list(events.values()), None, journals.get(id, JournalName.SHARED))
        for id, events in groups.items()
    }
    return {id: memory for id, memory in folded.items() if memory is not None}


def stored(catalog: Catalog) -> dict[str, Memory]:
    every = [*catalog.select(Filter()), *catalog.select(Filter(forgotten=True))]
    assert len({memory.id for memory in every}) == len(every)
    return {memory.id: memory for memory in every}


def opened(path: Path | None, source: Stack) -> Catalog:
    catalog = Catalog(path, source)
    catalog.catch_up()
    return catalog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gitmem" / "catalog.sqlite"


@pytest.fixture
def source() -> Stack:
    """Return a source of 60 memories, ten private, some contested, and a broken line."""
    stack = Stack()
    roots = [remember(n, f"memory {n}", tags=[f"t{n % 3}"], kind="fact") for n in range(60)]
    stack.push(*roots[:50])
    stack.push(*roots[50:], journal="private")
    for n in range(0, 60, 7):
        about = {"memory": roots[n].id, "base": [roots[n].id]}
        stack.push(write(100 + n, "forget", **about), anchor="b" * 40)
        stack.push(write(200 + n, "revise", text=f"again {n}", **about))
    stack.push(b"not a line")
    return stack


# -- the fold of all lines ----------------------------------------------------------------------


@settings(max_examples=80)
@given(
    events=st.lists(histories(purges=True, most=8), max_size=3),
    journals=st.lists(st.sampled_from(("shared", "shared", "private", "user")), min_size=1),
    acts=st.lists(st.sampled_from(("catch up", "add", "rebuild", "reopen", "rewrite", ""))),
    rng=st.randoms(),
)
def test_it_equals_a_fold_from_scratch(
    tmp_path: Path,
    events: list[list[Event]],
    journals: list[str],
    acts: list[str],
    rng: random.Random,
) -> None:
    """Whatever the order, the journals, the batches, and what happens to the file between them."""
    path = Path(tempfile.mkdtemp(dir=tmp_path)) / "catalog.sqlite"
    lines = [event.line for history in events for event in history] + [b"broken", b"{}"]
    lines += rng.sample(lines, len(lines) // 4)
    rng.shuffle(lines)
    stack = Stack()
    catalog = opened(path, stack)
    for n, act in enumerate([*acts, "catch up"]):
        share = lines[n :: len(acts) + 1]
        before = stack.tips()
        for line in share:
            name = journals[sum(line) % len(journals)] if act != "add" else "shared"
            stack.push(line, journal=name, anchor=rng.choice("ab") * 40)
        if act == "add":
            catalog.add(before, stack.tips(), stack.places[len(stack.places) - len(share) :])
        elif act == "rebuild":
            catalog.rebuild()
        elif act == "reopen":
            catalog.close()
            catalog = opened(path, stack)
        elif act == "rewrite":
            stack.rewritten += "r"
        elif act:
            catalog.catch_up()
    assert stored(catalog) == from_scratch(stack.places)
    assert catalog.warnings == []
    good = {place for place in stack.places if place.line not in (b"broken", b"{}")}
    assert catalog.event_count() == len({place.line for place in good})
    assert set(catalog.placed()) == {(p.journal.value, p.anchor, p.line) for p in good}
    assert catalog.tag_counts(Filter()) == Counter(
        tag for memory in catalog.select(Filter()) for tag in memory.tags
    )
    catalog.close()


def test_the_journals_of_a_repository(repo: Path, path: Path) -> None:
    port = open_repository(repo, "program")
    journals = Journals(port, repo.parent / "user.git", "program")
    catalog = Catalog(path, journals)
    for n in range(4):
        for name in JournalName:
            event = remember(n, f"{name} {n}")
            journals.writable(name).append({ANCHOR: [event.line]}, "x", "Ada <a@b>", n)
        catalog.catch_up()
        assert stored(catalog) == from_scratch(journals.read(journals.tips()))
    assert Counter(memory.journal for memory in stored(catalog).values()) == dict.fromkeys(
        JournalName, 4
    )
    git(repo, "notes", "--ref", "gitmem/shared", "remove", ANCHOR, check=False)
    git(repo, "update-ref", "-d", "refs/notes/gitmem/shared")
    catalog.catch_up()
    assert stored(catalog) == from_scratch(journals.read(journals.tips()))
    catalog.close()
    journals.close()


def test_a_line_in_two_journals_is_shared_whichever_came_first(path: Path) -> None:
    root, tag = remember(0, "x"), write(1, "tag", memory=remember(0, "x").id, tag="t")
    stack = Stack()
    stack.push(root, tag, journal="private")
    catalog = opened(path, stack)
    assert catalog.select(Filter(private=True))
    stack.push(root)
    catalog.catch_up()
    assert [memory.journal for memory in catalog.select(Filter())] == [JournalName.SHARED]
    assert catalog.select(Filter(private=True)) == []
    stack.push(root, journal="user")
    catalog.catch_up()
    assert [memory.journal for memory in catalog.select(Filter())] == [JournalName.SHARED]


def test_lines_of_later_versions_do_no_harm(source: Stack, path: Path) -> None:
    before = from_scratch(source.places)
    for memory in (7, 10**30, ["x"], {"a": 1}, None, "", "x", next(iter(before))):
        fields = {"at": "2026-11-20T10:11:12.000000Z", "memory": memory, "v": 2, "op": "melt"}
        source.push(json.dumps(fields).encode())
        source.push(json.dumps({**fields, "v": 1, "op": "remember", "by": 7}).encode())
    catalog = opened(path, source)
    assert {id: m.text for id, m in stored(catalog).items()} == {
        id: m.text for id, m in before.items()
    }
    assert catalog.anomalies("2027")["later"] == 8
    assert len(list(catalog.events())) == catalog.event_count()


def test_a_rewritten_journal_leaves_no_trace_of_what_it_lost(path: Path) -> None:
    stack = Stack()
    stack.push(remember(0, "secret", tags=["hush"]), b"broken secret", remember(1, "kept"))
    catalog = opened(path, stack)
    catalog.set_entities({id: [("Secret", "x")] for id in stored(catalog)}, catalog.mark())
    stack.places, stack.rewritten = stack.places[-1:], "r"
    catalog.catch_up()
    assert [memory.text for memory in stored(catalog).values()] == ["kept"]
    assert len(list(catalog.events())) == catalog.event_count() == len(list(catalog.placed())) == 1
    assert catalog.tag_counts(Filter()) == {} and catalog.entity_counts(Filter()) == []
    assert catalog.anomalies("2027")["broken"] == 0
    catalog.close()


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
        assert catalog.neighbours(prefix) == around


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


# -- what changed since -------------------------------------------------------------------------


def test_a_reader_is_told_what_changed_since_its_mark(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    mark = catalog.mark()
    oldest_first = [m.id for m in in_order(stored(catalog).values(), OLDEST)]
    assert catalog.changed_since(None) == (oldest_first, True)
    assert catalog.changed_since(mark) == ([], False)
    catalog.catch_up()
    assert catalog.mark() == mark, "nothing came"
    root = remember(0, "new", tags=["n"])
    source.push(root, write(10**5, "tag", memory=oldest_first[3], tag="n"))
    catalog.catch_up()
    assert set(catalog.changed_since(mark)[0]) == {root.id, oldest_first[3]}
    assert catalog.days_since(mark) == {"2026-11-20"}
    assert catalog.days_since(catalog.mark()) == set()
    later = catalog.mark()
    source.push(write(10**5 + 1, "forget", memory=root.id, base=[root.id]))
    catalog.catch_up()
    assert catalog.changed_since(later) == ([root.id], False)
    assert set(catalog.changed_since(mark)[0]) == {root.id, oldest_first[3]}
    catalog.rebuild()
    assert catalog.changed_since(later) == (
        [m.id for m in in_order(stored(catalog).values(), OLDEST)],
        True,
    )
    assert catalog.mark().epoch != mark.epoch


@given(events=histories(purges=False), cuts=st.lists(st.integers(0, 14), max_size=4))
def test_whatever_changed_is_told(events: list[Event], cuts: list[int]) -> None:
    stack = Stack()
    catalog = opened(None, stack)
    seen: list[tuple[Mark, dict[str, Memory]]] = []
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(events)], strict=True):
        stack.push(*events[start:end])
        catalog.catch_up()
        seen.append((catalog.mark(), stored(catalog)))
    now = stored(catalog)
    for mark, then in seen:
        changed = {id for id, memory in now.items() if then.get(id) != memory}
        ids, anew = catalog.changed_since(mark)
        assert changed <= set(ids)
        assert anew == (mark.epoch == ""), "the first line of all begins an epoch"


def test_adding_what_was_just_appended_equals_catching_up(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    mark = catalog.mark()
    before = source.tips()
    source.push(remember(0, "mine"))
    catalog.add(before, source.tips(), source.places[-1:])
    assert catalog.mark().changed == mark.changed + 1 and catalog.mark().epoch == mark.epoch
    before = source.tips()
    source.push(remember(1, "another's"), remember(2, "mine too"))
    catalog.add({"shared": "gone"}, source.tips(), source.places[-1:])
    assert stored(catalog) == from_scratch(source.places), "what another wrote was not passed over"


# -- entities -----------------------------------------------------------------------------------


def test_entities(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    one, two, three, *_ = [memory.id for memory in catalog.select(Filter())]
    assert catalog.entities_mark() is None
    redis, api = ("Redis", "technology"), ("src/api.py", "path")
    catalog.set_entities({one: [redis, api, redis], two: [redis]}, catalog.mark())
    assert catalog.entities_mark() == catalog.mark()
    assert catalog.entities_of(one) == [redis, api] and catalog.entities_of(three) == []
    assert catalog.entity_counts(Filter()) == [(*redis, 2), (*api, 1)]
    assert catalog.entity_counts(Filter(), beside="src/api.py") == [(*redis, 1), (*api, 1)]
    assert {m.id for m in catalog.select(Filter(entity="Redis"))} == {one, two}
    catalog.set_entities({one: [api]}, Mark("x", 3))
    assert catalog.entity_counts(Filter()) == [(*redis, 1), (*api, 1)]
    assert catalog.entities_mark() == Mark("x", 3)
    catalog.rebuild()
    assert catalog.entities_mark() is None and catalog.entity_counts(Filter()) == []


# -- a file that cannot be used -----------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY", 0.05)


def wal(path: Path) -> list[Path]:
    return [Path(f"{path}-wal"), Path(f"{path}-shm")]


def _deleted(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("this was a database\n" * 1000)


def _short_text(path: Path) -> None:
    path.write_text("x")


def _garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def _half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _header_alone(path: Path) -> None:
    os.truncate(path, 100)


def _no_header(path: Path) -> None:
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])


def _old_schema(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=0")
        db.execute("DROP TABLE tags")
        db.execute("CREATE TABLE older(x)")
    db.close()


def _other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE memories(x)")
        db.execute("INSERT INTO memories VALUES (1)")
    db.close()


def _no_table(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE memories")
    db.close()


def _garbled_bodies(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE memories SET body = replace(body, '\"importance\"', '\"imp')")
    db.close()


def _garbled_lines(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET line = x'00'")
    db.close()


def _garbled_tips(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '{\"sha'")
    db.close()


QUIET = [_deleted, _empty, _short_text, _old_schema, _other_database]
LOUD = [
    _text, _garbage, _half, _header_alone, _no_header, _no_table,
    _garbled_bodies, _garbled_lines, _garbled_tips,
]  # fmt: skip


@pytest.mark.parametrize("damage", [*QUIET, *LOUD], ids=lambda damage: damage.__name__[1:])
def test_damage_is_mended_and_said_in_one_line(
    source: Stack, path: Path, damage: Callable[[Path], None]
) -> None:
    opened(path, source).close()
    damage(path)
    root = next(decode(p.line) for p in source.places if p.line.startswith(b"{"))
    source.push(write(10**5, "tag", memory=root.id, base=[root.id], tag="new"))
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert len(catalog.warnings) == (damage in LOUD), catalog.warnings
    assert all("\n" not in line and path.name in line for line in catalog.warnings)
    catalog.close()
    again = opened(path, source)
    assert stored(again) == from_scratch(source.places) and again.warnings == []
    again.close()


def ask_everything(catalog: Catalog, source: Stack) -> None:
    expected = from_scratch(source.places)
    assert stored(catalog) == expected
    assert {id: catalog.memory(id) for id in expected} == expected
    assert {event.line for event in catalog.events()} == {
        place.line for place in source.places if place.line.startswith(b"{")
    }
    assert len(list(catalog.placed())) == catalog.event_count()
    assert sum(catalog.counts("kind", Filter()).values()) == catalog.count(Filter())
    assert catalog.check() is None


def test_damage_that_comes_while_it_is_open(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    catalog.close()
    catalog = opened(path, source)
    for damage in (_garbled_bodies, _garbled_lines):
        damage(path)
        ask_everything(catalog, source)
    assert len(catalog.warnings) == 2
    catalog.close()


def test_damage_met_halfway_through_a_list(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    expected = list(catalog.events())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET line = x'00' WHERE id = ?", (expected[40].id,))
    db.close()
    assert list(catalog.events()) == expected
    assert len(catalog.warnings) == 1
    catalog.close()


@pytest.mark.parametrize("seed", range(25))
def test_bytes_overwritten_anywhere(source: Stack, path: Path, seed: int) -> None:
    """SQLite notices much, not all; what remains is an answer, never a stack trace."""
    rng = random.Random(seed)
    opened(path, source).close()
    content = bytearray(path.read_bytes())
    start, length = rng.randrange(len(content)), rng.choice((1, 16, 512, 4096))
    content[start : start + length] = rng.randbytes(length)
    path.write_bytes(content)
    source.push(remember(10**5, "after"))
    catalog = opened(path, source)
    for memory in stored(catalog).values():
        assert catalog.memory(memory.id)
    list(catalog.events()), list(catalog.placed()), catalog.tag_counts(Filter())
    catalog.anomalies("2027"), catalog.check(), catalog.changed_since(None)
    assert len(catalog.warnings) <= 2
    catalog.rebuild()
    ask_everything(catalog, source)
    catalog.close()


def test_a_folder_where_the_file_should_be(source: Stack, path: Path) -> None:
    path.mkdir(parents=True)
    catalog = opened(path, source)
    ask_everything(catalog, source)
    catalog.rebuild()
    ask_everything(catalog, source)
    assert len(catalog.warnings) == 1


def test_a_file_where_its_folder_should_be(source: Stack, path: Path) -> None:
    path.parent.write_text("")
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert len(catalog.warnings) == 1


@pytest.mark.usefixtures("impatient")
def test_locked_by_another_connection(source: Stack, path: Path) -> None:
    opened(path, source).close()
    inode = path.stat().st_ino
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    catalog = opened(path, source)
    assert catalog.warnings == [], "who has nothing to write does not mind"
    catalog.set_entities({next(iter(stored(catalog))): [("Redis", "x")]}, catalog.mark())
    assert catalog.entity_counts(Filter()) == [("Redis", "x", 1)]
    for second in (10**5, 10**5 + 1):
        source.push(remember(second, "new"))
        catalog.catch_up()
        ask_everything(catalog, source)
    assert len(catalog.warnings) == 1 and "locked" in catalog.warnings[0]
    assert path.stat().st_ino == inode, "it is not thrown away"
    catalog.close()
    other.execute("ROLLBACK")
    other.close()
    again = opened(path, source)
    ask_everything(again, source)
    assert again.warnings == []
    again.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("there", [False, True])
def test_locked_against_all(source: Stack, path: Path, there: bool) -> None:
    if there:
        opened(path, source).close()
    path.parent.mkdir(exist_ok=True)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert len(catalog.warnings) == 1
    catalog.close()
    other.close()


# -- other processes ----------------------------------------------------------------------------


def in_child(work: Callable[[], object]) -> int:
    """Run in a forked child and return its exit code, negative for a signal; 0 is success."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


NOBODY = 65534


@pytest.fixture
def guarded(source: Stack) -> Iterator[Path]:
    """Return where a catalog may be in a folder that another user can be kept out of."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # that of pytest is closed to other users
    yield folder / "catalog.sqlite"
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(work: Callable[[], Catalog]) -> int:
    """Return the number of warnings of a catalog used without root's privileges."""

    def child() -> None:
        if os.geteuid() == 0:  # root is never refused
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        os._exit(len(work().warnings))

    return in_child(child)


@pytest.mark.parametrize("there", ["nothing", "an older file", "a damaged file"])
def test_a_folder_that_cannot_be_written(source: Stack, guarded: Path, there: str) -> None:
    def work() -> Catalog:
        catalog = opened(guarded, source)
        ask_everything(catalog, source)
        catalog.rebuild()
        ask_everything(catalog, source)
        return catalog

    if there != "nothing":
        opened(guarded, source).close()
        source.push(remember(10**5, "new"))
    if there == "a damaged file":
        _text(guarded)
    guarded.parent.chmod(0o555)
    for file in guarded.parent.iterdir():
        file.chmod(0o444)
    assert as_nobody(work) == 1


@pytest.mark.parametrize("damage", [None, _garbled_bodies])
def test_a_folder_that_cannot_be_written_any_more(
    source: Stack, guarded: Path, damage: Callable[[Path], None] | None
) -> None:
    def work() -> Catalog:
        catalog = opened(guarded, source)
        if damage:
            damage(guarded)
        guarded.parent.chmod(0o555)
        if not damage:
            catalog.rebuild()
        ask_everything(catalog, source)
        return catalog

    if os.geteuid() == 0:
        os.chown(guarded.parent, NOBODY, NOBODY)
    assert as_nobody(work) == 1


@pytest.mark.parametrize("after", [0, 1, 30, 70])
def test_killed_in_the_middle_of_catching_up(source: Stack, path: Path, after: int) -> None:
    first = Stack(source.places[:20])
    opened(path, first).close()

    class Deadly(Stack):
        def added(self, old: Mapping[str, str], new: Mapping[str, str]) -> Any:
            return self._dying(super().added(old, new))

        def _dying(self, places: Sequence[Place]) -> Iterator[Place]:
            yield from places[:after]
            os.kill(os.getpid(), signal.SIGKILL)

    monkeyed = Deadly(source.places)
    assert in_child(lambda: _in_batches_of(10, lambda: opened(path, monkeyed))) == -signal.SIGKILL
    catalog = opened(path, first)
    assert stored(catalog) == from_scratch(first.places), "as if it had not begun"
    catalog.close()
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert catalog.warnings == []
    catalog.close()


def _in_batches_of(size: int, work: Callable[[], object]) -> None:
    from gitmem.search import catalog

    catalog.BATCH = size
    work()


def test_batches_of_any_size(source: Stack, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 2, 7, 100):
        monkeypatch.setattr("gitmem.search.catalog.BATCH", size)
        catalog = opened(None, source)
        ask_everything(catalog, source)
        assert catalog.mark().changed == 1


@pytest.mark.parametrize("there", [False, True], ids=["no file yet", "an older file"])
def test_processes_that_catch_up_at_once(source: Stack, path: Path, there: bool) -> None:
    if there:
        opened(path, Stack(source.places[:20])).close()
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(4)

    def work() -> None:
        gate.wait()
        catalog = opened(path, source)
        ask_everything(catalog, source)
        catalog.close()
        os._exit(len(catalog.warnings))

    children = [context.Process(target=work) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4
    catalog = opened(path, source)
    ask_everything(catalog, source)
    catalog.close()
