"""What was written outlasts a ``git gc --prune=now`` that runs beside it.

Until a ref names them, such a gc deletes objects that were written a moment ago. Tried with eight
writers and forty gcs, three of eight clones ended with a journal that stood at a commit that was
gone, and no git could fetch into them any more. So objects stay in memory until a ref has moved,
and are written again if a gc may have been at them: as a pack, of which no gc takes anything that
a ref named before it began to look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from gitmem.errors import Unavailable
from gitmem.journal.git import objects
from gitmem.journal.git.port import Layout

LIMIT = 64 * 2**20
"""Bytes to hold; of what is larger (an import of conversations) the first is written once only."""


class Written:
    """Objects written since a ref last moved.

    `write` stores a pack; `gone` says whether one of the objects of these ids is missing.
    """

    def __init__(
        self,
        layout: Layout,
        write: Callable[[bytes], object],
        gone: Callable[[Sequence[str]], bool],
    ) -> None:
        self._layout = layout
        self._write = write
        self._gone = gone
        self._objects: dict[str, tuple[str, bytes]] = {}
        self._bytes = 0

    def note(self, oid: str, kind: str, data: bytes) -> None:
        """Remember an object that is being written."""
        if self._bytes > LIMIT:
            self.clear()
        if oid not in self._objects:
            self._objects[oid] = (kind, data)
            self._bytes += len(data)

    def before(self) -> None:
        """Write a pack, if a gc is running, before a ref moves."""
        if self._objects and gc_runs(self._layout):
            self._again()

    def after(self) -> None:
        """Write again what a gc has taken, or may yet, now that a ref has moved."""
        if self._objects and (gc_runs(self._layout) or self.lost()):
            try:
                self._again()
            except Unavailable:  # an error would say that nothing was written
                if self.lost():
                    raise
        self.clear()

    def retry(self) -> bool:
        """Write a pack, if something is gone, because a ref could not be moved."""
        lost = self.lost()
        if lost:
            self._again()
        return lost

    def lost(self) -> bool:
        """Whether an object is gone."""
        loose = self._layout.common_dir / "objects"
        elsewhere = [oid for oid in self._objects if not (loose / oid[:2] / oid[2:]).exists()]
        return bool(elsewhere) and self._gone(elsewhere)

    def clear(self) -> None:
        """Forget about all of them."""
        self._objects.clear()
        self._bytes = 0

    def _again(self) -> None:
        self._write(objects.pack(self._objects.values(), self._layout.object_format))


def gc_runs(layout: Layout) -> bool:
    """Whether a gc runs on this machine; one that was killed leaves its mark behind."""
    try:
        pid = (layout.common_dir / "gc.pid").read_bytes().split()[0]
        os.kill(int(pid), 0)
    except PermissionError:  # somebody else's
        return True
    except (OSError, OverflowError, ValueError, IndexError):
        return False
    return True
