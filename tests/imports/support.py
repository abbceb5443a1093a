"""What tests of imports share: an open memory, and what it knows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gitmem
from gitmem import Gitmem
from gitmem.imports import origin
from gitmem.imports.model import Foreign
from gitmem.journal.git.opening import open_repository
from gitmem.model import Memory
from gitmem.sessions.model import Skipped
from tests.support import git

DATA = Path(__file__).parent.parent / "data" / "imports"
JSON = "results.json"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def opened(repo: Path, now: datetime = NOW) -> Gitmem:
    """Open a repository's memory at a time."""
    return gitmem.open(repo, backend="program", now=lambda: now)


def read(tool: str, place: Path) -> Iterator[Foreign | Skipped]:
    """Yield what a tool's reader finds."""
    return origin(tool).read(place, lambda path: open_repository(path, "program"))


def foreign(tool: str, place: Path) -> dict[str, Foreign]:
    """Return {key: memory} of what a tool's reader finds."""
    return {found.key: found for found in read(tool, place) if isinstance(found, Foreign)}


def skipped(tool: str, place: Path) -> list[str]:
    """Return why a reader left something out."""
    return [found.reason for found in read(tool, place) if isinstance(found, Skipped)]


def texts(gm: Gitmem, branch: str | None = None) -> list[str]:
    """Return what is seen from a branch, in order."""
    return sorted(memory.body for memory in gm.list(branch=branch))


def by_key(gm: Gitmem) -> dict[str, Memory]:
    """Return {the tool's key: memory} of all that is seen."""
    seen = gm.list()
    return {str(memory.source.get("key")): memory for memory in seen}


def commit(repo: Path, name: str, date: str) -> str:
    """Commit a file of its own at a date, and return the commit."""
    (repo / f"{name}.txt").write_text(f"{name}\n")
    git(repo, "add", "-A")
    os.environ["GIT_COMMITTER_DATE"] = os.environ["GIT_AUTHOR_DATE"] = date
    try:
        git(repo, "commit", "-q", "-m", name)
    finally:
        del os.environ["GIT_COMMITTER_DATE"], os.environ["GIT_AUTHOR_DATE"]
    return git(repo, "rev-parse", "HEAD")


def tips(repo: Path) -> str:
    """Return where every ref stands, here and in the private repository."""
    private = repo / ".git" / "gitmem" / "private.git"
    refs = git(repo, "for-each-ref", "--format=%(refname) %(objectname)")
    return refs + (git(private, "for-each-ref") if private.exists() else "")


def mem0(folder: Path, *memories: Mapping[str, Any]) -> Path:
    """Write an answer of mem0: a memory has an id, a text and a time unless it says otherwise."""
    file = folder / JSON
    usual = {"memory": "Prefers tabs", "created_at": "2026-03-01T10:00:00Z"}
    file.write_text(json.dumps({"results": [{"id": "a", **usual, **each} for each in memories]}))
    return file
