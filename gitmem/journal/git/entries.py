"""Files of commits, and whether merging one commit into another would change them.

No working tree, no index: entries are compared, and only where both sides changed are contents
merged, as git would.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitmem.journal.git.history import Change, History, Side
from gitmem.journal.git.objects import encode
from gitmem.journal.git.spawn import GaveUp, Reader

_FILES = ("100644", "100755")
_TREES_KEPT = 512

Merge = tuple[str | None, str, str]
"""Blobs to be merged: the base, ours and theirs."""


class Undecidable(Exception):
    """An object that the answer needs is not in this clone, and is not fetched for it."""


class Entries:
    """Reads entries at paths, from one process that stays."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._reader = Reader(history.command, history.layout.git_dir, history.environ)
        self._trees: dict[tuple[str, str], bytes | None] = {}
        self._merges: dict[Merge, bool] = {}

    def close(self) -> None:
        """Stop the process."""
        self._reader.close()

    def changes_nothing(self, commit: str, changes: Sequence[Change]) -> bool:
        """Whether merging `changes` into `commit` leaves it as it is; a conflict does not.

        Raises:
            Undecidable: an object is not here.
        """
        both: list[Merge] = []
        for change in changes:
            answer = _has(self._side(commit, change.path), change)
            if answer is False:
                return False
            if answer is not True:
                both.append(answer)
        # What has been merged before, in vain, saves merging the rest.
        both.sort(key=lambda merge: self._merges.get(merge, True))
        return all(map(self._merges_to_ours, both))

    def _merges_to_ours(self, merge: Merge) -> bool:
        if merge not in self._merges:
            base, ours, theirs = (self._blob(oid) if oid else b"" for oid in merge)
            added = set(theirs.splitlines()) - set(base.splitlines())
            self._merges[merge] = (
                added.issubset(ours.splitlines())  # else there is no need to start git
                and self._history.merged(base, ours, theirs) == ours
            )
        return self._merges[merge]

    def _side(self, commit: str, path: str) -> Side | None:
        if "\n" in path:
            raise Undecidable(path)
        folder, _, name = path.rpartition("/")
        tree = self._tree(commit, folder)
        if tree is None:
            return None
        width = self._history.layout.hex_length // 2
        entry = re.search(rb"(\d{5,6}) " + re.escape(encode(name)) + rb"\0", tree)
        if entry is None:
            return None
        return Side(entry[1].decode().zfill(6), tree[entry.end() : entry.end() + width].hex())

    def _tree(self, commit: str, folder: str) -> bytes | None:
        key = commit, folder
        if key not in self._trees:
            if len(self._trees) >= _TREES_KEPT:
                self._trees.clear()
            found = self._ask(f"{commit}:{folder}")
            self._trees[key] = found[1] if found and found[0] == "tree" else None
            if self._trees[key] is None and not folder:
                raise Undecidable(commit)
        return self._trees[key]

    def _blob(self, oid: str) -> bytes:
        found = self._ask(oid)
        if found is None:
            raise Undecidable(oid)
        return found[1]

    def _ask(self, name: str) -> tuple[str, bytes] | None:
        try:
            (answer,) = self._reader.ask([name])
        except GaveUp:  # what a partial clone lacks
            return None
        return (answer[1], answer[2]) if answer else None


def _has(ours: Side | None, change: Change) -> bool | Merge:
    """Whether our side has a change already; a merge if only that can tell."""
    base, theirs = change.old, change.new
    if ours == theirs:
        return True
    if ours == base or ours is None or theirs is None:
        return False
    if ours.mode not in _FILES or theirs.mode not in _FILES:
        return False
    if theirs.mode not in (base.mode if base else theirs.mode, ours.mode):
        return False
    if ours.oid == theirs.oid or (base and theirs.oid == base.oid):
        return True
    if base and ours.oid == base.oid:
        return False
    return base.oid if base else None, ours.oid, theirs.oid
