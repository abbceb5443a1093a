"""Whole processes timed in turn, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent

CLICK_HELLO = """\
import click

@click.command()
@click.argument("name")
def hello(name): click.echo(f"hello {name}")

hello()
"""


# What pip installs as `gitmem`, with the interpreter by its absolute path.
CONSOLE_SCRIPT = """\
import sys
from gitmem.__main__ import main
sys.exit(main())
"""


@dataclass(slots=True)
class Command:
    """A command that is timed: `prepare` runs before each run and is not."""

    name: str
    argv: Sequence[str]
    cwd: Path
    prepare: Callable[[], None] | None = None
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    @property
    def wall(self) -> float:
        """Median of the elapsed times, in milliseconds."""
        return statistics.median(self.walls) * 1e3

    @property
    def cpu(self) -> float:
        """Median of the processor times, its children's included, in milliseconds."""
        return statistics.median(self.cpus) * 1e3


class Bench:
    """A home, an environment and a place for repositories that vanish afterwards."""

    def __init__(self) -> None:
        self._folder: AbstractContextManager[str] = tempfile.TemporaryDirectory(prefix="bench-")

    def __enter__(self) -> Bench:
        self.path = Path(self._folder.__enter__())
        home = self.path / "home"
        home.mkdir()
        config = "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n"
        (home / ".gitconfig").write_text(config)
        hidden = ("GIT_", "GITMEM_", "XDG_", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        # As installed: byte code is there, and is not compiled while the clock runs.
        self.environ: Mapping[str, str] = {
            **kept,
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(self.path / "pyc"),
        }
        (self.path / "hello.py").write_text(CLICK_HELLO)
        (self.path / "bin").mkdir()
        (self.path / "bin" / "gitmem").write_text(CONSOLE_SCRIPT)
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.__exit__(None, None, None)

    def python_pass(self) -> Command:
        """Return the floor: an interpreter that does nothing."""
        return Command("python -c pass", [sys.executable, "-c", "pass"], self.path)

    def click_hello(self) -> Command:
        """Return the unit: a command line by click that says hello."""
        argv = [sys.executable, str(self.path / "hello.py"), "world"]
        return Command("click hello", argv, self.path)

    def gitmem(self, name: str, cwd: Path, *args: str) -> Command:
        """Return a run of gitmem."""
        return Command(name, [sys.executable, str(self.path / "bin" / "gitmem"), *args], cwd)

    def run(self, command: Command) -> None:
        """Run a command once, on the clock."""
        if command.prepare:
            command.prepare()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = subprocess.run(
            command.argv, cwd=command.cwd, env=self.environ, capture_output=True, check=False
        )
        command.walls.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        command.cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if done.returncode:
            raise SystemExit(f"{command.name}: {done.stderr.decode()}")

    def race(self, commands: Sequence[Command], rounds: int) -> None:
        """Run all commands in turn, `rounds` times, after one run of each that does not count."""
        for command in commands:
            self.run(command)
            command.walls.clear()
            command.cpus.clear()
        for _ in range(rounds):
            for command in commands:
                self.run(command)


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
