"""Writes beside ``git commit --amend`` with ``notes.rewriteRef``: what git alone loses.

    python -m benchmarks.amend [--writes 1500] [--amends 100]

One writer, so that nothing but the amends is in its way; an amend after every few writes, while the
writer goes on. Both are told of every write that it was done.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.timing import Bench, table

GITMEM = """\
import sys, gitmem
with gitmem.open(".") as gm:
    for number in range(int(sys.argv[1])):
        gm.remember(f"written as number {number}")
        print(number, flush=True)
"""

GIT = """\
import subprocess, sys
for number in range(int(sys.argv[1])):
    append = ["git", "notes", "--ref=plain", "append", "-m", f"written as number {number}"]
    while subprocess.run(append, capture_output=True).returncode:
        pass
    print(number, flush=True)
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--writes", type=int, default=1_500)
    parser.add_argument("--amends", type=int, default=100)
    given = parser.parse_args()
    rows = []
    with Bench() as bench:
        ways = (("git notes append", GIT, "plain"), ("gitmem", GITMEM, "gitmem/*"))
        for name, script, ref in ways:
            repo = _repository(bench, name, ref)
            _write_beside_amends(bench, repo, script, given.writes, given.amends)
            rows.append([name, f"{_found(bench, repo, ref):,} of {given.writes:,}"])
    print(table(["by", f"there after {given.amends} amends"], rows))


def _repository(bench: Bench, name: str, ref: str) -> Path:
    repo = bench.path / name.replace(" ", "-")
    _git(bench, bench.path, "init", "-q", str(repo))
    _git(bench, repo, "commit", "-q", "--allow-empty", "-m", "first")
    _git(bench, repo, "config", "notes.rewriteRef", f"refs/notes/{ref}")
    return repo


def _write_beside_amends(bench: Bench, repo: Path, script: str, writes: int, amends: int) -> None:
    argv = [sys.executable, "-c", script, str(writes)]
    done = 0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=repo, env=bench.environ) as writer:
        assert writer.stdout
        for heard, _ in enumerate(writer.stdout, 1):
            while done < amends * heard // writes:
                _git(bench, repo, "commit", "--amend", "-q", "--allow-empty", "-m", "amended")
                done += 1
    if writer.returncode:
        raise SystemExit(f"the writer ended with {writer.returncode}")


def _found(bench: Bench, repo: Path, ref: str) -> int:
    """Return how many of the texts are there, on whatever commit."""
    if ref == "plain":
        notes = _git(bench, repo, "notes", f"--ref={ref}", "list").split("\n")
        blobs = {line.split(" ")[0] for line in notes if line}
        text = "\n".join(_git(bench, repo, "cat-file", "blob", blob) for blob in blobs)
    else:
        argv = bench.gitmem("export", repo, "export").argv
        done = subprocess.run(argv, cwd=repo, env=bench.environ, capture_output=True, check=True)
        text = done.stdout.decode()
    return len(set(re.findall(r"written as number (\d+)", text)))


def _git(bench: Bench, cwd: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=cwd, env=bench.environ, capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    main()
