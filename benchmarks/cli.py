"""What a command costs as a whole process, at 10 to 100,000 memories, beside what it is built on.

    python -m benchmarks.cli [--sizes 10 1000 10000 100000] [--rounds 21]

All commands are run in turn, in one round after the other; a cell is the median in milliseconds,
and its ratio to a command line by click that says hello, in the same rounds.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from benchmarks.history import Shape, build
from benchmarks.timing import Bench, Command, table

TEXT = "Use PostgreSQL: the team knows it, and the migration tool supports it"


def shape(memories: int) -> Shape:
    """Return a history of as many memories: 20 on an anchor, 20 commits between two anchors."""
    anchors = max(memories // 20, 1)
    return Shape(memories, anchors, commits=max(anchors * 20, 10), writes=memories)


def commands(bench: Bench, memories: int) -> list[Command]:
    """Make a repository of that size, warm, and return what is timed in it."""
    repo = bench.path / f"with-{memories}"
    build(repo, shape(memories))
    for args in (["init"], ["search", "postgres"], ["sync", "--start"]):
        bench.run(bench.gitmem("warm", repo, *args))
    id = _some_id(bench, repo)
    changed = bench.gitmem("sync --start, changed", repo, "sync", "--start")
    changed.prepare = lambda: _write(bench, repo)
    unchanged = bench.gitmem("sync --start, unchanged", repo, "sync", "--start")
    unchanged.prepare = lambda: _settle(bench, repo)
    search = bench.gitmem("search", repo, "search", "postgres")
    search.prepare = lambda: bench.run(bench.gitmem("index", repo, "search", "redis"))
    return [
        bench.gitmem("remember", repo, "remember", TEXT, "-k", "decision", "-i", "high"),
        unchanged,
        changed,
        search,
        bench.gitmem("show", repo, "show", id),
        bench.gitmem("list", repo, "list", "--limit", "20"),
    ]


def plain_git(bench: Bench) -> Command:
    """Return a plain note, by git alone."""
    repo = bench.path / "plain"
    subprocess.run(["git", "init", "-q", repo], check=True, env=bench.environ)
    first = ["git", "-C", str(repo), "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(first, check=True, env=bench.environ)
    return Command("git notes append", ["git", "notes", "append", "-m", TEXT], repo)


def _write(bench: Bench, repo: Path) -> None:
    bench.run(bench.gitmem("write", repo, "remember", TEXT))


def _settle(bench: Bench, repo: Path) -> None:
    """Ask until nothing changes any more: files just written are too young to rely on."""
    for _ in range(3):
        bench.run(bench.gitmem("settle", repo, "sync", "--start"))


def _some_id(bench: Bench, repo: Path) -> str:
    argv = bench.gitmem("list", repo, "list", "--limit", "1").argv
    done = subprocess.run(argv, cwd=repo, env=bench.environ, capture_output=True, check=True)
    return done.stdout.decode().split()[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=21)
    given = parser.parse_args()
    with Bench() as bench:
        floor = [bench.python_pass(), bench.click_hello(), plain_git(bench)]
        timed = {size: commands(bench, size) for size in given.sizes}
        bench.race([*floor, *(one for group in timed.values() for one in group)], given.rounds)
        unit = floor[1].wall
        beside = [[one.name, f"{one.wall:.0f}", f"{one.wall / unit:.2f}"] for one in floor]
        print(table(["beside", "ms", "× click hello"], beside))
        print()
        names = [command.name for command in next(iter(timed.values()))]
        rows = [
            [name, *(_cell(timed[size][index], unit) for size in given.sizes)]
            for index, name in enumerate(names)
        ]
        print(table(["gitmem", *(f"{size:,} memories" for size in given.sizes)], rows))


def _cell(command: Command, unit: float) -> str:
    return f"{command.wall:.0f} ms = {command.wall / unit:.2f} ×"


if __name__ == "__main__":
    main()
