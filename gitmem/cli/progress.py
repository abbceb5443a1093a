"""How far something long is: shown on a terminal alone, once it is known to be long."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Tell = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how much; 0 where nobody knows."""

MANY = 1000
"""Things to be done that are shown at once; of fewer it is waited how long they take."""

SOON = 0.5
"""Seconds that pass without a word."""


@contextmanager
def shown(wanted: bool = True) -> Iterator[Tell]:
    """Yield what is told how far things are; at the end, and after ^C, the line is gone."""
    if not wanted or not _on_terminal():
        yield lambda what, done, all: None
        return
    with ExitStack() as stack:
        yield _Bar(stack).tell


def _on_terminal() -> bool:
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    return sys.stdout.isatty() and sys.stderr.isatty() and not dumb


class _Bar:
    """A line for what is under way, begun when that is worth it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._since: dict[str, float] = {}
        self._bar: Progress | None = None
        self._shown: tuple[str, TaskID] | None = None

    def tell(self, what: str, done: int, all: int) -> None:
        if self._shown is not None and (done == all or what != self._shown[0]):
            self._clear(self._shown[1])
        begun = self._since.setdefault(what, monotonic())
        if done == all or (max(done, all) < MANY and monotonic() < begun + SOON):
            return
        if self._bar is None:
            self._bar = self._stack.enter_context(_progress())
        if self._shown is None:
            self._shown = (what, self._bar.add_task(what))
        self._bar.update(self._shown[1], completed=done, total=all or None)

    def _clear(self, task: TaskID) -> None:
        assert self._bar is not None
        self._bar.remove_task(task)
        self._shown = None


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
