"""Undo: which event is one's last, and the draft that takes it back."""

from __future__ import annotations

from typing import Any

import pytest

from gitmem.errors import NotFound
from gitmem.journal.codec import UNDO, Event
from gitmem.journal.fold import NEVER, fold_memory
from gitmem.verbs.undo import last_of_ones_own, take_back
from tests.journal.histories import remember, write

ROOT = remember(0, "one", kind="fact", tags=["db"])


def about(second: float, op: str, *base: Event, **fields: Any) -> Event:
    return write(second, op, memory=ROOT.id, base=[event.id for event in base or (ROOT,)], **fields)


def draft_of(event: Event, *life: Event) -> tuple[str, dict[str, Any]]:
    """Return the op and the fields, but for the reason, that take `event` back."""
    memory = fold_memory([ROOT, *life])
    assert memory is not None
    draft = take_back(event, memory, [ROOT, *life])
    fields = dict(draft.fields)
    assert fields.pop("reason") == UNDO + event.id and draft.memory == memory
    return draft.op, fields


def undone(event: Event, *life: Event) -> Any:
    """Return the memory after `event`, the last of its life, was taken back."""
    op, fields = draft_of(event, *life)
    last = about(10**6, op, *life, reason=UNDO + event.id, **fields)
    return fold_memory([ROOT, *life, last])


@pytest.mark.parametrize(
    ("event", "op", "fields"),
    [
        (ROOT, "forget", {}),
        (about(1, "forget"), "restore", {}),
        (about(1, "restore"), "forget", {}),
        (about(1, "tag", tag="x"), "untag", {"tag": "x"}),
        (about(1, "untag", tag="db"), "tag", {"tag": "db"}),
        (about(1, "link", rel="r", target="t"), "unlink", {"rel": "r", "target": "t"}),
        (about(1, "unlink", rel="r", target="t"), "link", {"rel": "r", "target": "t"}),
        (about(1, "revise", text="two"), "revise", {"text": "one", "paths": {}}),
        (about(1, "revise", data={"a": 1}), "revise", {"text": "one", "paths": {}}),
        (about(1, "revise", kind="task", importance="low"), "revise",
         {"kind": "fact", "importance": "normal"}),
        (about(1, "revise", expires="2027-01-01T00:00:00.000000Z"), "revise", {"expires": NEVER}),
        (about(1, "revise", reason="a note"), "revise", {}),
    ],
)  # fmt: skip
def test_the_opposite_of_each_op(event: Event, op: str, fields: dict[str, Any]) -> None:
    life = [] if event is ROOT else [event]
    assert draft_of(event, *life) == (op, fields)


def test_after_an_undo_the_memory_is_as_before() -> None:
    before = about(1, "revise", text="two", importance="high")
    for event in (
        about(2, "revise", before, text="three", kind="task"),
        about(2, "revise", before, reason="a note"),
        about(2, "tag", before, tag="x"),
        about(2, "link", before, rel="relates", target="t", reason="why"),
    ):
        memory, was = undone(event, before, event), fold_memory([ROOT, before])
        for name in (
            "text",
            "kind",
            "importance",
            "tags",
            "links",
            "notes",
            "forgotten",
            "contested",
        ):
            assert getattr(memory, name) == getattr(was, name)


def test_what_came_since_stays_and_what_came_first_by_cause_does_not_come_back() -> None:
    """The clock of who wrote `first` ran ahead: without `mine` between them it would look later."""
    first = about(9000, "revise", text="first")
    mine = about(1, "revise", first, text="mine")
    since = about(2, "revise", mine, text="since")
    assert draft_of(mine, first, mine, since) == ("revise", {"text": "since", "paths": {}})


def test_ones_last_is_no_undo_and_nothing_undone() -> None:
    first, second = about(1, "revise", text="two"), about(2, "tag", tag="x")
    undo = about(3, "untag", tag="x", reason=UNDO + second.id)
    assert last_of_ones_own([second, first, ROOT]) is second
    assert last_of_ones_own([undo, second, first, ROOT]) is first
    words = about(4, "revise", reason="undo the migration first")
    assert last_of_ones_own([words, undo, second, first, ROOT]) is words
    purge, carry = about(5, "purge"), write(6, "carry", events=[ROOT.id])
    assert last_of_ones_own([carry, purge, first]) is first
    for nothing in ([], [carry, purge]):
        with pytest.raises(NotFound):
            last_of_ones_own(nothing)
