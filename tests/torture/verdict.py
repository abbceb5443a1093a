"""What must hold when all is quiet. Each function yields what does not, a sentence a fault."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gitmem
from gitmem import Memory
from gitmem.journal.codec import Event, decode
from gitmem.journal.fold import fold
from tests.sharing.support import tip
from tests.support import git
from tests.torture.world import World, lines

OPS = {"remember": "remember", "revise": "revise", "forget": "forget", "tag": "tag"}
"""The event that a deed writes, if it writes one."""

SKEWED = "incredible"
"""The one thing that `doctor` may find: the clocks are wrong, as planned."""


def verdict(world: World) -> Sequence[str]:
    """Return everything that is wrong."""
    events = [decode(line) for _, line in lines(world.team.remote)]
    return [
        *_crashes(world),
        *_differences(world, events),
        *_lost(world, events),
        *_invented(world, events),
        *_returned(world, events),
        *(fault for clone in world.clones for fault in _damaged(clone)),
    ]


def _crashes(world: World) -> Iterator[str]:
    for number, told in world.told.items():
        if told.how == "crashed":
            yield f"{world.deeds[number]}: {told.said}"
    for deed in world.deeds:
        if deed.number not in world.told:
            yield f"{deed} was never told of"


def _differences(world: World, events: Sequence[Event]) -> Iterator[str]:
    """Every clone, and one that is made now, shows what the lines at the remote fold to."""
    expected = _dump(list(fold(events).values()))
    for clone in (*world.clones, world.team.clone("late")):
        if tip(clone) != tip(world.team.remote):
            yield f"{clone.name} stands elsewhere than the remote"
        shown = _shown(clone)
        for id in sorted(expected.keys() | shown.keys()):
            if expected.get(id) != shown.get(id):
                yield f"{clone.name} shows {shown.get(id)} for {expected.get(id)}"


def _shown(clone: Path) -> Mapping[str, str]:
    with gitmem.open(clone, backend="program") as gm:
        return _dump([*gm.list(), *gm.list(forgotten=True)])


def _dump(memories: Sequence[Memory]) -> Mapping[str, str]:
    return {memory.id: json.dumps(asdict(memory), sort_keys=True) for memory in memories}


def _lost(world: World, events: Sequence[Event]) -> Iterator[str]:
    """Whatever was acknowledged is there."""
    there = {(mark, event.memory) for event in events for mark in _marks(event)}
    for number, told in world.acknowledged().items():
        deed = world.deeds[number]
        if deed.verb in OPS and (deed.mark, told.memories[0]) not in there:
            yield f"{deed} was acknowledged, and is not there"
    memories = {event.memory for event in events}
    for number, told in world.acknowledged().items():
        if missing := set(told.memories) - memories:
            yield f"{world.deeds[number]} told of {missing}, which are not there"


def _invented(world: World, events: Sequence[Event]) -> Iterator[str]:
    """Every event was planned, and written once; a carry names what is there.

    Nobody plans carries: they come of amended commits that say what others on the trunk say.
    """
    planned = {(deed.mark, OPS[deed.verb]) for deed in world.deeds if deed.verb in OPS}
    by_id = {event.id: event for event in events}
    wrote = Counter((mark, event.op) for event in by_id.values() for mark in _marks(event))
    for event in by_id.values():
        if event.op == "carry":
            if not by_id.keys() >= set(event.fields["events"]):
                yield f"{event.line!r} carries what is not there"
        elif not any((mark, event.op) in planned for mark in _marks(event)):
            yield f"nobody planned {event.line!r}"
    for (mark, op), count in wrote.items():
        if count > 1:
            yield f"{mark} wrote {count} events '{op}'"


def _returned(world: World, events: Sequence[Event]) -> Iterator[str]:
    """What was forgotten stays so, but for a revision by who had not seen that: format.md, "Fold".

    Ancestry is followed here once more, by the simplest means: the fold is not asked about itself.
    """
    lives: dict[str, dict[str, Event]] = defaultdict(dict)
    for event in events:
        lives[event.memory or ""][event.id] = event
    forgotten = {id for id, memory in fold(events).items() if memory.forgotten}
    for id, life in lives.items():
        forgets = [event for event in life.values() if event.op == "forget"]
        revisions = {event.id for event in life.values() if event.op == "revise"}
        if id in forgotten and not forgets:
            yield f"{id} is forgotten, and nobody has forgotten it"
        if id not in forgotten and any(revisions <= _seen(life, event) for event in forgets):
            yield f"{id} was forgotten, and is back"


def _seen(life: Mapping[str, Event], event: Event) -> set[str]:
    """Return all that the writer of an event had seen."""
    seen: set[str] = set()
    waiting = list(event.base)
    while waiting:
        id = waiting.pop()
        if id in life and id not in seen:
            seen.add(id)
            waiting += life[id].base
    return seen


def _damaged(clone: Path) -> Iterator[str]:
    if said := git(clone, "fsck", "--strict", "--no-dangling", check=False):
        yield f"{clone.name}: git fsck says {said}"
    with gitmem.open(clone, backend="program") as gm:
        for finding in gm.doctor().findings:
            if finding.level != "info" and finding.code != SKEWED:
                yield f"{clone.name}: doctor finds {finding}"


def _marks(event: Event) -> Sequence[str]:
    fields: Mapping[str, Any] = event.fields
    found = (fields.get(key) for key in ("text", "reason", "tag"))
    return [mark for mark in found if isinstance(mark, str) and mark.startswith("deed-")]
