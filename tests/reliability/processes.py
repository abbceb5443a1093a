"""Real processes for the tests: writers started one by one and let go all at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from gitmem.journal.git.port import Backend
from gitmem.verbs import record

BACKENDS: tuple[Backend, ...] = ("program", "libgit2")


class Writer:
    """One `tests.reliability.writer`, in a process group of its own."""

    def __init__(
        self,
        repo: Path,
        name: str,
        verb: str = "remember",
        *,
        backend: Backend = "program",
        count: int = 0,
        private: bool = False,
        pack_every: int = record.PACK_EVERY,
    ) -> None:
        job = {
            "repo": str(repo), "name": name, "verb": verb, "backend": backend, "count": count,
            "private": private, "pack_every": pack_every,
        }  # fmt: skip
        self._heard = ""
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.reliability.writer", json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=repo,
        )

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self._child.communicate()

    def wait_until_ready(self) -> None:
        """Return when it has opened the repository."""
        assert self._child.stdout
        first = self._child.stdout.readline()
        if first != "ready\n":
            raise AssertionError(f"{first}{self._child.communicate()[1]}")

    def go(self) -> None:
        """Let it write."""
        assert self._child.stdin
        self._child.stdin.write("go\n")
        self._child.stdin.flush()

    def lines(self) -> Iterator[str]:
        """Yield what it says as it says it."""
        assert self._child.stdout
        while line := self._child.stdout.readline():
            self._heard += line
            yield line

    def kill(self, alone: bool = False) -> None:
        """Kill it, and the git processes it started, as a power cut would; or it `alone`."""
        try:
            (os.kill if alone else os.killpg)(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended already
            pass

    def finish(self) -> list[list[str]]:
        """Wait for its end and return the lines it said, as words; a last half line is left out."""
        assert self._child.stdout and self._child.stderr
        said = self._heard + self._child.stdout.read()
        errors = self._child.stderr.read()
        if "Traceback" in errors:
            raise AssertionError(errors)
        return [line.split(" ", 1) for line in said.split("\n")[:-1]]


def race(repo: Path, writers: int, each: int, **job: Any) -> list[str]:
    """Let `writers` processes remember `each` texts at once, and return the ids they were given.

    Half of them go by the git program, as the command line does, half by libgit2, as servers do.
    """
    with ExitStack() as stack:
        racing = [
            stack.enter_context(
                Writer(repo, f"writer {number}", backend=BACKENDS[number % 2], count=each, **job)
            )
            for number in range(writers)
        ]
        for writer in racing:
            writer.wait_until_ready()
        for writer in racing:
            writer.go()
        return stored([line for writer in racing for line in writer.finish()])


def stored(said: Sequence[Sequence[str]]) -> list[str]:
    """Return the ids that were acknowledged; failures and warnings are failures of the test."""
    assert {words[0] for words in said} == {"stored"}, [w for w in said if w[0] != "stored"]
    return [words[1] for words in said]
