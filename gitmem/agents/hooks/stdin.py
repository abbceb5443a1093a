"""What an agent says to a hook, read to its end and never waited for in vain."""

from __future__ import annotations

import json
import os
import select

from gitmem.agents.hooks.dialect import Said

LONGEST = 2**20
"""Bytes that are looked at; of anything longer nothing is."""

PATIENCE = 1.0
"""Seconds without a byte after which nothing more is waited for: some never close the pipe."""


def read(handle: int) -> Said:
    """Return the JSON object on a file handle, an empty one for anything else."""
    try:
        said = json.loads(_all(handle))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _all(handle: int) -> bytes:
    """Return what is there; whoever writes is heard out, or his pipe breaks under him."""
    content = b""
    while select.select([handle], [], [], PATIENCE)[0] and (piece := os.read(handle, 65_536)):
        content = content + piece if len(content) <= LONGEST else content
    return content if len(content) <= LONGEST else b""
