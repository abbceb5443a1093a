"""What the mirror keeps under the git directory: all of it disposable.

::

    renderings    the blocks as rendered: see `mirror.versions`
    state.json    stamps of files that hold no unread edit, the caller's values
    lock  new     the lock; a file on its way into the working tree

Without a version an edit of its block is still read, but forgets nothing. Without a stamp the
file is read once more.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmem.mirror.files import Stamp


class State:
    """Stamps of files in step with the journal, and values under names.

    Several processes share it: change it under the lock, after `reload`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamps: dict[str, list[Any]] = {}
        self._values: dict[str, Any] = {}
        self._saved = ""
        self.reload()

    def reload(self) -> None:
        """Read what is kept now; nothing, if it is missing or damaged."""
        self._stamps, self._values, self._saved = {}, {}, ""
        with suppress(OSError, ValueError, TypeError, LookupError):
            self._saved = self._path.read_text("utf-8")
            found = json.loads(self._saved)
            self._stamps, self._values = dict(found["stamps"]), dict(found["values"])

    def save(self) -> None:
        """Write what changed; it matters little if that fails: files are read once more."""
        text = json.dumps({"stamps": self._stamps, "values": self._values}, sort_keys=True)
        if text != self._saved:
            with suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                _write(self._path, text)
                self._saved = text

    def in_step(self, path: str, stamp: Stamp) -> bool:
        """Whether the file held no unread edit when it had this stamp."""
        return self._stamps.get(path, [])[:3] == list(stamp)

    def moved(self, path: str) -> str:
        """Return the text to move below the block of a file in step when it is written."""
        return str(self._stamps[path][3])

    def set_in_step(self, path: str, stamp: Stamp | None, moved: str = "") -> None:
        """Record that the file, as it stands, holds no unread edit; None: that nobody knows."""
        if stamp:
            self._stamps[path] = [*stamp, moved]
        else:
            self._stamps.pop(path, None)

    def last_step(self, path: str) -> str:
        """Return a mark of the last time that the file held no unread edit."""
        return str(self._stamps.get(path))

    def value(self, name: str) -> Any:
        """Return a value of the caller's; None if there is none."""
        return self._values.get(name)

    def set_value(self, name: str, value: Any) -> None:
        """Set a value that JSON can hold."""
        self._values[name] = value


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all; a damaged one is thrown away, so it need not be durable."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
