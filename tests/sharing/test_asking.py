"""Who is asked for a password: whoever sits at the terminal, and nobody where there is none."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sharing import servers
from tests.sharing.support import Team, tip
from tests.support import git


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a clone with a memory to push, to a server that wants a password."""
    monkeypatch.setenv("no_proxy", servers.HOST)
    team = Team(tmp_path)
    path = team.clone("one")
    team.remember(path, "Of one")
    with servers.http(tmp_path, auth=True) as url:
        git(path, "remote", "set-url", "origin", f"{url}/remote.git")
        yield path


class Terminal:
    """A command with a controlling terminal, which it reads from only if `attached`."""

    def __init__(self, cwd: Path, *args: str, attached: bool) -> None:
        self.seen = ""
        self._master, slave = pty.openpty()
        ends = [slave] * 3 if attached else [subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE]
        take = "import fcntl, os, sys, termios; fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)"
        command = (
            f"{take}; os.execv(sys.executable, [sys.executable, '-m', 'gitmem', *sys.argv[2:]])"
        )
        self._child = subprocess.Popen(
            [sys.executable, "-c", command, str(slave), *args], cwd=cwd, pass_fds=[slave],
            stdin=ends[0], stdout=ends[1], stderr=ends[2], start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def end(self, **answers: str) -> int:
        """Answer every question on the screen that ends so, and return the exit code."""
        begun, answered = time.monotonic(), 0
        while self._read():
            assert time.monotonic() - begun < 60, self.seen
            asked = self.seen[answered:]
            for question, text in answers.items():
                if question in asked and asked.endswith((": ", "? ")):
                    time.sleep(0.1)  # git turns the echo off after it has asked
                    os.write(self._master, f"{text}\n".encode())
                    answered = len(self.seen)
                    break
        self._child.communicate()
        os.close(self._master)
        return self._child.returncode

    def _read(self) -> bool:
        """Read what is on the screen; false once there is nobody to write there."""
        ready, _, _ = select.select([self._master], [], [], 0.1)
        try:
            self.seen += os.read(self._master, 4096).decode("utf-8", "replace") if ready else ""
        except OSError:  # the other end is closed
            return False
        return bool(ready) or self._child.poll() is None


def test_on_a_terminal_git_may_ask(one: Path) -> None:
    terminal = Terminal(one, "push", attached=True)
    assert terminal.end(Username=servers.USER, Password=servers.PASSWORD) == 0, terminal.seen
    assert "1 event of 1 memory arrived at 'origin'" in terminal.seen
    assert servers.PASSWORD not in terminal.seen
    assert tip(one.parent / "remote.git") == tip(one)


def test_an_agent_in_a_terminal_is_asked_nothing(one: Path) -> None:
    """Its own terminal is there, and git and ssh would find it; but nobody sits before gitmem."""
    terminal = Terminal(one, "push", attached=False)
    assert terminal.end() == 4
    assert terminal.seen == ""


def test_neither_does_ssh_ask_there(one: Path) -> None:
    with servers.sshd(one.parent) as server:
        git(one, "remote", "set-url", "origin", f"{server.url}/remote.git")
        git(one, "config", "core.sshCommand", server.command)
        (server.keys / "known_hosts").write_text("")
        asked = Terminal(one, "push", attached=True)
        assert asked.end(connecting="no") == 4
        assert "continue connecting" in asked.seen
        unasked = Terminal(one, "push", attached=False)
        assert unasked.end() == 4
        assert unasked.seen == ""
