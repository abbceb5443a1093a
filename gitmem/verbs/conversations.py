"""What is asked of conversations, checked: turns given by a program, rounds by their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from gitmem.errors import NotFound, UsageError
from gitmem.journal import clock
from gitmem.model import Memory
from gitmem.sessions.importers.parts import derived
from gitmem.sessions.importers.records import utc
from gitmem.sessions.model import Role, Round, Session, Turn
from gitmem.sessions.store import Step, spans

ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "summary")


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session, and the rounds of it that were asked for."""

    session: Session
    rounds: Sequence[Round]


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One thing that happened to a session: imported, grown, tagged, or cited by a card."""

    at: str
    by: str
    what: str


def turns(given: Iterable[Mapping[str, Any] | Turn]) -> Iterator[Turn]:
    """Yield turns as they can be kept; ids are made up where none are given.

    Raises:
        UsageError: one has no text, an unknown role or a time that is none.
    """
    for number, raw in enumerate(given, start=1):
        yield raw if isinstance(raw, Turn) else _turn(raw, number)


def _turn(raw: Mapping[str, Any], number: int) -> Turn:
    known = {name.name for name in fields(Turn)}
    said = {name: value for name, value in raw.items() if name in known and value is not None}
    text, role = said.get("text"), said.get("role", "user")
    if not isinstance(text, str):
        raise UsageError(f"turn {number} has no text", 'a turn is {"role": "user", "text": "…"}')
    if role not in ROLES:
        raise UsageError(f"turn {number} has the role '{role}'", f"one of {', '.join(ROLES)}")
    at = utc(said.get("at", ""))
    if said.get("at") and not at:
        raise UsageError(f"turn {number} has the time '{said['at']}'", "such as 2026-11-20T10:11Z")
    id = str(said.get("id", "")) or derived(number, role, text)
    return Turn(id, role, text, at, str(said.get("speaker", "")))


def chosen(rounds: Iterable[Round], indexes: str, count: int) -> list[Round]:
    """Return the rounds that `indexes` such as ``11-15,20`` name.

    Raises:
        UsageError: it names none. NotFound: the session has fewer.
    """
    try:
        wanted = spans(indexes)
    except ValueError:
        raise UsageError(f"'{indexes[:80]}' names no rounds", "such as 11-15 or 3,11-15") from None
    if (last := max(end for _, end in wanted)) > count:
        raise NotFound(f"there is no round {last}", f"the session has {count}")
    return [round for round in rounds if any(a <= round.index <= b for a, b in wanted)]


def life(steps: Sequence[Step], cards: Iterable[Memory]) -> list[SessionEvent]:
    """Return what happened to a session, newest first."""
    found = [
        SessionEvent(clock.of_seconds(step.at), step.by, _what(step, before))
        for step, before in zip(steps, [*steps[1:], None], strict=True)
    ]
    found += [
        SessionEvent(card.created, card.author, f"cited by {card.id[:8]}: {card.summary}")
        for card in cards
    ]
    return sorted(found, key=lambda event: event.at, reverse=True)


def _what(step: Step, before: Step | None) -> str:
    if before is None:
        return f"imported: {step.rounds} rounds"
    if step.rounds != before.rounds:
        return f"grown by {step.rounds - before.rounds} to {step.rounds} rounds"
    if step.tags != before.tags:
        added, gone = set(step.tags) - set(before.tags), set(before.tags) - set(step.tags)
        said = [*(f"#{tag} added" for tag in sorted(added)),
                *(f"#{tag} taken off" for tag in sorted(gone))]  # fmt: skip
        return f"tagged: {', '.join(said)}"
    return step.message
