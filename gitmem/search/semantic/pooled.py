"""One vector a text, in blocks: few enough rows that all of them can be looked at for a question.

6,000 vectors are read from 24 rows in 3 ms; a row each, beside the vectors of the tokens, took 18.
A block may hold texts that are out of use, or that another process embedded too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.search.database import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Half = NDArray[np.float16]

SCHEMA = ("CREATE TABLE blocks(number INTEGER PRIMARY KEY, digests BLOB, vectors BLOB)",)

DIGEST = 16
"""Bytes that name a text."""

BLOCK = 256
"""Texts of a full block."""

Block = tuple[list[bytes], "Half"]


class Pooled:
    """The vectors by the digest of their text, in a file that has `SCHEMA`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, vectors: Mapping[bytes, np.ndarray]) -> int:
        """Keep vectors of length 1, inside a transaction; returns the number of their block."""
        import numpy as np

        number, digests, raw = self._last()
        if len(digests) // DIGEST + len(vectors) > BLOCK:
            number, digests, raw = number + 1, b"", b""
        # The last one grows: whoever remembers now and then would have a block for each text.
        digests += b"".join(vectors)
        raw += np.stack([*vectors.values()]).astype(np.float16).tobytes()
        sql = "INSERT OR REPLACE INTO blocks VALUES(?,?,?)"
        self._db.execute(sql, (number, digests, raw))
        return number

    def of(self, places: Mapping[bytes, int]) -> dict[bytes, np.ndarray]:
        """Return the vectors of texts, given the block of each; float32, unknown ones left out."""
        import numpy as np

        found: dict[bytes, np.ndarray] = {}
        for number in sorted({*places.values()}):
            for digests, vectors in self._blocks(" WHERE number=?", (number,)):
                rows = zip(digests, vectors.astype(np.float32), strict=True)
                found |= {digest: row for digest, row in rows if places.get(digest) == number}
        return found

    def nearest(self, vector: np.ndarray) -> Iterator[tuple[bytes, float]]:
        """Yield every text and its cosine, the nearest first."""
        import numpy as np

        names: list[bytes] = []
        cosines = [np.zeros(0, np.float32)]
        for digests, vectors in self._blocks():  # one at a time: it stays in the processor's cache
            names += digests
            cosines.append(vectors.astype(np.float32) @ vector)
        scores = np.concatenate(cosines)
        for at in np.argsort(-scores, kind="stable").tolist():
            yield names[at], float(scores[at])

    def sweep(self) -> None:
        """Drop what is not among the texts, inside a transaction, and fill the blocks up."""
        used = dict(self._db.rows("SELECT digest, block FROM texts"))
        kept = self.of(used)
        self._db.execute("DELETE FROM blocks")
        names = [*kept]
        for start in range(0, len(names), BLOCK):
            some = names[start : start + BLOCK]
            number = self.add({name: kept[name] for name in some})
            rows = [(number, name) for name in some]
            self._db.executemany("UPDATE texts SET block=? WHERE digest=?", rows)

    def _last(self) -> tuple[int, bytes, bytes]:
        """Return the last block as it is stored; an empty first one where there is none."""
        sql = "SELECT number, digests, vectors FROM blocks ORDER BY number DESC LIMIT 1"
        found: tuple[int, bytes, bytes] = next(iter(self._db.rows(sql)), (1, b"", b""))
        return found

    def _blocks(self, which: str = "", args: Sequence[int] = ()) -> list[Block]:
        sql = f"SELECT digests, vectors FROM blocks{which}"
        found: list[Block] = self._db.rows(sql, args, _block)
        return found


def _block(digests: bytes, vectors: bytes) -> Block:
    """Raises ValueError where the bytes are no block."""
    import numpy as np

    names = [digests[at : at + DIGEST] for at in range(0, len(digests), DIGEST)]
    return names, np.frombuffer(vectors, np.float16).reshape(len(names), -1)
