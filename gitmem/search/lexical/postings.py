"""What stands in a Whoosh index, read term at a time, and the candidates by their words.

Whoosh's own matchers can stop moving (a union with a phrase before it asks for postings that it
has passed for ever), see a document at a time, and know nothing of neighbours. Here each word of a
query adds to the documents that have it, and to those that stand beside them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gitmem.search.base import UNNAMED, Candidate, Words
from gitmem.search.lexical.layout import Layout
from gitmem.search.lexical.units import B, idf, saturated, units
from gitmem.search.rank import WORDS
from gitmem.text.query import Clause, Query

if TYPE_CHECKING:
    import numpy as np

    from gitmem.search.lexical.layout import Floats

    Numbers = np.ndarray[Any, np.dtype[np.int64]]

BOOSTS = {"text": 1.0, "entities": 0.5, "tags": 1.0, "paths": 0.5, "author": 0.5}
"""Weight of a word in each of the fields that are searched where none is named."""

MOST_WORDS = 48
"""Words of a query that are looked up: the rarest say what a pasted log is about."""


class Postings:
    """The postings behind a Whoosh reader. Documents are numbers, as the reader counts them."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._leaves: list[tuple[Any, int]] = list(reader.leaf_readers())
        self._norms: dict[tuple[int, str], Floats] = {}
        count = reader.doc_count_all() or 1
        self._mean = {field: reader.field_length(field) / count or 1.0 for field in UNNAMED}
        self._layout = Layout(reader)
        self._units = units(self._layout)

    def search(self, query: Query, limit: int, also: Collection[str] = ()) -> list[Candidate]:
        """Return the `limit` best candidates, best first, ties newest first; then `also`."""
        import numpy as np

        words, scores = self._words(query)
        chosen, ruled = self._chosen(query, words)
        if len(chosen) > limit:
            # Some more, for those of one score: the newest of them is to be found.
            chosen = chosen[np.argsort(-scores[chosen], kind="stable")[: limit + MOST_WORDS]]
        found = [(float(scores[doc]), self._reader.stored_fields(int(doc)), doc) for doc in chosen]
        found.sort(key=lambda hit: (hit[0], hit[1]["at"], hit[1]["id"]), reverse=True)
        best = {stored["id"]: doc for _, stored, doc in found[:limit]}
        for id in also:
            if (
                id not in best
                and (doc := self._number(id)) is not None
                and (ruled is None or doc in ruled)
            ):
                best[id] = doc
        return [
            Candidate(id, float(scores[doc]), Words(*(float(one[doc]) for one in words)))
            for id, doc in best.items()
        ]

    def _number(self, id: str) -> int | None:
        for leaf, offset in self._leaves:
            for doc, _ in postings_of(leaf, "id", id):
                return offset + doc
        return None

    # -- ranking ------------------------------------------------------------------------------

    def _words(self, query: Query) -> tuple[list[Floats], Floats]:
        """Return the `Words` of all documents as arrays, and their score."""
        import numpy as np

        count = self._reader.doc_count()
        words = [np.zeros(self._layout.count + 1) for _ in Words._fields]
        document, *around, cover = words
        best = 0.0
        for docs, weights, counts in self._sought(query):
            rarity = idf(len(docs), count)
            best += rarity
            if not len(docs):
                continue
            cover[docs] += rarity
            document[docs] += rarity * saturated(weights)
            raw = np.zeros(self._layout.count + 1)
            raw[docs] = counts
            for unit, scores in zip(self._units, around, strict=True):
                scores[:-1] += unit.scores(raw)
        for scores in words:
            scores /= best or 1.0
        return words, self._score(words)

    def _score(self, words: list[Floats]) -> Floats:
        import numpy as np

        score = np.zeros(self._layout.count + 1)
        for weight, values in zip(WORDS, words, strict=True):
            score += weight * values
        return score

    def _sought(self, query: Query) -> Iterator[tuple[Numbers, Floats, Floats]]:
        """Yield for each word the documents that have it, its weights, and its counts in them."""
        import numpy as np

        spoken = [term for c in query.required if not c.field for term in c.terms]
        for word in self._rarest(dict.fromkeys([*query.words, *spoken])):
            yield self._weights(word)
        for clause in query.prefixes:
            found = np.array(sorted(self._documents(clause)), int)
            yield found, np.ones(len(found)), np.ones(len(found))

    def _chosen(self, query: Query, words: list[Floats]) -> tuple[Numbers, Collection[int] | None]:
        """Return the documents that match, and those that clauses allow; None where all are."""
        import numpy as np

        near = np.flatnonzero(words[Words._fields.index("window")][:-1])
        if not (query.required or query.excluded):
            return near, None
        allowed = set(range(self._layout.count)).difference(*map(self._documents, query.excluded))
        for clause in query.required:
            allowed = allowed and allowed & self._documents(clause)
        chosen = allowed.intersection(near.tolist()) if self._by_word(query) else allowed
        return np.array(sorted(chosen), int), allowed

    @staticmethod
    def _by_word(query: Query) -> bool:
        """Whether a document has to have a word: where no clause is required, or beside a field."""
        return not query.required or query.needs_word

    def _rarest(self, words: Iterable[str]) -> list[str]:
        """Return the rarest words that stand here, and then those that do not: none has them."""

        def frequency(word: str) -> int:
            return sum(self._reader.doc_frequency(field, word) for field in UNNAMED)

        often = {word: frequency(word) for word in words}
        return sorted(often, key=lambda word: (not often[word], often[word]))[:MOST_WORDS]

    def _weights(self, word: str) -> tuple[Numbers, Floats, Floats]:
        """Return the documents with a word, its weight in each by BM25F, and its count."""
        import numpy as np

        weights, counts = np.zeros((2, self._layout.count))
        for turn, (leaf, offset) in enumerate(self._leaves):
            for field in UNNAMED:
                docs, often = _read(leaf, field, word)
                if len(docs):
                    counts[offset + docs] += BOOSTS[field] * often
                    norms = self._norms_of(turn, field, docs)
                    weights[offset + docs] += BOOSTS[field] * often / norms
        found = np.flatnonzero(counts)
        return found, weights[found], counts[found]

    def _norms_of(self, turn: int, field: str, docs: Numbers) -> Floats:
        """Return the norms of some of a segment's documents; Whoosh tells them one by one."""
        import numpy as np

        leaf = self._leaves[turn][0]
        if (turn, field) not in self._norms:
            self._norms[turn, field] = np.zeros(leaf.doc_count_all())
        norms = self._norms[turn, field]
        for doc in docs[norms[docs] == 0.0].tolist():
            length = leaf.doc_field_length(doc, field, 1) or 1
            norms[doc] = 1 - B + B * length / self._mean[field]
        return norms[docs]

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


