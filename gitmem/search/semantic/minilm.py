"""all-MiniLM-L6-v2 in numpy: for a single query, which is answered before a runtime is loaded.

The weights are mapped, not read: a query touches the rows of its own words, and each layer once.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gitmem.search.base import IndexUnusable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_LAYERS = 6
_HEADS = 12
_SPARE = 1 << 24
_EPSILON = np.float32(1e-12)
_HEADER = 1 << 20
"""Bytes that the header of a file of weights may take; this one's takes 11 kB."""


class MiniLM:
    """The model over a file of weights.

    Raises:
        IndexUnusable: the file cannot be read, or holds other weights.
    """

    def __init__(self, weights: Path) -> None:
        tensors = mapped(weights)
        # What is given back once, malloc keeps from then on: each array was a mapping of its own,
        # and a text of 90 words took 11,000 page faults and a third longer.
        np.empty(_SPARE, np.uint8)
        try:
            self._words, self._places, (self._kind, _) = (
                tensors[f"embeddings.{name}_embeddings.weight"]
                for name in ("word", "position", "token_type")
            )
            self._norm = _pair(tensors, "embeddings.LayerNorm")
            self._layers = [_Layer(tensors, f"encoder.layer.{n}") for n in range(_LAYERS)]
        except (KeyError, ValueError) as error:
            raise IndexUnusable(
                f"'{weights}' holds the weights of another model: {error}"
            ) from error

    def states(self, ids: Sequence[int]) -> Floats:
        """Return what the last layer makes of a text's tokens, a row each."""
        states = self._words[np.asarray(ids)] + self._places[: len(ids)] + self._kind
        states = _normal(states, *self._norm)
        for layer in self._layers:
            states = layer(states)
        return states


class _Layer:
    def __init__(self, tensors: Mapping[str, Floats], name: str) -> None:
        inner = ("query", "key", "value")
        self._attention = [_pair(tensors, f"{name}.attention.self.{part}") for part in inner]
        self._output = _pair(tensors, f"{name}.attention.output.dense")
        self._norm = _pair(tensors, f"{name}.attention.output.LayerNorm")
        self._wide = _pair(tensors, f"{name}.intermediate.dense")
        self._narrow = _pair(tensors, f"{name}.output.dense")
        self._last_norm = _pair(tensors, f"{name}.output.LayerNorm")

    def __call__(self, states: Floats) -> Floats:
        heads = (_linear(states, *part) for part in self._attention)
        query, key, value = (some.reshape(len(states), _HEADS, -1).swapaxes(0, 1) for some in heads)
        seen = _softmax(query @ key.swapaxes(1, 2) / np.float32(query.shape[2] ** 0.5)) @ value
        seen = seen.swapaxes(0, 1).reshape(states.shape)
        states = _normal(states + _linear(seen, *self._output), *self._norm)
        wide = _gelu(_linear(states, *self._wide))
        return _normal(states + _linear(wide, *self._narrow), *self._last_norm)


def mapped(file: Path) -> dict[str, Floats]:
    """Map a file of safetensors; the arrays are read-only, and read when they are touched."""
    try:
        with file.open("rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        size = int.from_bytes(data[:8], "little")
        if size > _HEADER:
            raise ValueError("its header has no end")
        header = json.loads(data[8 : 8 + size])
        return {
            name: _tensor(data, 8 + size, entry)
            for name, entry in header.items()
            if isinstance(entry, dict) and entry.get("dtype") == "F32"
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # whatever bytes there are: too few, no JSON, JSON of another shape
        raise IndexUnusable(f"the weights '{file}' cannot be read: {error}") from error


def _tensor(data: mmap.mmap, base: int, entry: Mapping[str, Any]) -> Floats:
    start, end = entry["data_offsets"]
    flat = np.frombuffer(data, np.float32, (end - start) // 4, base + start)
    return flat.reshape(entry["shape"])


def _pair(tensors: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return tensors[f"{name}.weight"], tensors[f"{name}.bias"]


def _linear(states: Floats, weight: Floats, bias: Floats) -> Floats:
    found: Floats = (weight @ states.T).T  # a fifth quicker than states @ weight.T, here: few rows
    return found + bias


def _normal(states: Floats, weight: Floats, bias: Floats) -> Floats:
    apart = states - states.mean(-1, keepdims=True)
    spread: Floats = np.sqrt((apart * apart).mean(-1, keepdims=True) + _EPSILON)
    found: Floats = apart / spread * weight + bias
    return found


def _softmax(scores: Floats) -> Floats:
    powers: Floats = np.exp(scores - scores.max(-1, keepdims=True))
    powers /= powers.sum(-1, keepdims=True)
    return powers


def _gelu(states: Floats) -> Floats:
    return states * np.float32(0.5) * (1 + _erf(states * np.float32(0.5**0.5)))


def _erf(x: Floats) -> Floats:
    """Return the error function, to 1.5e-7 (Abramowitz and Stegun 7.1.26); numpy has none."""
    size = np.abs(x)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    found: Floats = np.copysign(1 - series * np.exp(-size * size), x)
    return found
