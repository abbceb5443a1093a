"""Where the documents of a Whoosh index stand: in which group, after which other, how long.

Documents are numbered as the reader counts them. Each array has one place more than there are
documents, and -1, its last, stands for "no document": what is looked up there is nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float64]]
    Integers = np.ndarray[Any, np.dtype[np.int64]]

COLUMNS = {"group": "q", "position": "i", "length": "i"}
"""The columns that say it, and the type of each as `struct` writes it."""


class Layout:
    """The layout of one reader's documents.

    Attributes:
        count: how many documents there are, deleted ones included; `alive` without them.
        before: number of the document before, in the same group.
        after: number of the one after.
        group: number of the group; a document without one is a group of its own.
        length: terms of the text.
    """

    def __init__(self, reader: Any) -> None:
        import numpy as np

        columns = {name: _column(reader, name, code) for name, code in COLUMNS.items()}
        self.count = int(reader.doc_count_all())
        self.length: Floats = np.append(columns["length"], 0).astype(float)
        alive = np.ones(self.count, bool)
        alive[_deleted(reader)] = False
        self.length[:-1][~alive] = 0.0
        self.alive = int(alive.sum())
        hashes = columns["group"].astype(np.int64)
        alone = (hashes == 0) | ~alive
        group, named = _numbered(hashes)
        group[alone] = named + np.arange(int(alone.sum()))
        self.group: Integers = group
        self.groups = named + int(alone.sum())
        self.before, self.after = _neighbours(group, columns["position"])


def _numbered(hashes: Integers) -> tuple[Integers, int]:
    """Return the hashes numbered in their order, equal ones alike, and how many numbers there are.

    As `np.unique` does, which imports numpy.ma for it: 8 ms of a short command.
    """
    import numpy as np

    order = np.argsort(hashes)
    others = hashes[order[1:]] != hashes[order[:-1]]
    numbers = np.zeros(len(hashes), np.int64)
    numbers[order[1:]] = np.cumsum(others)
    return numbers, int(others.sum()) + bool(len(hashes))


def _neighbours(group: Integers, position: Integers) -> tuple[Integers, Integers]:
    import numpy as np

    before = np.full(len(group) + 1, -1)
    after = before.copy()
    order = np.lexsort((position, group))
    same = group[order[1:]] == group[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    after[order[:-1][same]] = order[1:][same]
    return before, after


def _deleted(reader: Any) -> list[int]:
    if not reader.has_deletions():
        return []
    every = set(range(reader.doc_count_all()))
    return sorted(every.difference(reader.all_doc_ids()))


def _column(reader: Any, name: str, code: str) -> Any:
    """Return a column as an array of integers.

    Whoosh hands a column out value by value, in Python: 100 ms for 100,000 documents. The bytes
    that it unpacks are these, and its version is pinned.
    """
    import numpy as np

    parts = []
    for leaf, _ in reader.leaf_readers():
        part = np.zeros(leaf.doc_count_all(), f">{_CODES[code]}")
        if leaf.has_column(name):
            raw = leaf.column_reader(name).raw_column()
            size = raw._count * raw._fixedlen
            values = np.frombuffer(raw._dbfile.get(raw._basepos, size), part.dtype)
            part[: len(values)] = values  # the last zeros are not written
        parts.append(part)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


_CODES = {"q": "i8", "i": "i4"}
