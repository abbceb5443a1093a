"""`gitmem purge` on the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.purge.support import SECRET, traces
from tests.support import git, run_cli


def stored(repo: Path) -> str:
    assert run_cli("init", cwd=repo).returncode == 0
    return run_cli("remember", SECRET, cwd=repo).stdout.split()[0]


def test_it_asks_and_without_a_terminal_refuses(repo: Path) -> None:
    id = stored(repo)
    for args in ((), ("--push",), ("--json",)):
        done = run_cli("purge", id, *args, cwd=repo)
        assert done.returncode == 5
        assert "--yes" in done.stdout + done.stderr
    assert traces(repo)


def test_yes_is_taken_for_an_answer(repo: Path) -> None:
    id = stored(repo)
    done = run_cli("purge", id, "--yes", cwd=repo)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{id} purged: 1 event")
    assert traces(repo) == []


def test_json(repo: Path) -> None:
    id = stored(repo)
    git(repo, "remote", "add", "origin", str(repo.parent / "remote.git"))
    done = run_cli("purge", id, "--yes", "--json", cwd=repo)
    answer = json.loads(done.stdout)
    assert answer["ok"] and answer["data"]["id"].startswith(id)
    assert set(answer["data"]) == {
        "id", "journals", "events", "commits", "objects", "pushed", "left",
    }  # fmt: skip
    assert any("--push origin" in line for line in answer["data"]["left"])


def test_an_unknown_id(repo: Path) -> None:
    stored(repo)
    done = run_cli("purge", "12345678", "--yes", cwd=repo)
    assert done.returncode == 2


def on_a_terminal(repo: Path, answer: bytes, *args: str) -> tuple[int, str]:
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "gitmem", "purge", *args],
        cwd=repo, stdin=follower, stdout=follower, stderr=follower,
    ) as child:  # fmt: skip
        os.close(follower)
        os.write(leader, answer)
        told = b""
        try:
            while piece := os.read(leader, 4096):
                told += piece
        except OSError:  # the other side is closed
            pass
    os.close(leader)
    return child.returncode, told.decode()


def test_on_a_terminal_it_shows_what_goes(repo: Path) -> None:
    id = stored(repo)
    code, told = on_a_terminal(repo, b"n\n", id)
    assert code == 5 and SECRET in told and "nothing was purged" in told
    assert traces(repo)
    code, told = on_a_terminal(repo, b"y\n", id)
    assert code == 0 and "purged: 1 event" in told
    assert traces(repo) == []
