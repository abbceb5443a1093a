"""A notes ref as anchor → lines: read it, compare two tips, append to it by compare and swap.

The tree is written with two levels of fan-out (``ab/cd/ef01…``) and read with any. Flat and fanned
entries for one object count as one set of lines, and are written back as one: C git aborts a merge
on a tree that names an object twice.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from gitmem.errors import RefMoved, Unavailable
from gitmem.journal.git.port import BLOB_MODE, TREE_MODE, Git, RefUpdate, TreeEntry

FAN_OUT = 2
PATIENCE = 60.0
"""Seconds to go on trying while other writers move the ref."""

STUCK = 5.0
"""Seconds after which a ref that nobody moves, and that cannot be moved, is taken for locked."""

_NOTE = re.compile(r"(?:[0-9a-f]{2}/)*[0-9a-f]+")
"""The path of a note at any fan-out."""

Additions = Mapping[str, Sequence[bytes]]
"""Lines to add: anchor (full hex) → lines without their newline."""


class Appended(NamedTuple):
    """What an append did: the tips before and after, and the lines that were not there before."""

    old: str | None
    new: str
    lines: tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class _Wanted:
    """Lines to add to one anchor, and those found in its other entries on the way down."""

    anchor: str
    new: Sequence[bytes]
    old: list[bytes]


class Race:
    """A compare and swap that is tried again for as long as it makes sense."""

    def __init__(self, what: str = "journal") -> None:
        self._what = what
        self._start = self._moved = time.monotonic()
        self._tip: str | None = None
        self._lost = 0

    def lost(self, tip: str | None, moved: RefMoved) -> None:
        """Wait a little before the next try from another tip than `tip`.

        Raises:
            Unavailable: it has been long enough; the message names the lock, if there is one.
        """
        now = time.monotonic()
        if tip != self._tip:
            self._tip, self._moved = tip, now
        if now - self._start > PATIENCE or now - self._moved > STUCK:
            raise Unavailable(
                f"the {self._what} cannot be written: {moved}",
                "if no git command is running, remove that '.lock' file and try again",
            ) from None
        self._lost += 1
        import random

        # The loser of a race waits a little, so that 20 writers do not lose it forever.
        time.sleep(random.uniform(0, min(0.05, 0.002 * 2 ** min(self._lost, 5))))


class NotesRef:
    """One notes ref of one repository, and the ref that keeps its last tip.

    While `kept` stands at the tip, an append moves both in one transaction.
    """

    def __init__(self, git: Git, name: str, kept: str) -> None:
        self._git = git
        self.name = name
        self.kept = kept
        self.layout = git.layout

    def tip(self) -> str | None:
        """Return the commit the ref stands at."""
        return self._git.ref(self.name)

    def read(self, tip: str) -> Iterator[tuple[str, bytes]]:
        """Yield (anchor, line) for every line at `tip`."""
        with self._whole():
            yield from self._lines(self._git.files(self._git.commit(tip).tree))

    def history(self, tip: str) -> Iterator[tuple[str, bytes]]:
        """Yield (anchor, line) for every line that a commit up to `tip` has, some repeatedly."""
        commits = list(self._git.walk(tip))
        trees = {commit.oid: commit.tree for commit in commits}
        notes: dict[tuple[str, str], None] = {}
        for commit in commits:
            before = trees.get(commit.parents[0]) if commit.parents else None
            changes = self._git.diff(before, commit.tree)
            notes |= {(change.path, change.new): None for change in changes if change.new}
        with self._whole():
            yield from self._lines(notes)

    def note(self, tip: str, anchor: str) -> list[bytes]:
        """Return the lines of one object at `tip`, at whatever fan-out they stand."""
        with self._whole():
            return list(dict.fromkeys(self._entries_of(self._git.commit(tip).tree, anchor)))

    def _entries_of(self, tree: str, rest: str) -> Iterator[bytes]:
        for entry in self._git.tree(tree):
            if entry.is_tree and len(entry.name) == 2 and rest.startswith(entry.name):
                yield from self._entries_of(entry.oid, rest[2:])
            elif entry.name == rest and not entry.is_tree:
                yield from split(self._git.blob(entry.oid))

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Say which object is missing: a partial clone may leave some out."""
        try:
            yield
        except KeyError as missing:
            raise Unavailable(
                f"'{str(missing.args[0])[:12]}', a part of '{self.name}', is not in this clone",
                f"get all of it: git fetch --refetch --no-filter origin {self.name}",
            ) from None

    def _lines(self, files: Iterable[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
        """Yield (anchor, line) for every line of the notes among `files`, (path, blob id) pairs."""
        anchors: dict[str, list[str]] = {}
        for path, oid in files:
            if anchor := self._anchor(path):
                anchors.setdefault(oid, []).append(anchor)
        for oid, content in self._git.blobs(list(anchors)):
            for anchor in anchors[oid]:
                for line in split(content):
                    yield anchor, line

    def added(self, old: str | None, new: str | None) -> list[tuple[str, bytes]]:
        """Return (anchor, line) pairs that `new` has and `old` lacks.

        Entries that are the same on both sides are not read: a line that `old` holds in another
        entry for the same object may be among the pairs.

        Raises:
            KeyError: one of the commits is not here any more.
        """
        if new is None or old == new:
            return []
        if old is None:
            return list(self.read(new))
        before, after = self._sides(old, new)
        return [
            (anchor, line)
            for anchor, lines in after.items()
            for line in lines
            if line not in before.get(anchor, ())
        ]

    def append(self, additions: Additions, message: str, author: str, at: int) -> Appended | None:
        """Add the lines that are not there yet, in one commit; None if all are.

        The ref moves by compare and swap; whoever loses the race begins again on the new tip.
        `author` is ``Name <email>``, `at` seconds since 1970.

        Raises:
            Unavailable: the ref is still contended after `PATIENCE` seconds, or locked for `STUCK`.
        """
        race = Race()
        while True:
            tip = self.tip()
            try:
                return self.append_at(tip, additions, message, author, at)
            except RefMoved as moved:
                race.lost(tip, moved)

    def append_at(
        self, tip: str | None, additions: Additions, message: str, author: str, at: int
    ) -> Appended | None:
        """Add the lines that `tip` lacks, if the ref still stands there; None if it lacks none.

        Raises:
            RefMoved: it does not, or is locked.
        """
        done = self.write(tip, additions, message, author, at)
        if done is None:
            return None
        moves = [RefUpdate(self.name, done.new, tip)]
        if self._git.ref(self.kept) == tip:
            # First: a transaction moves one ref after the other, and whoever looks in between must
            # not take the kept ref for one left behind, which every write after it would be too.
            moves.insert(0, RefUpdate(self.kept, done.new, tip))
        self._git.update_refs(moves, "gitmem: " + message.split("\n", 1)[0])
        return done

    def write(
        self,
        tip: str | None,
        additions: Additions,
        message: str,
        author: str,
        at: int,
        parents: Sequence[str] = (),
    ) -> Appended | None:
        """Write the commit that adds the lines `tip` lacks, and move no ref; None if none lack.

        A merge, which has `parents` given, is written also where none lack.
        """
        added: list[tuple[str, bytes]] = []
        wanted = {anchor: _Wanted(anchor, lines, []) for anchor, lines in additions.items()}
        with self._whole():
            tree = self._edit(self._git.commit(tip).tree if tip else None, wanted, added)
        if not (added or parents):
            return None
        parents = parents or ([tip] if tip else [])
        commit = self._git.write_commit(tree, parents, author, at, message)
        return Appended(tip, commit, tuple(added))

    def _edit(
        self,
        tree: str | None,
        wanted: Mapping[str, _Wanted],
        added: list[tuple[str, bytes]],
        depth: int = 0,
    ) -> str:
        """Write `tree` with lines added (by the rest of their path); note them in `added`."""
        entries = {entry.name: entry for entry in (self._git.tree(tree) if tree else ())}
        below: dict[str, dict[str, _Wanted]] = defaultdict(dict)
        for rest, want in wanted.items():
            if depth < FAN_OUT:
                want.old += self._take_flat(entries, rest)
                below[rest[:2]][rest[2:]] = want
                continue
            old = dict.fromkeys([*self._take(entries, rest), *want.old])
            new = [line for line in dict.fromkeys(want.new) if line not in old]
            added += [(want.anchor, line) for line in new]
            oid = self._git.write_blob(join([*old, *new]))
            entries[rest] = TreeEntry(rest, BLOB_MODE, oid)
        for name, deeper in below.items():
            entry = entries.get(name)
            subtree = entry.oid if entry and entry.is_tree else None
            oid = self._edit(subtree, deeper, added, depth + 1)
            entries[name] = TreeEntry(name, TREE_MODE, oid)
        return self._git.write_tree(entries.values())

    def _take_flat(self, entries: dict[str, TreeEntry], rest: str) -> list[bytes]:
        entry = entries.get(rest)
        if entry is None or entry.is_tree:
            return []
        del entries[rest]
        return split(self._git.blob(entry.oid))

    def _take(self, entries: dict[str, TreeEntry], rest: str) -> list[bytes]:
        """Remove an object's entries from a tree, also deeper ones, and return their lines."""
        lines = self._take_flat(entries, rest)
        deeper = entries.get(rest[:2])
        if deeper is not None and deeper.is_tree:
            inner = {entry.name: entry for entry in self._git.tree(deeper.oid)}
            before = dict(inner)
            found = self._take(inner, rest[2:])
            if inner != before:
                del entries[rest[:2]]
                if inner:
                    oid = self._git.write_tree(inner.values())
                    entries[rest[:2]] = TreeEntry(rest[:2], TREE_MODE, oid)
            lines += [line for line in found if line not in lines]
        return lines

    def _sides(self, old: str, new: str) -> tuple[dict[str, set[bytes]], dict[str, list[bytes]]]:
        """Return the lines of the anchors whose notes differ, in the old and in the new tip."""
        trees = self._git.commit(old).tree, self._git.commit(new).tree
        with self._whole():
            changes = self._git.diff(*trees)
            notes = [(anchor, x) for x in changes if (anchor := self._anchor(x.path))]
            oids = {oid for _, change in notes for oid in (change.old, change.new) if oid}
            content = dict(self._git.blobs(list(oids)))
        before: dict[str, set[bytes]] = defaultdict(set)
        after: dict[str, list[bytes]] = defaultdict(list)
        for anchor, change in notes:
            before[anchor] |= set(split(content[change.old])) if change.old else set()
            after[anchor] += split(content[change.new]) if change.new else []
        return before, after

    def _anchor(self, path: str) -> str | None:
        """Return the object a path of the notes tree stands for; None for any other file."""
        name = path.replace("/", "")
        return name if len(name) == self._git.layout.hex_length and _NOTE.fullmatch(path) else None


def split(content: bytes) -> list[bytes]:
    """Return the lines of a note, which end at 0x0A only: U+2028 is text."""
    return [line for line in content.split(b"\n") if line]


def join(lines: Iterable[bytes]) -> bytes:
    """Return the note that holds `lines`."""
    return b"".join(line + b"\n" for line in lines)
