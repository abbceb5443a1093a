"""Ranking over the postings of a Whoosh index: BM25F, phrases, prefixes and filters.

Whoosh keeps the postings; its own matchers are not used. Their skipping of blocks can go round for
ever (`Collector.matches` in 2.7.4, below an `AndMaybe`), and summing word by word is twice as fast.
BM25F here is the true one: a word's weights in all fields are added before they saturate, and a
word is rare when few documents have it in any field.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import nlargest
from math import log
from typing import Any

from gitmem.search.base import UNNAMED, Candidate
from gitmem.text.query import Clause, Query

BOOSTS = {"text": 1.0, "entities": 0.5, "tags": 1.0, "paths": 0.5, "author": 0.5}
"""Weight of a word in each of the fields that are searched where none is named."""

B, K1 = 0.4, 0.9
"""BM25: how much length is marked down, and how soon repetition stops counting (Anserini's)."""

MOST_WORDS = 48
"""Words of a query that are looked up: the rarest say what a pasted log is about."""


class Postings:
    """The postings behind a Whoosh reader. Documents are numbers, as the reader counts them."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._leaves: list[tuple[Any, int]] = list(reader.leaf_readers())
        self._norms: dict[tuple[int, str], array[float]] = {}
        count = reader.doc_count_all() or 1
        self._mean = {field: reader.field_length(field) / count or 1.0 for field in UNNAMED}

    def search(self, query: Query, limit: int) -> list[Candidate]:
        """Return the `limit` best candidates, best first; ties go to the newest."""
        scores = self._scores(query)
        chosen = self._chosen(query, scores)
        if scores:
            chosen = nlargest(limit, chosen, key=lambda doc: scores.get(doc, 0.0))
        found = [(scores.get(doc, 0.0), self._reader.stored_fields(doc)) for doc in chosen]
        found.sort(key=lambda hit: (hit[0], hit[1]["at"], hit[1]["id"]), reverse=True)
        return [Candidate(stored["id"], score) for score, stored in found[:limit]]

    # -- ranking ------------------------------------------------------------------------------

    def _scores(self, query: Query) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        spoken = [term for c in query.required if not c.field for term in c.terms]
        for word in self._rarest(dict.fromkeys([*query.words, *spoken])):
            weights = self._weights(word)
            idf = self._idf(len(weights))
            for doc, weight in weights.items():
                scores[doc] += idf * weight * (K1 + 1) / (weight + K1)
        for clause in query.prefixes:
            found = self._documents(clause)
            for doc in found:
                scores[doc] += self._idf(len(found))
        return scores

    def _chosen(self, query: Query, scores: dict[int, float]) -> Iterable[int]:
        chosen = set(scores)
        if query.required:
            matching = self._documents(query.required[0])
            for clause in query.required[1:]:
                matching = matching and matching & self._documents(clause)
            chosen = matching & chosen if query.needs_word else matching
        return chosen.difference(*map(self._documents, query.excluded))

    def _rarest(self, words: Iterable[str]) -> list[str]:
        def frequency(word: str) -> int:
            return sum(self._reader.doc_frequency(field, word) for field in UNNAMED)

        known = {word: count for word in words if (count := frequency(word))}
        return sorted(known, key=known.__getitem__)[:MOST_WORDS]

    def _weights(self, word: str) -> dict[int, float]:
        """Return {document: weight of the word in it, its fields taken together}."""
        weights: dict[int, float] = defaultdict(float)
        for turn, (leaf, offset) in enumerate(self._leaves):
            for field in UNNAMED:
                boost = BOOSTS[field]
                norms = self._norms_of(turn, field)
                for doc, posting in postings_of(leaf, field, word):
                    norm = norms[doc] or self._norm(turn, field, doc)
                    weights[offset + doc] += boost * posting.weight() / norm
        return weights

    def _idf(self, frequency: int) -> float:
        count = self._reader.doc_count()
        return log(1 + (count - frequency + 0.5) / (frequency + 0.5))

    def _norms_of(self, turn: int, field: str) -> array[float]:
        """Return the norms of a segment's documents, 0 where not known yet: Whoosh is slow here."""
        if (turn, field) not in self._norms:
            count = self._leaves[turn][0].doc_count_all()
            self._norms[turn, field] = array("f", bytes(4 * count))
        return self._norms[turn, field]

    def _norm(self, turn: int, field: str, doc: int) -> float:
        length = self._leaves[turn][0].doc_field_length(doc, field, 1) or 1
        norm = 1 - B + B * length / self._mean[field]
        self._norms[turn, field][doc] = norm
        return norm

    # -- matching -----------------------------------------------------------------------------

    def _documents(self, clause: Clause) -> set[int]:
        found: set[int] = set()
        for leaf, offset in self._leaves:
            for field in [clause.field] if clause.field else UNNAMED:
                found.update(offset + doc for doc in _sequence(leaf, field, clause.terms))
                begun = leaf.expand_prefix(field, clause.prefix) if clause.prefix else ()
                for term in (*clause.forms, *begun):
                    found.update(offset + doc for doc, _ in postings_of(leaf, field, term))
        return found


def postings_of(leaf: Any, field: str, term: str | bytes) -> Iterator[tuple[int, Any]]:
    """Yield (document, posting) of a segment; the posting is good until the next one."""
    if (field, term) in leaf:
        matcher = leaf.postings(field, term)
        while matcher.is_active():
            yield matcher.id(), matcher
            matcher.next()


def _sequence(leaf: Any, field: str, terms: tuple[str, ...]) -> Iterable[int]:
    """Return the documents of a segment in which `terms` follow one another."""
    holders = [{doc for doc, _ in postings_of(leaf, field, term)} for term in terms]
    common = set.intersection(*holders)
    if len(terms) == 1 or not common:
        return common
    starts: dict[int, set[int]] = {}
    for step, term in enumerate(terms):
        for doc, posting in postings_of(leaf, field, term):
            if doc in common:
                at = {position - step for position in posting.value_as("positions")}
                starts[doc] = starts[doc] & at if step else at
    return [doc for doc, positions in starts.items() if positions]
