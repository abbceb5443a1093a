"""all-MiniLM-L6-v2 in onnxruntime: for many texts.

The graph is shipped without weights (24 kB, made by scripts/skeleton); it finds them in
``model.safetensors``, mapped, where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gitmem.search.minilm import Floats

SKELETON = Path(__file__).parent / "data" / "minilm.onnx"
BATCH = 32
"""Texts of like length that are embedded at once."""

_LIBRARY_FOLDER = "session.model_external_initializers_file_folder_path"
_QUIET = 3  # errors alone


class Bulk:
    """A session of onnxruntime, and the tokenizer beside the weights in `folder`."""

    def __init__(self, folder: Path, longest: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.log_severity_level = _QUIET
        options.add_session_config_entry(_LIBRARY_FOLDER, str(folder))
        self._session: Any = onnxruntime.InferenceSession(
            SKELETON.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)

    def states(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Yield the ids and the last hidden states of each text, in their order."""
        encoded = [one.ids for one in self._tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda number: len(encoded[number]))
        states: list[Floats | None] = [None] * len(texts)
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            ids, mask = _padded([encoded[number] for number in some])
            (found,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
            for row, number in enumerate(some):
                states[number] = found[row, : len(encoded[number])]
        for ids_of, state in zip(encoded, states, strict=True):
            assert state is not None
            yield ids_of, state


def _padded(ids: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Return ids as an array (texts, tokens), and a mask with 1 where there is a token."""
    rows = np.zeros((len(ids), max(map(len, ids))), np.int64)
    mask = np.zeros_like(rows)
    for row, of in enumerate(ids):
        rows[row, : len(of)] = of
        mask[row, : len(of)] = 1
    return rows, mask
