"""Vectors for tests: those of the model, where it is installed, and made-up ones without it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
import pytest

from gitmem.search.semantic.embedding import SCALE, Embedded, QueryVectors
from gitmem.search.semantic.pins import cache_folder, model_folder

# Found at import: a test has a home of its own, and no GITMEM_* variables.
MODEL = model_folder(cache_folder(os.environ.get("GITMEM_CACHE_DIR", "")))

needs_model = pytest.mark.skipif(
    not MODEL.is_dir(), reason=f"no model in '{MODEL}': 'gitmem model install' fetches it"
)

WIDTH = 128


class HashEmbedder:
    """An embedder without a model: a word means itself, and is near to words of the same beginning.

    `asked` counts the texts that were embedded.
    """

    name = "hashes"

    def __init__(self) -> None:
        self.asked = 0

    def documents(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield the vectors of each text, in order."""
        for text in texts:
            self.asked += 1
            ids, tokens = _tokens(text)
            yield Embedded(ids, np.round(tokens * SCALE).astype(np.int8), _pooled(tokens))

    def query(self, text: str) -> QueryVectors:
        """Return the vectors of a question; where it has no words, of one that is a point."""
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
