"""Make the data that is shipped beside the model: its graph without weights, and the projection.

    python scripts/skeleton.py graph          needs the package `onnx`
    python scripts/skeleton.py projection     needs the model installed

The graph is all-MiniLM-L6-v2 as its authors publish it; each weight is a reference into
``model.safetensors``. The projection is made of the main axes of the token vectors of neutral
text: the descriptions of the packages that are installed beside gitmem, as they happen to be. It
is therefore not the same to the bit when it is made again, and need not be.
"""

from __future__ import annotations

import json
import random
import re
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gitmem.search import embedding  # noqa: E402
from gitmem.search.bulk import SKELETON, Bulk  # noqa: E402
from gitmem.search.pins import cache_folder, model_folder  # noqa: E402

LAYERS, HEADS, WIDTH, DIMENSION = 6, 12, 384, 128
PARAGRAPHS = 1500


class Graph:
    """The nodes and initializers of the model."""

    def __init__(self, weights: Path) -> None:
        import onnx

        self._onnx = onnx
        self._file = weights.name
        with weights.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self._tensors = json.loads(file.read(size))
        self._start = 8 + size
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}

    def weight(self, name: str) -> str:
        """Refer to a weight in the file beside the graph."""
        if name not in self.initializers:
            begin, end = self._tensors[name]["data_offsets"]
            tensor = self._onnx.TensorProto(name=name, data_type=self._onnx.TensorProto.FLOAT)
            tensor.dims.extend(self._tensors[name]["shape"])
            tensor.data_location = self._onnx.TensorProto.EXTERNAL
            where = {"location": self._file, "offset": self._start + begin, "length": end - begin}
            for key, value in where.items():
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[name] = tensor
        return name

    def constant(self, value: Any, kind: Any = np.int64) -> str:
        """Hold a small constant in the graph."""
        array = np.asarray(value, kind)
        name = f"{array.dtype}{array.tolist()}"
        self.initializers[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def apply(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of what it makes."""
        made = f"t{len(self.nodes)}"
        make = self._onnx.helper.make_node
        self.nodes.append(make(operator, [*inputs], [made], **attributes))
        return made

    def linear(self, state: str, name: str) -> str:
        """Return state·Wᵀ + b."""
        weights = (self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))
        return self.apply("Gemm", state, *weights, transB=1)

    def normed(self, state: str, name: str) -> str:
        """Return the layer norm."""
        weights = (self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))
        return self.apply("LayerNormalization", state, *weights, axis=-1, epsilon=1e-12)

    def gelu(self, state: str) -> str:
        """Return x·Φ(x)."""
        erf = self.apply("Erf", self.apply("Mul", state, self.constant(0.5**0.5, np.float32)))
        doubled = self.apply("Add", erf, self.constant(1, np.float32))
        half = self.apply("Mul", state, self.constant(0.5, np.float32))
        return self.apply("Mul", half, doubled)

    def model(self, last: str) -> bytes:
        """Return it whole."""
        helper, proto = self._onnx.helper, self._onnx.TensorProto
        self.nodes.append(helper.make_node("Identity", [last], ["tokens"]))
        inputs = [
            helper.make_tensor_value_info(name, proto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ]
        shape = ["batch", "length", WIDTH]
        output = helper.make_tensor_value_info("tokens", proto.FLOAT, shape)
        parts = (self.nodes, "minilm", inputs, [output], [*self.initializers.values()])
        opset = [helper.make_opsetid("", 17)]
        made = helper.make_model(helper.make_graph(*parts), opset_imports=opset, ir_version=8)
        return bytes(made.SerializeToString())


def graph(weights: Path) -> bytes:
    """Return the graph of the model over a file of weights."""
    make = Graph(weights)
    shape = make.apply("Shape", "input_ids")
    length = make.apply("Slice", shape, make.constant([1]), make.constant([2]))
    words = make.apply("Gather", make.weight("embeddings.word_embeddings.weight"), "input_ids")
    state = make.apply("Add", words, _rows(make, "token_type", make.constant([1])))
    state = make.apply("Add", state, _rows(make, "position", length))
    state = make.normed(state, "embeddings.LayerNorm")
    mask = make.apply("Unsqueeze", "attention_mask", make.constant([1, 2]))
    mask = make.apply("Cast", mask, to=make._onnx.TensorProto.FLOAT)
    hidden = make.apply("Sub", make.constant(1, np.float32), mask)
    hidden = make.apply("Mul", hidden, make.constant(-10000.0, np.float32))
    heads = make.apply("Concat", shape, make.constant([HEADS, WIDTH // HEADS]), axis=0)
    state = make.apply("Reshape", state, make.constant([-1, WIDTH]))
    for number in range(LAYERS):
        state = _layer(make, f"encoder.layer.{number}.", state, hidden, heads)
    whole = make.apply("Concat", shape, make.constant([WIDTH]), axis=0)
    return make.model(make.apply("Reshape", state, whole))


def _rows(make: Graph, kind: str, end: str) -> str:
    table = make.weight(f"embeddings.{kind}_embeddings.weight")
    return make.apply("Slice", table, make.constant([0]), end, make.constant([0]))


def _layer(make: Graph, at: str, state: str, hidden: str, heads: str) -> str:
    def split(name: str, order: list[int]) -> str:
        found = make.apply("Reshape", make.linear(state, f"{at}attention.self.{name}"), heads)
        return make.apply("Transpose", found, perm=order)

    query, value = (split(name, [0, 2, 1, 3]) for name in ("query", "value"))
    scores = make.apply("MatMul", query, split("key", [0, 2, 3, 1]))
    scale = make.constant((WIDTH // HEADS) ** -0.5, np.float32)
    scores = make.apply("Add", make.apply("Mul", scores, scale), hidden)
    seen = make.apply("MatMul", make.apply("Softmax", scores, axis=-1), value)
    seen = make.apply("Transpose", seen, perm=[0, 2, 1, 3])
    seen = make.apply("Reshape", seen, make.constant([-1, WIDTH]))
    seen = make.apply("Add", make.linear(seen, f"{at}attention.output.dense"), state)
    state = make.normed(seen, f"{at}attention.output.LayerNorm")
    wide = make.gelu(make.linear(state, f"{at}intermediate.dense"))
    state = make.apply("Add", make.linear(wide, f"{at}output.dense"), state)
    return make.normed(state, f"{at}output.LayerNorm")


def projection(folder: Path) -> np.ndarray:
    """Return the first axes, (128, 384), of the token vectors of neutral text."""
    states = [state[1:-1] for _, state in Bulk(folder, embedding.LONGEST).states(neutral())]
    tokens = np.concatenate(states)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    axes = np.linalg.svd(tokens - tokens.mean(0), full_matrices=False)[2]
    return axes[:DIMENSION].astype(np.float32)


def neutral() -> list[str]:
    """Return paragraphs of the descriptions of installed packages."""
    found = set()
    for package in distributions():
        for paragraph in re.split(r"\n\s*\n", package.read_text("METADATA") or ""):
            text = " ".join(paragraph.split())
            if 80 < len(text) < 500 and text.count(" ") > 10 and "://" not in text:
                found.add(text)
    shuffled = sorted(found)
    random.Random(0).shuffle(shuffled)
    return shuffled[:PARAGRAPHS]


def main() -> int:
    """Write what is asked for."""
    folder = model_folder(cache_folder())
    if sys.argv[1:] == ["graph"]:
        SKELETON.write_bytes(graph(folder / "model.safetensors"))
    elif sys.argv[1:] == ["projection"]:
        np.save(embedding.PROJECTION, projection(folder))
    else:
        print(__doc__, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
