"""Tracking refs: where a remote's journal stood when last fetched, and what of it is taken in.

They are refs of gitmem's own, so that a fetch overwrites nothing, `fetch --prune` deletes no memory
and a remote without any breaks no fetch. Whoever reads memories looks at them first, so this costs
a file and a ref for each remote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitmem.journal.git.port import Git
from gitmem.model import JournalName

TRACKING = "refs/gitmem/remotes/"
RECORD = "fetched.json"

_NONE = ("", "")

Config = Mapping[str, Sequence[str]]
"""Git's configuration: every value by its key."""


def refspec(remote: str) -> str:
    """Return what to fetch of a remote's journals, and to where."""
    return f"+refs/notes/gitmem/{JournalName.SHARED}*:{TRACKING}{remote}/{JournalName.SHARED}*"


def tracking(remote: str) -> str:
    """Return the ref that tracks the shared journal of a remote."""
    return f"{TRACKING}{remote}/{JournalName.SHARED}"


def remotes(config: Config) -> list[str]:
    """Return the names of the remotes that have an address."""
    keys = (key for key in config if key.startswith("remote."))
    ends = (".url", ".pushurl")
    return sorted({key[7:].rpartition(".")[0] for key in keys if key.endswith(ends)})


def tracked(config: Config) -> dict[str, str]:
    """Return the remote that each tracking ref is of; a renamed remote may go on with its old."""
    found: dict[str, str] = {}
    for key, values in config.items():
        if key.startswith("remote.") and key.endswith(".fetch"):
            refs = (value.partition(f":{TRACKING}")[2] for value in values)
            found |= {TRACKING + ref.removesuffix("*"): key[7:-6] for ref in refs if ref}
    return found | {tracking(name): name for name in remotes(config)}


class Fetched:
    """What was fetched and is not yet taken in.

    What was taken in is written down in a file; without it the journals are compared once more.
    """

    def __init__(self, git: Git, folder: Path) -> None:
        self._git = git
        self._path = folder / RECORD
        self.waiting: Sequence[str] = ()

    def new(self) -> dict[str, tuple[str, str]]:
        """Return (remote, tip) of each tracking ref that moved since it was last looked at."""
        refs = tracked(self._git.config())
        tips = {ref: tip for ref in refs if (tip := self._git.ref(ref))}
        known = self._load() if tips else {}
        seen = [known[ref][1] for ref, tip in tips.items() if known.get(ref, _NONE)[0] == tip]
        self.waiting = [why for why in seen if why]
        return {
            ref: (refs[ref], tip) for ref, tip in tips.items() if known.get(ref, _NONE)[0] != tip
        }

    def note(self, ref: str, tip: str, why: str = "") -> None:
        """Write down that a tip was taken in, or why not."""
        self.waiting = [*self.waiting, *([why] if why else [])]
        text = json.dumps({**self._load(), ref: [tip, why]})
        beside = self._path.with_name(f"{RECORD}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(text, encoding="utf-8")
            beside.replace(self._path)
        except OSError:  # a read-only clone looks at it again next time
            return

    def _load(self) -> dict[str, list[str]]:
        try:
            found = json.loads(self._path.read_bytes())
            return {str(ref): [str(tip), str(why)] for ref, (tip, why) in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}
