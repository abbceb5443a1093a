"""What `install` did to each file, so that `uninstall` can give back the bytes that were there.

Only the stretch that changed is kept, not the file: settings may hold keys. Where somebody changed
the file since, it says nothing, and each part takes out what it knows for its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Unavailable
from gitmem.verbs.setup import reported, write


class Entry(NamedTuple):
    """One file: the digest of what `install` wrote, and how to get back.

    `start` and `rest` are how many characters before and after the stretch stayed, `old` is what
    stood there, None if there was no file; `folders` were made for it, outermost first.
    """

    digest: str
    start: int
    old: str | None
    rest: int
    folders: list[str]

    @classmethod
    def of(cls, before: str | None, after: str, folders: list[str]) -> Entry:
        """Note a change."""
        old = before or ""
        start = len(os.path.commonprefix([old, after]))
        ends = [old[start:][::-1], after[start:][::-1]]
        rest = len(os.path.commonprefix(ends))
        gone = None if before is None else old[start : len(old) - rest]
        return cls(digest(after), start, gone, rest, folders)

    def undo(self, after: str) -> str | None:
        """Return what was there before `after`, which is what was written."""
        if self.old is None:
            return None
        return after[: self.start] + self.old + after[len(after) - self.rest :]


class Ledger:
    """The entries of one place, by agent and path."""

    def __init__(self, state: Path, agent: str) -> None:
        self._path = state / f"{agent}.json"
        self._entries = self._read()

    @property
    def paths(self) -> list[Path]:
        """The files that are noted."""
        return [Path(path) for path in self._entries]

    def find(self, path: Path, text: str | None) -> Entry | None:
        """Return the entry of a file that is as `install` left it."""
        entry = self._entries.get(str(path))
        return entry if entry and text is not None and digest(text) == entry.digest else None

    def known(self, path: Path) -> Entry | None:
        """Return the entry of a file, whatever became of it."""
        return self._entries.get(str(path))

    def note(self, path: Path, entry: Entry | None) -> None:
        """Write an entry down, or strike it out."""
        if entry is None and str(path) not in self._entries:
            return
        self._entries.pop(str(path), None)
        if entry is not None:
            self._entries[str(path)] = entry
        with reported():
            if self._entries:
                write(self._path, json.dumps(self._entries, indent=1))
            else:
                self._path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Entry]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return {path: Entry(*entry) for path, entry in found.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise Unavailable(f"cannot read '{self._path}': {error.strerror}") from None
        except (ValueError, TypeError, AttributeError):  # torn: each part still knows its own
            return {}


def digest(text: str) -> str:
    """Return the digest of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()
