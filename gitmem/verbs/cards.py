"""Cards: rounds of conversations distilled into a memory that cites them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gitmem.errors import UsageError
from gitmem.model import Memory
from gitmem.sessions.model import Session
from gitmem.sessions.store import spans
from gitmem.text.budget import tokens

LONGEST = 1_024
"""Tokens of the longest summary: a card is what one reads instead of the rounds."""

CITES = "cites"
PREFIX = "session:"
_EXAMPLE = '{"summary": "…", "rounds": [{"session": "ID", "indexes": "11-15"}]}'


@dataclass(frozen=True, slots=True)
class Citation:
    """Rounds of one session, by their indexes such as ``11-15``."""

    agent: str
    session: str
    indexes: str

    @property
    def target(self) -> str:
        """The target of a card's link."""
        return f"{PREFIX}{self.agent}/{self.session}#{self.indexes}"


def citation_of(target: str) -> tuple[str, str] | None:
    """Return (session, indexes) of a link's target; None if it is no citation."""
    if not target.startswith(PREFIX):
        return None
    name, _, indexes = target.removeprefix(PREFIX).rpartition("#")
    return (name, indexes) if name else None


def cites(memory: Memory, session: Session) -> bool:
    """Whether a memory cites a session."""
    names = {session.about.id, f"{session.about.agent}/{session.about.id}"}
    found = (citation_of(link.target) for link in memory.links)
    return any(one is not None and one[0] in names for one in found)


def read(card: Mapping[str, Any], find: Callable[[str], Session]) -> tuple[str, list[Citation]]:
    """Return the summary and the citations of a card.

    Raises:
        UsageError: the summary is missing or too long, or rounds do not exist.
        NotFound, AmbiguousId: there is no such session.
    """
    summary = card.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        raise UsageError("the card has no summary", f"a card is {_EXAMPLE}")
    if (size := tokens(summary)) > LONGEST:
        raise UsageError(
            f"the summary has about {size:,} tokens, and a card holds {LONGEST:,}",
            "say what it comes to; the rounds stay where they are",
        )
    rounds = card.get("rounds")
    if not isinstance(rounds, list) or not rounds:
        raise UsageError("the card cites no rounds", f"a card is {_EXAMPLE}")
    return summary, [_citation(one, find) for one in rounds]


def _citation(raw: object, find: Callable[[str], Session]) -> Citation:
    if not isinstance(raw, dict) or not isinstance(raw.get("session"), str):
        raise UsageError("a citation names no session", f"a card is {_EXAMPLE}")
    session = find(raw["session"])
    indexes = str(raw.get("indexes", "")).replace(" ", "")
    try:
        wanted = spans(indexes)
    except ValueError:
        raise UsageError(f"'{indexes[:80]}' names no rounds", "such as 11-15 or 3,11-15") from None
    if max(last for _, last in wanted) > session.rounds:
        raise UsageError(
            f"'{session.about.id}' has {session.rounds} rounds, and '{indexes}' names more",
            f"see 'gitmem session show {session.about.id}'",
        )
    return Citation(session.about.agent, session.about.id, indexes)
