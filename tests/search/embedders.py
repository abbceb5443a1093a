"""Vectors for tests: those of the model, where it is installed, and made-up ones without it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest

from gitmem.search.embedding import SCALE, Embedded, QueryVectors
from gitmem.search.pins import cache_folder, model_folder

# Found at import: a test has a home of its own, and no GITMEM_* variables.
MODEL = model_folder(cache_folder(os.environ.get("GITMEM_CACHE_DIR", "")))

needs_model = pytest.mark.skipif(
    not MODEL.is_dir(), reason=f"no model in '{MODEL}': 'gitmem model install' fetches it"
)

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """An embedder whose vectors follow from the words alone: the same word is always the same."""

    def __init__(self, name: str = "hash") -> None:
        self.name = name

    def documents(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield the vectors of each text, in order."""
        for text in texts:
            ids, tokens, pooled, _ = self.query(text)
            yield Embedded(np.unique(ids), np.rint(tokens * SCALE).astype(np.int8), pooled)

    def query(self, text: str) -> QueryVectors:
        """Return the vectors of a question; where it has no words, of one that is empty."""
        words = _WORD.findall(text.lower()) or [""]
        made = [_made(word, self.name) for word in words]
        return QueryVectors(
            np.array([number for number, _ in made], np.uint16),
            np.stack([_unit(vector[:128]) for _, vector in made]),
            _unit(np.sum([vector for _, vector in made], axis=0)),
        )


def _made(word: str, name: str) -> tuple[int, Any]:
    seed = int.from_bytes(blake2b(f"{name} {word}".encode(), digest_size=8).digest(), "big")
    return seed % (1 << 16), np.random.default_rng(seed).normal(size=384).astype(np.float32)


def _unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)
