"""The port on every kind of repository that it must hold its contract on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel, Option

from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend, Git, RefUpdate, TreeEntry
from tests.support import git

ADA = "Ada <ada@example.com>"
REF = "refs/notes/gitmem/shared"
KEPT = "refs/gitmem/kept/shared"


def _plain(repo: Path) -> Path:
    return repo


def _bare(repo: Path) -> Path:
    bare = repo.parent / "bare.git"
    git(repo.parent, "clone", "-q", "--bare", str(repo), str(bare))
    return bare


def _worktree(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", "topic", "../linked")
    return repo.parent / "linked"


def _sha256(repo: Path) -> Path:
    other = repo.parent / "sha256"
    git(repo.parent, "init", "-q", "--object-format=sha256", str(other))
    (other / "README.md").write_text("# demo\n")
    git(other, "add", "README.md")
    git(other, "commit", "-q", "-m", "first")
    return other


KINDS: dict[str, tuple[Backend, Callable[[Path], Path]]] = {
    "program": ("program", _plain),
    "libgit2": ("libgit2", _plain),
    "program-bare": ("program", _bare),
    "libgit2-bare": ("libgit2", _bare),
    "program-worktree": ("program", _worktree),
    "libgit2-worktree": ("libgit2", _worktree),
    "program-sha256": ("program", _sha256),
}


@pytest.fixture(autouse=True)
def home_of_libgit2(hermetic: Path) -> None:
    """Give libgit2 the temporary home too: it asks for HOME once, when it is imported."""
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.option(Option.SET_SEARCH_PATH, level, str(hermetic))


@pytest.fixture(params=KINDS)
def port(request: pytest.FixtureRequest, repo: Path) -> Iterator[Git]:
    """Yield the port, once for every backend and kind of repository."""
    backend, prepare = KINDS[request.param]
    opened = open_repository(prepare(repo), backend)
    yield opened
    opened.close()


@pytest.fixture(params=["program", "libgit2"])
def plain(request: pytest.FixtureRequest, repo: Path) -> Iterator[Git]:
    """Yield the port on an ordinary repository, once for every backend."""
    opened = open_repository(repo, request.param)
    yield opened
    opened.close()


def place(port: Git) -> Path:
    """Return the directory in which to run git beside the port."""
    return port.layout.workdir or port.layout.git_dir


def commit_file(
    port: Git, content: bytes = b"x", parents: tuple[str, ...] = (), time: int = 1_700_000_000
) -> str:
    """Write a commit whose tree holds one file."""
    tree = port.write_tree([TreeEntry("note", 0o100644, port.write_blob(content))])
    return port.write_commit(tree, parents, ADA, time, "a note")


def land(port: Git, new: str, ref: str = REF) -> str:
    """Move `ref` to a commit, so that it is on disk, and return the commit."""
    port.update_refs([RefUpdate(ref, new, port.ref(ref))], "test")
    return new
