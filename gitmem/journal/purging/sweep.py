"""Deleting what only a purged journal reached.

Candidates are what the old tips reached, and what writers left behind that lost a race: commits
made on an old tip, notes that hold a purged line. Of these go the ones that no ref, no index and no
reflog reaches any more, and that nothing else unreachable refers to: a dangling commit or a dropped
stash is somebody's, and all below it stays.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from gitmem.errors import GitFailed, Unavailable
from gitmem.journal.codec import BrokenLine, decode
from gitmem.journal.git import objects, packs
from gitmem.journal.git.port import TREE_MODE, TreeEntry
from gitmem.journal.git.raw import RawObjects

_ROUNDS = 5
_LARGEST = 32 * 2**20
"""Bytes of the largest unreachable blob that is looked into for purged lines."""

GRACE = 10.0
"""Seconds after which an unreachable note is no longer on its way into a journal."""

IsPurged = Callable[[bytes, bool], bool]
"""Whether a line was purged; the flag says that nobody can be about to write it into a journal."""

_EVERYTHING = ("--all", "--reflog", "--indexed-objects")
_LIST = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any")
_ORDER = ("commit", "tree", "blob")
"""Whoever reads meanwhile misses the commit first, and knows that its journal was rewritten."""


class Found(NamedTuple):
    """An unreachable object: its kind, its size, and what it refers to."""

    kind: str
    size: int
    refers: tuple[str, ...] = ()
    shaped: bool = False


def closure(raw: RawObjects, tips: Iterable[str]) -> set[str]:
    """Return what those commits reach that are here.

    Raises:
        GitFailed: a commit in their history is missing.
    """
    here = iter(sorted(raw.history.known({*tips})))
    found: set[str] = set()
    while some := [*islice(here, 1_000)]:  # a reflog may name more than a command line takes
        found.update(line.decode() for lines in raw.lines(*_LIST, *some) for line in lines)
    return found


def remains(raw: RawObjects, tips: Collection[str]) -> set[str]:
    """Return what commits reach, but for those below which somebody began to delete."""
    try:
        return closure(raw, tips)
    except GitFailed:
        if len(tips) == 1:
            return set()
    return set[str]().union(*(remains(raw, [tip]) for tip in tips))


def sweep(
    raw: RawObjects, old: Collection[str], is_purged: IsPurged, now: Callable[[], float]
) -> tuple[int, list[str]]:
    """Delete what of `old` nobody reaches; return how many objects went, and which had to stay.

    `old` are ids that the old tips reached; by `is_purged` what was left behind is known; `now`
    tells the time as the file system sees it.

    Raises:
        Unavailable: git cannot say what is reachable, or a file cannot be deleted.
    """
    gone = 0
    for attempt in range(_ROUNDS):
        time.sleep(0.05 * attempt)
        since = now()
        doomed, kept = _doomed(raw, set(old), is_purged, since)
        left = packs.delete(raw, doomed, since) if doomed else []
        gone += len(doomed) - len(left)
        if not left:
            return gone, kept
    raise Unavailable(
        f"{len(left)} objects with purged text are still here: git was busy with them",
        "run the same command again when no `git gc` is running",
    )


def _doomed(
    raw: RawObjects, old: set[str], is_purged: IsPurged, since: float
) -> tuple[list[str], list[str]]:
    """Return what can go, commits first, and what of `old` still has to stay."""
    reached: set[bytes] = set()
    for some in raw.lines(*_LIST, *_EVERYTHING):
        reached.update(some)
    loose = _unreachable(raw, reached)
    going = {oid for oid in old if oid in loose} | set(_notes(raw, loose, is_purged, since))
    _read(raw, loose, going)
    _follow(raw, loose, going)
    _protect(raw, loose, going)
    order = {kind: number for number, kind in enumerate(_ORDER)}
    doomed = sorted(going, key=lambda oid: (order[loose[oid].kind], oid))
    stay = [oid for oid in old if oid.encode() in reached or (oid in loose and oid not in going)]
    return doomed, stay


def _unreachable(raw: RawObjects, reached: Collection[bytes]) -> dict[str, Found]:
    format = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    found = {}
    for lines in raw.lines("cat-file", "--batch-all-objects", "--unordered", format):
        for line in lines:
            oid, kind, size = line.split(b" ")
            if oid not in reached:
                found[oid.decode()] = Found(kind.decode(), int(size))
    return found


def _notes(
    raw: RawObjects, loose: Mapping[str, Found], is_purged: IsPurged, since: float
) -> Iterator[str]:
    """Yield the blobs that hold a purged line and nothing but events."""
    blobs = [oid for oid, it in loose.items() if it.kind == "blob" and it.size <= _LARGEST]
    for oid, _, content in raw.each(blobs):
        parts = [line for line in content.split(b"\n") if line]
        settled = packs.written(raw, oid) < since - GRACE
        if any(is_purged(line, settled) for line in parts) and all(map(_is_event, parts)):
            yield oid


def _is_event(line: bytes) -> bool:
    try:
        decode(line)
    except BrokenLine:
        return False
    return True


def _read(raw: RawObjects, loose: dict[str, Found], going: Collection[str]) -> None:
    """Fill in what unreachable commits, trees and tags refer to; those going can wait."""
    wanted = [oid for oid, it in loose.items() if it.kind != "blob" and oid not in going]
    for oid, kind, data in raw.each(wanted):
        loose[oid] = _refers(raw, kind, data)


def _refers(raw: RawObjects, kind: str, data: bytes) -> Found:
    width = raw.layout.hex_length
    if kind == "tree":
        try:
            entries = objects.decode_tree(data, width // 2)
        except GitFailed:  # no tree that git wrote: nobody can use it
            return Found(kind, len(data))
        shaped = all(_in_notes(entry, width) for entry in entries)
        return Found(kind, len(data), tuple(entry.oid for entry in entries), shaped)
    head = data.partition(b"\n\n")[0]
    named = re.findall(rb"(?m)^(?:tree|parent|object) ([0-9a-f]+)$", head)
    return Found(kind, len(data), tuple(oid.decode() for oid in named))


def _in_notes(entry: TreeEntry, width: int) -> bool:
    """Whether an entry could be one of a notes tree."""
    if not re.fullmatch(r"[0-9a-f]+", entry.name) or len(entry.name) % 2:
        return False
    return (entry.mode == TREE_MODE) == (len(entry.name) == 2) and len(entry.name) <= width


def _follow(raw: RawObjects, loose: Mapping[str, Found], going: set[str]) -> None:
    """Add what writers left behind: trees of notes, and commits of such trees, on what goes."""
    rest = [oid for oid, it in loose.items() if it.kind in ("tree", "commit") and oid not in going]
    while fresh := [oid for oid in rest if _left_behind(raw, loose, oid, going)]:
        going.update(fresh)
        rest = [oid for oid in rest if oid not in going]


def _left_behind(raw: RawObjects, loose: Mapping[str, Found], oid: str, going: set[str]) -> bool:
    it = loose[oid]
    if going.isdisjoint(it.refers):
        return False
    if it.kind == "tree":
        return it.shaped
    tree = it.refers[0]
    return tree in going or (loose.get(tree) or _refers(raw, *raw.get(tree)[1:])).shaped


def _protect(raw: RawObjects, loose: dict[str, Found], going: set[str]) -> None:
    """Keep what anything unreachable refers to that stays."""
    todo = [ref for oid, it in loose.items() if oid not in going for ref in it.refers]
    while todo:
        oid = todo.pop()
        if oid in going:
            going.discard(oid)
            _, kind, data = raw.get(oid)
            if kind != "blob":
                todo += _refers(raw, kind, data).refers
