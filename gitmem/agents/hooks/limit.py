"""A limit of time, for what an agent waits for."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeIsUp(BaseException):
    """It took too long. Like ^C no error of anything: an index would be taken for damaged."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let what is inside take so many seconds; outside of the main thread, as long as it likes.

    Raises:
        TimeIsUp: it takes longer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp(f"more than {seconds:g} s")

    before, began = signal.signal(signal.SIGALRM, ring), time.monotonic()
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, left or seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:  # whoever set a limit around this one still has his
            signal.setitimer(signal.ITIMER_REAL, max(left - time.monotonic() + began, 0.001))
