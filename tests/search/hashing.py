"""An embedder without a model: a word means itself, and is near to words of the same beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

from gitmem.search.embedding import Embedded, QueryVectors

WIDTH = 128


class HashEmbedder:
    """Deterministic; `asked` counts the texts that were embedded."""

    name = "hashes"

    def __init__(self) -> None:
        self.asked = 0

    def documents(self, texts: Sequence[str]) -> Iterator[Embedded]:
        for text in texts:
            self.asked += 1
            ids, tokens = _tokens(text)
            yield Embedded(ids, np.round(tokens * 127).astype(np.int8), _pooled(tokens))

    def query(self, text: str) -> QueryVectors:
        ids, tokens = _tokens(text)
        return QueryVectors(ids, tokens, _pooled(tokens))


def _tokens(text: str) -> tuple[np.ndarray, np.ndarray]:
    words = text.lower().split() or ["."]
    ids = [int.from_bytes(blake2b(word.encode(), digest_size=2).digest(), "big") for word in words]
    return np.array(ids, np.uint16), np.stack([_vector(word) for word in words])


def _vector(word: str) -> np.ndarray:
    stem = np.random.default_rng(list(word[:4].encode())).normal(size=WIDTH)
    rest = np.random.default_rng(list(word.encode())).normal(size=WIDTH)
    vector = (stem + 0.3 * rest).astype(np.float32)
    return vector / np.linalg.norm(vector)


def _pooled(tokens: np.ndarray) -> np.ndarray:
    mean = np.tile(tokens.mean(axis=0), 3)
    return (mean / np.linalg.norm(mean)).astype(np.float32)
