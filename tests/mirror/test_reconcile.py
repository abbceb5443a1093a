"""What somebody did to a block: one case a test, and the laws that hold for all."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.mirror.parse import Block, parse_block
from gitmem.mirror.reconcile import (
    Add,
    Base,
    Edit,
    Forget,
    Outcome,
    Revise,
    Unattributed,
    reconcile,
    revise_data,
)
from gitmem.mirror.render import Section, block_text, long_term
from gitmem.model import Alternative, Importance, Memory
from tests.mirror.support import FakeView, make, memories, rendered, short

PG = make("Use PostgreSQL: the team knows it", tags=("database",), importance=Importance.HIGH)
TABS = make("Indent with tabs", kind="preference", heads=("a" * 64, "b" * 64))
FIX = make("Fixed the parser in #482", kind="fact")
LINES = make("First line\n\n```py\nx = 1\n```\n\n- a\n- b", kind="note")
SHOWN = [PG, TABS, FIX, LINES]


def block(*memories: Memory, more: str = "") -> str:
    return block_text(long_term([(m, rendered(m, "PostgreSQL")) for m in memories]), more)


def base_of(text: str, *memories: Memory) -> Base:
    return Base(parse_block(text), {short(m): [m.id, *m.heads] for m in memories})


def run(
    change: Callable[[str], str],
    shown: Sequence[Memory] = SHOWN,
    *,
    view: FakeView | None = None,
    known: bool = True,
    whole: bool = True,
) -> Outcome:
    text = block(*shown)
    edited = change(text)
    view = view or FakeView(*shown, entities=["PostgreSQL"])
    current = parse_block(block(*view._seen()))
    base = base_of(text, *shown) if known else None
    return reconcile(parse_block(edited), base, current, view, whole)


def edits(*args: object, **kwargs: object) -> list[Edit]:
    outcome = run(*args, **kwargs)  # type: ignore[arg-type]
    assert not outcome.held
    return list(outcome.edits)


def sub(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


def without(memory: Memory) -> Callable[[str], str]:
    return sub(rendered(memory, "PostgreSQL") + "\n", "")


def test_no_change_is_no_edit() -> None:
    assert edits(lambda text: text) == []


def test_a_changed_text_is_a_revision_with_the_events_its_editor_saw() -> None:
    assert edits(sub("with tabs", "with two spaces")) == [
        Revise(TABS.id, text="Indent with two spaces", seen=TABS.heads)
    ]


def test_changes_of_the_other_fields() -> None:
    assert edits(sub("**preference**", "**decision**")) == [
        Revise(TABS.id, kind="decision", seen=TABS.heads)
    ]
    assert edits(sub(f"{short(TABS)} normal", f"{short(TABS)} critical")) == [
        Revise(TABS.id, importance="critical", seen=TABS.heads)
    ]
    assert edits(sub("#database", "#storage #sql")) == [
        Revise(PG.id, tags_added=("storage", "sql"), tags_removed=("database",), seen=PG.heads)
    ]


def test_a_name_typed_beside_the_entities_belongs_to_the_text() -> None:
    (edit,) = edits(sub("@PostgreSQL <!-- " + short(PG), "@PostgreSQL @bob <!-- " + short(PG)))
    assert edit == Revise(PG.id, text=f"{PG.text} @bob", seen=PG.heads)
    assert edits(sub(" @PostgreSQL", "")) == []


def test_a_changed_part_of_a_longer_text() -> None:
    (edit,) = edits(sub("x = 1", "x = 2"))
    assert edit == Revise(LINES.id, text=LINES.body.replace("1", "2"), seen=LINES.heads)


def test_an_added_line_is_a_new_memory() -> None:
    line = "- Deploy on Fridays #ops\n"
    assert edits(lambda text: text + line) == [Add("Deploy on Fridays", "note", None, ("ops",))]


@pytest.mark.parametrize(
    ("line", "add"),
    [
        ("- **lesson** Never rebase", Add("Never rebase", "lesson")),
        ("* __Lesson:__ Never rebase", Add("Never rebase", "lesson")),
        ("1. Never rebase", Add("Never rebase", "note")),
        ("- **Redis** is the cache", Add("**Redis** is the cache", "note")),
        ("- See #12 #13 #bug", Add("See #12 #13", "note", None, ("bug",))),
        ("- Ask @bob #ops", Add("Ask @bob", "note", None, ("ops",))),
        ("- Two\n  lines", Add("Two\nlines", "note")),
        ("- Lazy\nlines", Add("Lazy\nlines", "note")),
        ("- [ ] task", Add("[ ] task", "note")),
        ("- added <!-- added -->", Add("added <!-- added -->", "note")),
        ("- Gone <!-- ffffffff high main 2026-11-20 -->", Add("Gone", "note", "high")),
        ("- a\n\n  b", Add("a\n\nb", "note")),
    ],
)
def test_ways_to_type_a_memory(line: str, add: Add) -> None:
    assert edits(lambda text: f"{text}\n{line}\n") == [add]


def test_a_heading_gives_a_new_memory_its_kind_or_importance() -> None:
    shown = [
        make("a", importance=Importance.CRITICAL),
        make("b", kind="lesson"),
        make("c", kind="story"),
    ]
    add = {"## Critical": ("importance", "critical"), "## Lessons": ("kind", "lesson")}
    for heading, (field, value) in (add | {"## Story": ("kind", "story")}).items():
        (edit,) = edits(sub(f"{heading}\n", f"{heading}\n- typed\n"), shown)
        assert getattr(edit, field) == value


def test_a_deleted_line_forgets() -> None:
    assert edits(without(TABS)) == [Forget(TABS.id, TABS.heads)]


def test_the_comment_may_stand_anywhere() -> None:
    comment = f" <!-- {short(TABS)} normal main 2026-11-20 -->"

    def moved(text: str) -> str:
        text = text.replace(comment, "")
        return text.replace("- **preference**", f"-{comment} **preference**")

    assert edits(moved) == []
    assert edits(lambda text: sub("Indent", f"Indent{comment}")(text.replace(comment, ""))) == []


def test_an_item_without_its_id_is_found_by_its_text() -> None:
    def strip(text: str) -> str:
        return re.sub(r" <!-- [0-9a-f]{8} .*? -->", "", text)

    assert edits(strip) == []
    (edit,) = edits(lambda text: strip(text).replace("with tabs", "with 4 tabs"))
    assert edit == Revise(TABS.id, text="Indent with 4 tabs", seen=TABS.heads)
    changed = run(lambda text: strip(text).replace("Indent with tabs", "Something else"))
    assert {type(edit) for edit in changed.edits} == {Add, Forget}


def test_an_id_cut_short_is_still_an_id() -> None:
    assert edits(sub(short(TABS), short(TABS)[:5])) == []


def test_of_two_items_with_one_id_the_equal_one_keeps_it() -> None:
    line = rendered(TABS, "PostgreSQL")
    other = line.replace("Indent with tabs", "Wrap at 100")
    expected = [Add("Wrap at 100", "preference", "normal")]
    assert edits(sub(line, f"{line}\n{other}")) == expected
    assert edits(sub(line, f"{other}\n{line}")) == expected
    assert edits(sub(line, f"{line}\n{line}")) == []


def test_a_line_from_another_file_is_known_by_its_id() -> None:
    elsewhere = make("Stands in the daily file")
    view = FakeView(*SHOWN, elsewhere, entities=["PostgreSQL"])
    line = rendered(elsewhere, "PostgreSQL")
    outcome = run(lambda text: f"{text}\n{line}\n", view=view)
    assert outcome.edits == ()
    assert outcome.arrived == {elsewhere.id}
    edited = line.replace("Stands", "Stood")
    (edit,) = edits(lambda text: f"{text}\n{edited}\n", view=view)
    assert edit == Revise(elsewhere.id, text="Stood in the daily file")


def test_without_the_base_nothing_is_forgotten() -> None:
    assert edits(without(TABS), known=False) == []
    (edit,) = edits(lambda text: without(TABS)(text).replace("Fixed", "Broke"), known=False)
    assert edit == Revise(FIX.id, text="Broke the parser in #482")
    assert edits(without(TABS), whole=False) == []


def test_what_is_done_already_is_not_done_again() -> None:
    view = FakeView(*SHOWN, make("Deploy on Fridays"), entities=["PostgreSQL"])
    view._change(TABS.id, forgotten=True)
    view._change(FIX.id, text="Broke the parser in #482")

    def change(text: str) -> str:
        text = without(TABS)(text) + "- Deploy on Fridays\n"
        return text.replace("Fixed", "Broke")

    assert edits(change, view=view) == []


def test_a_memory_not_seen_here_is_not_forgotten_and_its_new_text_is_new() -> None:
    view = FakeView(PG, FIX, LINES, entities=["PostgreSQL"])
    assert edits(without(TABS), view=view) == []
    assert edits(lambda text: text, view=view) == []
    assert edits(sub("with tabs", "with spaces"), view=view) == [
        Add("Indent with spaces", "preference", "normal")
    ]


def test_a_large_deletion_is_held() -> None:
    many = [make(f"memory {number}", kind="fact") for number in range(20)]
    keep = run(lambda text: "\n".join(text.split("\n")[:-6]), many)
    assert not keep.held
    assert len(keep.edits) == 5
    assert run(lambda text: "\n".join(text.split("\n")[:-7]), many).held == (
        "would forget 6 of 20 memories"
    )
    assert run(lambda text: "", many[:4]).held
    assert not run(lambda text: "", many[:3]).held


def test_lines_run_together_are_held() -> None:
    outcome = run(lambda text: " ".join(text.split()).replace("- **pref", "\n- **pref"))
    assert outcome.held


def test_what_is_no_item_is_moved_below_the_block() -> None:
    typed = "Some paragraph\nof two lines\n\n## My heading\n\n```\n- no item\n```\n"
    outcome = run(lambda text: f"{text}\n{typed}")
    assert [edit.text for edit in outcome.edits if isinstance(edit, Unattributed)] == [
        "Some paragraph\nof two lines", "## My heading", "```\n- no item\n```",
    ]  # fmt: skip
    assert len(outcome.edits) == 3


def test_gitmems_own_lines_are_not_taken_for_somebodys() -> None:
    text = block(PG, more="12 more: `gitmem list`")
    base = base_of(text, PG)
    edited = parse_block(text.replace("12 more", "1,012 more") + "\n## Lessons\n")
    assert reconcile(edited, base, base.block, FakeView(PG)).edits == ()


def test_words_typed_into_the_comment_are_not_lost() -> None:
    (edit,) = edits(sub(f"{short(TABS)} normal", f"{short(TABS)} urgent"))
    assert edit == Unattributed(f"{short(TABS)}: urgent")


def contested() -> Memory:
    side = Alternative("content", "Use MySQL", "e" * 64, "Bob <b@x>", "2026-11-21T00:00")
    return make("Use PostgreSQL", contested=(side,), heads=("c" * 64, "e" * 64))


def test_a_contested_memory_is_settled_by_revising_it_or_deleting_the_other_side() -> None:
    memory = contested()
    (edit,) = edits(sub("Use PostgreSQL", "Use SQLite"), [memory])
    assert edit == Revise(memory.id, text="Use SQLite", seen=memory.heads)
    quote = re.compile(r"\n  > \*\*contested.*")
    (edit,) = edits(lambda text: quote.sub("", text), [memory])
    assert edit == Revise(memory.id, text="Use PostgreSQL", seen=memory.heads)


def test_the_other_side_of_a_contested_memory_cannot_be_edited() -> None:
    (edit,) = edits(sub("Use MySQL", "Use Oracle"), [contested()])
    assert edit == Unattributed("> **contested** Bob, 2026-11-21: Use Oracle")


def test_a_text_shown_in_part_keeps_its_rest() -> None:
    memory = make("Begin " + "word " * 2_000 + "end")
    (edit,) = edits(sub("Begin", "Began"), [memory])
    assert edit == Revise(memory.id, text=memory.body.replace("Begin", "Began"), seen=memory.heads)
    view = FakeView(memory, entities=["PostgreSQL"])
    view._change(memory.id, text="Other text")
    (lost,) = edits(sub("Begin", "Began"), [memory], view=view)
    assert isinstance(lost, Unattributed)
    assert lost.text.startswith("Began word")


DATA = {"decision": "Use Go", "reason": "it is fast\nand small", "n": 3, "x": {"a": [1]}}


@pytest.mark.parametrize(
    ("old", "new", "data"),
    [
        ("Use Go", "Use Rust", {"decision": "Use Rust"}),
        ("n: 3", "n: 4", {"n": 4}),
        ("and small", "and tiny", {"reason": "it is fast\nand tiny"}),
        ('{"a": [1]}', '{"a": []}', {"x": {"a": []}}),
    ],
)
def test_data_edited_stays_data(old: str, new: str, data: dict[str, object]) -> None:
    memory = replace(make(), text=None, data=DATA)
    (edit,) = edits(sub(old, new), [memory])
    assert edit == Revise(memory.id, data=DATA | data, seen=memory.heads)


def test_data_that_is_none_any_more_becomes_text() -> None:
    text = "decision: Use Go\nreason: fast\n"
    assert revise_data({"decision": "", "reason": ""}, text) == {
        "decision": "Use Go",
        "reason": "fast",
    }
    assert revise_data({"decision": "", "reason": ""}, text.replace("\n", " ")) is not None
    assert revise_data({"decision": "", "n": 1}, text) is None
    assert revise_data({"decision": "", "reason": 1}, text) is None
    assert revise_data({"decision": "", "reason": ""}, text + "owner: Bob") is None
    assert revise_data({"decision": "", "reason": ""}, "so: " + text) is None


def reformat(text: str, bullet: str, bold: str, blank: bool, tail: str, newline: str) -> str:
    """Rewrite a block as formatters do."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("- "):
            line = re.sub(r"^- \*\*(\S+?)\*\*", rf"{bullet} {bold}\1{bold}", line)
            lines += [""] if blank else []
        lines.append(line + tail)
    return newline.join(lines)


