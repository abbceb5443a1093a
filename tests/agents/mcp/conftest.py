"""A repository that has a memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import gitmem


@pytest.fixture
def kept(repo: Path) -> Path:
    """Return a repository that was set up and has three memories."""
    with gitmem.open(repo) as gm:
        gm.init()
        gm.remember("Use PostgreSQL: the team knows it", kind="decision", tags=["database"])
        gm.remember("Never deploy on Friday", importance="critical", tags=["ops"])
        gm.remember("The flaky login test waits for mail", kind="lesson", tags=["tests"])
    return repo
