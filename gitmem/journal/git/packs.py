"""Deleting objects from a repository, loose and packed, and nothing else.

A pack cannot lose an object: those that stay are written into another one, which takes the old
one's age and marks, and only then is the old one removed. Files that are derived of packs and
commits (the multi-pack index, the commit graph) are made again where they named what is gone.

Who is killed leaves a pack twice, or half removed under a name that ends in `REMOVED`; the next
deletion ends that.
"""

from __future__ import annotations

import mmap
import os
import shutil
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gitmem.errors import Unavailable
from gitmem.journal.git.raw import RawObjects

REMOVED = ".removed"
"""Ending of the index of a pack that is being removed: without its index git knows no pack."""

_MARKS = (".keep", ".promisor")
_PARTS = (".pack", ".rev", ".bitmap", ".mtimes", *_MARKS)


def delete(raw: RawObjects, doomed: Sequence[str], since: float) -> list[str]:
    """Delete objects, in the order given, and return those that are still here.

    What was written or wanted again after `since` (seconds) stays: somebody may refer to it.

    Raises:
        Unavailable: a file cannot be deleted.
    """
    objects = raw.layout.common_dir / "objects"
    with _reported():
        _finish(objects / "pack")
        _rewrite_graph(raw, objects, doomed)
        for oid in doomed:
            path = _loose(objects, oid)
            if _age(path) <= since:
                path.unlink(missing_ok=True)
        _delete_packed(raw, objects / "pack", set(doomed), since)
        return [oid for oid in doomed if _loose(objects, oid).exists()] + _packed(objects, doomed)


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Unavailable(
            f"'{error.filename}' cannot be changed: {reason}", "check its owner and permissions"
        ) from None


def _loose(objects: Path, oid: str) -> Path:
    return objects / oid[:2] / oid[2:]


def _age(path: Path) -> float:
    """Return when a file was written or wanted last; 0 for none."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def written(raw: RawObjects, oid: str) -> float:
    """Return when an object was written or wanted last; 0 for one that is packed."""
    return _age(_loose(raw.layout.common_dir / "objects", oid))


# -- packs ----------------------------------------------------------------------------------------


class Ids:
    """Sorted ids in a file: 256 counts of those whose first byte is at most this, then the ids."""

    def __init__(
        self, data: bytes | mmap.mmap, fan: int, start: int, width: int, step: int
    ) -> None:
        self._data = data
        self._fan = fan
        self._start = start
        self._width = width
        self._step = step

    def _below(self, byte: int) -> int:
        at = self._fan + 4 * byte
        return int.from_bytes(self._data[at : at + 4]) if byte >= 0 else 0

    def _name(self, number: int) -> bytes:
        at = self._start + number * self._step
        return self._data[at : at + self._width]

    def has(self, oid: str) -> bool:
        """Whether an id is among them."""
        name = bytes.fromhex(oid)
        span = range(self._below(name[0] - 1), self._below(name[0]))
        found = bisect_left(span, name, key=self._name)
        return found < len(span) and self._name(span[found]) == name

    def __iter__(self) -> Iterator[str]:
        return (self._name(number).hex() for number in range(self._below(255)))


def _pack_index(path: Path, width: int) -> Ids:
    """Return the ids in a pack; its index is of version 1 or 2."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if data[:4] == b"\xfftOc":
        return Ids(data, 8, 8 + 1024, width, width)
    return Ids(data, 0, 1024 + 4, width, width + 4)


def _commit_graph(path: Path, width: int) -> Ids:
    """Return the ids in a commit graph."""
    data = path.read_bytes()
    rows = (data[at : at + 12] for at in range(8, 8 + 12 * data[6], 12))
    place = {row[:4]: int.from_bytes(row[4:]) for row in rows}
    return Ids(data, place[b"OIDF"], place[b"OIDL"], width, width)


