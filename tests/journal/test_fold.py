"""The fold: its laws, a naive model that it must equal, and the format sentence by sentence."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.codec import UNDO, Event, decode
from gitmem.journal.fold import NEVER, fold, fold_memory
from gitmem.model import JournalName, Link, Memory, Scope
from tests.journal.fold_model import Model, agree
from tests.journal.histories import UNKNOWN, histories, lines, read, remember, write

# -- laws ---------------------------------------------------------------------------------------


@given(histories(purges=True), st.randoms())
def test_the_order_of_lines_does_not_matter(events: list[Event], random: Any) -> None:
    shuffled = list(events)
    random.shuffle(shuffled)
    assert fold(shuffled) == fold(events)


@given(histories(purges=True), st.data())
def test_a_line_counts_once(events: list[Event], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(events)))
    assert fold([*again, *events, *again]) == fold(events)


@given(histories(purges=True), st.data())
def test_grouping_does_not_matter(events: list[Event], data: st.DataObject) -> None:
    """However parts of a journal met before, as sets of lines, the whole folds the same."""
    parts = [set(data.draw(st.lists(st.sampled_from(lines(events))))) for _ in range(3)]
    rest = set(lines(events)) - set().union(*parts)
    one, two, three = parts
    assert fold(read((one | two) | (three | rest))) == fold(read(one | (two | three) | rest))
    assert fold(read(one | two | three | rest)) == fold(events)


@given(histories(purges=True))
def test_sorting_and_dropping_doubles_does_no_harm(events: list[Event]) -> None:
    note = b"".join(line + b"\n" for line in lines(events))
    sorted_note = sorted({*note.split(b"\n"), *note.split(b"\n")})
    assert fold(read(line for line in sorted_note if line)) == fold(events)


# -- the model ----------------------------------------------------------------------------------


@settings(max_examples=300)
@given(histories(purges=True), st.data())
def test_the_fold_is_the_model(events: list[Event], data: st.DataObject) -> None:
    """Also where some lines are missing and only some are visible."""
    missing = data.draw(st.sets(st.sampled_from(lines(events)), max_size=3))
    events = [event for event in events if event.line not in missing]
    everything = {event.id for event in events}
    visible = everything
    if events and data.draw(st.booleans()):
        visible = data.draw(st.sets(st.sampled_from(sorted(everything))))
    folded = fold(events, visible)
    for id in {event.memory for event in events}:
        assert id is not None
        agree(folded.get(id), Model([e for e in events if e.memory == id], visible))


@given(histories())
def test_whoever_has_seen_all_and_revises_ends_every_contest(events: list[Event]) -> None:
    for memory in fold(events).values():
        said = {"text": "settled", "kind": "fact", "importance": "low", "expires": NEVER}
        last = write(10**6, "revise", memory=memory.id, base=list(memory.heads), **said)
        settled = fold([*events, last])[memory.id]
        assert settled.contested == () and settled.text == "settled"
        assert settled.heads == (last.id,)
        assert settled.forgotten == memory.forgotten
        gone = write(10**6 + 1, "forget", memory=memory.id, base=[last.id])
        assert fold([*events, last, gone])[memory.id].forgotten
        back = write(10**6 + 2, "restore", memory=memory.id, base=[gone.id])
        assert fold([*events, last, gone, back])[memory.id] == fold_as_if(
            [*events, last, gone, back], back
        )
        assert not fold([*events, last, gone, back])[memory.id].forgotten


def fold_as_if(events: list[Event], last: Event) -> Memory:
    """Fold one memory alone, its events the other way round."""
    memory = fold_memory([event for event in reversed(events) if event.memory == last.memory])
    assert memory is not None
    return memory


# -- sentences of the format, one by one --------------------------------------------------------

ROOT = remember(0, "one", kind="decision", tags=["db"])


def about(second: float, op: str, *base: Event, **fields: Any) -> Event:
    return write(second, op, memory=ROOT.id, base=[event.id for event in base], **fields)


def folded(*events: Event, visible: set[str] | None = None) -> Memory:
    memory = fold([ROOT, *events], visible)[ROOT.id]
    assert memory.id == ROOT.id
    return memory


def sides(memory: Memory) -> list[tuple[str, Any]]:
    return [(side.field, side.value) for side in memory.contested]


def test_a_remember_alone() -> None:
    assert fold([ROOT]) == {
        ROOT.id: Memory(
            id=ROOT.id,
            created=ROOT.at,
            updated=ROOT.at,
            author="Ada <ada@example.com>",
            text="one",
            kind="decision",
            tags=("db",),
            heads=(ROOT.id,),
        )
    }


def test_cause_counts_before_the_clock() -> None:
    late = about(9000, "revise", ROOT, text="two")
    early = about(1, "revise", late, text="three")
    memory = folded(late, early)
    assert (memory.text, memory.contested, memory.updated) == ("three", (), late.at)


def test_two_revisions_of_one_field_contest_it_until_somebody_has_seen_both() -> None:
    mine, yours = about(1, "revise", ROOT, text="two"), about(2, "revise", ROOT, text="three")
    assert sides(folded(mine, yours)) == [("content", "two"), ("content", "three")]
    half = about(3, "revise", mine, text="four")
    assert sides(folded(mine, yours, half)) == [("content", "three"), ("content", "four")]
    whole = about(4, "revise", half, yours, text="five")
    assert sides(folded(mine, yours, half, whole)) == []


def test_two_who_say_the_same_do_not_contest() -> None:
    mine, yours = about(1, "revise", ROOT, text="two"), about(2, "revise", ROOT, text="two")
    assert folded(mine, yours).contested == ()


def test_a_text_beside_a_json_object_contests() -> None:
    mine, yours = about(1, "revise", ROOT, text="two"), about(2, "revise", ROOT, data={"a": 1})
    memory = folded(mine, yours)
    assert sides(memory) == [("content", "two"), ("content", {"a": 1})]
    assert (memory.text, memory.data) == (None, {"a": 1})


def test_revisions_of_different_fields_do_not_contest() -> None:
    parts: list[dict[str, Any]] = [
        {"text": "two"},
        {"kind": "fact"},
        {"importance": "low"},
        {"expires": "2027-01-01T00:00:00.000000Z"},
        {"paths": {"src/app.py": "a" * 40}},
    ]
    memory = folded(*(about(at, "revise", ROOT, **part) for at, part in enumerate(parts, 1)))
    assert memory.contested == () and len(memory.heads) == 5
    assert (memory.text, memory.kind, memory.importance.value) == ("two", "fact", "low")
    assert memory.expires and memory.paths


def test_notes_beside_each_other_and_beside_a_revision_never_contest() -> None:
    said = [about(at, "revise", ROOT, reason=f"note {at}") for at in (3, 1, 2)]
    memory = folded(*said, about(4, "revise", ROOT, text="two"))
    assert memory.contested == () and memory.text == "two"
    assert [note.text for note in memory.notes] == ["note 1", "note 2", "note 3"]


def test_an_undo_takes_a_note_away_and_a_note_that_begins_with_undo_stays() -> None:
    first, second = (
        about(1, "revise", ROOT, reason="wrong"),
        about(2, "revise", ROOT, reason="right"),
    )
    words = about(3, "revise", first, second, reason="undo the migration first")
    undo = about(4, "revise", words, reason=UNDO + first.id)
    notes = folded(first, second, words, undo).notes
    assert [note.text for note in notes] == ["right", "undo the migration first"]


def test_a_forget_beside_a_revise_stays_contested_until_somebody_revises_again() -> None:
    gone, new = about(1, "forget", ROOT, reason="old"), about(2, "revise", ROOT, text="two")
    memory = folded(gone, new)
    assert not memory.forgotten and sides(memory) == [("forgotten", None)]
    assert memory.contested[0].event == gone.id
    again = about(3, "revise", gone, new, text="three")
    assert (folded(gone, new, again).forgotten, folded(gone, new, again).contested) == (False, ())
    later = about(4, "forget", again)
    assert folded(gone, new, again, later).forgotten
    at_once = about(3, "forget", gone, new)
    assert folded(gone, new, at_once).forgotten


def test_a_forget_whose_writer_knew_all_that_was_said_holds_beside_one_who_did_not() -> None:
    new = about(1, "revise", ROOT, text="two")
    blind, knowing = about(2, "forget", ROOT), about(3, "forget", new)
    memory = folded(new, blind, knowing)
    assert memory.forgotten and memory.contested == ()


def test_a_forget_beside_a_note_stays_and_beside_a_tag_does_not() -> None:
    gone = about(1, "forget", ROOT)
    assert not folded(gone, about(2, "revise", ROOT, reason="a note")).forgotten
    assert folded(gone, about(2, "tag", ROOT, tag="x")).forgotten


def test_forget_then_restore_then_forget() -> None:
    gone = about(1, "forget", ROOT)
    back = about(2, "restore", gone)
    again = about(3, "forget", back)
    assert folded(gone).forgotten
    assert not folded(gone, back).forgotten
    assert folded(gone, back, again).forgotten


def test_of_forget_and_restore_at_the_same_time_the_later_holds() -> None:
    first = about(1, "forget", ROOT)
    gone, back = about(5, "forget", first), about(4, "restore", first)
    assert folded(first, gone, back).forgotten
    assert not folded(first, about(3, "forget", first), back).forgotten


def test_a_revision_made_after_a_forget_was_seen_does_not_bring_the_memory_back() -> None:
    gone = about(1, "forget", ROOT)
    memory = folded(gone, about(2, "revise", gone, text="two"))
    assert memory.forgotten and memory.text == "two"


def test_tags_and_links_count_one_by_one() -> None:
    on = about(1, "tag", ROOT, tag="sql")
    off = about(2, "untag", ROOT, tag="db")
    link = about(3, "link", ROOT, rel="relates", target="src/app.py", reason="there")
    other = about(4, "link", ROOT, rel="depends", target="src/app.py")
    gone = about(5, "unlink", other, rel="depends", target="src/app.py")
    memory = folded(on, off, link, other, gone)
    assert memory.tags == ("sql",)
    assert memory.links == (Link("relates", "src/app.py", "there"),)
    assert memory.contested == ()


def test_a_link_taken_back_by_undo_has_its_comment_again() -> None:
    edge = {"rel": "relates", "target": "src/app.py"}
    link = about(1, "link", ROOT, reason="there", **edge)
    gone = about(2, "unlink", link, **edge)
    back = about(3, "link", gone, reason=UNDO + gone.id, **edge)
    assert folded(link, gone, back).links == (Link("relates", "src/app.py", "there"),)
    assert folded(back).links == (Link("relates", "src/app.py", ""),)


def test_a_tag_taken_off_and_put_on_again() -> None:
    off = about(1, "untag", ROOT, tag="db")
    assert folded(off).tags == ()
    assert folded(off, about(2, "tag", off, tag="db")).tags == ("db",)
    assert folded(off, about(0.5, "tag", ROOT, tag="db")).tags == ()


def test_an_expiry_is_taken_back() -> None:
    soon = about(1, "revise", ROOT, expires="2027-01-01T00:00:00.000000Z")
    assert folded(soon).expires == "2027-01-01T00:00:00.000000Z"
    assert folded(soon, about(2, "revise", soon, expires=NEVER)).expires is None


def test_a_purge_is_final_wherever_it_stands_and_whoever_sees_it() -> None:
    purge = about(1, "purge")
    after = [about(2, "restore", purge), about(3, "revise", purge, text="back")]
    assert fold([ROOT, purge]) == {}
    assert fold([*after, purge, ROOT]) == {}
    assert fold([ROOT, purge, *after], {ROOT.id}) == {}


def test_without_its_remember_there_is_no_memory() -> None:
    revise = about(1, "revise", ROOT, text="two")
    assert fold([revise]) == {} and fold_memory([revise]) is None and fold([]) == {}


def test_unknown_bases_and_none_at_all() -> None:
    ghost = write(2, "revise", memory=ROOT.id, base=[UNKNOWN, ROOT.id], text="two")
    bare = write(1, "revise", memory=ROOT.id, text="three")
    itself = write(3, "tag", memory=ROOT.id, base=[UNKNOWN], tag="x")
    assert folded(ghost).text == "two" and folded(ghost).contested == ()
    memory = folded(ghost, bare, itself)
    assert sides(memory) == [("content", "three"), ("content", "two")]
    assert set(memory.heads) == {ghost.id, bare.id, itself.id}


def test_the_remember_comes_first_whatever_its_clock() -> None:
    ahead = remember(10**7, "from the future")
    revise = write(0, "revise", memory=ahead.id, text="two")
    memory = fold([revise, ahead])[ahead.id]
    assert (memory.text, memory.contested, memory.created) == ("two", (), ahead.at)


def test_a_carry_is_no_memory() -> None:
    assert set(fold([ROOT, write(1, "carry", events=[ROOT.id])])) == {ROOT.id}


def test_who_has_seen_a_line_of_a_later_version_has_seen_what_its_writer_saw() -> None:
    mine = about(1, "revise", ROOT, text="two")
    later = decode(about(2, "revise", mine, text="?").line.replace(b'"v":1', b'"v":2'))
    yours = about(3, "revise", later, text="three")
    memory = folded(mine, later, yours)
    assert (memory.text, memory.contested, memory.heads) == ("three", (), (yours.id,))
    assert folded(mine, later).text == "two"
    assert folded(mine, later).heads == (mine.id,), "what was not understood was not seen"


def test_a_later_version_may_do_anything_to_any_key() -> None:
    line = ROOT.line.replace(b'"v":1', b'"v":2').replace(b'["db"]', b"7")
    strange = (
        about(1, "purge").line.replace(b'"v":1', b'"v":3').replace(b'"by":', b'"base":4,"by":')
    )
    assert fold([ROOT, decode(line), decode(strange)]) == fold([ROOT])


# -- what HEAD sees -----------------------------------------------------------------------------


def test_a_visible_event_brings_its_remember() -> None:
    revise = about(1, "revise", ROOT, text="two")
    assert folded(revise, visible={revise.id}).text == "two"
    assert folded(revise, visible={ROOT.id}).text == "one"
    tag = about(2, "tag", ROOT, tag="x")
    assert folded(revise, tag, visible={tag.id}).tags == ("db", "x")


def test_a_visible_forget_does_not() -> None:
    gone = about(1, "forget", ROOT)
    assert fold([ROOT, gone], {gone.id}) == {}
    assert fold([ROOT, gone], set()) == {}
    assert folded(gone, visible={gone.id, ROOT.id}).forgotten
    back = about(2, "restore", gone)
    assert not folded(gone, back, visible={back.id}).forgotten


def test_ancestry_runs_through_what_is_not_visible() -> None:
    """A revision on the trunk, answered on a branch, merged: the answer's writer had seen it."""
    mine = about(1, "revise", ROOT, text="two")
    hidden = about(2, "tag", mine, tag="x")
    yours = about(3, "revise", hidden, text="three")
    memory = folded(mine, hidden, yours, visible={ROOT.id, mine.id, yours.id})
    assert (memory.text, memory.contested, memory.tags) == ("three", (), ("db",))
    assert memory.heads == (yours.id,)


