"""The transcript of a session, taken in as far as it is written."""

from __future__ import annotations

import os
from contextlib import suppress

from gitmem.api import Gitmem
from gitmem.errors import NotFound
from gitmem.sessions.intake import Growth

FOLDER = "subagents"
"""The one folder that is looked into: whatever an agent says, no other is walked through."""


def take_in(gm: Gitmem, agent: str, places: list[str]) -> list[Growth]:
    """Import what is new in transcripts that are there; returns the sessions that grew.

    One may not exist yet, be written at this moment, or be deleted before it is read.

    Raises:
        NoIdentity: git knows no author.
    """
    grown: list[Growth] = []
    for place in filter(os.path.isabs, places):
        folder = os.path.basename(place) == FOLDER and os.path.isdir(place)
        if folder or os.path.isfile(place):
            with suppress(NotFound):
                grown += gm.import_transcripts(agent, path=place).sessions
    return grown
