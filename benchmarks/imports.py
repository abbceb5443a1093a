"""What an import costs: many rounds at once, again with nothing new, and a very large transcript.

    python -m benchmarks.imports [--rounds 5882] [--gigabytes 1]

Times are of whole processes, beside one that parses every line of the same file as JSON; peaks are
of resident memory, git's own beside gitmem's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

from benchmarks.history import sentences
from benchmarks.timing import Bench, Command, table

PARSE = """\
import json, sys
for line in open(sys.argv[1], "rb"):
    json.loads(line)
"""

WATCHED = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5_882)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    given = parser.parse_args()
    with Bench() as bench:
        repo = _repository(bench, "repo")
        files = bench.path / "sessions"
        _transcripts(files, given.rounds)
        _settled()
        once = bench.gitmem("import", repo, "import", "claude-code", "--from", str(files))
        parse = Command("parse", [sys.executable, "-c", PARSE, str(files / "0.jsonl")], repo)
        bench.run(once)
        again = bench.gitmem("again", repo, "import", "claude-code", "--from", str(files))
        bench.race([again, bench.click_hello(), parse], 9)
        print(f"import {given.rounds:,} rounds: {once.wall / 1e3:.2f} s")
        print(f"again, nothing new: {again.wall:.0f} ms")
        if given.gigabytes:
            print(_large(bench, given.gigabytes))


def _large(bench: Bench, gigabytes: float) -> str:
    repo, file = _repository(bench, "large"), bench.path / "large" / "t.jsonl"
    size = _transcript(file, "large", int(gigabytes * 1e9))
    rows = []
    gitmem = bench.gitmem("", repo, "import", "claude-code", "--from", str(file)).argv
    for name, argv in (
        ("json.loads of every line", [sys.executable, "-c", PARSE, str(file)]),
        ("import", gitmem),
        ("import again, one line more", gitmem),
    ):
        if "again" in name:
            with file.open("a") as more:
                more.write(_line("large", 10**9, "one more"))
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, *argv],
            cwd=repo, env=bench.environ, check=True, capture_output=True, text=True,
        )  # fmt: skip
        took = time.perf_counter() - start
        rows.append([name, f"{took:.1f} s", f"{int(done.stdout.split()[-1]) / 1024:.0f} MB"])
    return table([f"a transcript of {size / 1e9:.2f} GB", "time", "peak of one process"], rows)


def _repository(bench: Bench, name: str) -> Path:
    repo = bench.path / name
    subprocess.run(["git", "init", "-q", repo], check=True, env=bench.environ)
    return repo


def _transcripts(folder: Path, rounds: int) -> None:
    """Write rounds as ten sessions of one agent."""
    folder.mkdir()
    texts = sentences()
    for session in range(10):
        with (folder / f"{session}.jsonl").open("w") as file:
            for number in range(session, rounds, 10):
                file.write(_line(str(session), number, next(texts)))


def _transcript(path: Path, session: str, size: int) -> int:
    """Write one transcript of about that size, nine tenths of it the output of tools."""
    texts, written = sentences(), 0
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        for number in count():
            text = " ".join(next(texts) for _ in range(20))
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash"}
            answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text * 10}
            written += file.write(_line(session, 3 * number, text))
            written += file.write(_line(session, 3 * number + 1, [call], "assistant"))
            written += file.write(_line(session, 3 * number + 2, [answer]))
            if written >= size:
                return written
    return written


def _line(session: str, number: int, content: object, role: str = "user") -> str:
    record = {
        "type": role,
        "uuid": f"{session}-{number}",
        "sessionId": session,
        "timestamp": "2026-11-19T10:00:00.000Z",
        "message": {"role": role, "content": content},
    }
    return json.dumps(record) + "\n"


def _settled() -> None:
    """Wait until files are old enough for their times to tell of a change."""
    time.sleep(2.5)
    os.sync()


if __name__ == "__main__":
    main()
