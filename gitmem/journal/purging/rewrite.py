"""A journal's history written anew without the lines about some memories.

What does not hold such a line keeps its id, byte for byte. What does keeps its author, its dates
and its place; only a signature goes, which would be wrong. The same history is always rewritten to
the same commits, so two clones that purge one memory need not merge.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from gitmem.errors import Unavailable
from gitmem.journal.codec import BrokenLine, decode
from gitmem.journal.git.objects import encode_tree
from gitmem.journal.git.port import TreeEntry
from gitmem.journal.git.raw import RawObjects
from gitmem.journal.purged import About

GONE = b"(purged)"
"""What stands in the place of a subject."""

VERBS = frozenset(
    "adopt card carry context edit evolve forget import link remember restore sync tag undo unlink"
    " untag update".split()
)
"""First words of subjects that tell nothing of a memory, and stay."""

TELLING = 16
"""Characters from which on a passage of a memory is looked for in the subjects of other commits."""

DEEPEST = 32
"""Levels of a notes tree: a note lies no deeper, at whatever fan-out."""

_FILES = (0o100644, 0o100755, 0o120000)
_SIGNED = re.compile(rb"(?m)^gpgsig(?:-sha256)? .*\n(?: .*\n)*")
_PARENT = re.compile(rb"(?m)^parent ([0-9a-f]+)\n")
_FIRST_WORD = re.compile(rb"[a-z]+")


class _Filtered(NamedTuple):
    """An object without the lines: its id (None: nothing is left), and what was dropped below."""

    oid: str | None
    dropped: frozenset[bytes]


class Rewriter:
    """Rewrites commits of one repository; what it has rewritten once it knows.

    `dropped` are the lines that were left out so far, `wrote` the old commits that brought them.
    """

    def __init__(self, raw: RawObjects, about: About) -> None:
        self._raw = raw
        self.about = about
        self._blobs: dict[str, _Filtered] = {}
        self._trees: dict[str, _Filtered] = {}
        self._commits: dict[str, str] = {}
        self._below: dict[str, frozenset[bytes]] = {}
        self._passages: list[bytes] = []
        self.dropped: set[bytes] = set()
        self.wrote: list[str] = []

    def rewrite(self, tip: str, hide: str | None = None) -> str:
        """Return the commit that takes the place of `tip`: itself where no such line is below it.

        What `hide` reaches is taken as it is. New objects are on disk after `RawObjects.flush`.
        """
        bounds = [tip, *([f"^{hide}"] if hide else [])]
        listed = self._raw.run("rev-list", "--topo-order", "--reverse", *bounds).decode().split()
        fresh = [oid for oid in listed if oid not in self._commits]
        for oid, _, data in self._raw.each(fresh):
            try:
                self._commits[oid] = self._commit(oid, data)
            except ValueError as error:  # somebody made objects that git would not
                message = f"'{oid[:12]}' of the journal is damaged: {error}"
                raise Unavailable(message, "see what `git fsck` says") from None
        return self._commits.get(tip, tip)

    def _commit(self, oid: str, data: bytes) -> str:
        head, _, message = data.partition(b"\n\n")
        head += b"\n"
        tree = head[5 : head.index(b"\n")].decode()
        parents = [parent.decode() for parent in _PARENT.findall(head)]
        filtered = self._tree(tree)
        self._below[oid] = filtered.dropped
        before: frozenset[bytes] = frozenset().union(
            *(self._below.get(parent, frozenset()) for parent in parents)
        )
        if new := filtered.dropped - before:
            self._note(oid, new)
        told = self._told(message, bool(new))
        moved = [self._commits.get(parent, parent) for parent in parents]
        if filtered.oid == tree and moved == parents and told == message:
            return oid
        kept = filtered.oid or self._raw.put("tree", b"")
        lines = [f"tree {kept}\n", *(f"parent {parent}\n" for parent in dict.fromkeys(moved))]
        rest = _SIGNED.sub(b"", _PARENT.sub(b"", head.partition(b"\n")[2]))
        return self._raw.put("commit", "".join(lines).encode() + rest + b"\n" + told)

    def _note(self, oid: str, lines: Collection[bytes]) -> None:
        self.wrote.append(oid)
        for line in sorted(set(lines) - self.dropped):
            self.dropped.add(line)
            self._passages += telling(line)

    def _told(self, message: bytes, wrote: bool) -> bytes:
        if not wrote and not any(passage in message for passage in self._passages):
            return message
        first = _FIRST_WORD.match(message)
        verb = first[0] + b": " if first and first[0].decode() in VERBS else b""
        return verb + GONE + b"\n"

    def _tree(self, oid: str, depth: int = 0) -> _Filtered:
        if depth > DEEPEST:
            return _Filtered(oid, frozenset())
        if oid not in self._trees:
            entries = self._raw.tree(oid)
            found = [self._entry(entry, depth) for entry in entries]
            dropped = frozenset[bytes]().union(*(each.dropped for each in found))
            self._trees[oid] = _Filtered(oid, dropped)
            if dropped:
                kept = [
                    TreeEntry(entry.name, entry.mode, each.oid)
                    for entry, each in zip(entries, found, strict=True) if each.oid
                ]  # fmt: skip
                new = self._raw.put("tree", encode_tree(kept)) if kept else None
                self._trees[oid] = _Filtered(new, dropped)
        return self._trees[oid]

    def _entry(self, entry: TreeEntry, depth: int) -> _Filtered:
        if entry.is_tree:
            return self._tree(entry.oid, depth + 1)
        if entry.mode not in _FILES:
            return _Filtered(entry.oid, frozenset())
        if entry.oid not in self._blobs:
            self._blobs[entry.oid] = self._blob(entry.oid)
        return self._blobs[entry.oid]

    def _blob(self, oid: str) -> _Filtered:
        lines = self._raw.get(oid)[2].split(b"\n")
        dropped = frozenset(line for line in lines if self.about(line))
        if not dropped:
            return _Filtered(oid, dropped)
        kept = b"\n".join(line for line in lines if line not in dropped)
        return _Filtered(self._raw.put("blob", kept) if kept.strip() else None, dropped)


def telling(line: bytes, least: int = TELLING) -> list[bytes]:
    """Return what would give an event's text away: the beginning of each line that is long enough.

    `least` is counted in characters.
    """
    try:
        fields = decode(line).fields
    except BrokenLine:
        return []
    said: list[str] = []
    todo = [fields.get(key) for key in ("text", "data", "reason")]
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            said += (part.strip() for part in value.split("\n"))
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    # A subject is cut at 72 characters, its verb included.
    return [part[:40].encode() for part in dict.fromkeys(said) if len(part) >= least]
