"""What others do, over the same rounds: BM25, one vector a round, and the two fused by rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.retrieval import DEPTH, Place, Question, Ranking

if TYPE_CHECKING:
    from gitmem.search.semantic.embedding import Embedder

NAMES = ("bm25", "minilm", "rrf")

K = 60
"""The constant of reciprocal rank fusion, that of Cormack, Clarke and Büttcher (SIGIR 2009)."""


def baselines(
    texts: Mapping[Place, str], questions: Sequence[Question], embedder: Embedder | None
) -> dict[str, dict[str, Ranking] | None]:
    """Rank the rounds for each question, by id; without an embedder, by words alone."""
    places, asked = list(texts), [question.text for question in questions]
    words = bm25(list(texts.values()), asked)
    meant = minilm(list(texts.values()), asked, embedder) if embedder else None
    both = [rrf(pair) for pair in zip(words, meant, strict=True)] if meant else None

    def named(rankings: Sequence[Sequence[int]] | None) -> dict[str, Ranking] | None:
        if rankings is None:
            return None
        ids = [question.id for question in questions]
        ranked = ([places[number] for number in ranking] for ranking in rankings)
        return dict(zip(ids, ranked, strict=True))

    return dict(zip(NAMES, map(named, (words, meant, both)), strict=True))


def bm25(texts: Sequence[str], questions: Sequence[str]) -> list[list[int]]:
    """Rank by Whoosh's BM25F over stemmed words, any of the question's."""
    from whoosh import fields, query
    from whoosh.analysis import StemmingAnalyzer
    from whoosh.filedb.filestore import RamStorage

    stems = StemmingAnalyzer()
    schema = fields.Schema(number=fields.STORED, text=fields.TEXT(analyzer=stems))
    index = RamStorage().create_index(schema)
    writer = index.writer()
    for number, text in enumerate(texts):
        writer.add_document(number=number, text=text)
    writer.commit()
    with index.searcher() as searcher:

        def ranked(question: str) -> list[int]:
            terms = {token.text for token in stems(question, mode="query")}
            either = query.Or([query.Term("text", term) for term in sorted(terms)])
            return [hit["number"] for hit in searcher.search(either, limit=DEPTH)]

        return [ranked(question) for question in questions]


def minilm(texts: Sequence[str], questions: Sequence[str], embedder: Embedder) -> list[list[int]]:
    """Rank by the cosine of one vector a round."""
    import numpy as np

    rounds = np.stack([embedded.pooled for embedded in embedder.documents(texts)])

    def ranked(question: str) -> list[int]:
        cosines: Any = rounds @ embedder.query(question).pooled
        best: list[int] = np.argsort(-cosines, kind="stable")[:DEPTH].tolist()
        return best

    return [ranked(question) for question in questions]


def rrf(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Fuse rankings by the sum of 1 / (k + rank)."""
    sums: dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking, start=1):
            sums[number] = sums.get(number, 0.0) + 1 / (K + rank)
    return sorted(sums, key=lambda number: -sums[number])[:DEPTH]


def embedder(cache: Path) -> Embedder | None:
    """Load the model from a cache folder; None where there is none."""
    from gitmem.search.semantic.pins import model_folder

    weights = model_folder(cache)
    if not weights.is_dir():
        return None
    from gitmem.search.semantic.embedding import load

    return load(weights)
