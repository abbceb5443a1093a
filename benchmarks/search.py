"""What searching costs: warm and as a whole process, on disk, and until everything is indexed.

    python -m benchmarks.search [--sizes 6000 100000] [--rounds 11] [--questions 40] [--json]

Documents are made by a seed: see `benchmarks.documents`. What is compared is run in turn, so that
what else the machine does falls on all of it alike; each figure is a median.

Up to 10,000 documents are embedded by the model, beside bare onnxruntime over the same texts. Of
more the vectors are those that the model begins with, word by word: as many bytes, as long to
search, and made in a minute instead of ten.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.asking import secluded
from benchmarks.documents import NO_MODEL, WHOLE, Repository, questions
from benchmarks.embedding import pooled
from benchmarks.timing import Bench, Command, table
from gitmem.search.semantic.embedding import load
from gitmem.search.semantic.pins import cache_folder, model_folder

WITHIN = ("memories", "sessions")
FTS5 = """\
import sqlite3, sys
sql = "SELECT id FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"
print(sqlite3.connect(sys.argv[1]).execute(sql, (sys.argv[2],)).fetchall())
"""


class Part(NamedTuple):
    """A figure: what it is of, its value in the unit of its table, and its ratio to another."""

    name: str
    value: float
    ratio: float | None = None


Figures = dict[str, list[Part]]


# -- measuring --------------------------------------------------------------------------------


def timed(action: Callable[[], object]) -> float:
    """Return how long something takes, in seconds."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def indexing(repository: Repository, folder: Path | None) -> list[Part]:
    """Index everything; beside it, in halves before and after, bare embedding of the same."""
    bare = 0.0
    whole = folder is not None and repository.size <= WHOLE
    half = len(repository.embedded) // 2
    if whole and folder:
        bare += timed(lambda: list(pooled(repository.embedded[:half], folder)))
    with repository.opened() as gm:
        ours = timed(lambda: gm.search("anything", within=WITHIN, limit=1))
    if whole and folder:
        bare += timed(lambda: list(pooled(repository.embedded[half:], folder)))
    repository_parts = [Part("everything indexed", ours, ours / bare if bare else None)]
    return [*([Part("bare onnxruntime", bare, 1.0)] if bare else []), *repository_parts]


def disk(repository: Repository) -> list[Part]:
    """Return the bytes a document of each part of what is kept."""
    home = repository.path / ".git" / "gitmem"
    parts = {
        "conversations (git)": ["private.git"],
        "rounds.sqlite": ["rounds.sqlite*"],
        "catalog.sqlite": ["catalog.sqlite*"],
        "words (Whoosh)": ["lexical"],
        "token vectors": ["tokens.sqlite*"],
        "Chroma": ["vectors"],
    }
    found = [
        Part(name, sum(map(_bytes, (p for glob in globs for p in home.glob(glob)))))
        for name, globs in parts.items()
    ]
    found += [
        Part("all of it", sum(part.value for part in found)),
        Part("the texts alone", sum(len(text.encode()) for text in repository.embedded)),
        Part("SQLite FTS5", _bytes(repository.fts5)),
    ]
    return [Part(part.name, part.value / repository.size) for part in found]


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def warm(repository: Repository, count: int, model: bool) -> list[Part]:
    """Ask one process many questions; the ratios are to FTS5."""
    db = sqlite3.connect(repository.fts5)
    sql = "SELECT id FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"
    with repository.opened() as gm, repository.opened(model=False) as words:
        ways: dict[str, Callable[[str], object]] = {
            "SQLite FTS5": lambda asked: db.execute(sql, (_any(asked),)).fetchall(),
            "search, words alone": lambda asked: words.search(asked, within=WITHIN),
        }
        if model:
            ways["search"] = lambda asked: gm.search(asked, within=WITHIN)
            ways["recall"] = gm.recall
        took: dict[str, list[float]] = {name: [] for name in ways}
        for number, asked in enumerate(questions(repository.said, count + 3)):
            for name, way in ways.items():
                seconds = timed(lambda way=way, asked=asked: way(asked))  # type: ignore[misc]
                if number >= 3:  # the first ones open files
                    took[name].append(seconds * 1e3)
    db.close()
    return _beside({name: statistics.median(each) for name, each in took.items()}, "SQLite FTS5")


