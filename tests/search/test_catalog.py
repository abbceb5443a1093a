"""The catalog: always the fold of all lines, however they came; and what changed since."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.codec import Event
from gitmem.journal.git.opening import open_repository
from gitmem.journal.journals import Journals
from gitmem.model import JournalName, Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.events import Mark
from gitmem.search.catalog.rows import Filter
from tests.journal.histories import histories, remember, write
from tests.search.stack import ANCHOR, Stack, from_scratch, opened, stored
from tests.support import git

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


# -- what changed since -------------------------------------------------------------------------


def test_a_reader_is_told_what_changed_since_its_mark(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    mark = catalog.mark()
    oldest_first = [m.id for m in sorted(stored(catalog).values(), key=_age)]
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
    everything = [m.id for m in sorted(stored(catalog).values(), key=_age)]
    assert catalog.changed_since(later) == (everything, True)
    assert catalog.mark().epoch != mark.epoch


def _age(memory: Memory) -> tuple[str, str]:
    return memory.created, memory.id


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
