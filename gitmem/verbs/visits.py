"""When each agent was last here: what changed since then is news to it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from gitmem.search.catalog.events import Mark


class Visits:
    """How far each agent has seen the catalog; lost, nothing is news."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def last(self, agent: str) -> Mark | None:
        """Return how far an agent had seen the catalog when it was last here."""
        try:
            epoch, changed = json.loads(self._file(agent).read_bytes())
            return Mark(str(epoch), int(changed))
        except (OSError, ValueError, TypeError):
            return None

    def note(self, agent: str, mark: Mark) -> None:
        """Note that an agent has seen the catalog up to `mark`."""
        file = self._file(agent)
        beside = file.with_name(f"{file.name}.{os.getpid()}")
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps(mark))
            beside.replace(file)

    def _file(self, agent: str) -> Path:
        return self._folder / f"seen-{agent}.json"
