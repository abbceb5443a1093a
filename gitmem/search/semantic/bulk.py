"""all-MiniLM-L6-v2 in onnxruntime: for many texts, of which it embeds several at once.

The graph is shipped with gitmem and has no weights, only their names: model.safetensors is mapped
for both ways to run the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gitmem.search.base import IndexUnusable
from gitmem.search.semantic.minilm import mapped

if TYPE_CHECKING:
    from gitmem.search.semantic.minilm import Floats

GRAPH = Path(__file__).parent / "data" / "minilm.onnx"
BATCH = 32
"""Texts run together at most,"""

ROOM = 2048
"""and tokens, the shorter texts filled up: twice as many take 130 MB more and are no quicker."""

_ERRORS_ONLY = 3
_SPINNING = "session.intra_op.allow_spinning"
"""Whether threads wait in a loop: beside other work that takes a fifth more of the processor."""


class Bulk:
    """The model in a folder of weights.

    Raises:
        IndexUnusable: it cannot be loaded.
    """

    def __init__(self, folder: Path) -> None:
        tensors = mapped(folder / "model.safetensors")
        names = [name for name in tensors if name.startswith(("embeddings.", "encoder."))]
        # From 1.31 on it notes an identity of the machine and tells its maker what it runs: its
        # first sign here was a file that the demo left behind.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime

            # By name: before 1.24 (Intel Macs get none later) it does not find a file of weights
            # for a graph that comes as bytes
            value = onnxruntime.OrtValue.ortvalue_from_numpy
            self._weights = [value(tensors[name]) for name in names]  # the session borrows them
            options = onnxruntime.SessionOptions()
            options.log_severity_level = _ERRORS_ONLY
            options.intra_op_num_threads = _cores()
            options.add_external_initializers(names, self._weights)
            options.add_session_config_entry(_SPINNING, "0")
            self._session: Any = onnxruntime.InferenceSession(
                GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has a class for each cause, and no common one
            raise IndexUnusable(f"the model in '{folder}' cannot be loaded: {error}") from error

    def states(self, encoded: Sequence[Sequence[int]]) -> Iterator[tuple[int, Floats]]:
        """Yield (number, states) of each text, the longest first.

        The states are what the last layer makes of the text's tokens, a row each.
        """
        for numbers in batches([len(ids) for ids in encoded]):
            ids = np.zeros((len(numbers), len(encoded[numbers[0]])), np.int64)
            mask = np.zeros_like(ids)
            for row, number in enumerate(numbers):
                size = len(encoded[number])
                ids[row, :size], mask[row, :size] = encoded[number], 1
            (states,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
            for row, number in enumerate(numbers):
                yield number, states[row, : len(encoded[number])]


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of texts that are run together, the longest first: little is filled up."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        if batch and (len(batch) == BATCH or (len(batch) + 1) * lengths[batch[0]] > ROOM):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _cores() -> int:
    """Return how many cores this process may use; onnxruntime would count those of the machine."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
