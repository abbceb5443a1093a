"""Eve's repository, and Ada's clone of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hostile.support import EVERYTHING, EVIL, Listener, Victim
from tests.support import git
from tests.trust.support import foreign

Clone = Callable[[], Victim]


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Return Eve's repository: a commit, and memories that tell agents what to do."""
    path = tmp_path / "theirs"
    git(tmp_path, "init", "-q", str(path))
    git(path, "config", "user.name", "Eve")
    git(path, "config", "user.email", "eve@example.com")
    (path / "README.md").write_text("# A harmless project\n")
    git(path, "add", "README.md")
    git(path, "commit", "-q", "-m", "first")
    foreign(path, EVIL, importance="critical", kind="preference", tags=["topic:topic"])
    return path


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Return a path that only a program of Eve's would make."""
    return tmp_path / "canary"


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Yield a port at which nobody may knock."""
    listening = Listener()
    yield listening
    listening.close()


@pytest.fixture
def clone(tmp_path: Path, theirs: Path, canary: Path) -> Clone:
    """Clone Eve's repository as it is when called, with all refs of gitmem's that it has."""

    def make() -> Victim:
        path = tmp_path / "clone"
        git(tmp_path, "clone", "-q", str(theirs), str(path))
        for refs in EVERYTHING:
            git(path, "fetch", "-q", "origin", refs, check=False)
        return Victim(tmp_path, path, canary)

    return make
