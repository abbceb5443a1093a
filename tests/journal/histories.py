"""Histories for property tests: what several writers, each seeing a part, might put in a journal.

`histories` draws lists of events as gitmem would write them: each writer names as ``base`` what is
latest among the events that have reached it. Clocks are wrong by hours, memories are two, some
lines are of later versions, and some name events that nobody has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from gitmem.journal.clock import format_at
from gitmem.journal.codec import UNDO, Event, decode, encode
from gitmem.journal.fold import NEVER

START = datetime(2026, 11, 20, tzinfo=UTC)
UNKNOWN = "0" * 64
WRITERS = 3

_TEXTS = ("one", "two", "three")
_ACTIONS = st.one_of(
    st.builds(lambda text: ("revise", {"text": text}), st.sampled_from(_TEXTS)),
    st.builds(lambda n: ("revise", {"data": {"n": n}}), st.sampled_from((1, True))),
    st.builds(lambda kind: ("revise", {"kind": kind}), st.sampled_from(("fact", "task"))),
    st.builds(lambda level: ("revise", {"importance": level}), st.sampled_from(("high", "low"))),
    st.builds(
        lambda day: ("revise", {"expires": day}),
        st.sampled_from((NEVER, "2027-01-01T00:00:00.000000Z")),
    ),
    st.just(("revise", {"text": "both", "kind": "lesson"})),
    st.builds(lambda note: ("revise", {"reason": note}), st.sampled_from(("seen", "undo it"))),
    st.just(("undo", {})),
    st.sampled_from((("forget", {}), ("forget", {}), ("restore", {}))),
    st.builds(lambda op, tag: (op, {"tag": tag}), st.sampled_from(("tag", "untag")), st.just("t")),
    st.builds(
        lambda op, to, why: (op, {"rel": "relates", "target": to, "reason": why}),
        st.sampled_from(("link", "unlink")),
        st.sampled_from(("a", "b")),
        st.sampled_from(("", "because")),
    ),
    st.sampled_from((("pin", {"text": "x"}), ("later", {"text": "y"}))),
)
_STEP = st.tuples(
    st.integers(0, WRITERS - 1),  # who
    st.booleans(),  # about which memory
    st.sampled_from(((), (), (0,), (1,), (2,), (0, 1, 2))),  # whose events have just arrived
    _ACTIONS,
    st.sampled_from((0, 0, -3, 3, 50)),  # hours by which the clock is wrong
    st.sampled_from((False,) * 9 + (True,)),  # whether `base` also names what nobody has
)


@st.composite
def histories(draw: st.DrawFn, purges: bool = False, most: int = 14) -> list[Event]:
    """Draw the events of two memories, in the order in which they were written."""
    steps = draw(st.lists(_STEP, max_size=most))
    roots = [remember(0, "first", tags=["t"]), remember(1, "second")]
    known: list[set[str]] = [{root.id for root in roots} for _ in range(WRITERS)]
    events = {root.id: root for root in roots}
    for index, (who, which, arrived, (op, fields), skew, lost) in enumerate(steps, 2):
        for other in arrived:
            known[who] |= known[other]
        mine = [events[id] for id in known[who] if events[id].memory == roots[which].id]
        event = _event(index, skew, op, mine, roots[which], fields, lost)
        events[event.id] = event
        known[who].add(event.id)
    if purges and draw(st.booleans()):
        purged = write(99, "purge", memory=roots[0].id)
        events[purged.id] = purged
    return list(events.values())


def remember(second: float, text: str, **fields: Any) -> Event:
    """Return a `remember`, made so many seconds after `START`."""
    return write(second, "remember", text=text, **fields)


def write(second: float, op: str, **fields: Any) -> Event:
    """Return any event of this version."""
    at = format_at(START + timedelta(seconds=second))
    return encode({"at": at, "by": "Ada <ada@example.com>", "op": op, **fields})


def heads(events: Iterable[Event]) -> list[str]:
    """Return the ids that no ``base`` among the events names."""
    events = list(events)
    named = {base for event in events for base in event.base}
    return sorted(event.id for event in events if event.id not in named)


def lines(events: Iterable[Event]) -> list[bytes]:
    """Return the lines of events."""
    return [event.line for event in events]


def read(content: Iterable[bytes]) -> list[Event]:
    """Return the events of lines."""
    return [decode(line) for line in content]


def _event(
    index: int,
    skew: int,
    op: str,
    mine: Sequence[Event],
    root: Event,
    fields: dict[str, Any],
    lost: bool,
) -> Event:
    base = heads(mine) + ([UNKNOWN] if lost else [])
    if op == "undo":
        notes = sorted(event.id for event in mine if event.op == "revise" and event.reason)
        op, fields = "revise", {"reason": UNDO + notes[0] if notes else "no note to undo"}
    event = write(index + skew * 3600, op, memory=root.id, base=base, **fields)
    if op != "later":
        return event
    line = event.line.replace(b'"op":"later"', b'"op":"revise"').replace(b'"v":1', b'"v":2')
    return decode(line)
