"""What hooks cost as whole processes: a session start, and a stop with a long transcript.

    python -m benchmarks.stop [--megabytes 10] [--memories 1000] [--rounds 15]

Before each stop the transcript, imported but for that, grows by one turn of the person's and one of
the agent's. Beside them: an interpreter that does nothing, a command line by click that says hello,
and a program that only parses every line of the transcript.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import count
from pathlib import Path

from benchmarks.history import Shape, build, sentences
from benchmarks.imports import PARSE
from benchmarks.timing import Bench, Command, table

RECORD = 2_000
"""Bytes of a record, about as in real transcripts; most of them outputs of tools."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    with Bench() as bench:
        repo, file = bench.path / "repo", bench.path / "s1.jsonl"
        build(repo, Shape(given.memories, max(given.memories // 20, 1), commits=50, writes=10))
        bench.run(bench.gitmem("init", repo, "init"))
        transcript = Transcript(file)
        transcript.grow(int(given.megabytes * 1e6))
        stop = hook(bench, repo, "stop", transcript_path=str(file))
        stop.prepare = lambda: transcript.grow(1)
        start = hook(bench, repo, "session-start", source="startup")
        start.prepare = lambda: settled(bench, repo)
        parse = Command("json.loads of every line", [sys.executable, "-c", PARSE, str(file)], repo)
        timed = [bench.python_pass(), bench.click_hello(), start, parse, stop]
        began = time.perf_counter()
        bench.run(stop)
        first = time.perf_counter() - began
        bench.race(timed, given.rounds)
        unit = timed[1]
        rows = [
            [one.name, f"{one.wall:.0f} ms", f"{one.wall / unit.wall:.2f} ×", f"{one.cpu:.0f} ms"]
            for one in timed
        ]
        size = f"{file.stat().st_size / 1e6:.1f} MB, {transcript.number:,} records"
        print(table([f"a transcript of {size}", "time", "× click hello", "processor"], rows))
        print(f"\nthe first stop, which imports all of it: {first:.2f} s")


def hook(bench: Bench, repo: Path, event: str, **said: str) -> Command:
    """Return a call of a hook as Claude Code makes it."""
    names = {"stop": "Stop", "session-start": "SessionStart"}
    content = {"session_id": "s1", "cwd": str(repo), "hook_event_name": names[event], **said}
    place = bench.path / f"{event}.json"
    place.write_text(json.dumps(content))
    argv = bench.gitmem("", repo, "hook", event, "--agent", "claude-code").argv
    script = f'exec "$@" < {place}'
    return Command(f"hook {event}", ["sh", "-c", script, "sh", *argv], repo)


def settled(bench: Bench, repo: Path) -> None:
    """Ask until nothing changes any more: files just written are too young to rely on."""
    for _ in range(2):
        bench.run(hook(bench, repo, "session-start", source="startup"))
        time.sleep(0.1)


class Transcript:
    """A session of Claude Code that goes on: a person, the agent, and a tool in turn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts = sentences()
        self._numbers = count()
        self.number = 0

    def grow(self, size: int) -> None:
        """Append whole exchanges until at least `size` bytes were written; 1: one."""
        written = 0
        with self._path.open("a") as file:
            while written < size:
                written += sum(file.write(f"{json.dumps(one)}\n") for one in self._exchange())

    def _exchange(self) -> list[dict[str, object]]:
        said, answer = next(self._texts), " ".join(next(self._texts) for _ in range(5))
        output = "\n".join(next(self._texts) for _ in range(40))
        tool = f"t{self.number}"
        call = {"type": "tool_use", "id": tool, "name": "Bash", "input": {"command": "make test"}}
        result = {"type": "tool_result", "tool_use_id": tool, "content": output[: RECORD * 2]}
        return [
            self._record("user", said),
            self._record("assistant", [call]),
            self._record("user", [result]),
            self._record("assistant", [{"type": "text", "text": answer}]),
        ]

    def _record(self, role: str, content: object) -> dict[str, object]:
        self.number = next(self._numbers)
        return {
            "type": role,
            "uuid": f"5a1c0f54-1111-4222-8333-{self.number:012}",
            "parentUuid": f"5a1c0f54-1111-4222-8333-{self.number - 1:012}",
            "sessionId": "s1",
            "timestamp": "2026-11-19T10:00:00.000Z",
            "cwd": "/home/dev/project",
            "gitBranch": "main",
            "version": "2.1.7",
            "message": {"role": role, "content": content},
        }


if __name__ == "__main__":
    main()
