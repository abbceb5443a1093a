"""Vectors in Chroma: embedded under the derived folder, or in a server that was configured.

Two processes that write one embedded store lose vectors without a word, so one lock is held from
opening to closing. Chroma unpickles what it finds: like every index, the folder is used only while
it is ours alone. What it says of itself is written after the vectors: who dies in between leaves
vectors that are written again, never a gap.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from gitmem.errors import GitmemError, UsageError
from gitmem.search.base import Candidate, Change, Document, IndexMoved, IndexUnusable, Seen

if TYPE_CHECKING:
    import numpy as np

BATCH = 500
"""Documents embedded and written at once: below what Chroma takes, and few enough for ^C."""

PATIENCE = 10.0
"""Seconds to wait for another process that holds the store."""

_PAUSE = 0.02
_FORMAT = 1


class Embeds(Protocol):
    """What makes vectors: one of unit length a document. When `name` changes, all are made anew."""

    @property
    def name(self) -> str: ...

    def pooled(self, documents: Sequence[Document]) -> np.ndarray:
        """Return an array of shape (documents, dimension), float32."""
        ...


class Vectors:
    """One collection of vectors; see `search.base.Index`, but for what is searched: a vector."""

    def __init__(
        self, folder: Path, embedder: Embeds, url: str = "", patience: float = PATIENCE
    ) -> None:
        """Use the store in `folder`, or the Chroma server at `url` if that is given.

        `folder` names the collection in a server too, where others may have theirs.
        """
        self._folder = folder
        self._embedder = embedder
        self._url = url
        self._patience = patience
        self._made = f"{_FORMAT}:{embedder.name}"
        self._open: tuple[Any, Any, Any] | None = None  # client, collection, and its stamp

    @property
    def local(self) -> bool:
        """Whether what is written stays on this machine."""
        return not self._url or is_loopback(self._url)

    def seen(self) -> Seen:
        """Return what the store has caught up to; empty where it is missing, old or damaged."""
        if not self._url:
            return self._noted()
        with self._opened() as collection:
            return self._read_seen((collection.metadata or {}).get("about"))

    def apply(self, changes: Iterable[Change], seen: Seen, since: Seen) -> None:
        """Take in `changes` and record `seen`: see `Index.apply`."""
        with self._opened(anew=not since) as collection:
            about = (collection.metadata or {}).get("about") if self._url else None
            stands = self._read_seen(about) if self._url else self._noted()
            if stands == seen and since:
                return
            if since and stands != since:
                raise IndexMoved(f"the vectors in '{self._where}' are not where changes start from")
            latest = {change.id: change for change in changes}
            rest = iter(latest.values())
            while some := list(islice(rest, BATCH)):
                self._write(collection, some)
            self._note(collection, seen)

    def nearest(self, vector: np.ndarray, limit: int) -> list[Candidate]:
        """Return the `limit` documents whose vectors are nearest, with their cosines."""
        if limit < 1 or not (self._url or self._noted()):
            return []
        with self._opened() as collection:
            found = collection.query(
                query_embeddings=[vector], n_results=limit, include=["distances"]
            )
            pairs = zip(found["ids"][0], found["distances"][0], strict=True)
            return [Candidate(id, 1.0 - float(distance)) for id, distance in pairs]

    def clear(self) -> None:
        """Forget everything, `seen` included."""
        if self._url or self._folder.exists():
            with self._opened(anew=True) as collection:
                self._note(collection, {})

    def close(self) -> None:
        """Let go of the store; the next question opens it again."""
        if self._open is not None:
            client, self._open = self._open[0], None
            client.close()

    # -- inside -------------------------------------------------------------------------------

    @property
    def _where(self) -> str:
        return self._url or str(self._folder)

    @property
    def _notes(self) -> Path:
        """The file that says what the store holds: asking it needs no Chroma, 0.6 s to import."""
        return self._folder / "seen.json"

    def _noted(self) -> Seen:
        try:
            return self._read_seen(self._notes.read_text())
        except (OSError, UnicodeDecodeError):
            return {}

    def _read_seen(self, about: str | None) -> Seen:
        try:
            found = json.loads(about or "{}")
            return dict(found["seen"]) if found["made"] == self._made else {}
        except (ValueError, TypeError, KeyError):
            return {}

    def _note(self, collection: Any, seen: Seen) -> None:
        """Record `seen`: after what it speaks of."""
        count = collection.count()
        about = json.dumps({"made": self._made, "seen": dict(seen), "count": count})
        if self._url:
            collection.modify(metadata={"made": self._made, "about": about})
            return
        draft = self._notes.with_suffix(".new")
        draft.write_text(about)
        os.replace(draft, self._notes)
        if self._open is not None:
            self._open = (*self._open[:2], self._stamp())

    def _stamp(self) -> Any:
        """Return what changes whenever another process has written."""
        try:
            found = self._notes.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _write(self, collection: Any, changes: Sequence[Change]) -> None:
        documents = [
            change
            for change in changes
            if isinstance(change, Document)
            and change.embedded
            and (self.local or not change.private)
        ]
        kept = {document.id for document in documents}
        gone = [change.id for change in changes if change.id not in kept]
        if gone:
            collection.delete(ids=gone)
        if documents:
            vectors = self._embedder.pooled(documents)
            collection.upsert(ids=[document.id for document in documents], embeddings=vectors)

    @contextmanager
    def _opened(self, anew: bool = False) -> Iterator[Any]:
        """Yield the collection, emptied if `anew` or of another make.

        It stays open for the next question, until another process has written: opening takes 50 ms.

        Raises:
            IndexUnusable: there is no reaching or no reading it; what was damaged is gone.
        """
        with self._failing_clearly(), self._held():
            stamp = self._stamp()
            if self._open is not None and (anew or stamp != self._open[2]):
                self.close()
            if self._open is None:
                client = self._client()
                self._open = (client, self._collection(client, anew), stamp)
                if not anew:
                    self._check(self._open[1])
            yield self._open[1]

    def _check(self, collection: Any) -> None:
        """Compare with what was noted: a store that lost its file is no damage to Chroma."""
        if self._url or not self._noted():
            return
        noted, found = json.loads(self._notes.read_text()).get("count"), collection.count()
        if noted != found:
            raise ValueError(f"{found} vectors, not {noted}")

    def _collection(self, client: Any, anew: bool) -> Any:
        name = self._name()
        options: dict[str, Any] = {"embedding_function": None}
        found = client.get_or_create_collection(name, **options, **self._as_made())
        if anew or (found.metadata or {}).get("made") != self._made:
            client.delete_collection(name)
            found = client.get_or_create_collection(name, **options, **self._as_made())
        return found

    def _as_made(self) -> dict[str, Any]:
        return {"metadata": {"made": self._made}, "configuration": {"hnsw": {"space": "cosine"}}}

    def _name(self) -> str:
        if not self._url:
            return "gitmem"
        from hashlib import blake2b

        return f"gitmem-{blake2b(os.fsencode(self._folder.absolute()), digest_size=8).hexdigest()}"

    def _client(self) -> Any:
        import chromadb
        from chromadb.config import Settings

        quiet = Settings(anonymized_telemetry=False)
        if not self._url:
            return chromadb.PersistentClient(path=str(self._folder), settings=quiet)
        address = urlsplit(self._url)
        secure = address.scheme == "https"
        port = address.port or (443 if secure else 8000)
        host = address.hostname or ""
        return chromadb.HttpClient(host=host, port=port, ssl=secure, settings=quiet)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the store of this folder against other processes; a server needs no holding."""
        if self._url:
            yield
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise IndexUnusable(f"'{self._folder}' can be written by others", "remove it")
        lock = self._folder.with_name(f"{self._folder.name}.lock")
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(lock, flags, 0o600)
        try:
            self._acquire(handle)
            yield
        finally:
            os.close(handle)

    def _acquire(self, handle: int) -> None:
        for attempt in range(int(self._patience / _PAUSE) + 1):
            time.sleep(_PAUSE * bool(attempt))
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
        raise IndexUnusable(f"'{self._folder}' is in use by another process", "try again")

    @contextmanager
    def _failing_clearly(self) -> Iterator[None]:
        try:
            yield
        except GitmemError:
            raise
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise IndexUnusable(f"the vectors in '{self._where}' cannot be used: {why}") from error
        except Exception as error:  # Chroma, SQLite and HNSW raise what they like; vectors are
            # derived, so a store that cannot be read is deleted and made again.
            self._open = None
            if self._url:
                hint = "is it running? 'git config --unset gitmem.chroma.url' goes on without it"
                message = f"the Chroma server at '{self._url}' does not answer"
                raise IndexUnusable(f"{message} ({type(error).__name__})", hint) from error
            _forget_clients()
            shutil.rmtree(self._folder, ignore_errors=True)
            message = f"the vectors were damaged ({type(error).__name__}: {error})"
            raise IndexMoved(message, "they are made again at the next search") from error


def _forget_clients() -> None:
    """Let go of a client that failed to open: Chroma keeps it for whoever asks for that folder."""
    from chromadb.api.shared_system_client import SharedSystemClient

    SharedSystemClient.clear_system_cache()


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine.

    Raises:
        UsageError: it is no URL of a server.
    """
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageError(f"'{url}' is no URL of a Chroma server", "such as http://localhost:8000")
    try:
        return ip_address(address.hostname).is_loopback
    except ValueError:  # a name
        return address.hostname == "localhost"
