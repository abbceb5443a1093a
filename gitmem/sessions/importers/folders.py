"""Where agents keep things, and whether a session was held in this repository."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from gitmem.sessions.model import Home


def folder(home: Home, variable: str, default: str) -> Path:
    """Return the folder that an environment variable names, or `default` below the home."""
    named = home.environ.get(variable, "").strip()
    if not named:
        return home.home / default
    return home.home / named[2:] if named.startswith("~/") else Path(named)


def within(place: str, home: Home) -> bool:
    """Whether a directory is one of the worktrees or below one, through links too."""
    if not os.path.isabs(place) or "\0" in place:
        return False
    real = Path(os.path.realpath(place))
    return any(real.is_relative_to(os.path.realpath(root)) for root in home.worktrees)


def local(place: str) -> str:
    """Return the path that a ``file:`` URI names, or the text as it is."""
    return unquote(place.removeprefix("file://")) if place.startswith("file://") else place
