"""The transcript of a session, taken in as far as it is written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gitmem.api import Gitmem
from gitmem.errors import GitmemError, NotFound
from gitmem.sessions.intake import Growth

ENDED = "ended.json"
"""The transcripts of sessions that ended: what was written last is taken in by the next one."""

MOST = 20
"""Sessions that wait at most."""


def take_in(gm: Gitmem, agent: str, places: list[str]) -> list[Growth]:
    """Import what is new in transcripts that are there; returns the sessions that grew.

    One may not exist yet, be written at this moment, or be deleted before it is read.

    Raises:
        NoIdentity: git knows no author.
    """
    grown: list[Growth] = []
    for place in filter(os.path.isabs, places):
        if os.path.isfile(place) or os.path.isdir(place):
            with suppress(NotFound):
                grown += gm.import_transcripts(agent, path=place).sessions
    return grown


class Ended:
    """The sessions that ended since a hook had the time to take transcripts in."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / ENDED

    def add(self, agent: str, places: list[str]) -> None:
        """Note where the transcripts of a session are."""
        waiting = [*self._read(), *([agent, place] for place in places)][-MOST:]
        beside = self._file.with_name(f"{ENDED}.{os.getpid()}")
        beside.write_text(json.dumps(waiting))
        beside.replace(self._file)

    def take_in(self, gm: Gitmem) -> None:
        """Import what is left of those sessions, once."""
        waiting = list(self._read())
        with suppress(OSError):
            self._file.unlink()
        for agent, place in waiting:
            with suppress(GitmemError):  # that agent's transcripts are another's trouble
                take_in(gm, agent, [place])

    def _read(self) -> Iterator[list[str]]:
        try:
            found = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return
        for one in found if isinstance(found, list) else ():
            if isinstance(one, list) and len(one) == 2 and all(isinstance(x, str) for x in one):
                yield one
