"""Repositories that memories are imported into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem import Gitmem
from tests.imports.support import commit, opened
from tests.support import git


@pytest.fixture
def old(tmp_path: Path, hermetic: Path) -> Path:
    """Return a repository whose commits are older than any memory."""
    path = tmp_path / "old"
    path.mkdir()
    git(path, "init", "-q")
    commit(path, "first", "2026-03-01T00:00:00Z")
    return path


@pytest.fixture
def gm(repo: Path) -> Iterator[Gitmem]:
    """Return the open memory of a fresh repository."""
    with opened(repo) as opened_here:
        yield opened_here