def test_a_hidden_revision_contests_nothing() -> None:
    mine, yours = about(1, "revise", ROOT, text="two"), about(2, "revise", ROOT, text="three")
    assert folded(mine, yours, visible={ROOT.id, mine.id}).contested == ()
    gone = about(3, "forget", ROOT)
    assert folded(mine, gone, visible={ROOT.id, gone.id}).forgotten


# -- scopes and journals ------------------------------------------------------------------------


def test_scope_comes_from_the_remember_and_the_journal() -> None:
    wide = remember(0, "x", scope="repo")
    assert fold([wide])[wide.id].scope is Scope.REPO
    assert fold([ROOT])[ROOT.id].scope is Scope.BRANCH
    private = fold_memory([ROOT], None, JournalName.PRIVATE)
    mine = fold_memory([wide], None, JournalName.USER)
    assert private and private.private and private.scope is Scope.BRANCH
    assert mine and mine.private and mine.scope is Scope.USER


def test_a_thousand_revisions_in_a_chain_and_in_a_fan() -> None:
    chain = [ROOT]
    for at in range(1, 1001):
        chain.append(about(at, "revise", chain[-1], text=str(at)))
    memory = fold(chain)[ROOT.id]
    assert (memory.text, memory.heads, memory.contested) == ("1000", (chain[-1].id,), ())
    fan = [about(at, "revise", ROOT, text=str(at)) for at in range(1, 1001)]
    assert len(folded(*fan).contested) == len(folded(*fan).heads) == 1000
