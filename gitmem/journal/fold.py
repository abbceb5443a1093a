"""Events to memories: pure, and the same whatever order, grouping or repetition the lines come in.

Within a memory events are ordered causally by ``base``, then by (``at``, id). Each field is last
writer wins; two writers of one field that did not see each other make the memory contested.
Ancestry is computed over all events given, effects over the visible ones alone; of those, what
others wrote than those one trusts is proposed, and changes nothing that one of these stands for.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from gitmem.journal.codec import Event
from gitmem.journal.trust import Weighed, weigh
from gitmem.model import Alternative, Importance, JournalName, Link, Memory, Note, Scope

FIELDS = ("content", "kind", "importance", "expires", "paths")
"""What a revision may set; ``content`` is ``text`` or ``data``, which replace each other."""

CONTESTED = FIELDS[:-1]
"""What two writers can contradict each other in: ``paths`` follow from the content."""

NEVER = "never"
"""The ``expires`` that takes an expiry back."""

PROPOSALS = 20
"""Events of one memory that are shown as proposed, the latest: anybody may write any number."""


def fold(
    events: Iterable[Event],
    visible: Container[str] | None = None,
    trusted: Container[str] | None = None,
) -> dict[str, Memory]:
    """Fold events of any number of memories into {memory id: memory}.

    `visible` holds the ids of the events that are seen, `trusted` of those whose authors one trusts
    (None: all). Memories that are purged, or whose `remember` is not among the events, are left
    out.
    """
    groups: dict[str, dict[str, Event]] = defaultdict(dict)
    for event in events:
        if event.memory is not None:
            groups[event.memory][event.id] = event
    folded = (
        fold_memory(list(group.values()), visible, trusted=trusted) for group in groups.values()
    )
    return {memory.id: memory for memory in folded if memory is not None}


def fold_memory(
    events: Sequence[Event],
    visible: Container[str] | None = None,
    journal: JournalName = JournalName.SHARED,
    trusted: Container[str] | None = None,
) -> Memory | None:
    """Fold the distinct events of one memory; None if it is purged, not visible or incomplete.

    Events of later versions have no effect, but who has seen one has seen what its writer saw.
    """
    lineage = Lineage(events)
    root = lineage.root
    if root is None:
        return None
    seen = [event for event in lineage.known if event.op == "purge" or _in(event, visible)]
    weighed = weigh(root, seen, trusted)
    if weighed.others:  # nor do they decide which of two others came first
        weighed = weighed._replace(counted=lineage.sorted(weighed.counted))
    ops = {event.op for event in weighed.counted}
    # Any visible event but a forget brings its remember: it may stand on a commit a rebase dropped.
    if "purge" in ops or not ops - {"forget"}:
        return None
    memory = _Folding(lineage, root, weighed).memory(journal)
    if not weighed.held or memory.forgotten:
        return memory
    # Nobody whom one does not trust brings back what one has forgotten.
    mine = [event for event in seen if event.id in (trusted or ())]
    forgotten = _Folding(lineage, root, Weighed(mine, (), True)).forgotten()[0]
    return replace(memory, forgotten=forgotten)


def _in(event: Event, ids: Container[str] | None) -> bool:
    return ids is None or event.id in ids


def _sorted(events: Mapping[str, Event], bases: Mapping[str, set[str]]) -> list[Event]:
    """Return events after those they build on, and else by (at, id)."""
    if len(events) == 1:
        return list(events.values())
    waiting = {id: len(seen) for id, seen in bases.items()}
    children: dict[str, list[str]] = defaultdict(list)
    for id, seen in bases.items():
        for base in seen:
            children[base].append(id)
    ready = [(events[id].at, id) for id, count in waiting.items() if not count]
    heapq.heapify(ready)
    order: list[Event] = []
    while ready:
        _, id = heapq.heappop(ready)
        order.append(events[id])
        for child in children[id]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(ready, (events[child].at, child))
    return order


class Lineage:
    """The events of one memory in causal order, and who saw whom.

    The order is a linear extension of the ``base`` relation, ties by (at, id); the `remember`
    precedes everything, whether named in a ``base`` or not. `known` are the events that this
    version understands, in that order.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        roots = (event for event in events if event.op == "remember" and event.understood)
        self.root = next(roots, None)
        self._events = {event.id: event for event in events}
        self._bases = {event.id: self._seen_by(event) for event in events}
        order = _sorted(self._events, self._bases)
        self.known = [event for event in order if event.understood]
        self._rank = {event.id: index for index, event in enumerate(order)}
        self._ancestors = self._close(order)

    def _seen_by(self, event: Event) -> set[str]:
        if event is self.root:
            return set()
        bases = {base for base in event.base if base in self._events and base != event.id}
        return bases | {self.root.id} if self.root else bases

    def _close(self, order: Sequence[Event]) -> list[int] | None:
        """Return each event's ancestors as a bit set over ranks; None where all form one chain."""
        ranks = [{self._rank[base] for base in self._bases[event.id]} for event in order]
        if all(index == 0 or index - 1 in bases for index, bases in enumerate(ranks)):
            return None
        closed: list[int] = []
        for bases in ranks:
            bits = 0
            for base in bases:
                bits |= closed[base] | 1 << base
            closed.append(bits)
        return closed

    def saw(self, later: Event, earlier: Event) -> bool:
        """Whether the writer of `later` had seen `earlier`."""
        low, high = self._rank[earlier.id], self._rank[later.id]
        if self._ancestors is None:
            return low < high
        return bool(self._ancestors[high] >> low & 1)

    def sorted(self, events: Sequence[Event]) -> list[Event]:
        """Return some of the events, given in order, in the order they have without the rest."""
        times = [(event.at, event.id) for event in events]
        if times == sorted(times):
            return list(events)
        bases = {one.id: {o.id for o in events if self.saw(one, o)} for one in events}
        return _sorted({event.id: event for event in events}, bases)

    def concurrent(self, one: Event, other: Event) -> bool:
        """Whether neither writer had seen the other's event."""
        return one is not other and not self.saw(one, other) and not self.saw(other, one)

    def heads(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that no other of `events` has seen, in order."""
        if self._ancestors is None:
            return list(events[-1:])
        shadow = 0
        for event in events:
            shadow |= self._ancestors[self._rank[event.id]]
        return [event for event in events if not shadow >> self._rank[event.id] & 1]


_DONE = {"forget": "forgotten", "restore": "restored", "purge": "purged"}


class _Folding:
    def __init__(self, lineage: Lineage, root: Event, weighed: Weighed) -> None:
        self._lineage = lineage
        self._root = root
        self._others = weighed.others
        self._held = weighed.held
        self._seen = seen = [*([] if root in weighed.counted else [root]), *weighed.counted]
        writers = [event for event in seen if event.op in ("remember", "revise")]
        self._setters = {
            field: [event for event in writers if _value(event, field) is not None]
            for field in FIELDS
        }

    def memory(self, journal: JournalName) -> Memory:
        values = {field: self._winner(field) for field in FIELDS}
        content = values["content"] or {}
        root = self._root.fields
        forgotten, beside = self.forgotten()
        proposed = self._proposed()
        return Memory(
            id=self._root.id,
            created=self._root.at,
            updated=max(event.at for event in self._seen),
            author=self._root.by,
            text=content.get("text") if "data" not in content else None,
            data=content.get("data"),
            kind=values["kind"] or "note",
            importance=Importance(values["importance"] or "normal"),
            tags=self._tags(),
            links=self._links(),
            notes=self._notes(),
            journal=journal,
            scope=_scope(root, journal),
            branch=self._root.branch,
            expires=None if values["expires"] == NEVER else values["expires"],
            source=root.get("source", {}),
            paths=values["paths"] or {},
            forgotten=forgotten,
            contested=(*beside, *(side for field in CONTESTED for side in self._sides(field))),
            heads=self._heads(proposed),
            held=self._held,
            proposed=tuple(side for event in proposed for side in _proposal(event)),
        )

    def _proposed(self) -> list[Event]:
        """Return what others wrote and nobody one trusts has answered, in order.

        A purge is not lost among many: it is for the user to decide.
        """
        mine = [event for event in self._seen if event is not self._root]
        latest = self._others[::-1]
        others = (
            event for event in sorted(latest, key=lambda event: event.op != "purge")
            if not any(_answers(one, event) and self._lineage.saw(one, event) for one in mine)
        )  # fmt: skip
        shown = {event.id for event in islice(others, PROPOSALS)}
        return [event for event in self._others if event.id in shown]

    def _heads(self, proposed: Sequence[Event]) -> tuple[str, ...]:
        """Return what the next writer has seen: the proposals too, which it answers."""
        heads = self._lineage.heads(self._seen)
        if proposed:
            shown = {event.id for event in (*self._seen, *proposed)}
            heads = self._lineage.heads([e for e in self._lineage.known if e.id in shown])
        return tuple(sorted(event.id for event in heads))

    def _winner(self, field: str) -> Any:
        setters = self._setters[field]
        return _value(setters[-1], field) if setters else None

    def _sides(self, field: str) -> list[Alternative]:
        """Return the values of one field whose writers did not see each other, if they differ."""
        setters = self._setters[field]
        if len(setters) < 2:
            return []
        heads = self._lineage.heads(setters)
        values = [_value(event, field) for event in heads]
        if len({json.dumps(value, sort_keys=True) for value in values}) < 2:  # True == 1 in Python
            return []
        return [_side(field, value, event) for value, event in zip(values, heads, strict=True)]

    def forgotten(self) -> tuple[bool, list[Alternative]]:
        """Decide between forget, restore and the revisions beside them.

        The later of forget and restore holds; but a forget whose writer had not seen a revision
        does not undo what another said: the memory stays, contested until somebody revises again.
        """
        switches = [event for event in self._seen if event.op in ("forget", "restore")]
        if not switches or switches[-1].op == "restore":
            return False, []
        revisions = [event for event in self._seen if event.op == "revise"]
        forgets = [event for event in self._lineage.heads(switches) if event.op == "forget"]
        opposed = [
            event for event in forgets
            if any(self._lineage.concurrent(event, revision) for revision in revisions)
        ]  # fmt: skip
        if len(opposed) < len(forgets):
            return True, []
        return False, [
            _side("forgotten", None, event) for event in opposed
            if not any(self._lineage.saw(revision, event) for revision in revisions)
        ]  # fmt: skip

    def _tags(self) -> tuple[str, ...]:
        tags: dict[str, bool] = {}
        for event in self._seen:
            tags.update(dict.fromkeys(event.fields.get("tags", ()), True))
            if event.op in ("tag", "untag"):
                tags[event.fields["tag"]] = event.op == "tag"
        return tuple(sorted(tag for tag, on in tags.items() if on))

    def _links(self) -> tuple[Link, ...]:
        links: dict[tuple[str, str], bool] = {}
        comments: dict[tuple[str, str], str] = {}
        for event in self._seen:
            if event.op in ("link", "unlink"):
                edge = event.fields["rel"], event.fields["target"]
                links[edge] = event.op == "link"
                if event.op == "link" and event.undoes is None:
                    comments[edge] = event.reason
        return tuple(
            Link(*edge, comments.get(edge, "")) for edge, on in sorted(links.items()) if on
        )

    def _notes(self) -> tuple[Note, ...]:
        undone = {event.undoes for event in self._seen}
        return tuple(
            Note(event.reason, event.by, event.at)
            for event in self._seen
            if event.op == "revise" and event.reason
            if event.undoes is None and event.id not in undone
        )


def _value(event: Event, field: str) -> Any:
    if field == "content":
        content = {key: event.fields[key] for key in ("text", "data") if key in event.fields}
        return content or None
    if field == "paths" and _value(event, "content"):  # it names its own files, or none
        return event.fields.get("paths", {})
    return event.fields.get(field)


def _answers(event: Event, proposal: Event) -> bool:
    """Whether an event by who has seen a proposal decides about it; of a purge, only on purpose."""
    if proposal.op == "purge":
        return event.op == "restore"
    return event.op in ("forget", "restore") or any(_value(event, field) for field in FIELDS)


def _proposal(event: Event) -> Iterator[Alternative]:
    """Yield what an event would do, were its author trusted."""
    if event.op in ("tag", "untag"):
        yield _side(event.op, event.fields["tag"], event)
    elif event.op in ("link", "unlink"):
        yield _side(event.op, f"{event.fields['rel']} {event.fields['target']}", event)
    elif event.op != "revise":
        yield _side(_DONE.get(event.op, event.op), None, event)
    else:
        values = ((field, _value(event, field)) for field in CONTESTED)
        yield from (_side(field, value, event) for field, value in values if value)
        if event.reason:
            yield _side("note", event.reason, event)


def _side(field: str, value: Any, event: Event) -> Alternative:
    if field == "content" and value is not None:
        value = value.get("data", value.get("text"))
    return Alternative(field, value, event.id, event.by, event.at)


def _scope(root: Mapping[str, Any], journal: JournalName) -> Scope:
    if journal is JournalName.USER:
        return Scope.USER
    return Scope.REPO if root.get("scope") == "repo" else Scope.BRANCH
