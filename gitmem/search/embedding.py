"""Vectors of texts: of each token, for late interaction, and one of the whole.

A question goes through numpy, many texts through onnxruntime; the vectors are the same. The
weights are those of `gitmem.search.weights`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gitmem.search.base import IndexUnusable
from gitmem.search.pins import MINILM

if TYPE_CHECKING:
    import numpy as np

    from gitmem.search.bulk import Bulk
    from gitmem.search.minilm import Floats, MiniLM
    from gitmem.search.wordpiece import WordPiece

LONGEST, LONGEST_QUERY = 256, 64
"""Tokens of a text, and of a question, that are read; the model was trained on 256."""

FEW = 4
"""Texts up to which numpy is done before onnxruntime is loaded."""

BUFFER = 512
"""Texts held at once, to be sorted by length."""

SCALE = 127
"""What a token's vector of length 1 is multiplied with before it is rounded to bytes."""

PUNCTUATION = tuple("""!"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~""")
"""Tokens without a vector of their own. Stop words have one: leaving them out, in the documents or
in both, costs 0.4 points of R@10 on LoCoMo."""

PROJECTION = Path(__file__).parent / "data" / "projection.npy"
"""From MiniLM's 384 dimensions to 128: the main axes of token vectors of neutral text."""

_REMEDY = "gitmem model install"


class Embedded(NamedTuple):
    """A text as it is stored: ids of its tokens (uint16), their vectors × 127 (int8), the whole's.

    `tokens` has shape (tokens, 128), at least one; `pooled` is of unit length, float32, (384,).
    """

    ids: np.ndarray
    tokens: np.ndarray
    pooled: np.ndarray


class QueryVectors(NamedTuple):
    """A question: as `Embedded`, but its tokens are of unit length, float32; there may be none."""

    ids: np.ndarray
    tokens: np.ndarray
    pooled: np.ndarray


class Embedder(Protocol):
    """What makes vectors."""

    @property
    def name(self) -> str:
        """What made them: where it changes, all are made anew."""
        ...

    def documents(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield the vectors of each text, in their order. Beyond `LONGEST` tokens it is cut."""
        ...

    def query(self, text: str) -> QueryVectors:
        """Return the vectors of a question."""
        ...


def load(folder: Path) -> Embedder:
    """Return the model in `folder`.

    Raises:
        IndexUnusable: a file is missing, or is not as long as it should be.
    """
    for name, pin in MINILM.items():
        file = folder / name
        try:
            size = file.stat().st_size
        except OSError as error:
            why = error.strerror or "unreadable"
            raise IndexUnusable(f"the model's '{file}' cannot be used: {why}", _REMEDY) from error
        if size != pin.size:
            raise IndexUnusable(f"the model's '{file}' is damaged: {size:,} bytes", _REMEDY)
    return _MiniLMEmbedder(folder)


class _MiniLMEmbedder:
    name = "all-MiniLM-L6-v2, 128 dimensions, 1"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def documents(self, texts: Sequence[str]) -> Iterator[Embedded]:
        rest = iter(texts)
        few = len(texts) <= FEW
        while some := list(islice(rest, BUFFER)):
            for ids, states in map(self._states, some) if few else self._bulk.states(some):
                yield self._embedded(ids, states)

    def query(self, text: str) -> QueryVectors:
        import numpy as np

        ids, states = self._states(text, LONGEST_QUERY)
        kept = self._kept(ids, self._punctuation | self._unknown)
        found = np.array([ids[at] for at in kept], np.uint16)
        return QueryVectors(found, self._projected(states[kept]), _mean(states))

    def _embedded(self, ids: Sequence[int], states: Floats) -> Embedded:
        import numpy as np

        kept = self._kept(ids, self._punctuation) or [0]
        tokens = np.round(self._projected(states[kept]) * SCALE).astype(np.int8)
        return Embedded(np.array([ids[at] for at in kept], np.uint16), tokens, _mean(states))

    @staticmethod
    def _kept(ids: Sequence[int], dropped: frozenset[int]) -> list[int]:
        """Return the places of the tokens that have a vector: not [CLS], not [SEP]."""
        return [at for at in range(1, len(ids) - 1) if ids[at] not in dropped]

    def _projected(self, states: Floats) -> Floats:
        import numpy as np

        found = states @ self._projection.T
        unit: Floats = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        return unit

    def _states(self, text: str, longest: int = LONGEST) -> tuple[list[int], Floats]:
        ids = self._pieces.encode(text, longest)
        return ids, self._model.states(ids)

    # -- loaded when they are asked for ---------------------------------------------------------

    @cached_property
    def _model(self) -> MiniLM:
        from gitmem.search.minilm import MiniLM

        return MiniLM(self._folder / "model.safetensors")

    @cached_property
    def _pieces(self) -> WordPiece:
        from gitmem.search.wordpiece import WordPiece

        return WordPiece(self._folder / "vocab.txt")

    @cached_property
    def _punctuation(self) -> frozenset[int]:
        return self._pieces.numbers(*PUNCTUATION)

    @cached_property
    def _unknown(self) -> frozenset[int]:
        return self._pieces.numbers("[UNK]")

    @cached_property
    def _bulk(self) -> Bulk:
        """The session for many texts; the weights' digest is checked first: 0.1 s, beside 0.4 s.

        Raises:
            IndexUnusable: it is another file.
        """
        import hashlib

        from gitmem.search.bulk import Bulk

        weights = self._folder / "model.safetensors"
        with weights.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != MINILM[weights.name].sha256:
            raise IndexUnusable(f"the model's '{weights}' is another file", _REMEDY)
        return Bulk(self._folder, LONGEST)

    @cached_property
    def _projection(self) -> Any:
        import numpy as np

        return np.load(PROJECTION)


def _mean(states: Floats) -> Floats:
    import numpy as np

    mean: Floats = states.mean(axis=0)
    return mean / np.float32(np.linalg.norm(mean) or 1.0)
