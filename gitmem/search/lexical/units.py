"""BM25 of what a document is part of: itself and the one before, its window, its whole group.

A reply rarely repeats what it replies to, and a conversation is about one thing: the words around
a document say much of what it is about. A unit's counts are the sums of its documents' counts.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitmem.search.lexical.layout import Floats, Integers, Layout

B, K1 = 0.4, 0.9
"""BM25: how much length is marked down, and how soon repetition stops counting (Anserini's)."""


def idf(frequency: int, count: int) -> float:
    """Return how much a term says that `frequency` of `count` units have; never less than 0."""
    return log(1 + max(count - frequency + 0.5, 0.0) / (frequency + 0.5))


def saturated(weights: Floats) -> Floats:
    """Return 0 for no occurrence, towards 1 for ever more."""
    return weights / (weights + K1)


class Unit:
    """One way to take documents together; `sums` adds up a number of each document."""

    def __init__(
        self, layout: Layout, sums: Callable[[Floats], Floats], of: Integers | slice, many: int
    ) -> None:
        lengths = sums(layout.length)
        mean = float(lengths.sum()) / (many or 1) or 1.0
        self._norms = 1 - B + B * lengths / mean
        self._sums = sums
        self._of = of
        self._many = many

    def scores(self, counts: Floats) -> Floats:
        """Return for each document what a word adds to its unit, given its count in each."""
        found = self._sums(counts)
        rarity = idf(int((found > 0).sum()), self._many)
        scores: Any = rarity * saturated(found / self._norms)
        return scores[self._of]  # type: ignore[no-any-return]


def units(layout: Layout) -> tuple[Unit, Unit, Unit]:
    """Return the units of a layout: the pair, the window and the group of each document."""
    import numpy as np

    before, after = layout.before, layout.after
    further = (before[before], after[after])  # -1 leads to -1: there is nothing before nothing

    def pair(each: Floats) -> Floats:
        return each + each[before]

    def window(each: Floats) -> Floats:
        return each + each[before] + each[after] + each[further[0]] + each[further[1]]

    def group(each: Floats) -> Floats:
        return np.bincount(layout.group, each[:-1], layout.groups).astype(float)

    every = slice(0, layout.count)
    return (
        Unit(layout, pair, every, layout.alive),
        Unit(layout, window, every, layout.alive),
        Unit(layout, group, layout.group, layout.groups),
    )
