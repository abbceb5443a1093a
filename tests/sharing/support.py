"""Clones of one remote, and what their journals hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gitmem
from gitmem import Gitmem
from gitmem.journal.codec import encode
from gitmem.journal.git.port import Backend
from tests.support import git, run_cli

SHARED = "refs/notes/gitmem/shared"
TRACKING = "refs/gitmem/remotes/origin/shared"


class Team:
    """A bare remote, and clones of it by stock git in which `gitmem init` was run."""

    def __init__(self, folder: Path, backend: Backend = "program", *init: str) -> None:
        self.backend = backend
        self.folder = folder
        self.remote = folder / "remote.git"
        first = folder / "first"
        git(folder, "init", "-q", *init, str(first))
        git(first, "commit", "-q", "--allow-empty", "-m", "first")
        git(folder, "clone", "-q", "--bare", str(first), str(self.remote))

    def clone(self, name: str, *options: str, url: str = "") -> Path:
        """Clone the remote; everybody has a name of his own."""
        path = self.folder / name
        git(self.folder, "clone", "-q", *options, url or str(self.remote), str(path))
        git(path, "config", "user.name", name)
        git(path, "config", "user.email", f"{name}@example.com")
        git(path, "config", "gitmem.trust", "all")
        with self.open(path) as gm:
            gm.init()
        return path

    @contextmanager
    def open(self, path: Path) -> Iterator[Gitmem]:
        """Open the memory of a clone."""
        with gitmem.open(path, backend=self.backend) as gm:
            yield gm

    def remember(self, path: Path, *texts: str) -> list[str]:
        """Remember texts in a clone, and return their ids."""
        with self.open(path) as gm:
            return [gm.remember(text).id for text in texts]

    def texts(self, path: Path) -> set[str | None]:
        """Return what a clone's memories say; its doctor is content."""
        with self.open(path) as gm:
            report = gm.doctor()
            assert report.clean, report.findings
            return {memory.text for memory in gm.list()}


def smuggle(path: Path, text: str) -> str:
    """Write a memory by stock git, as it is, and return its id."""
    name, email = (git(path, "config", f"user.{key}") for key in ("name", "email"))
    fields = {"at": "2026-11-20T10:11:12.345678Z", "branch": "main", "by": f"{name} <{email}>"}
    event = encode({**fields, "kind": "note", "op": "remember", "text": text})
    git(path, "notes", "--ref", SHARED, "append", "-m", event.line.decode(), "HEAD")
    return event.id


def lines(repo: Path, ref: str = SHARED) -> set[str]:
    """Return every line of a journal's tip, with its anchor."""
    found = set()
    for row in git(repo, "ls-tree", "-r", ref).split("\n"):
        info, path = row.split("\t")
        blob = git(repo, "cat-file", "blob", info.split(" ")[2])
        found |= {f"{path.replace('/', '')} {line}" for line in blob.split("\n")}
    return found


def tip(repo: Path, ref: str = SHARED) -> str:
    """Return where a ref stands; empty if it is not there."""
    return git(repo, "rev-parse", "-q", "--verify", ref, check=False)


def cli(*args: str, cwd: Path, code: int = 0, env: dict[str, str] | None = None) -> Any:
    """Run a command with ``--json``, and return its data, or its error."""
    done = run_cli(*args, "--json", cwd=cwd, env=env)
    assert done.returncode == code, (done.stdout, done.stderr)
    answer = json.loads(done.stdout)
    return answer["data"] if code == 0 else answer["error"]
