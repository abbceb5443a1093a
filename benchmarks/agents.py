"""What an agent waits for: hooks as whole processes, at a session's start, a prompt and a stop.

    python -m benchmarks.agents [--megabytes 10] [--memories 1000] [--rounds 15] [--words]
        [--script PATH]

The repository has been in use: its memories are indexed, and the transcript was taken in but for
its last exchange, which is added before each stop. Each prompt is a new session's first, so that
nothing is left out as told. Beside them: an interpreter that does nothing, a command line by click
that says hello, and a program that only parses every line of the transcript. `--words` leaves the
model out, as before it was fetched. `--script` times
``sync --start`` of the git-notes-memory skill's script, or of another that takes its arguments,
with as many memories as it can hold.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path

from benchmarks.history import Shape, build, sentences
from benchmarks.imports import PARSE
from benchmarks.timing import Bench, Command, table
from gitmem.search.semantic.pins import cache_folder, model_folder

RECORD = 2_000
"""Bytes of a record, about as in real transcripts; most of them outputs of tools."""

NAMES = {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "stop": "Stop"}
ASKED = "Why is the login form behind a feature flag?"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--script", type=Path)
    given = parser.parse_args()
    with Bench() as bench:
        configured = os.environ.get("GITMEM_CACHE_DIR", "")
        models = bench.path / "none" if given.words else cache_folder(configured)
        bench.environ = {**bench.environ, "GITMEM_CACHE_DIR": str(models)}
        repo, transcript = bench.path / "repo", Transcript(bench.path / "s1.jsonl")
        build(repo, Shape(given.memories, max(given.memories // 20, 1), commits=50, writes=10))
        bench.run(bench.gitmem("init", repo, "init"))
        transcript.grow(int(given.megabytes * 1e6))
        hooks = _hooks(bench, repo, transcript)
        began = time.perf_counter()
        bench.run(hooks[-1])
        first = time.perf_counter() - began
        bench.run(bench.gitmem("search", repo, "search", ASKED))  # whatever waits is indexed
        parse = [sys.executable, "-c", PARSE, str(transcript.path)]
        beside = [Command("json.loads of every line", parse, repo)]
        beside += _theirs(bench, given.script.resolve(), given.memories) if given.script else []
        hello = bench.click_hello()
        timed = [bench.python_pass(), hello, *beside, *hooks]
        bench.race(timed, given.rounds)
        print(
            table(["", "time", "× click hello", "processor"], [_row(one, hello) for one in timed])
        )
        size = transcript.path.stat().st_size / 1e6
        with_model = "with" if model_folder(models).exists() else "without"
        print(
            f"\n{given.memories:,} memories, {with_model} the model; a transcript of {size:.1f} MB,"
        )
        print(
            f"{transcript.number:,} records: the first stop, which imports it, took {first:.2f} s"
        )


def _row(one: Command, unit: Command) -> list[str]:
    return [one.name, f"{one.wall:.0f} ms", f"{one.wall / unit.wall:.2f}", f"{one.cpu:.0f} ms"]


def _hooks(bench: Bench, repo: Path, transcript: Transcript) -> list[Command]:
    """Return what is timed, the stop last."""
    start = _hook(bench, repo, "session-start", source="startup")
    start.prepare = lambda: _settle(bench, repo)
    prompt = _hook(bench, repo, "prompt", prompt=ASKED)
    prompt.prepare = _renewed(prompt)
    stop = _hook(bench, repo, "stop", transcript_path=str(transcript.path))
    stop.prepare = lambda: transcript.grow(1)
    return [start, prompt, stop]


def _hook(bench: Bench, repo: Path, event: str, **said: str) -> Command:
    """Return a call of a hook as Claude Code makes it; its last argument is what is said."""
    name = NAMES[event]
    content = {"session_id": "s1", "cwd": str(repo), "hook_event_name": name, **said}
    place = bench.path / f"{event}.json"
    place.write_text(json.dumps(content))
    argv = bench.gitmem("", repo, "hook", event, "--agent", "claude-code").argv
    script = 'said=$1; shift; exec "$@" < "$said"'
    return Command(f"hook {event}", ["sh", "-c", script, "sh", str(place), *argv], repo)


def _renewed(prompt: Command) -> Callable[[], None]:
    """Return what makes the next prompt another session's."""
    place, numbers = Path(prompt.argv[4]), count()

    def renew() -> None:
        said = json.loads(place.read_text())
        place.write_text(json.dumps({**said, "session_id": f"p{next(numbers)}"}))

    return renew


def _settle(bench: Bench, repo: Path) -> None:
    """Ask until nothing changes any more: files just written are too young to rely on."""
    for _ in range(2):
        bench.run(_hook(bench, repo, "session-start", source="startup"))
        time.sleep(0.1)


def _theirs(bench: Bench, script: Path, memories: int) -> list[Command]:
    """Return the other script's session start in a repository that it filled, until it refused."""
    repo = bench.path / "theirs"
    repo.mkdir()
    for line in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "root")):
        subprocess.run(["git", *line], cwd=repo, env=bench.environ, check=True)
    argv = [sys.executable, str(script), "-p", str(repo)]
    kept = 0
    for text in islice(sentences(), memories):
        done = subprocess.run(
            [*argv, "remember", text], env=bench.environ, capture_output=True, check=False
        )
        if done.returncode:
            break
        kept += 1
    name = f"{script.name} sync --start, {kept:,} memories"
    return [Command(name, [*argv, "sync", "--start"], repo)]


class Transcript:
    """A session of Claude Code that goes on: a person, the agent, and a tool in turn."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._texts = sentences()
        self._numbers = count()
        self.number = 0

    def grow(self, size: int) -> None:
        """Append whole exchanges until at least `size` bytes were written; 1: one."""
        written = 0
        with self.path.open("a") as file:
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
