"""Where a catalog's file would be, and a source for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.histories import remember, write
from tests.search.stack import Stack


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gitmem" / "catalog.sqlite"


@pytest.fixture
def source() -> Stack:
    """Return a source of 60 memories, ten private, some contested, and a broken line."""
    stack = Stack()
    roots = [remember(n, f"memory {n}", tags=[f"t{n % 3}"], kind="fact") for n in range(60)]
    stack.push(*roots[:50])
    stack.push(*roots[50:], journal="private")
    for n in range(0, 60, 7):
        about = {"memory": roots[n].id, "base": [roots[n].id]}
        stack.push(write(100 + n, "forget", **about), anchor="b" * 40)
        stack.push(write(200 + n, "revise", text=f"again {n}", **about))
    stack.push(b"not a line")
    return stack
