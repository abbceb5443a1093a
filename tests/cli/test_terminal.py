"""On a terminal: colour, the wizard, and nothing that a terminal would obey."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import git, run_cli

COLOUR = {"NO_COLOR": "", "TERM": "xterm-256color"}


PROMPT = "[y/N]: "


def on_terminal(*args: str, cwd: Path, typed: str = "", env: dict[str, str] | None = None) -> str:
    """Run a command on a terminal of its own, type when it asks, and return all that it shows."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gitmem", *args],
        cwd=cwd, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        env={**os.environ, **COLOUR, **(env or {})},
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that ^C is a signal
    )  # fmt: skip
    os.close(terminal)
    shown = ""
    for chunk in until_closed(main):
        shown += chunk
        if typed and PROMPT in shown:
            time.sleep(0.3)  # a ^C between the prompt and the read would wait for the next key
            os.write(main, typed.encode())
            typed = ""
    process.wait(timeout=30)
    os.close(main)
    return shown.replace("\r\n", "\n")


def until_closed(terminal: int) -> Iterator[str]:
    """Yield what is shown until the program ends."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    while select.select([terminal], [], [], 30)[0]:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is closed
            return
        if not chunk:
            return
        yield decoder.decode(chunk)


def test_the_wizard_asks_one_question(repo: Path) -> None:
    shown = on_terminal("init", cwd=repo, typed="y\n")
    assert "Commit these files with the code" in shown
    assert "Next: gitmem remember" in shown
    assert git(repo, "config", "gitmem.track") == "true"


def test_the_wizards_default_keeps_the_files_out_of_commits(repo: Path) -> None:
    on_terminal("init", cwd=repo, typed="\n")
    assert git(repo, "config", "gitmem.track", check=False) == ""
    assert git(repo, "status", "--porcelain") == ""


def test_no_question_when_it_is_answered_already(repo: Path) -> None:
    assert "?" not in on_terminal("init", "--no-track", cwd=repo)
    assert "?" not in on_terminal("init", "--json", cwd=repo)


def test_no_question_without_a_terminal(repo: Path) -> None:
    done = run_cli("init", cwd=repo, input="")
    assert (done.returncode, done.stderr) == (0, "")
    assert "?" not in done.stdout
    assert run_cli("init", cwd=repo).stdout == "everything is in place\n"


def test_ctrl_c_in_the_wizard_changes_nothing(repo: Path) -> None:
    shown = on_terminal("init", cwd=repo, typed="\x03")
    assert "interrupted" in shown and "Traceback" not in shown
    assert not (repo / "MEMORY.md").exists()


def test_colour(repo: Path) -> None:
    run_cli("remember", "Use PostgreSQL", "-i", "critical", cwd=repo)
    shown = on_terminal("list", cwd=repo)
    assert "\x1b[1;31mcritical\x1b[0m" in shown
    assert "Use PostgreSQL" in shown
    assert "**" not in shown


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour(env: dict[str, str], repo: Path) -> None:
    run_cli("remember", "Use PostgreSQL", cwd=repo)
    shown = on_terminal("list", cwd=repo, env=env)
    assert "\x1b" not in shown
    assert re.fullmatch(r"\w{8} \*\*note\*\* Use PostgreSQL \(normal, main, [\d-]+\)\n", shown)


def test_an_error_on_a_terminal(repo: Path) -> None:
    shown = on_terminal("show", "0123abcd", cwd=repo)
    assert "\x1b[1;31merror:\x1b[0m no memory has the id" in shown


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}])
def test_a_memory_cannot_act_on_the_terminal(env: dict[str, str], repo: Path) -> None:
    evil = "\x1b]0;title\x07\x1b[2J\x9b31m\u202etxt\u200b\rover [bold]markup[/bold]"
    short = run_cli("remember", evil, cwd=repo).stdout.split()[0]
    for args in (["list"], ["show", short], ["log"], ["search", "markup"]):
        shown = on_terminal(*args, cwd=repo, env=env)
        for act in ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e", "\u200b", "\r"):
            assert act not in shown
        assert r"\x1b]0;title\x07\x1b[2J\x9b31m\u{202e}txt\u{200b}" in shown
        assert "[bold]markup[/bold]" in shown


def test_a_long_memory_is_cut_in_a_list_and_whole_in_show(repo: Path) -> None:
    text = "first line\n" + "word " * 200 + "end"
    short = run_cli("remember", text, cwd=repo).stdout.split()[0]
    assert "word" not in on_terminal("list", cwd=repo)
    assert "word end" in on_terminal("show", short, cwd=repo)


def test_the_short_way_of_sync_start_says_the_same(repo: Path) -> None:
    run_cli("remember", "Use PostgreSQL", "-i", "high", cwd=repo)
    for args in (["sync", "--start"], ["sync", "--start", "--format", "compact"]):
        run_cli(*args, cwd=repo)
        kept = run_cli(*args, cwd=repo).stdout
        git(repo, "config", "gitmem.nothing", "changed")  # what was kept does not hold any more
        assert run_cli(*args, cwd=repo).stdout == kept
