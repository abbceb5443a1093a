"""A repository of every kind, with a memory to be purged among others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.journal.git.port import Backend
from tests.purge.support import LATER, SECRET
from tests.support import git


def _plain(repo: Path) -> Path:
    return repo


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
    "worktree": ("libgit2", _worktree),
    "sha256": ("program", _sha256),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, repo: Path) -> tuple[Backend, Path]:
    """Return a backend and a repository, once for each kind."""
    backend, prepare = KINDS[request.param]
    return backend, prepare(repo)


@pytest.fixture
def gm(kind: tuple[Backend, Path]) -> Iterator[Gitmem]:
    """Yield an initialised memory."""
    backend, path = kind
    with gitmem.open(path, backend=backend) as opened:
        opened.init()
        yield opened


def live(gm: Gitmem, *, private: bool = False, scope: str | None = None) -> str:
    """Remember and change the secret between other memories, and return its id."""
    gm.remember("Before it", kind="decision", tags=["keep"])
    id = gm.remember(SECRET, private=private, scope=scope, tags=["kwyjibo"]).id
    gm.remember("Between", importance="high")
    gm.update(id, LATER)
    gm.tag(id, "zygomorph")
    gm.evolve(id, "Confirmed: Quixotry-4711 was changed")
    gm.remember("After it", scope="repo")
    gm.search("vault")
    gm.sync_start()
    return id
