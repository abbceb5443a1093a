"""What it costs to write to one commit again and again: the note there grows with each memory.

    python -m benchmarks.hot_commit [--writes 5000]

Prints milliseconds a write around 100, 1,000, 2,500 and 5,000 lines, by the library in one process,
and how large the repository is, with the packing that gitmem does by itself and without it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from pathlib import Path

import gitmem
from benchmarks.history import sentences
from benchmarks.timing import Bench, table
from gitmem.journal.git.port import Backend
from gitmem.verbs import record

AROUND = 50


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--writes", type=int, default=5_000)
    given = parser.parse_args()
    marks = [mark for mark in (100, 1_000, 2_500, 5_000) if mark <= given.writes]
    rows = []
    with Bench() as bench:
        os.environ["HOME"] = bench.environ["HOME"]
        for backend, packing in (("libgit2", True), ("program", True), ("libgit2", False)):
            repo = _repository(bench.path / f"{backend}-{packing}")
            record.PACK_EVERY = 500 if packing else 10**9
            took = _write(repo, given.writes, backend)
            costs = [statistics.median(took[mark - AROUND : mark + AROUND]) for mark in marks]
            slowest = max(took) * 1e3
            name = f"{backend}{'' if packing else ', never packed'}"
            rows.append([name, *(f"{cost * 1e3:.1f} ms" for cost in costs), f"{slowest:.0f} ms",
                         f"{_megabytes(repo):,.0f} MB"])  # fmt: skip
    print(table(["by", *(f"{mark:,} lines" for mark in marks), "slowest", "size at the end"], rows))


def _repository(path: Path) -> Path:
    subprocess.run(["git", "init", "-q", path], check=True)
    first = ["git", "-C", str(path), "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(first, check=True)
    return path


def _write(repo: Path, writes: int, backend: Backend) -> list[float]:
    """Return how long each write took, in seconds."""
    took = []
    with gitmem.open(repo, backend=backend) as gm:
        for text, _ in zip(sentences(), range(writes), strict=False):
            start = time.perf_counter()
            gm.remember(text, kind="fact")
            took.append(time.perf_counter() - start)
    return took


def _megabytes(repo: Path) -> float:
    objects = repo / ".git" / "objects"
    return sum(path.stat().st_blocks * 512 for path in objects.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
