"""`gitmem recall` without click: the same answer as with it, whatever is typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gitmem
from gitmem.cli.recall import read
from tests.support import run_cli

LONG = "import sys; from gitmem.cli.main import run; run(sys.argv[1:])"
LINES = [
    ["which", "database"],
    ["which database do we use"],
    ["which database", "--session", "1a2b"],
    ["--session", "1a2b", "which database"],
    ["giraffes"],
    ["the of and"],
    [""],
    [],
    ["which database", "--session"],
    ["which database", "--session", ""],
    ["which database", "--session", "-x"],
    ["which database", "-n", "1"],
    ["which database", "--threshold", "0.9"],
    ["which database", "--json"],
    ["which database", "--nonsense"],
    ["--", "which database"],
    ["-h"],
]


@pytest.fixture
def filled(repo: Path) -> Path:
    with gitmem.open(repo) as gm:
        gm.remember("The database is PostgreSQL: which is why", kind="decision")
        gm.search("database")
    return repo


def with_click(cwd: Path, *args: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", LONG, "recall", *args],
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("args", LINES, ids=" ".join)
def test_the_short_way_says_what_the_long_one_says(filled: Path, args: list[str]) -> None:
    told = with_click(filled, *args)
    for noted in (filled / ".git" / "gitmem").glob("recalled.json*"):
        noted.unlink()  # or nothing would be said again in that session
    done = run_cli("recall", *args, cwd=filled)
    assert (done.returncode, done.stdout, done.stderr) == told


def test_what_goes_wrong_is_told_alike(tmp_path: Path) -> None:
    done = run_cli("recall", "database", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == with_click(tmp_path, "database")
    assert done.returncode and "error:" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_answer_that_cannot_be_written_is_an_error(filled: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gitmem", "recall", "which database"],
            cwd=filled, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode and "error:" in done.stderr and "Traceback" not in done.stderr


def test_the_short_way_loads_no_click(filled: Path) -> None:
    code = (
        "import os, sys; from gitmem import __main__ as program\n"
        "program._leave = lambda code: print('click' in sys.modules)\n"
        "sys.argv[1:] = ['recall', 'which database']\n"
        "program.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=filled, capture_output=True, text=True, check=True
    )
    assert "PostgreSQL" in done.stdout and done.stdout.endswith("False\n")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["a", "b"], ("a b", "")),
        (["a", "--session", "s", "b"], ("a b", "s")),
        (["-"], None),
        (["a", os.fsdecode(b"\xff")], None),
    ],
)
def test_what_the_short_way_reads(argv: list[str], expected: tuple[str, str] | None) -> None:
    assert read(argv) == expected
