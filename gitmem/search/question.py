"""What is asked of the engine, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from gitmem.model import SOURCES, Hit, Memory, Passage, Said
from gitmem.search.catalog.rows import Filter

if TYPE_CHECKING:
    from gitmem.search.conditions.condition import Condition

Found = Memory | Said | Passage


@dataclass(frozen=True, slots=True)
class Question:
    """What is sought.

    Attributes:
        within: which of `model.SOURCES`.
        where: a condition on memories and rounds; files meet none.
        session: the ``AGENT/ID`` that a round must be of.
        today: for "last week", and for how old a document is.
        branch: the branch that one is on.
        haste: answer from what is indexed, without Chroma; the text is a prompt, whose dashes and
            quotes were not typed as those of a search.
    """

    text: str
    today: date
    limit: int = 10
    within: Sequence[str] = SOURCES
    filter: Filter = field(default_factory=Filter)
    where: Condition | None = None
    session: str | None = None
    branch: str | None = None
    haste: bool = False

    @property
    def filtered(self) -> bool:
        """Whether some of what fits may be left out."""
        bare = Filter(now=self.filter.now)
        return bool(self.filter != bare or self.where or self.session)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and what was searched.

    That is ``lexical`` (or ``scan``, where there is no index), ``semantic`` (token vectors),
    ``vectors`` (Chroma) and ``files``. `conversations` are the ``AGENT/ID`` of those that fit, by
    all of their rounds, best first.
    """

    hits: Sequence[Hit]
    searched: Sequence[str]
    conversations: Sequence[str] = ()
