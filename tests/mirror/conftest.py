"""Fixtures of the mirror's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mirror.support import PG, TABS, Desk, FakeView


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path / "work", FakeView(PG, TABS))
    desk.sync()
    return desk