def cold(bench: Bench, repository: Repository, rounds: int) -> Figures:
    """Run whole processes; the ratios are to a command line by click that says hello."""
    asked = questions(repository.said, 1)[0]
    fts5 = [sys.executable, "-c", FTS5, str(repository.fts5), _any(asked)]
    hello, hidden = bench.click_hello(), "=".join(NO_MODEL)
    search = bench.gitmem("gitmem search", repository.path, "search", asked)
    words = bench.gitmem("gitmem search, words alone", repository.path, "search", asked)
    words.argv = ["env", hidden, *words.argv]
    commands = [
        bench.python_pass(),
        hello,
        _grep(asked, repository.files),
        Command("FTS5 from Python", fts5, bench.path),
        bench.gitmem("gitmem list", repository.path, "list", "--limit", "20"),
        bench.gitmem("gitmem recall", repository.path, "recall", asked),
        _hook(bench, repository, asked),
        search,
        words,
    ]
    bench.race(commands, rounds)
    walls = {command.name: command.wall for command in commands}
    cpus = {command.name: command.cpu for command in commands}
    return {
        "whole process, ms": _beside(walls, hello.name),
        "whole process, ms of the processor": _beside(cpus, hello.name),
    }


def _hook(bench: Bench, repository: Repository, asked: str) -> Command:
    """Return what an agent calls with a prompt; without a session nothing is held back as told."""
    said = {"hook_event_name": "UserPromptSubmit", "cwd": str(repository.path), "prompt": asked}
    told = bench.path / "prompt.json"
    told.write_text(json.dumps({**said, "transcript_path": "/home/projects/x.jsonl"}))
    hook = bench.gitmem("gitmem hook prompt", repository.path, "hook", "prompt")
    line = f'exec "$@" --agent claude-code < {shlex.quote(str(told))}'
    return replace(hook, argv=["sh", "-c", line, "sh", *hook.argv])


def _any(asked: str) -> str:
    return " OR ".join(f'"{word}"' for word in asked.split())


def _grep(asked: str, folder: Path) -> Command:
    tool = ["rg"] if shutil.which("rg") else ["grep", "-r"]
    words = [part for word in asked.split() for part in ("-e", word)]
    return Command(tool[0], [*tool, "-i", "-F", *words, str(folder)], folder)


def _beside(found: dict[str, float], unit: str) -> list[Part]:
    return [Part(name, value, value / found[unit]) for name, value in found.items()]


# -- the whole --------------------------------------------------------------------------------


def measured(size: int, given: argparse.Namespace, folder: Path | None) -> Figures:
    """Return every figure of one size."""
    with Bench() as bench:
        bench.environ = {**bench.environ, "GITMEM_CACHE_DIR": os.environ["GITMEM_CACHE_DIR"]}
        repository = Repository(bench, size, load(folder) if folder else None)
        figures = {"index, s": indexing(repository, folder)}
        repository.beside()
        figures["disk, bytes a document"] = disk(repository)
        figures["warm, ms"] = warm(repository, given.questions, folder is not None)
        figures |= cold(bench, repository, given.rounds)
    return figures


def main() -> None:
    """Print a table of each kind of figure, a column a size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[6_000, 100_000])
    parser.add_argument("--rounds", type=int, default=11, help="runs of each whole process")
    parser.add_argument("--questions", type=int, default=40, help="questions to a warm process")
    parser.add_argument("--json", action="store_true", help="print the figures alone, as JSON")
    given = parser.parse_args()
    folder = model_folder(cache_folder(os.environ.get("GITMEM_CACHE_DIR", "")))
    if not folder.is_dir():
        print("no model here: 'gitmem model install' fetches it", file=sys.stderr)
    with secluded():
        every = {
            size: measured(size, given, folder if folder.is_dir() else None) for size in given.sizes
        }
    if given.json:
        print(json.dumps({size: _plain(figures) for size, figures in every.items()}, indent=2))
        return
    for kind in next(iter(every.values())):
        print(shown(kind, {size: figures[kind] for size, figures in every.items()}), end="\n\n")


def shown(kind: str, columns: dict[int, list[Part]]) -> str:
    """Return the table of one kind of figure."""
    names = dict.fromkeys(part.name for parts in columns.values() for part in parts)
    cells = {(part.name, size): _cell(part) for size, parts in columns.items() for part in parts}
    rows = [[name, *(cells.get((name, size), "–") for size in columns)] for name in names]
    return table([kind, *(f"{size:,} documents" for size in columns)], rows)


def _cell(part: Part) -> str:
    value = f"{part.value:,.1f}" if part.value < 100 else f"{part.value:,.0f}"
    return value if part.ratio is None else f"{value} = {part.ratio:.2f} ×"


def _plain(figures: Figures) -> dict[str, dict[str, dict[str, float | None]]]:
    return {
        kind: {part.name: {"value": part.value, "ratio": part.ratio} for part in parts}
        for kind, parts in figures.items()
    }


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
