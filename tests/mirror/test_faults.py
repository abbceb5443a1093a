"""The n-th file operation fails, once or from then on, for every n: nothing is lost."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitmem.mirror.mirror import LONG_TERM
from gitmem.mirror.reconcile import Add
from tests.mirror.support import DAILY, PG, TABS, Desk, FakeView, make

OPERATIONS = [(os, name) for name in ("open", "rename", "replace", "mkdir", "fsync", "unlink")]
OPERATIONS += [(os, "listdir"), (os, "scandir"), (os, "stat"), (io, "open")]


class Faults:
    """Lets the n-th call of any of the operations fail, and with `on` all after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, nth: int, on: bool) -> None:
        self.left = nth
        self.on = on
        self.hit = False
        for module, name in OPERATIONS:
            monkeypatch.setattr(module, name, self._wrap(getattr(module, name)))

    def _wrap(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0 or (self.on and self.left < 0):
                self.hit = True
                raise OSError(errno.ENOSPC, "no space left on device")
            return operation(*args, **kwargs)

        return call


def _tree(root: Path) -> set[str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)) for path in files if ".git" not in path.parts}


@pytest.mark.parametrize("on", [False, True], ids=["once", "from then on"])
def test_a_fault_anywhere_loses_nothing(tmp_path: Path, on: bool) -> None:
    nth = 0
    hit = True
    while hit:
        nth += 1
        desk = Desk(tmp_path / f"work{nth}", FakeView(PG, TABS))
        (desk.root / LONG_TERM).write_text("Mine above.\n")
        desk.sync()
        desk.change("- **decision**", "A stray.\n\n- Typed by hand\n- **decision**")
        other = make("Remembered meanwhile")
        desk.view.memories[other.id] = other
        with pytest.MonkeyPatch.context() as monkeypatch:
            faults = Faults(monkeypatch, nth, on)
            desk.sync()
        hit = faults.hit
        assert _tree(desk.root) <= {LONG_TERM, DAILY}
        assert desk.text().startswith("Mine above.\n")
        desk.sync()
        text = desk.text()
        assert text.startswith("Mine above.\n")
        assert text.endswith("<!-- gitmem:end -->\n\nA stray.\n")
        assert text.count("Typed by hand") == text.count("Remembered meanwhile") == 1
        assert desk.text(DAILY).count("Typed by hand") == 1
        assert sum(memory.text == "Typed by hand" for memory in desk.view.memories.values()) == 1
        assert desk.mirror().edits(desk.view).edits == []
    assert nth > 30


@pytest.mark.parametrize("stop", ["rename", "replace"])
def test_killed_between_the_journal_and_the_file_the_edit_is_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str
) -> None:
    desk = Desk(tmp_path / "work", FakeView(PG, TABS))
    desk.sync()
    desk.change("- **decision**", "- Typed by hand\n- **decision**")
    mirror = desk.mirror()
    found = mirror.edits(desk.view)
    assert found.edits == [(LONG_TERM, Add("Typed by hand", importance="high"))]
    desk.view.apply(found.edits)

    def killed(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, stop, killed)
        mirror.render(desk.view, days=[])
    assert desk.sync()[0].edits == []
    assert desk.text().count("Typed by hand") == 1
