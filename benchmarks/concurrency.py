"""20 processes × 10 writes to one repository, beside a plain compare-and-swap loop by pygit2.

    python -m benchmarks.concurrency [--writers 20] [--each 10] [--rounds 3]

Processes are started first and let go at once, so that the start of an interpreter is not counted.
The plain loop does the least that keeps every write: read the tip, append a line to the note of
HEAD, write blob, trees and commit, move the ref if it has not moved, else again.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import Bench, table

GITMEM = """\
import sys, gitmem
with gitmem.open(".", backend=sys.argv[3]) as gm:
    gm.list(limit=1)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[2])):
        gm.remember(f"{sys.argv[1]} writes number {number}")
"""

LOOP = """\
import sys, pygit2
repo = pygit2.Repository(".")
ref, head = "refs/notes/plain", str(repo.head.target)
me = pygit2.Signature("Ada", "ada@example.com")

def attempt(line):
    tip = repo.references.get(ref)
    top = repo[tip.target].tree if tip else None
    inner = repo[top[head[:2]].id] if top and head[:2] in top else None
    old = repo[inner[head[2:]].id].data if inner and head[2:] in inner else b""
    below = repo.TreeBuilder(inner) if inner else repo.TreeBuilder()
    below.insert(head[2:], repo.create_blob(old + line), pygit2.GIT_FILEMODE_BLOB)
    above = repo.TreeBuilder(top) if top else repo.TreeBuilder()
    above.insert(head[:2], below.write(), pygit2.GIT_FILEMODE_TREE)
    parents = [tip.target] if tip else []
    commit = repo.create_commit(None, me, me, "write", above.write(), parents)
    if tip:
        with repo.transaction() as moving:
            moving.lock_ref(ref)
            if repo.references[ref].target != tip.target:
                raise OSError
            moving.set_target(ref, commit)
    else:
        repo.references.create(ref, commit)

print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    while True:
        try:
            attempt(f"{sys.argv[1]} writes number {number}\\n".encode())
            break
        except (OSError, ValueError, pygit2.GitError):
            pass
"""

GIT = """\
import subprocess, sys
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    line = f"{sys.argv[1]} writes number {number}"
    subprocess.run(["git", "notes", "--ref=plain", "append", "-m", line], capture_output=True)
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--writers", type=int, default=20)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ways = {
        "plain pygit2 loop": (LOOP, "", "plain"),
        "gitmem, libgit2": (GITMEM, "libgit2", "gitmem/shared"),
        "gitmem, git program": (GITMEM, "program", "gitmem/shared"),
        "git notes append": (GIT, "", "plain"),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    kept: dict[str, int] = {}
    with Bench() as bench:
        for number in range(given.rounds):
            for name, (script, backend, ref) in ways.items():
                repo = _repository(bench, f"{name}-{number}")
                took[name].append(_race(bench, repo, script, given.writers, given.each, backend))
                kept[name] = _lines(bench, repo, ref)
    total = given.writers * given.each
    unit = statistics.median(took["plain pygit2 loop"])
    rows = [
        [name, f"{statistics.median(times):.2f} s", f"{statistics.median(times) / unit:.2f} ×",
         f"{kept[name]} of {total}"]
        for name, times in took.items()
    ]  # fmt: skip
    print(table(["by", "time", "ratio", "kept"], rows))


def _repository(bench: Bench, name: str) -> Path:
    repo = bench.path / name
    subprocess.run(["git", "init", "-q", repo], check=True, env=bench.environ)
    first = ["git", "-C", str(repo), "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(first, check=True, env=bench.environ)
    return repo


def _race(bench: Bench, repo: Path, script: str, writers: int, each: int, backend: str) -> float:
    """Return the seconds from the word go to the end of the last writer."""
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", script, f"w{number}", str(each), backend],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=repo, env=bench.environ,
        )
        for number in range(writers)
    ]  # fmt: skip
    for child in racing:
        assert child.stdout and child.stdout.readline() == b"ready\n"
    start = time.perf_counter()
    for child in racing:
        assert child.stdin
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in racing:
        if child.wait():
            raise SystemExit(f"a writer ended with {child.returncode}")
    return time.perf_counter() - start


def _lines(bench: Bench, repo: Path, ref: str) -> int:
    """Return how many writes the note of HEAD holds."""
    argv = ["git", "-C", str(repo), "notes", f"--ref={ref}", "show", "HEAD"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=bench.environ)
    return sum(1 for line in done.stdout.split("\n") if "writes number" in line)


if __name__ == "__main__":
    main()
