"""What is near a question: Chroma is asked, or the vector of every document is looked at.

Both find the same documents, so it is a matter of time. Chroma's import takes 0.7 s and its answer
3 ms; looking at 6,000 vectors takes 6 ms from a cold start, at 20,000 twenty. So Chroma is for
what lives on, for what is large, and for a server that somebody set up: that is there to be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitmem.search.base import Candidate, IndexMoved, IndexUnusable

if TYPE_CHECKING:
    from gitmem.search.indexes import Indexes
    from gitmem.search.semantic.embedding import QueryVectors
    from gitmem.search.semantic.late import TokenStore

NEAREST = 100
"""Documents put forward."""

LOOKED_THROUGH = 20_000
"""Documents that are looked at one by one, at most, in a process that answers one command."""


class Near:
    """The documents whose vectors are near a question's.

    Attributes:
        warnings: what went wrong, a line each.
    """

    def __init__(self, indexes: Indexes, warnings: list[str], brief: bool = False) -> None:
        """`brief` is a process that answers one command."""
        self._indexes = indexes
        self._brief = brief
        self.warnings = warnings

    def find(self, meaning: QueryVectors, haste: bool) -> tuple[Sequence[str], bool]:
        """Return ids, the nearest first, and whether it was Chroma that found them."""
        tokens = self._indexes.tokens
        if tokens is None:
            return (), False
        if not self._looks_at_each(tokens, haste):
            if haste:  # nobody waits for an import
                return (), False
            try:
                return _ids(self._asked(meaning)), True
            except IndexUnusable as error:
                self.warnings.append(f"{error.message}: searched without it")
        return _ids(tokens.nearest(meaning.pooled, NEAREST)), False

    def _looks_at_each(self, tokens: TokenStore, haste: bool) -> bool:
        alone = haste or (self._brief and not self._indexes.chroma)
        return alone and tokens.count() <= LOOKED_THROUGH

    def _asked(self, meaning: QueryVectors) -> Sequence[Candidate]:
        vectors = self._indexes.vectors
        if vectors is None:
            return ()
        self._indexes.catch_up(vectors)
        try:
            return vectors.nearest(meaning.pooled, NEAREST)
        except IndexMoved as error:  # it was damaged, and is gone
            self.warnings.append(f"{error.message}; they are made again")
            self._indexes.catch_up(vectors)
            return vectors.nearest(meaning.pooled, NEAREST)


def _ids(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.id for candidate in candidates]
