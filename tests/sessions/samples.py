"""Real transcripts, where somebody has collected them beside this checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OWN = Path(__file__).parent.parent / "data" / "transcripts"
"""Samples written for these tests, a folder an agent: these every clone has."""


def shared_data() -> Path | None:
    """Return the folder of collected samples: ``GITMEM_SHARED_DATA`` or ``../shared/data``."""
    beside = [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]
    named = os.environ.get("GITMEM_SHARED_DATA")
    places = [Path(named)] if named else beside
    return next((place for place in places if (place / "transcripts").is_dir()), None)


SHARED = shared_data()  # asked for at import: each test runs without GITMEM_* variables

needs_samples = pytest.mark.skipif(
    SHARED is None, reason="no collected samples (GITMEM_SHARED_DATA or ../shared/data)"
)


def collected(name: str) -> Path:
    """Return a collected transcript, such as ``codex/gitai-codex-session-simple.jsonl``."""
    assert SHARED is not None, "a test that asks is marked with `needs_samples`"
    return SHARED / "transcripts" / name
