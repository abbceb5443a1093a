"""What gitmem's git hooks add to git commands: the same commands with them and without.

python -m benchmarks.hooks [--memories 1000] [--rounds 21]
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from benchmarks.cli import shape
from benchmarks.history import build
from benchmarks.timing import Bench, Command, table

COMMIT = ("git", "commit", "-q", "--allow-empty", "-m", "work")
SWITCH = ("git", "switch", "-q", "-")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=21)
    given = parser.parse_args()
    with Bench() as bench:
        plain = _timed(bench, _repository(bench, "plain", given.memories))
        hooked = _timed(bench, _repository(bench, "hooked", given.memories, "--hooks"))
        bench.race([*plain, *hooked], given.rounds)
        rows = [
            [one.name, f"{one.wall:.0f} ms", f"{other.wall:.0f} ms", f"{other.wall - one.wall:.0f}"]
            for one, other in zip(plain, hooked, strict=True)
        ]
        print(table(["command", "git", "with hooks", "added, ms"], rows))


def _repository(bench: Bench, name: str, memories: int, *options: str) -> Path:
    repo = bench.path / name
    build(repo, shape(memories))
    bench.run(bench.gitmem("init", repo, "init", *options))
    for branch in ("topic", "first-commit"):
        subprocess.run(["git", "branch", branch], cwd=repo, check=True, env=bench.environ)
    bench.run(bench.gitmem("warm", repo, "sync", "--start"))
    return repo


def _timed(bench: Bench, repo: Path) -> list[Command]:
    """Return an ordinary commit, and switches to and fro (once a memory waits for its commit)."""
    subprocess.run(["git", "switch", "-q", "topic"], cwd=repo, check=True, env=bench.environ)
    waited = Command("a commit that a memory waits for", COMMIT, repo)
    count = iter(range(10**6))

    def remember() -> None:
        branch = f"waiting-{next(count)}"
        subprocess.run(
            ["git", "switch", "-q", "-c", branch, "main"], cwd=repo, check=True, env=bench.environ
        )
        bench.run(bench.gitmem("remember", repo, "remember", f"waits on {branch}"))

    waited.prepare = remember
    switch = Command("a switch", SWITCH, repo)
    return [Command("an ordinary commit", COMMIT, repo), switch, waited]


if __name__ == "__main__":
    main()
