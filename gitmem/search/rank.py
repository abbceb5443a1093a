"""The ranking: what speaks for a document becomes one score, part by part. Pure.

Every part is from 0 to 1 by itself and looks at no other candidate, so a score means the same in
every search: 1 is a document that says all that was asked, in the same words. Weights were learnt
with a softmax over LoCoMo's development half, one conversation left out at a time, and rounded;
docs/search.md has what each part is worth, on LoCoMo and on engineering text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from heapq import nlargest
from operator import mul

from gitmem.model import Importance, Part
from gitmem.search.base import Closeness, Words

WORDS = Words(document=0.09, pair=0.18, window=0.40, group=0.33, cover=0.0)
"""Weights of the words where there is nothing else to go by."""

WORDS_BESIDE = Words(document=0.0, pair=0.0, window=0.11, group=0.20, cover=0.0)
"""Weights of the words beside those of `CLOSENESS`."""

CLOSENESS = Closeness(document=0.05, pair=0.24, context=0.40)

NAMED, TIME = 0.09, 0.16
"""Weights of an author, and of a time, that the question names."""

FLOOR, CEILING = 0.25, 0.67
"""Closeness of a text that has none of the words of a question, and of one that has them all: what
stands for it where a document has no token vectors (files and the output of tools have none)."""

IMPORTANCE = {Importance.CRITICAL: 0.03, Importance.HIGH: 0.015, Importance.LOW: -0.015}
RECENT, HALF_LIFE = 0.02, 30.0
"""Weight of having been written today, and the days in which it halves."""

HERE = 0.01
"""Weight of a memory of the very branch that one is on."""

STALE, SUPERSEDED = -0.03, -0.15
SOURCE = {"memories": 0.02, "sessions": 0.0, "files": -0.05}
"""What was written to be remembered comes first. A passage of a file is ten times as long as a
round, and has more of the words by chance."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a candidate.

    Attributes:
        words: how well it meets the words of the question.
        closeness: by token vectors; None where it has none.
        semantic: how much token vectors count, from 0 to 1: where there are none, or the model does
            not understand the question, words are all there is.
        named: whether the question names its author.
        near: how near it is to a time that the question names.
        age: days since it was written; None where that is not known.
        source: ``memories``, ``sessions`` or ``files``.
    """

    words: Words
    closeness: Closeness | None = None
    semantic: float = 0.0
    named: bool = False
    near: float = 0.0
    age: float | None = None
    source: str = "memories"
    importance: Importance = Importance.NORMAL
    here: bool = False
    stale: bool = False
    superseded: bool = False


def parts(evidence: Evidence) -> list[Part]:
    """Return what adds to a score, those that add nothing left out; their sum is the score."""
    found = [*_text(evidence), *_asked(evidence), *_priors(evidence)]
    return [part for part in found if part.share]


def score(evidence: Evidence) -> float:
    """Return the score: higher is better. It is the sum of `parts`, without making them."""
    share, words = evidence.semantic, evidence.words
    total = (1 - share) * _weighted(WORDS, words)
    if share:
        closeness = evidence.closeness or _as_if(words)
        total += share * (_weighted(CLOSENESS, closeness) + _weighted(WORDS_BESIDE, words))
    return total + sum(part.share for part in (*_asked(evidence), *_priors(evidence)))


def _weighted(weights: Sequence[float], values: Sequence[float]) -> float:
    """Return the weighted sum (`math.sumprod` is of Python 3.12)."""
    return float(sum(map(mul, weights, values)))


def _text(evidence: Evidence) -> list[Part]:
    share = evidence.semantic
    beside, alone = WORDS_BESIDE, WORDS
    words = Words(*(share * a + (1 - share) * b for a, b in zip(beside, alone, strict=True)))
    if not share:
        return _weighed("words", words, evidence.words)
    closeness = evidence.closeness or _as_if(evidence.words)
    close = Closeness(*(share * weight for weight in CLOSENESS))
    return [*_weighed("close", close, closeness), *_weighed("words", words, evidence.words)]


def _as_if(words: Words) -> Closeness:
    """Return the closeness that a document without vectors would have, by the words it has."""
    closeness = FLOOR + (CEILING - FLOOR) * words.cover
    return Closeness(closeness, closeness, closeness)


def _weighed(kind: str, weights: Words | Closeness, values: Words | Closeness) -> list[Part]:
    rows = zip(weights._fields, weights, values, strict=True)
    return [Part(f"{kind}: {name}", weight * value) for name, weight, value in rows]


def _asked(evidence: Evidence) -> list[Part]:
    return [Part("author named", NAMED * evidence.named), Part("time named", TIME * evidence.near)]


def _priors(evidence: Evidence) -> list[Part]:
    age = evidence.age
    recency = RECENT * 0.5 ** (max(age, 0.0) / HALF_LIFE) if age is not None else 0.0
    return [
        Part("source", SOURCE[evidence.source]),
        Part("importance", IMPORTANCE.get(evidence.importance, 0.0)),
        Part("recency", recency),
        Part("this branch", HERE * evidence.here),
        Part("stale", STALE * evidence.stale),
        Part("superseded", SUPERSEDED * evidence.superseded),
    ]


@lru_cache(maxsize=1024)
def names(question: str, author: str) -> bool:
    """Whether a question names an author: by any of the names, or by the name in the address."""
    text = question.casefold()
    asked = frozenset(_WORD.findall(text))
    name, _, address = author.casefold().partition("<")
    known = _WORD.findall(f"{name} {address.partition('@')[0]}")
    # Where words are not told apart by spaces, a name stands within what is taken for one.
    return any(
        word in asked or (not word.isascii() and word in text) for word in known if len(word) > 1
    )


_WORD = re.compile(r"\w+")


def days_between(at: str, today: date) -> float | None:
    """Return the days from an event time to a date; None where it is no time."""
    try:
        return float((today - date.fromisoformat(at[:10])).days)
    except ValueError:
        return None


def conversations(scores: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the names of conversations, given the scores of their rounds, the best first.

    A conversation is as good as the mean of its two best rounds: what it is about it says twice.
    Where one round is all there is, it is as good as that.
    """
    two = {name: nlargest(2, each) for name, each in scores.items()}
    return strongest({name: sum(best) / len(best) for name, best in two.items()})


def strongest(scores: Mapping[str, float], limit: int | None = None) -> list[str]:
    """Return the ids of the best scores, best first; ties in the order of their ids."""
    return sorted(scores, key=lambda id: (-scores[id], id))[:limit]
