"""What was recalled in which session: so that nothing is said twice while it is still in view.

A small file beside the other derived ones. Lost or damaged, something is said again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

WINDOW = 30
"""Prompts of a session after which something may be recalled again: it has scrolled far away."""

SESSIONS = 50
"""Sessions remembered; the one asked longest ago is forgotten first."""


class Recalled:
    """The documents recalled in each session, by the number of the prompt."""

    def __init__(self, path: Path, window: int = WINDOW) -> None:
        self._path = path
        self._window = window

    def take(self, session: str, ids: Sequence[str], limit: int) -> list[str]:
        """Return the first `limit` of `ids` not recalled in the window, and note them.

        Each call counts as one prompt of the session, also if nothing is left to say.
        """
        with self._held() as sessions:
            prompt, last = _standing(sessions.pop(session, None))
            prompt += 1
            kept = {id: at for id, at in last.items() if prompt - at < self._window}
            fresh = [id for id in dict.fromkeys(ids) if id not in kept][: max(limit, 0)]
            sessions[session] = [prompt, {**kept, **dict.fromkeys(fresh, prompt)}]
            for oldest in list(sessions)[:-SESSIONS]:
                del sessions[oldest]
        return fresh

    @contextmanager
    def _held(self) -> Iterator[dict[str, Any]]:
        """Yield what is noted, and write it back; what cannot be locked or written is not kept."""
        handle = self._lock()
        sessions = self._read()
        try:
            yield sessions
            self._write(sessions)
        finally:
            if handle is not None:
                os.close(handle)

    def _lock(self) -> int | None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self._path.with_name(f"{self._path.name}.lock"), flags, 0o600)
        except OSError:  # a read-only repository: everything is said each time
            return None
        fcntl.flock(handle, fcntl.LOCK_EX)
        return handle

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, sessions: Mapping[str, Any]) -> None:
        beside = self._path.with_name(f"{self._path.name}.new")
        with suppress(OSError):
            beside.write_text(json.dumps(sessions))
            beside.replace(self._path)


def _standing(entry: object) -> tuple[int, dict[str, int]]:
    """Return the number of the last prompt, and {document: prompt}; of a damaged entry nothing."""
    match entry:
        case [int(prompt), dict(last)] if all(isinstance(at, int) for at in last.values()):
            return prompt, last
    return 0, {}
