"""What embedding costs: many rounds beside bare onnxruntime, and one question in a fresh process.

    python -m benchmarks.embedding --data FILE [--rounds N] [--json]

The rounds are those of a file of LoCoMo's shape. Bare onnxruntime runs the same graph over the
same rounds, all of them sorted by length, and keeps one vector each. Both take turns, a part at a
time, so that what else the machine does falls on both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.locomo import sessions
from benchmarks.timing import Bench, Command, table
from gitmem.search.semantic.embedding import BUFFER, Embedded, load
from gitmem.search.semantic.pins import cache_folder, model_folder

QUESTION = "When did we decide to move the job queue from Redis to PostgreSQL?"
RUNS = 9

NUMPY = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy"
COLD = """\
import os, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as gitmem does
from pathlib import Path
from gitmem.search.semantic.embedding import load
load(Path(sys.argv[1])).query(sys.argv[2])
"""


class Clock:
    """What something took: seconds passed, and of the processor."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def __exit__(self, *error: object) -> None:
        self.wall += time.perf_counter() - self._began[0]
        self.cpu += time.process_time() - self._began[1]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's shape")
    parser.add_argument("--rounds", type=int, help="take no more than that")
    parser.add_argument("--json", action="store_true", help="print the figures alone, as JSON")
    given = parser.parse_args()
    folder = model_folder(cache_folder(os.environ.get("GITMEM_CACHE_DIR", "")))
    if not folder.is_dir():
        sys.exit("no model here: 'gitmem model install' fetches it")
    figures = {**many(texts(given.data)[: given.rounds], folder), **one(folder)}
    print(json.dumps(figures, indent=2) if given.json else shown(figures))


def texts(file: Path) -> list[str]:
    """Return what was said, the speaker first."""
    parts = json.loads(file.read_text("utf-8"))
    held = (sessions("", part["conversation"]).values() for part in parts)
    turns = [turn for conversation in held for session in conversation for turn in session]
    return [f"{turn['speaker']}: {turn['text']}" for turn in turns]


def many(rounds: Sequence[str], folder: Path) -> dict[str, float]:
    """Embed all rounds both ways."""
    bare, ours = Clock(), Clock()
    with bare:
        batches = pooled(rounds, folder)
    with ours:
        embedded = load(folder).documents(rounds)
        done = [next(embedded)]
    while len(done) < len(rounds):
        with bare:
            list(islice(batches, BUFFER // 32))
        with ours:
            done += islice(embedded, BUFFER)
    with bare:
        list(batches)
    return {
        "rounds": len(rounds),
        "bare rounds/s": len(rounds) / bare.wall,
        "rounds/s": len(rounds) / ours.wall,
        "ratio, elapsed": ours.wall / bare.wall,
        "ratio, processor": ours.cpu / bare.cpu,
        "tokens a round": statistics.mean(len(one.tokens) for one in done),
        "bytes a round": statistics.mean(map(size, done)),
    }


def size(embedded: Embedded) -> int:
    """Return the bytes of a document's vectors as they are stored, the pooled one by halves."""
    return embedded.tokens.nbytes + embedded.ids.nbytes + embedded.pooled.nbytes // 2


def pooled(rounds: Sequence[str], folder: Path) -> Iterator[Any]:
    """Yield one vector a round, 32 at a time, as a program would that does nothing else."""
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    from gitmem.search.semantic.bulk import GRAPH

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    key = "session.model_external_initializers_file_folder_path"
    options.add_session_config_entry(key, str(folder))
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(GRAPH.read_bytes(), options, providers=providers)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    encoded = sorted((one.ids for one in tokenizer.encode_batch(rounds)), key=len, reverse=True)

    def run(some: Sequence[Sequence[int]]) -> Any:
        ids = np.zeros((len(some), len(some[0])), np.int64)
        mask = np.zeros_like(ids)
        for row, of in enumerate(some):
            ids[row, : len(of)], mask[row, : len(of)] = of, 1
        (states,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
        means = (states * mask[:, :, None]).sum(1)
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    return (run(encoded[start : start + 32]) for start in range(0, len(encoded), 32))


def one(folder: Path) -> dict[str, float]:
    """Embed one question, in fresh processes and again and again in this one."""
    with Bench() as bench:
        bare = bench.python_pass()
        numpy = Command("import numpy", [sys.executable, "-c", NUMPY], bench.path)
        cold = [sys.executable, "-c", COLD, str(folder), QUESTION]
        query = Command("question", cold, bench.path)
        bench.race([bare, numpy, query], RUNS)
    model = load(folder)
    model.query(QUESTION)
    warm = []
    for _ in range(RUNS):
        clock = Clock()
        with clock:
            model.query(QUESTION)
        warm.append(clock)
    return {
        "python ms": bare.wall,
        "numpy ms": numpy.wall,
        "cold ms": query.wall,
        "cold processor ms": query.cpu,
        "warm ms": statistics.median(clock.wall for clock in warm) * 1e3,
        "warm processor ms": statistics.median(clock.cpu for clock in warm) * 1e3,
    }


def shown(figures: dict[str, float]) -> str:
    """Return the figures as a table."""
    rows = [
        [name, f"{value:,.4g}" if value < 1e3 else f"{value:,.0f}"]
        for name, value in figures.items()
    ]
    return table(["embedding", ""], rows)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