@given(
    st.lists(memories, min_size=1, max_size=5, unique_by=lambda memory: memory.id),
    st.sampled_from("-*+"),
    st.sampled_from(["**", "__"]),
    st.booleans(),
    st.sampled_from(["", " ", "  "]),
)
def test_reformatting_is_no_edit(
    shown: list[Memory], bullet: str, bold: str, blank: bool, tail: str
) -> None:
    outcome = run(lambda text: reformat(text, bullet, bold, blank, tail, "\n"), shown)
    assert outcome == Outcome(())


def test_an_empty_block_asks_for_nothing() -> None:
    assert reconcile(Block(), Base(Block()), Block(), FakeView()) == Outcome(())
    assert reconcile(Block(), None, Block(), FakeView()) == Outcome(())


def test_a_whole_block_rewritten_without_ids_is_matched() -> None:
    shown = [make(f"{n} " + "lorem ipsum dolor sit amet " * 8, kind="fact") for n in range(200)]

    def rewrite(text: str) -> str:
        return re.sub(r" <!-- .*? -->", "", text).replace("dolor", "color")

    outcome = run(rewrite, shown)
    assert sum(isinstance(edit, Revise) for edit in outcome.edits) == 200
    assert len(outcome.edits) == 200


def test_sections_without_title_have_no_heading() -> None:
    assert block_text([Section("", ["- a"])]) == "\n- a\n"


def test_many_lines_pasted_are_as_many_memories() -> None:
    outcome = run(lambda text: text + "".join(f"- pasted {n}\n" for n in range(5_000)))
    assert len(outcome.edits) == 5_000
    assert all(isinstance(edit, Add) for edit in outcome.edits)
