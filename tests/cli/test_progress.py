"""Indexing on a terminal: how far it is, ^C in the middle of it, and silence everywhere else."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.cli.progress import MANY, SOON
from tests.cli.test_terminal import COLOUR, on_terminal, until_closed
from tests.search.workspace import add, opened, paths
from tests.support import run_cli

FILES = MANY + 200
BAR = re.compile(r"files .*?(\d+)%")


@pytest.fixture
def crowd(repo: Path) -> Path:
    """A repository of many files, each of which has a word of its own."""
    for n in range(FILES):
        add(repo, f"src/{n}.txt", f"walrus number{n}\n")
    return repo


def told(shown: str) -> list[int]:
    return [int(percent) for percent in BAR.findall(shown)]


def test_a_first_index_shows_how_far_it_is_and_then_the_answer_alone(crowd: Path) -> None:
    shown = on_terminal("search", "--in", "files", "number7", cwd=crowd)
    assert told(shown)
    answer = shown.rpartition("\x1b[?25h")[2]  # the cursor is back
    assert "src/7.txt:1:" in answer and not told(answer)


@pytest.mark.parametrize("args", [("search", "--in", "files", "number7"), ("reindex",)])
def test_json_shows_nothing_else(crowd: Path, args: tuple[str, ...]) -> None:
    shown = on_terminal(*args, "--json", cwd=crowd)
    assert json.loads(shown)["ok"] is True


@pytest.mark.parametrize("to_terminal", ["stdout", "stderr", None])
def test_nothing_is_shown_unless_both_go_to_a_terminal(
    crowd: Path, to_terminal: str | None
) -> None:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    main, terminal = pty.openpty()
    if to_terminal:
        streams[to_terminal] = terminal
    done = subprocess.run(
        [sys.executable, "-m", "gitmem", "search", "--in", "files", "number7"],
        cwd=crowd, env={**os.environ, **COLOUR}, **streams, check=True,
    )  # fmt: skip
    os.close(terminal)
    shown = "".join(until_closed(main)) if to_terminal else ""
    os.close(main)
    piped = (done.stdout or b"") + (done.stderr or b"")
    assert not told(shown + piped.decode()) and b"\x1b[?25l" not in piped
    assert "src/7.txt" in shown + piped.decode()


def test_a_dumb_terminal_shows_the_answer_alone(crowd: Path) -> None:
    shown = on_terminal("search", "--in", "files", "number7", cwd=crowd, env={"TERM": "dumb"})
    assert "\x1b" not in shown and not told(shown) and "src/7.txt:1:" in shown


def test_after_an_interrupt_the_next_search_is_right(crowd: Path) -> None:
    for n in range(FILES):  # more than a moment's work
        add(crowd, f"src/{n}.txt", f"walrus number{n}\n" * 300)
    shown, code = interrupted("search", "--in", "files", "number7", cwd=crowd)
    assert code == 130 and "interrupted" in shown and "Traceback" not in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back
    assert 0 < max(told(shown)) < 100
    answer = json.loads(run_cli("search", "--json", "number7", cwd=crowd).stdout)
    assert answer["data"]["hits"][0]["file"]["path"] == "src/7.txt" and answer["warnings"] == []
    index = opened(crowd)
    assert all(paths(index, f"number{n}")[0] == f"src/{n}.txt" for n in range(0, FILES, 50))


def interrupted(*args: str, cwd: Path) -> tuple[str, int]:
    """Run a command on a terminal and type ^C once something is done; returns what it showed."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gitmem", *args],
        cwd=cwd, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        env={**os.environ, **COLOUR},
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(terminal)
    shown = "".join(typing(main, until_closed(main)))
    code = process.wait(timeout=30)
    os.close(main)
    return shown, code


def typing(terminal: int, shown: Iterator[str]) -> Iterator[str]:
    typed = False
    for chunk in shown:
        if not typed and any(told(chunk)):
            os.write(terminal, b"\x03")
            typed = True
        yield chunk


def test_what_is_soon_over_is_not_worth_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from gitmem.cli import progress

    monkeypatch.setattr(progress, "_on_terminal", lambda: True)
    monkeypatch.setattr(progress, "_progress", lambda: pytest.fail("a line was begun"))
    moments = iter([0.0, SOON / 2] * 9)
    monkeypatch.setattr(progress, "monotonic", lambda: next(moments))
    with progress.shown() as tell:
        tell("files", 0, MANY - 1)
        tell("files", 100, MANY - 1)
        tell("indexing", MANY - 1, 0)
        tell("embedding", 10**6, 10**6)


def test_what_takes_long_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from gitmem.cli import progress

    begun: list[str] = []

    class Line:
        def __enter__(self) -> Line:
            return self

        def __exit__(self, *_: object) -> None:
            begun.append("end")

        def add_task(self, what: str) -> str:
            begun.append(what)
            return what

        def remove_task(self, task: str) -> None:
            begun.append(f"no {task}")

        def update(self, task: str, completed: int, total: int | None) -> None:
            begun.append(f"{task} {completed} {total}")

    monkeypatch.setattr(progress, "_on_terminal", lambda: True)
    monkeypatch.setattr(progress, "_progress", Line)
    with progress.shown() as tell:
        tell("indexing", MANY, 0)
        tell("embedding", 0, MANY)
        tell("embedding", MANY, MANY)
    assert begun == [
        "indexing", f"indexing {MANY} None", "no indexing",
        "embedding", f"embedding 0 {MANY}", "no embedding", "end",
    ]  # fmt: skip
