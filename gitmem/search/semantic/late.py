"""Token vectors of what can be found, and how close each is to a question (late interaction).

A disposable SQLite file. Vectors stand under the digest of their text, and a document points at
them: a branch that is left and come back to, a rebuilt catalog, or a process killed in the middle
costs no embedding twice. What no document points at any more is swept when it gets much.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.search.base import Candidate, Change, Closeness, Document, IndexMoved, Seen
from gitmem.search.database import Database
from gitmem.search.semantic import pooled
from gitmem.search.semantic.pooled import DIGEST, Pooled

SCALE = 127
"""What a vector of length 1 was multiplied with to be kept in bytes."""

if TYPE_CHECKING:
    import numpy as np

    from gitmem.search.semantic.embedding import Embedded, Embedder, QueryVectors

BATCH = 128
"""Texts embedded between two commits: what ^C or a crash may cost."""

NEAR, FAR = 0.9, 0.8
"""What a word counts that stands in a document beside this one, and in the one beside that."""

SPARE = 0.25
"""Share of the texts that may be out of use before they are swept."""

_SQL_VARIABLES = 500
_VOCABULARY = 1 << 16
_SCHEMA = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID",
    "CREATE TABLE texts(digest BLOB PRIMARY KEY, ids BLOB, tokens BLOB, block INT)",
    "CREATE TABLE documents(id TEXT PRIMARY KEY, digest BLOB, grp TEXT, position INT)",
    "CREATE INDEX documents_group ON documents(grp, position) WHERE grp != ''",
    "CREATE INDEX documents_digest ON documents(digest)",
    *pooled.SCHEMA,
)
_VERSION = 2

_BESIDE = [
    "(SELECT digest FROM documents WHERE this.grp != '' AND grp != '' AND grp = this.grp"
    f" AND position {than} this.position ORDER BY position {order} LIMIT 1 OFFSET {further})"
    for than, order in (("<", "DESC"), (">", "ASC"))
    for further in (0, 1)
]
"""Of a document in its group: the one before it, the one before that, and the same behind it."""

Progress = Callable[[int, int], None]
"""Called with how many texts are embedded, and of how many."""


class TokenStore:
    """The token vectors of documents; see `search.base.Index`, but for how one asks."""

    def __init__(
        self, path: Path, embedder: Embedder, progress: Progress = lambda done, all: None
    ) -> None:
        self._embedder = embedder
        self._progress = progress
        self._db = Database(path, _SCHEMA, _VERSION, lambda: None)
        self._pooled = Pooled(self._db)
        if self._get("embedder") != embedder.name.encode():
            self.clear()

    @property
    def name(self) -> str:
        """The name of what made the vectors."""
        return self._embedder.name

    @property
    def warnings(self) -> list[str]:
        """What was wrong with the file, a line each."""
        return self._db.warnings

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def seen(self) -> Seen:
        """Return what the store has caught up to; empty where it is new."""
        return dict(json.loads(self._get("seen") or b"{}"))

    def apply(self, changes: Iterable[Change], seen: Seen, since: Seen) -> None:
        """Take in `changes` and record `seen`: see `Index.apply`."""
        if self.seen() == seen:
            return
        latest = {change.id: change for change in changes}
        digests = {
            change.id: _digest(change.embedded)
            for change in latest.values()
            if isinstance(change, Document) and change.embedded
        }
        self._embed({digests[id]: latest[id] for id in digests})  # type: ignore[misc]
        self._db.run(lambda: self._record(latest, digests, seen, since))
        self._sweep()

    def clear(self) -> None:
        """Forget everything, `seen` included."""

        def forget() -> None:
            with self._db.transaction():
                for table in ("meta", "texts", "documents", "blocks"):
                    self._db.execute(f"DELETE FROM {table}")
                self._set("embedder", self._embedder.name.encode())

        self._db.run(forget)

    def closeness(self, query: QueryVectors, ids: Sequence[str]) -> dict[str, Closeness]:
        """Return how close each of some documents is to a question; unknown ones are left out."""
        import numpy as np

        around = self._around(ids)
        digests = list(dict.fromkeys(d for found in around.values() for d in found if d))
        if not digests:
            return {}
        similar = self._similar(query, digests)  # tokens of the query × texts
        weights = self._weights(query.ids)
        number: dict[bytes | None, int] = {digest: at for at, digest in enumerate(digests)}
        places = np.array([[number.get(d, -1) for d in found] for found in around.values()])
        padded = np.append(similar, np.zeros((len(similar), 1), similar.dtype), axis=1)
        this, before, second, after, later = (padded[:, column] for column in places.T)
        near = NEAR * np.maximum(before, after)
        far = FAR * np.maximum(second, later)
        means = (
            weights @ matrix
            for matrix in (
                this,
                np.maximum(this, before),
                np.maximum(this, np.maximum(near, far)),
            )
        )
        rows = zip(around, *(mean.tolist() for mean in means), strict=True)
        return {id: Closeness(*found) for id, *found in rows}

    def pooled(self, documents: Sequence[Document]) -> np.ndarray:
        """Return one vector a document, of unit length, float32; see `vectors.Vectors`."""
        import numpy as np

        texts = {_digest(document.embedded): document.embedded for document in documents}
        sql = "SELECT digest, block FROM texts WHERE digest IN"
        vectors = self._pooled.of(dict(self._select(sql, [*texts])))
        missing = [digest for digest in texts if digest not in vectors]
        made = self._embedder.documents([texts[digest] for digest in missing])
        vectors |= {digest: one.pooled for digest, one in zip(missing, made, strict=True)}
        return np.stack([vectors[_digest(document.embedded)] for document in documents])

    def count(self) -> int:
        """Return how many documents have vectors."""
        return int(self._db.value("SELECT count(*) FROM documents") or 0)

    def nearest(self, vector: np.ndarray, limit: int) -> list[Candidate]:
        """Return the `limit` documents whose vectors are nearest, with their cosines.

        All of them are looked at: 5 ms for 6,000. `vectors.Vectors` finds the same in an index.
        """
        found: list[Candidate] = []
        ranked = self._pooled.nearest(vector)
        while len(found) < limit and (some := dict(islice(ranked, limit))):
            rows = self._select("SELECT id, digest FROM documents WHERE digest IN", [*some])
            found += sorted(
                (Candidate(id, some[digest]) for id, digest in rows),
                key=lambda hit: (-hit.score, hit.id),
            )
        return found[:limit]

    # -- writing ------------------------------------------------------------------------------

    def _embed(self, documents: Mapping[bytes, Document]) -> None:
        """Make the vectors of texts that have none, and keep them, some at a time."""
        known = {
            row[0] for row in self._select("SELECT digest FROM texts WHERE digest IN", [*documents])
        }
        missing = [digest for digest in documents if digest not in known]
        waiting = iter(missing)
        done = 0
        while some := list(islice(waiting, BATCH)):
            self._progress(done, len(missing))
            made = self._embedder.documents([documents[digest].embedded for digest in some])
            self._keep(dict(zip(some, made, strict=True)))
            done += len(some)
        if missing:
            self._progress(done, len(missing))

    def _keep(self, made: Mapping[bytes, Embedded]) -> None:
        def keep() -> None:
            with self._db.transaction():
                block = self._pooled.add({digest: one.pooled for digest, one in made.items()})
                rows = [
                    (digest, one.ids.tobytes(), one.tokens.tobytes(), block)
                    for digest, one in made.items()
                ]
                self._db.executemany("INSERT OR IGNORE INTO texts VALUES(?,?,?,?)", rows)

        self._db.run(keep)

    def _record(
        self, latest: Mapping[str, Change], digests: Mapping[str, bytes], seen: Seen, since: Seen
    ) -> None:
        with self._db.transaction():
            stands = self.seen()
            if stands == seen:
                return
            if since and stands != since:
                raise IndexMoved("the token vectors are not where the changes start from")
            often = self._frequencies()
            if since:
                gone = list(latest)
            else:
                gone = [row[0] for row in self._db.rows("SELECT id FROM documents")]
            self._count(often, gone, -1)
            self._db.executemany("DELETE FROM documents WHERE id=?", ((id,) for id in gone))
            rows = [
                (id, digests[id], change.group, change.position)
                for id, change in latest.items()
                if isinstance(change, Document) and change.embedded
            ]
            self._db.executemany("INSERT INTO documents VALUES(?,?,?,?)", rows)
            self._count(often, list(digests), +1)
            self._set("frequencies", often.tobytes())
            self._set("seen", json.dumps(dict(seen)).encode())

    def _count(self, often: np.ndarray, ids: Sequence[str], by: int) -> None:
        """Add the tokens of documents to how many documents have each."""
        import numpy as np

        sql = "SELECT ids FROM documents JOIN texts USING(digest) WHERE id IN"
        for (tokens,) in self._select(sql, ids):
            often[np.frombuffer(tokens, np.uint16)] += by  # each is there once

    def _sweep(self) -> None:
        unused = "SELECT digest FROM texts WHERE digest NOT IN (SELECT digest FROM documents)"
        spare = int(self._db.value(f"SELECT count(*) FROM ({unused})") or 0)
        if spare <= SPARE * int(self._db.value("SELECT count(*) FROM texts") or 0):
            return

        def drop() -> None:
            with self._db.transaction():
                self._db.execute(f"DELETE FROM texts WHERE digest IN ({unused})")
                self._pooled.sweep()

        self._db.run(drop)

    # -- reading ------------------------------------------------------------------------------

    def _around(self, ids: Sequence[str]) -> dict[str, tuple[bytes | None, ...]]:
        """Return the digests of documents, each with the two before and the two after it."""
        sql = f"SELECT id, digest, {', '.join(_BESIDE)} FROM documents AS this WHERE id IN"
        return {id: digests for id, *digests in self._select(sql, ids)}  # type: ignore[misc]

    def _similar(self, query: QueryVectors, digests: Sequence[bytes]) -> np.ndarray:
        """Return the cosine of the closest token of each text, for each token of the query."""
        import numpy as np

        blobs = dict(self._select("SELECT digest, tokens FROM texts WHERE digest IN", digests))
        width = query.tokens.shape[1]
        lengths = [len(blobs[digest]) // width for digest in digests]
        joined = b"".join(blobs[digest] for digest in digests)
        tokens = np.frombuffer(joined, np.int8).reshape(-1, width).astype(np.float32)
        starts = np.cumsum([0, *lengths[:-1]])
        closest: np.ndarray = np.maximum.reduceat(tokens @ (query.tokens.T / SCALE), starts, axis=0)
        return closest.T

    def _weights(self, ids: np.ndarray) -> np.ndarray:
        """Return what each token of a query counts for: its idf, all together 1."""
        import numpy as np

        often = self._frequencies()[ids].astype(np.float64)
        count = self.count()
        weights: np.ndarray = np.log(1 + np.maximum(count - often + 0.5, 0) / (often + 0.5))
        weights /= weights.sum() or 1.0
        return weights

    def _frequencies(self) -> np.ndarray:
        import numpy as np

        found = self._get("frequencies")
        return np.frombuffer(found, np.int32).copy() if found else np.zeros(_VOCABULARY, np.int32)

    def _select(self, sql: str, keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _SQL_VARIABLES):
            some = keys[start : start + _SQL_VARIABLES]
            yield from self._db.rows(f"{sql} ({','.join('?' * len(some))})", some)

    def _get(self, key: str) -> bytes | None:
        found: bytes | None = self._db.value("SELECT value FROM meta WHERE key=?", (key,))
        return found

    def _set(self, key: str, value: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", (key, value))


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