def _read(leaf: Any, field: str, term: str) -> tuple[Numbers, Floats]:
    """Return the documents of a segment that have a term, and how often each has it.

    Block by block: asked for one by one, as its interface has it, Whoosh needs 5 ms for the 2,000
    documents of a common word. Its version is pinned.
    """
    import numpy as np

    if (field, term) not in leaf:
        return np.empty(0, int), np.empty(0)
    matcher, deleted = leaf.postings(field, term), frozenset[int]()
    if hasattr(matcher, "child"):  # what leaves deleted documents out
        deleted, matcher = matcher._ids, matcher.child
        matcher.reset()
    docs: list[int] = []
    counts: list[float] = []
    for some, often in _blocks(matcher):
        docs += some
        counts += often
    found = np.array(docs, int)
    kept = ~np.isin(found, [*deleted]) if deleted else slice(None)
    return found[kept], np.array(counts, float)[kept]


def _blocks(matcher: Any) -> Iterator[tuple[Iterable[int], Iterable[float]]]:
    """Yield the documents of each block of postings, and how often each has the term."""
    while matcher.is_active():
        if hasattr(matcher, "_next_block"):
            matcher.id(), matcher.weight()  # which reads all of the block
            yield matcher._ids, matcher._weights
            matcher._next_block()
        else:  # of a rare term, kept beside it
            yield (matcher.id(),), (matcher.weight(),)
            matcher.next()


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