def _indexes(folder: Path, width: int) -> Iterator[tuple[Path, Ids]]:
    for path in sorted(folder.glob("pack-*.idx")):
        # One that was repacked this moment is no more; an empty one git cannot read either.
        with suppress(FileNotFoundError, ValueError):
            yield path, _pack_index(path, width)


def _packed(objects: Path, doomed: Collection[str]) -> list[str]:
    width = len(next(iter(doomed), "")) // 2
    indexes = [index for _, index in _indexes(objects / "pack", width)] if width else []
    return [oid for oid in doomed if any(index.has(oid) for index in indexes)]


def _delete_packed(raw: RawObjects, folder: Path, doomed: set[str], since: float) -> None:
    width = raw.layout.hex_length // 2
    hit = [
        (path, index) for path, index in _indexes(folder, width)
        if any(map(index.has, doomed)) and _age(path.with_suffix(".pack")) <= since
    ]  # fmt: skip
    if not hit:
        return
    again = _drop_multi_pack_index(folder)
    for path, index in hit:
        _replace(raw, path, [oid for oid in index if oid not in doomed])
    if again:
        raw.history.attempt("multi-pack-index", "write", *again)
    if (folder.parent / "info" / "packs").exists():  # what a dumb server tells its clients
        raw.history.attempt("update-server-info")


def _replace(raw: RawObjects, index: Path, survivors: Sequence[str]) -> None:
    """Write the survivors of a pack into a new one, and remove the old one."""
    made = _write(raw, index.parent, survivors) if survivors else []
    old = index.with_suffix(".pack").stat()
    for new in made:
        for mark in _MARKS:
            if index.with_suffix(mark).exists():
                shutil.copy2(index.with_suffix(mark), new.with_suffix(mark))
        # Unreachable objects in it are as old as they were: `git gc` goes by that.
        os.utime(new, ns=(old.st_atime_ns, old.st_mtime_ns))
    if index.with_suffix(".pack") not in made:
        os.rename(index, index.with_suffix(REMOVED))
        _finish(index.parent)


def _write(raw: RawObjects, folder: Path, oids: Sequence[str]) -> list[Path]:
    options = ("-c", "pack.packSizeLimit=0", "pack-objects", "-q", "--delta-base-offset")
    wanted = "".join(f"{oid}\n" for oid in oids).encode()
    names = raw.run(*options, os.fsencode(folder / "pack"), input=wanted).decode().split()
    return [folder / f"pack-{name}.pack" for name in names]


def _finish(folder: Path) -> None:
    """End the removal of packs that was begun."""
    for index in folder.glob(f"pack-*{REMOVED}"):
        for part in _PARTS:
            index.with_suffix(part).unlink(missing_ok=True)
        index.unlink(missing_ok=True)


# -- what is derived of them ----------------------------------------------------------------------


def _drop_multi_pack_index(folder: Path) -> list[str]:
    """Remove an index over several packs, and return how to write it again; empty if none."""
    files = [*folder.glob("multi-pack-index*")]
    if not files:
        return []
    bitmaps = any(file.suffix == ".bitmap" for file in files)
    for file in files:
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink(missing_ok=True)
    return ["--bitmap"] if bitmaps else ["--no-bitmap"]


def _rewrite_graph(raw: RawObjects, objects: Path, doomed: Collection[str]) -> None:
    """Write the commit graph again if it names what is to go: `git fsck` would miss it."""
    info, width = objects / "info", raw.layout.hex_length // 2
    files = [info / "commit-graph", *(info / "commit-graphs").glob("graph-*.graph")]
    graphs = [_commit_graph(file, width) for file in files if file.exists()]
    if any(graph.has(oid) for graph in graphs for oid in doomed):
        bloom = any(b"BIDX" in file.read_bytes()[:256] for file in files if file.exists())
        split = [] if files[0].exists() else ["--split=replace"]
        paths = ["--changed-paths"] if bloom else []
        raw.run("commit-graph", "write", "--reachable", *split, *paths)
