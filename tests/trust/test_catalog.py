"""The catalog, which folds what is new, says what a fold of everything says; whoever is trusted."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.branches.visibility import Carry, Fact, Vantage, visible
from gitmem.journal.codec import Event, decode
from gitmem.journal.fold import fold
from gitmem.journal.journals import Place
from gitmem.journal.trust import author_of
from gitmem.model import JournalName, Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter
from tests.journal.histories import histories, remember, write
from tests.search.stack import ANCHOR, Stack, stored

AUTHORS = ("ada@example.com", "bob@example.com", "eve@example.com")
AWAY = "b" * 40
VANTAGE = Vantage(ANCHOR, "main", None, "main")


@dataclass
class Look:
    """Sees what stands on `ANCHOR` and what is carried there, and does not trust some."""

    doubted: set[str] = field(default_factory=set)
    key = "here"
    commit: str | None = ANCHOR
    due: Sequence[Carry] = ()
    complete = True

    def seen(self, facts: Sequence[Fact]) -> set[str]:
        return visible(facts, VANTAGE, {ANCHOR})

    belonging = seen

    def untrusted(self, authors: Collection[str]) -> set[str]:
        return self.doubted & set(authors)


def signed(events: Iterable[Event], authors: Sequence[str]) -> list[Event]:
    """Return a history as several people wrote it: the ids that follow from that are mended."""
    ids: dict[str, str] = {}
    made = []
    for event, author in zip(events, authors, strict=False):
        line = event.line.replace(b"ada@example.com", author.encode())
        for old, new in ids.items():
            line = line.replace(old.encode(), new.encode())
        made.append(decode(line))
        ids[event.id] = made[-1].id
    return made


def carry(second: int, author: str, events: Iterable[Event]) -> Event:
    """Return an event by somebody that brings others to where it stands."""
    made = write(second, "carry", events=[event.id for event in events])
    return signed([made], [author])[0]


def expected(places: Sequence[Place], doubted: set[str]) -> dict[str, Memory]:
    """Fold everything, by the rules alone."""
    shared = {place.line for place in places if place.journal is JournalName.SHARED}
    events = {event.id: event for event in (decode(place.line) for place in places)}

    def trusts(event: Event) -> bool:
        return event.line not in shared or author_of(event.by) not in doubted

    trusted = {event.id for event in events.values() if trusts(event)}
    seen = visible([_fact(e, events, places, trusted) for e in events.values()], VANTAGE, {ANCHOR})
    folded = fold(events.values(), seen, trusted)
    private = {id for id in folded if events[id].line not in shared}
    return {
        id: replace(memory, journal=JournalName.PRIVATE) if id in private else memory
        for id, memory in folded.items()
    }


def _fact(
    event: Event, events: dict[str, Event], places: Sequence[Place], trusted: set[str]
) -> Fact:
    anchors = tuple(sorted({place.anchor for place in places if place.line == event.line}))
    named = event.fields.get("events", ())
    # Whom one does not trust brings nothing here that somebody wrote whom one does.
    mine = event.id in trusted
    carries = tuple(id for id in named if id in events and (mine or id not in trusted))
    return Fact(event.id, event.memory, event.op, event.at, anchors, carries=carries)


@st.composite
def journals(draw: st.DrawFn) -> list[Place]:
    """Draw what several people wrote on two commits, with what they carried, in any order."""
    history = draw(histories(purges=True, most=8))
    events = signed(history, draw(st.lists(_AUTHOR, min_size=len(history), max_size=len(history))))
    for second in range(draw(st.integers(0, 2))):
        carried = draw(st.lists(st.sampled_from(events), min_size=1, unique_by=id))
        events.append(carry(500 + second, draw(_AUTHOR), carried))
    lines = [event.line for event in events] + draw(st.lists(st.sampled_from(events)).map(_lines))
    return [Place(draw(_JOURNAL), draw(_ANCHOR), line) for line in draw(st.permutations(lines))]


def _lines(events: Iterable[Event]) -> list[bytes]:
    return [event.line for event in events]


_AUTHOR = st.sampled_from(AUTHORS)
_ANCHOR = st.sampled_from((ANCHOR, AWAY))
_JOURNAL = st.sampled_from([JournalName.SHARED] * 5 + [JournalName.PRIVATE])


@settings(max_examples=150)
@given(
    places=journals(),
    acts=st.lists(st.sampled_from((*AUTHORS, "rebuild", "reopen", "rewrite")), max_size=6),
)
def test_it_equals_the_pure_fold(tmp_path: Path, places: list[Place], acts: list[str]) -> None:
    """Whoever is trusted, and trusted no more, between any two lines that come."""
    path = Path(tempfile.mkdtemp(dir=tmp_path)) / "catalog.sqlite"
    stack, look = Stack(), Look()
    catalog = Catalog(path, stack, look)
    for n, act in enumerate([*acts, ""]):
        stack.places += places[n :: len(acts) + 1]
        if act in AUTHORS:
            look.doubted ^= {act}
        elif act == "rebuild":
            catalog.rebuild()
        elif act == "rewrite":
            stack.rewritten += "r"
        elif act:
            catalog.close()
            catalog = Catalog(path, stack, look)
        catalog.catch_up()
        assert stored(catalog) == expected(stack.places, look.doubted)
    every = stored(catalog)
    for id, memory in every.items():
        assert catalog.count(Filter(ids=[id], held=memory.held, forgotten=memory.forgotten)) == 1
    proposed = [memory for memory in every.values() if memory.proposed and not memory.forgotten]
    assert set(catalog.proposed()) == {memory.id for memory in proposed}
    assert catalog.warnings == []
    catalog.close()


def test_a_reader_is_told_of_what_a_change_of_trust_changes(tmp_path: Path) -> None:
    mine, theirs = signed([remember(0, "mine"), remember(1, "theirs")], AUTHORS[1:])
    tag = signed([write(2, "tag", memory=mine.id, tag="x")], AUTHORS[2:])[0]
    stack, look = Stack(), Look()
    stack.push(mine, theirs, tag)
    catalog = Catalog(tmp_path / "catalog.sqlite", stack, look)
    catalog.catch_up()
    mark = catalog.mark()
    catalog.catch_up()
    assert catalog.mark() == mark, "nothing has changed"
    look.doubted = {AUTHORS[2]}
    catalog.catch_up()
    assert catalog.changed_since(mark) == ([mine.id, theirs.id], False)
    assert catalog.days_since(mark) == {"2026-11-20"}
    mark = catalog.mark()
    look.doubted = {AUTHORS[0]}
    catalog.catch_up()
    assert set(catalog.changed_since(mark)[0]) == {mine.id, theirs.id}
    catalog.close()


def test_only_purges_by_whom_one_trusts_are_heeded(tmp_path: Path) -> None:
    roots = signed([remember(0, "one"), remember(1, "two")], AUTHORS)
    mine, theirs = (write(2, "purge", memory=root.id) for root in roots)
    stack, look = Stack(), Look({AUTHORS[2]})
    stack.push(*roots, mine, signed([theirs], AUTHORS[2:])[0])
    catalog = Catalog(tmp_path / "catalog.sqlite", stack, look)
    catalog.catch_up()
    assert catalog.purged() == sorted(root.id for root in roots)
    assert catalog.purged(heeded=True) == catalog.returned() == [roots[0].id]
    assert set(stored(catalog)) == {roots[1].id}
    catalog.close()
