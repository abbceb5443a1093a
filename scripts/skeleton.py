"""Makes the data of gitmem/search: the model's graph without weights, and the axes kept of it.

    pip install onnx
    python scripts/skeleton.py FOLDER       the folder that `gitmem model status` names

minilm.onnx has the names of tensors, and where in model.safetensors they lie. projection.npy has
the main axes of token vectors, fitted on prose that comes with Python and with the packages
installed here: run elsewhere it comes out a little different, and all vectors are made anew.
"""

from __future__ import annotations

import json
import pydoc_data.topics
import random
import re
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto
from onnx import helper as make

sys.path.insert(0, str(Path(__file__).parent.parent))

from gitmem.search.semantic.bulk import Bulk
from gitmem.search.semantic.embedding import DATA
from gitmem.search.semantic.wordpiece import WordPiece

LAYERS, HEADS, WIDTH = 6, 12, 384
AXES = 128
PARAGRAPHS = 3000
WEIGHTS = "model.safetensors"


class Graph:
    """Nodes in the order they were asked for; a node is known by the name of what it gives."""

    def __init__(self, header: dict[str, Any], base: int) -> None:
        self._header = header
        self._base = base
        self._nodes: list[Any] = []
        self._tensors: dict[str, Any] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"{kind.lower()}{len(self._nodes)}"
        self._nodes.append(make.make_node(kind, inputs, [output], **attributes))
        return output

    def weight(self, name: str) -> str:
        """Name a tensor of the file of weights, which stays there."""
        entry = self._header[name]
        start, end = entry["data_offsets"]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=entry["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": WEIGHTS, "offset": self._base + start, "length": end - start}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self._tensors[name] = tensor
        return name

    def number(self, value: float) -> str:
        name = f"number {value}"
        self._tensors[name] = make.make_tensor(name, TensorProto.FLOAT, [], [value])
        return name

    def shape(self, *sizes: int) -> str:
        name = f"shape {sizes}"
        self._tensors[name] = make.make_tensor(name, TensorProto.INT64, [len(sizes)], sizes)
        return name

    def linear(self, value: str, name: str) -> str:
        inputs = value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("Gemm", *inputs, transB=1)

    def normal(self, value: str, name: str) -> str:
        inputs = value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", *inputs, axis=-1, epsilon=1e-12)

    def model(self, last: str, shape: str) -> Any:
        """Return what runs `input_ids` and `attention_mask` to `states`."""
        self._nodes.append(make.make_node("Reshape", [last, shape], ["states"]))
        inputs = [
            make.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        sizes = ["texts", "tokens", WIDTH]
        output = make.make_tensor_value_info("states", TensorProto.FLOAT, sizes)
        tensors = list(self._tensors.values())
        graph = make.make_graph(self._nodes, "all-MiniLM-L6-v2", inputs, [output], tensors)
        return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)


def skeleton(weights: Path) -> Any:
    """Return the model; states are kept flat, (texts × tokens, width), but for the attention."""
    with weights.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        graph = Graph(json.loads(stream.read(size)), 8 + size)
    shape = graph.op("Shape", "input_ids")
    states = graph.op("Reshape", embeddings(graph, shape), graph.shape(-1, WIDTH))
    mask = graph.op("Unsqueeze", "attention_mask", graph.shape(1, 2))
    hidden = graph.op("Sub", graph.number(1.0), graph.op("Cast", mask, to=TensorProto.FLOAT))
    mask = graph.op("Mul", hidden, graph.number(-10000.0))
    for number in range(LAYERS):
        states = layer(graph, f"encoder.layer.{number}", states, shape, mask)
    return graph.model(states, graph.op("Concat", shape, graph.shape(WIDTH), axis=0))


def embeddings(graph: Graph, shape: str) -> str:
    words, places, kinds = (
        graph.weight(f"embeddings.{name}_embeddings.weight")
        for name in ("word", "position", "token_type")
    )
    zero, one, two = (graph.shape(n) for n in (0, 1, 2))
    places = graph.op("Slice", places, zero, graph.op("Slice", shape, one, two), zero)
    kind = graph.op("Slice", kinds, zero, one, zero)
    rows = graph.op("Gather", words, "input_ids")
    return graph.normal(
        graph.op("Add", graph.op("Add", rows, kind), places), "embeddings.LayerNorm"
    )


def layer(graph: Graph, name: str, states: str, shape: str, mask: str) -> str:
    inner = graph.op("Concat", shape, graph.shape(HEADS, WIDTH // HEADS), axis=0)

    def heads(part: str, order: list[int]) -> str:
        flat = graph.linear(states, f"{name}.attention.self.{part}")
        return graph.op("Transpose", graph.op("Reshape", flat, inner), perm=order)

    query, value = heads("query", [0, 2, 1, 3]), heads("value", [0, 2, 1, 3])
    scores = graph.op("MatMul", query, heads("key", [0, 2, 3, 1]))
    scores = graph.op("Mul", scores, graph.number((WIDTH // HEADS) ** -0.5))
    shares = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
    seen = graph.op("Transpose", graph.op("MatMul", shares, value), perm=[0, 2, 1, 3])
    seen = graph.op("Reshape", seen, graph.shape(-1, WIDTH))
    seen = graph.op("Add", graph.linear(seen, f"{name}.attention.output.dense"), states)
    states = graph.normal(seen, f"{name}.attention.output.LayerNorm")
    wide = gelu(graph, graph.linear(states, f"{name}.intermediate.dense"))
    narrow = graph.op("Add", graph.linear(wide, f"{name}.output.dense"), states)
    return graph.normal(narrow, f"{name}.output.LayerNorm")


def gelu(graph: Graph, value: str) -> str:
    erf = graph.op("Erf", graph.op("Div", value, graph.number(2**0.5)))
    both = graph.op("Mul", value, graph.op("Add", erf, graph.number(1.0)))
    return graph.op("Mul", both, graph.number(0.5))


def axes(folder: Path) -> np.ndarray:
    """Return the axes, a row each, along which the vectors of neutral prose differ most."""
    words = WordPiece(folder / "vocab.txt")
    encoded = [words.encode(text) for text in prose()]
    vectors = [states[1:-1] for _, states in Bulk(folder).states(encoded)]
    units = np.concatenate(vectors)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    print(f"{len(encoded)} paragraphs, {len(units)} tokens")
    units -= units.mean(0)
    _, main = np.linalg.eigh(units.T @ units)
    return main.T[::-1][:AXES]


def prose() -> list[str]:
    """Return paragraphs that no benchmark has: on packages, and on the language."""
    found = sorted({text for page in pages() for text in paragraphs(page)})
    random.Random(0).shuffle(found)
    return found[:PARAGRAPHS]


def pages() -> Iterator[str]:
    yield from pydoc_data.topics.topics.values()
    for package in distributions():
        yield package.read_text("METADATA") or ""


def paragraphs(page: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", page):
        text = " ".join(block.split())
        if 80 < len(text) < 500 and text.count(" ") > 10 and "://" not in text:
            yield text


def main() -> None:
    folder = Path(sys.argv[1])
    DATA.mkdir(exist_ok=True)
    (DATA / "minilm.onnx").write_bytes(skeleton(folder / WEIGHTS).SerializeToString())
    np.save(DATA / "projection.npy", axes(folder).astype(np.float16))
    for file in sorted(DATA.iterdir()):
        print(f"{file.stat().st_size:8} {file}")


if __name__ == "__main__":
    main()
