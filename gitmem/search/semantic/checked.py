"""Whether the model is the one it should be, without reading 92 MB before every question.

As git's index does: a file with the size, time and inode that it had when its digest was right is
taken for that file. A model changed in place gave vectors of nothing, and nobody was told.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from gitmem.search.base import IndexUnusable
from gitmem.search.semantic.pins import MINILM

NOTE = "checked.json"
USED = ("vocab.txt", "model.safetensors")
"""The files that questions and documents are embedded with."""


def check(folder: Path) -> None:
    """Do nothing if the files used are the pinned ones; their digests are read once.

    Raises:
        IndexUnusable: one is missing, or another file.
    """
    try:
        if _noted(folder) == _facts(folder):
            return
        for name in USED:
            with (folder / name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != MINILM[name].sha256:
                what = f"'{folder / name}' is another file: its sha256 starts '{digest[:8]}'"
                raise unusable(what)
    except OSError as error:
        raise unusable(f"the model in '{folder}' cannot be read: {error.strerror}") from error
    note(folder)


def note(folder: Path) -> None:
    """Note that the files are what they should be; where that cannot be written, they are read."""
    with suppress(OSError):
        beside = folder / f"{NOTE}.{os.getpid()}"
        beside.write_text(json.dumps(_facts(folder)))
        beside.replace(folder / NOTE)


def unusable(message: str) -> IndexUnusable:
    """Return an error of the model's."""
    return IndexUnusable(message, "put the model in place anew: gitmem model install")


def _facts(folder: Path) -> list[list[int]]:
    found = [(folder / name).stat() for name in USED]
    return [[one.st_size, one.st_mtime_ns, one.st_ino] for one in found]


def _noted(folder: Path) -> object:
    try:
        return json.loads((folder / NOTE).read_bytes())
    except (OSError, ValueError):  # nobody checked it yet
        return None
