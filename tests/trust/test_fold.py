"""Trust in the fold: its laws over any history, and each sentence of the format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.journal.codec import Event
from gitmem.journal.fold import PROPOSALS, fold, fold_memory
from gitmem.journal.trust import Decisions, Trust, Why, author_of
from gitmem.model import Memory
from tests.journal.histories import histories, remember, write

# -- laws ---------------------------------------------------------------------------------------

Ids = set[str]


def some(data: st.DataObject, events: list[Event]) -> Ids:
    return data.draw(st.sets(st.sampled_from([event.id for event in events])))


@given(histories(purges=True))
def test_to_trust_everybody_is_to_ask_nobody(events: list[Event]) -> None:
    assert fold(events, trusted={event.id for event in events}) == fold(events)


@given(histories(purges=True), st.randoms(), st.data())
def test_the_order_of_lines_does_not_matter(
    events: list[Event], random: Any, data: st.DataObject
) -> None:
    trusted = some(data, events)
    shuffled = [*events, *events]
    random.shuffle(shuffled)
    assert fold(shuffled, trusted=trusted) == fold(events, trusted=trusted)


def without(memory: Memory) -> tuple[Any, ...]:
    """Return what a memory says and is: all but what is proposed, and what the next one names."""
    names = (name for name in Memory.__slots__ if name not in ("proposed", "heads"))
    return tuple(getattr(memory, name) for name in names)


@given(histories(purges=True), st.data())
def test_what_others_write_alters_nothing_that_is_trusted(
    events: list[Event], data: st.DataObject
) -> None:
    """The journal with their lines says what it says without their effects."""
    trusted = some(data, events)
    seen = some(data, events)
    roots = [event for event in events if event.op == "remember" and event.id in trusted]
    for root in roots:
        life = [event for event in events if event.memory == root.id]
        effects = {event.id for event in life if event.id in trusted}
        # A purge is seen from everywhere, so leave out what takes no part.
        mine = [e for e in life if e.op != "purge" or e.id in trusted]
        alone = fold_memory(mine, seen & effects)
        beside = fold_memory(life, seen, trusted=trusted)
        assert (alone is None) == (beside is None)
        if alone and beside:
            assert without(beside) == without(alone)
            assert not beside.held


def alone(events: list[Event], trusted: Ids) -> list[Event]:
    """Return the trusted events as if there were no others: but who saw whom is as it was.

    What A saw of B through somebody else's event, A had seen.
    """
    by_id = {event.id: event for event in events}

    def seen_by(event: Event) -> set[str]:
        bases = [by_id[base] for base in event.base if base in by_id and base != event.id]
        return {base.id for base in bases}.union(*map(seen_by, bases))

    return [
        replace(event, fields={**event.fields, "base": sorted(seen_by(event) & trusted)})
        for event in events
        if event.id in trusted
    ]


@given(histories(purges=True), st.data())
def test_what_is_trusted_is_the_fold_of_the_trusted_events_alone(
    events: list[Event], data: st.DataObject
) -> None:
    """The law of trust, whatever the others write, and in whichever order the lines come."""
    trusted = some(data, events)
    lonely = fold(alone(events, trusted))
    beside = fold(data.draw(st.permutations(events)), trusted=trusted)
    roots = {event.id for event in events if event.op == "remember"} & trusted
    assert beside.keys() & roots == lonely.keys()
    for id, memory in lonely.items():
        assert without(beside[id]) == without(memory)
        proposed = {side.event for side in beside[id].proposed}
        assert proposed <= {event.id for event in events} - trusted
        assert beside[id].proposed or beside[id].heads == memory.heads


@given(histories(purges=True), st.data())
def test_a_memory_is_held_or_somebody_trusted_speaks(
    events: list[Event], data: st.DataObject
) -> None:
    trusted = some(data, events)
    for memory in fold(events, trusted=trusted).values():
        spoke = [
            event for event in events
            if event.memory == memory.id and event.id in trusted
            if event.op == "remember" or {"text", "data"} & event.fields.keys()
        ]  # fmt: skip
        known = [event for event in spoke if event.understood]
        assert memory.held == (not known)
        assert not (memory.held and memory.proposed)


@given(histories(), st.data())
def test_nobody_brings_back_what_one_has_forgotten(
    events: list[Event], data: st.DataObject
) -> None:
    trusted = some(data, events)
    for memory in fold(events, trusted=trusted).values():
        last = write(10**6, "forget", memory=memory.id, base=list(memory.heads))
        after = write(10**6 + 1, "restore", memory=memory.id, base=[last.id])
        said = write(10**6 + 2, "revise", memory=memory.id, text="here again")
        mine = trusted | {last.id}
        assert fold([*events, last, after, said], trusted=mine)[memory.id].forgotten
        assert not fold([*events, last, after], trusted=mine | {after.id})[memory.id].forgotten


# -- sentences, one by one ----------------------------------------------------------------------

ROOT = remember(0, "one", kind="decision", tags=["db"])


def about(second: float, op: str, *base: Event, **fields: Any) -> Event:
    return write(second, op, memory=ROOT.id, base=[event.id for event in base], **fields)


def folded(*events: Event, trusted: list[Event], visible: set[str] | None = None) -> Memory:
    ids = {event.id for event in trusted}
    return fold([ROOT, *events], visible, ids)[ROOT.id]


def those(*events: Event) -> list[Event]:
    return list(events)


CHANGES = {
    "revise": ({"text": "two"}, [("content", "two")]),
    "revise kind": (
        {"kind": "fact", "importance": "low"}, [("kind", "fact"), ("importance", "low")],
    ),
    "revise note": ({"reason": "see also"}, [("note", "see also")]),
    "forget": ({"reason": "wrong"}, [("forgotten", None)]),
    "restore": ({}, [("restored", None)]),
    "tag": ({"tag": "x"}, [("tag", "x")]),
    "untag": ({"tag": "db"}, [("untag", "db")]),
    "link": ({"rel": "relates", "target": "a"}, [("link", "relates a")]),
    "unlink": ({"rel": "relates", "target": "a"}, [("unlink", "relates a")]),
    "purge": ({}, [("purged", None)]),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_by_whom_one_does_not_trust_is_proposed(change: str) -> None:
    fields, proposed = CHANGES[change]
    theirs = about(1, change.split()[0], ROOT, **fields)
    memory = folded(theirs, trusted=those(ROOT))
    assert without(memory) == without(folded(trusted=those(ROOT)))
    assert [(side.field, side.value) for side in memory.proposed] == proposed
    assert all((side.event, side.by) == (theirs.id, theirs.by) for side in memory.proposed)


def test_an_answer_ends_a_proposal() -> None:
    theirs = about(1, "revise", ROOT, text="two")
    proposed = folded(theirs, trusted=those(ROOT))
    assert proposed.heads == (theirs.id,), "whoever answers has seen it"
    for op, fields in (("revise", {"text": "mine"}), ("forget", {}), ("revise", {"kind": "fact"})):
        answer = about(2, op, theirs, **fields)
        assert folded(theirs, answer, trusted=those(ROOT, answer)).proposed == ()
    tag = about(2, "tag", theirs, tag="x")
    assert folded(theirs, tag, trusted=those(ROOT, tag)).proposed, "a tag says nothing about it"


def test_a_purge_is_answered_by_nothing_but_a_restore() -> None:
    theirs = about(1, "purge")
    for op, fields in (("revise", {"text": "mine"}), ("forget", {}), ("tag", {"tag": "x"})):
        later = about(2, op, theirs, **fields)
        memory = folded(theirs, later, trusted=those(ROOT, later))
        assert [side.field for side in memory.proposed] == ["purged"]
    keep = about(2, "restore", theirs)
    assert folded(theirs, keep, trusted=those(ROOT, keep)).proposed == ()


def test_the_times_of_others_do_not_decide_between_two_whom_one_trusts() -> None:
    """One named their event, dated far ahead, as seen: that must not make it the later writer."""
    ahead = about(10**6, "tag", ROOT, tag="x")
    seen = about(1, "revise", ahead, kind="fact")
    unseen = about(2, "revise", ROOT, kind="lesson")
    assert folded(ahead, seen, unseen, trusted=those(ROOT, seen, unseen)).kind == "lesson"
    everybody = those(ROOT, ahead, seen, unseen)
    assert folded(ahead, seen, unseen, trusted=everybody).kind == "fact"


def test_an_answer_that_had_not_seen_it_does_not_end_it() -> None:
    theirs, answer = about(1, "revise", ROOT, text="two"), about(2, "revise", ROOT, text="mine")
    assert folded(theirs, answer, trusted=those(ROOT, answer)).proposed
    both = folded(theirs, answer, trusted=those(ROOT, theirs, answer))
    assert {side.value for side in both.contested} == {"two", "mine"}


def test_only_the_latest_proposals_are_shown() -> None:
    """Anybody may write any number of them."""
    many = [about(second, "tag", ROOT, tag=f"t{second}") for second in range(1, 60)]
    memory = folded(*many, trusted=those(ROOT))
    shown = [f"t{second}" for second in range(60 - PROPOSALS, 60)]
    assert [side.value for side in memory.proposed] == shown
    assert len(memory.heads) == PROPOSALS
    purge = about(0.5, "purge")
    memory = folded(purge, *many, trusted=those(ROOT))
    assert [side.field for side in memory.proposed] == ["purged", *["tag"] * (PROPOSALS - 1)]


def test_a_memory_by_whom_one_does_not_trust_is_held() -> None:
    theirs = about(1, "revise", ROOT, text="two")
    memory = folded(theirs, trusted=those())
    assert memory.held and memory.text == "two" and memory.proposed == ()


def test_to_give_it_a_content_of_ones_own_is_to_stand_for_it() -> None:
    mine = about(1, "revise", ROOT, text="mine")
    later = about(2, "revise", mine, text="theirs again")
    memory = folded(mine, later, trusted=those(mine))
    assert not memory.held and memory.text == "mine" and memory.tags == ("db",)
    assert [side.value for side in memory.proposed] == ["theirs again"]


@pytest.mark.parametrize("op", ["tag", "restore", "link", "revise"])
def test_less_than_that_is_not(op: str) -> None:
    fields = {"tag": "x", "rel": "relates", "target": "a", "kind": "fact"}
    mine = about(1, op, ROOT, **fields)
    assert folded(mine, trusted=those(mine)).held


def test_their_events_bring_no_memory_into_sight() -> None:
    """A memory of another branch would be seen from here if one visible event of it counted."""
    theirs = about(1, "tag", ROOT, tag="x")
    assert fold([ROOT, theirs], {theirs.id}, {ROOT.id}) == {}
    assert fold([ROOT, theirs], {theirs.id}, None)


# -- who is trusted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "author"),
    [
        ("Ada <ada@example.com>", "ada@example.com"),
        ("ADA LOVELACE <Ada@Example.COM>", "ada@example.com"),
        ("<ada@example.com>", "ada@example.com"),
        ("Ada <ada@example.com> <eve@example.com>", "ada <ada@example.com> <eve@example.com>"),
        ("Ada <ada@example.com>\n<eve@example.com>", "ada <ada@example.com>\n<eve@example.com>"),
        ("Ada <ada@ex\u200bample.com>", "ada@ex\u200bample.com"),
        ("Ada", "ada"),
        ("", ""),
    ],
)
def test_the_address_tells_authors_apart(by: str, author: str) -> None:
    assert author_of(by) == author


def never() -> set[str]:
    raise AssertionError("nothing asks for it")


def test_who_is_trusted_and_why() -> None:
    decided = Decisions(named={"bob"}, revoked={"eve", "old"}, own={"ada-before", "old"})
    trust = Trust(decided, "ada", False, never)
    answers = {name: trust.why(name) for name in ("ada", "ada-before", "bob", "eve", "old", "zoe")}
    assert answers == {
        "ada": Why.SELF, "ada-before": Why.SELF, "bob": Why.NAMED, "eve": Why.REVOKED,
        "old": Why.REVOKED, "zoe": Why.UNKNOWN,
    }  # fmt: skip
    assert trust.why("") is Why.UNKNOWN, "who signs with nothing is nobody"
    open_ = Trust(Decisions(trunk=True, revoked={"eve"}), "ada", False, lambda: {"eve", "zoe", ""})
    assert [open_.why(name) for name in ("zoe", "eve", "")] == [Why.TRUNK, Why.REVOKED, Why.UNKNOWN]
    all_ = Trust(Decisions(revoked={"eve"}), None, True, never)
    assert [all_.why(name) for name in ("zoe", "eve", "")] == [
        Why.SETTING, Why.REVOKED, Why.UNKNOWN,
    ]  # fmt: skip
    assert {why for why in Why if not why.trusted} == {Why.REVOKED, Why.UNKNOWN}
