"""Sessions that ended since a hook had the time to take their transcripts in.

An agent that ends gives all its hooks together a second and a half, so that a mark is all they
leave: what was written last is taken in by the next session.
"""

from __future__ import annotations

import json
import os

NAME = "ended.json"

MOST = 20
"""Transcripts that wait, at most."""


def add(folder: str, agent: str, places: list[str]) -> None:
    """Note in a folder where the transcripts of a session are."""
    waiting = [*waits(folder), *([agent, place] for place in places)][-MOST:]
    path = os.path.join(folder, NAME)
    os.makedirs(folder, exist_ok=True)
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
        json.dump(waiting, file)
    os.replace(file.name, path)


def take(folder: str) -> list[list[str]]:
    """Return (agent, transcript) of what waits; it does so no more."""
    waiting = waits(folder)
    try:
        os.unlink(os.path.join(folder, NAME))
    except OSError:  # nothing waits, or another took it
        pass
    return waiting


def waits(folder: str) -> list[list[str]]:
    """Return what waits in a folder; nothing of what is damaged."""
    try:
        with open(os.path.join(folder, NAME), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return []
    pairs = found if isinstance(found, list) else []
    return [
        pair
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair)
    ]
