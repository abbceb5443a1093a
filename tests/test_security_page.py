"""What docs/security.md promises is held by tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def named() -> list[tuple[str, str]]:
    """Return (file, test) for each that the page names; ``::test`` alone is of the file before."""
    found, file = [], ""
    for path, test in re.findall(r"`(tests/[\w/]+\.py)?(?:::(test_\w+))?`", PAGE):
        file = path or file
        if path or test:
            found.append((file, test))
    return found


@pytest.mark.parametrize(("file", "test"), named())
def test_a_promise_has_its_test(file: str, test: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert not test or f"def {test}(" in text


def test_the_page_names_many() -> None:
    assert len(named()) > 30
