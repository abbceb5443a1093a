"""What leaves the program: pipes, the envelope, exit codes. In processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gitmem import __version__
from gitmem.cli.commands import MODULES
from tests.cli.conftest import Gitmem, invoke
from tests.support import git, run_cli

TEXT = "Use PostgreSQL: the team knows it"


def test_a_verb_says_what_it_did_in_one_line_and_the_id_comes_first(repo: Path) -> None:
    done = run_cli("remember", TEXT, "-k", "decision", cwd=repo)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    short, rest = line.split(" ", 1)
    assert len(short) == 8 and int(short, 16)
    assert rest == f"remembered: {TEXT}"
    assert run_cli("show", short, cwd=repo).stdout.startswith(f"## {short} decision\n\n{TEXT}\n\n")


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        ("update", ["text two"]),
        ("evolve", ["a note"]),
        ("tag", ["one"]),
        ("link", ["src/db.py"]),
        ("forget", []),
    ],
)
def test_verbs_that_change_print_the_id_first(
    verb: str, args: list[str], gitmem: Gitmem, remember: Callable[..., str]
) -> None:
    short = remember()
    (line,) = gitmem(verb, short, *args).stdout.splitlines()
    assert line.split()[0] == short
    (line,) = gitmem("undo").stdout.splitlines()
    assert line.split()[0] == short


def test_list_is_whole_and_one_line_a_memory(gitmem: Gitmem, remember: Callable[..., str]) -> None:
    long = "word " * 2000 + "end"
    texts = ["first\nsecond\r\nthird\u2028fourth", "esc \x1b[31m", long, "שלום \u200f emoji 👨‍👩‍👧"]
    ids = [remember(text) for text in texts]
    lines = gitmem("list").stdout.split("\n")
    assert [line.split()[0] for line in lines[:-1]] == ids[::-1]
    assert r"first\nsecond\r\nthird\u{2028}fourth" in lines[3]
    assert r"esc \x1b[31m" in lines[2]
    assert long.strip() in lines[1]
    assert texts[3] in lines[0]
    assert len(gitmem("list").stdout.splitlines()) == 4, "by Python's count of lines too"


def test_list_with_no_match_is_empty_and_says_so_beside(gitmem: Gitmem) -> None:
    result = gitmem("list")
    assert (result.stdout, result.stderr) == ("", "no memory matches\n")


def test_search_says_that_nothing_matched(gitmem: Gitmem, remember: Callable[..., str]) -> None:
    remember()
    result = gitmem("search", "zebra crossing")
    assert result.stdout == "nothing matched 'zebra crossing' (searched: lexical, files)\n"
    data = json.loads(gitmem("search", "zebra crossing", "--json").stdout)["data"]
    assert data == {"query": "zebra crossing", "hits": [], "searched": ["lexical", "files"]}


def test_the_envelope(gitmem: Gitmem) -> None:
    envelope = json.loads(gitmem("remember", TEXT, "--json").stdout)
    assert list(envelope) == ["ok", "command", "data", "warnings"]
    assert (envelope["ok"], envelope["command"], envelope["warnings"]) == (True, "remember", [])
    assert list(envelope["data"]) == (
        "id created updated author text data kind importance tags links notes journal scope branch "
        "expires source paths forgotten contested heads stale held proposed".split()
    )
    assert envelope["data"]["text"] == TEXT
    assert len(envelope["data"]["id"]) == 64


def test_the_envelope_of_an_error(gitmem: Gitmem) -> None:
    result = gitmem("show", "0123abcd", "--json", code=2)
    envelope = json.loads(result.stdout)
    assert list(envelope) == ["ok", "error"]
    assert list(envelope["error"]) == ["code", "message", "hint"]
    assert (envelope["ok"], envelope["error"]["code"]) == (False, "not-found")
    assert result.stderr == ""


def test_an_error_in_a_pipe(gitmem: Gitmem) -> None:
    result = gitmem("show", "0123abcd", code=2)
    assert result.stdout == ""
    error, hint = result.stderr.splitlines()
    assert error == "**error:** no memory has the id '0123abcd'"
    assert hint.startswith("hint: ")


def test_the_caret_stands_below_what_is_wrong_in_a_condition(gitmem: Gitmem) -> None:
    refused = gitmem("search", "x", "--where", "tag = 数 AND knd = a", code=1)
    _, hint, caret = refused.stderr.splitlines()
    assert (hint, caret) == ("hint: tag = 数 AND knd = a", f"{' ' * len('hint: tag = 数 AND ')} ^")


KEYS = {
    "init": ["changes"],
    "search": ["query", "hits", "searched"],
    "status": None,
    "stats": None,
    "doctor": ["clean", "findings", "repaired"],
    "reindex": ["indexed"],
    "context": ["text"],
    "sync --start": ["markdown", "compact", "counts"],
    "sync --start --format compact": ["b", "t", "c", "n", "h"],
    "sync --end done": ["episode", "archived", "indexed", "packed", "pushed"],
}


@pytest.mark.parametrize("line", KEYS)
def test_the_keys_of_the_data(line: str, ask: Callable[..., Any]) -> None:
    data = ask(*line.split(), *(["x"] if line == "search" else []))
    assert isinstance(data, dict)
    if KEYS[line]:
        assert list(data) == KEYS[line]


def test_a_hit_in_the_envelope(ask: Callable[..., Any], remember: Callable[..., str]) -> None:
    short = remember()
    (hit,) = ask("search", "postgresql")["hits"]
    assert list(hit) == ["memory", "score", "snippet"]
    assert hit["memory"]["id"].startswith(short)


@pytest.mark.parametrize("args", [("-C", "{}", "--json", "list"), ("list", "--json", "-C", "{}")])
def test_shared_options_stand_before_or_after_the_name(args: tuple[str, ...], repo: Path) -> None:
    result = invoke(*(arg.format(repo) for arg in args))
    assert json.loads(result.stdout) == {"ok": True, "command": "list", "data": [], "warnings": []}


@pytest.mark.parametrize(
    ("args", "code", "name"),
    [
        (["list"], 0, None),
        (["--help"], 0, None),
        (["--version"], 0, None),
        (["nonsense"], 1, "usage"),
        (["remember"], 1, "usage"),
        (["remember", "a", "b"], 1, "usage"),
        (["list", "--nonsense"], 1, "usage"),
        (["list", "-n", "0"], 1, "usage"),
        (["remember", "x", "--scope", "galaxy"], 1, "usage"),
        (["sync"], 1, "usage"),
        (["sync", "--start", "a summary"], 1, "usage"),
        (["context", "set"], 1, "usage"),
        (["show", "0123abcd"], 2, "not-found"),
        (["entity", "Nobody"], 2, "not-found"),
        (["-C", "/", "list"], 3, "not-a-repository"),
    ],
)
def test_exit_codes(args: list[str], code: int, name: str | None, gitmem: Gitmem) -> None:
    result = gitmem(*args, code=code)
    if code:
        error, hint = result.stderr.splitlines()
        assert error.startswith("**error:** ") and hint.startswith("hint: ")
        assert result.stdout == ""
        told = json.loads(gitmem(*args, "--json", code=code).stdout)["error"]
        assert told["code"] == name
        assert told["hint"]


def test_usage_errors_are_in_the_house_style(gitmem: Gitmem) -> None:
    assert gitmem("lst", code=1).stderr == (
        "**error:** no such command 'lst'\nhint: did you mean 'list'?\n"
    )
    assert gitmem("remember", "-5 degrees", code=1).stderr == (
        "**error:** no such option '-5'\nhint: see 'gitmem remember --help'; "
        "text that begins with a dash goes after '--'\n"
    )
    gitmem("remember", "--", "-5 degrees")
    assert gitmem("show", "--", "--json", code=2).stderr.startswith("**error:** '--json' is no")


def test_version(gitmem: Gitmem) -> None:
    assert gitmem("--version").stdout == f"gitmem {__version__}\n"


def test_without_arguments_it_helps() -> None:
    assert invoke().stdout == invoke("--help").stdout
    for name in MODULES:
        assert f"  {name} " in invoke().stdout


def test_a_reader_that_stops_reading_is_no_error(repo: Path) -> None:
    for _ in range(3):
        run_cli("remember", "x" * 60_000, cwd=repo)
    shell = f"{sys.executable} -m gitmem list | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], cwd=repo, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize("args", [["--help"], ["sync", "--start"], ["list", "--json"]])
def test_a_reader_that_is_gone(args: list[str], repo: Path) -> None:
    run_cli("sync", "--start", cwd=repo)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "gitmem", *args]
    done = subprocess.run(command, cwd=repo, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_output_that_cannot_be_written(repo: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    run_cli("sync", "--start", cwd=repo)
    for args in (["status"], ["--help"], ["list", "--json"], ["sync", "--start"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "gitmem", *args],
                cwd=repo, stdout=full, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert done.returncode == 4, (args, done)
        if "--json" not in args:
            error, _hint = done.stderr.splitlines()
            assert error.lower().endswith("no space left on device")


def test_a_closed_standard_output_does_not_matter(repo: Path) -> None:
    shell = f"{sys.executable} -m gitmem remember x >&-"
    done = subprocess.run(["bash", "-c", shell], cwd=repo, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(run_cli("list", cwd=repo).stdout.splitlines()) == 1


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}]
)
def test_output_is_utf8_whatever_the_locale(locale: dict[str, str], repo: Path) -> None:
    text = "naïve 数据库 שלום 🎉"
    assert run_cli("remember", text, cwd=repo, env=locale).returncode == 0
    for args in (["list"], ["list", "--json"]):
        done = run_cli(*args, cwd=repo, env=locale)
        assert (done.returncode, done.stderr) == (0, "")
        assert text in done.stdout


def test_ctrl_c(repo: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gitmem", "remember", "-"],
        cwd=repo, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until_reading(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "**error:** interrupted\n")
    assert git(repo, "for-each-ref", "refs/notes") == ""


def wait_until_reading(pid: int) -> None:
    """Wait until the process sleeps in a read of its standard input."""
    if not Path("/proc/self/wchan").exists():
        time.sleep(2)
        return
    for _ in range(1000):
        state = Path(f"/proc/{pid}/wchan").read_text()
        if "pipe" in state:
            return
        time.sleep(0.01)


def bug(*_: object, **__: object) -> None:
    raise ZeroDivisionError("division by zero")


def test_a_bug_is_one_line_and_a_log(
    gitmem: Gitmem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gitmem.api.Gitmem.tags", bug)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result: Result = gitmem("tags", code=4)
    error, hint = result.stderr.splitlines()
    assert error == "**error:** this is a bug in gitmem: ZeroDivisionError: division by zero"
    (log,) = tmp_path.glob("gitmem-bug-*.log")
    assert str(log) in hint
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0, "it may quote the repository: nobody else reads it"
