"""A file that shows what it did is not rendered anew; whatever changes it is seen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.mirror import mirror
from gitmem.mirror.contents import Rendering, contents
from gitmem.mirror.mirror import LONG_TERM

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)

Rendered = Callable[[], list[str]]


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Rendered:
    """Return what tells which files were rendered since it was last asked."""
    paths: list[str] = []

    def noted(path: str, view: mirror.View) -> Rendering:
        paths.append(path)
        return contents(path, view)

    def since() -> list[str]:
        found = paths.copy()
        paths.clear()
        return found

    monkeypatch.setattr(mirror, "contents", noted)
    return since


def opened(repo: Path, days: int = 0) -> Gitmem:
    return gitmem.open(repo, backend="program", now=lambda: NOON + timedelta(days=days))


def test_nothing_is_rendered_anew_until_something_changes(repo: Path, rendered: Rendered) -> None:
    with opened(repo) as gm:
        gm.init()
        id = gm.remember("Use PostgreSQL").id
    for _ in range(2):
        rendered()
        with opened(repo) as gm:
            gm.sync_start()
    assert LONG_TERM not in rendered()
    with opened(repo) as gm:
        gm.evolve(id, "Measured")
    assert LONG_TERM in rendered()
    assert "Measured" in (repo / LONG_TERM).read_text()


def test_what_expires_is_taken_out(repo: Path, rendered: Rendered) -> None:
    with opened(repo) as gm:
        gm.init()
        gm.remember("Freeze until the release", expires="1d")
    assert "Freeze" in (repo / LONG_TERM).read_text()
    with opened(repo, days=2) as gm:
        gm.sync_start()
    assert "Freeze" not in (repo / LONG_TERM).read_text()


def test_a_technology_that_was_found_is_shown(repo: Path) -> None:
    with opened(repo) as gm:
        gm.init()
        gm.remember("Use PostgreSQL")
        assert "@" not in (repo / LONG_TERM).read_text()
        gm.sync_end()
    with opened(repo) as gm:
        gm.sync_start()
    assert "@PostgreSQL" in (repo / LONG_TERM).read_text()
