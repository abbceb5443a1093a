"""Vectors: one store after another, beside other processes, damaged, and in a real server."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from gitmem.errors import UsageError
from gitmem.search.base import Document, IndexMoved, IndexUnusable, Removed
from gitmem.search.semantic.vectors import Vectors, is_loopback

DIMENSION = 32


class Words:
    """Embeds a text as the sum of a random direction for each of its words."""

    name = "words"

    def pooled(self, documents: Sequence[Document]) -> np.ndarray:
        """Return one vector of unit length a document."""
        return np.stack([self._vector(document.embedded) for document in documents])

    def _vector(self, text: str) -> np.ndarray:
        found = np.zeros(DIMENSION, dtype=np.float32)
        for word in [*text.split(), ""]:
            found += np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSION)
        return found / np.linalg.norm(found)


class OtherWords(Words):
    """The same by another name."""

    name = "other words"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return where the store is."""
    return tmp_path / "vectors"


@pytest.fixture
def vectors(folder: Path) -> Vectors:
    """Return a store that has two documents."""
    store = Vectors(folder, Words())
    store.apply(DOCUMENTS, {"catalog": "1"}, {})
    return store


DOCUMENTS = [Document("a", "deploy on friday"), Document("b", "postgres is the database")]


def nearest(store: Vectors, text: str, limit: int = 5) -> list[str]:
    return [hit.id for hit in store.nearest(Words().pooled([Document("q", text)])[0], limit)]


def test_nothing_was_ever_written(folder: Path) -> None:
    store = Vectors(folder, Words())
    assert store.seen() == {} and nearest(store, "anything") == []
    store.clear()
    assert not folder.exists()


def test_the_nearest_comes_first(vectors: Vectors) -> None:
    found = vectors.nearest(Words().pooled([Document("q", "postgres is the database")])[0], 5)
    assert [hit.id for hit in found] == ["b", "a"]
    assert found[0].score == pytest.approx(1.0, abs=1e-5) and found[1].score < 0.9


def test_changes_are_taken_in(vectors: Vectors, folder: Path) -> None:
    changes = [Removed("a"), Document("b", "redis now"), Document("c", "more"), Removed("never")]
    vectors.apply(changes, {"catalog": "2"}, {"catalog": "1"})
    again = Vectors(folder, Words())
    assert again.seen() == {"catalog": "2"}
    assert nearest(again, "redis now") == ["b", "c"]


def test_the_last_change_of_a_document_counts(vectors: Vectors) -> None:
    changes = [Document("c", "one"), Removed("c"), Document("c", "two"), Document("a", "x")]
    vectors.apply([*changes, Removed("a")], {"catalog": "2"}, {"catalog": "1"})
    assert nearest(vectors, "two", 1) == ["c"] and "a" not in nearest(vectors, "x")


def test_changes_from_elsewhere_are_refused(vectors: Vectors) -> None:
    with pytest.raises(IndexMoved):
        vectors.apply([Removed("a")], {"catalog": "9"}, {"catalog": "8"})
    assert vectors.seen() == {"catalog": "1"} and len(nearest(vectors, "x")) == 2


def test_all_there_is_replaces_what_was_there(vectors: Vectors) -> None:
    vectors.apply([Document("z", "alone")], {"catalog": "3"}, {})
    assert nearest(vectors, "anything") == ["z"]


def test_another_embedder_begins_anew(vectors: Vectors, folder: Path) -> None:
    other = Vectors(folder, OtherWords())
    assert other.seen() == {}
    other.apply([Document("z", "alone")], {"catalog": "1"}, {})
    assert nearest(other, "anything") == ["z"]


def test_clear(vectors: Vectors) -> None:
    vectors.clear()
    assert vectors.seen() == {} and nearest(vectors, "deploy") == []


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_damaged_store_is_made_again(vectors: Vectors, folder: Path, size: int) -> None:
    vectors.close()
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(os.urandom(size))
    assert vectors.seen() == {} and nearest(vectors, "deploy") == []
    with suppress(IndexMoved):  # an empty file is a new store to SQLite
        vectors.apply(DOCUMENTS, {"catalog": "1"}, {})
    vectors.apply(DOCUMENTS, {"catalog": "1"}, {})
    assert nearest(vectors, "deploy on friday", 1) == ["a"]


def test_a_folder_that_others_control_is_refused(vectors: Vectors, folder: Path) -> None:
    folder.chmod(0o777)
    with pytest.raises(IndexUnusable, match="can be written by others"):
        nearest(vectors, "deploy")
    shutil.copytree(folder, folder.with_name("elsewhere"))
    shutil.rmtree(folder)
    folder.symlink_to(folder.with_name("elsewhere"))
    with pytest.raises(IndexUnusable, match="can be written by others"):
        nearest(vectors, "deploy")


def test_a_store_whose_file_is_lost_is_made_again(vectors: Vectors, folder: Path) -> None:
    vectors.close()
    for path in folder.iterdir():
        if path.name != "seen.json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(IndexMoved, match="0 vectors, not 2"):
        nearest(vectors, "deploy")
    assert vectors.seen() == {}


WRITER = """
import sys
from pathlib import Path
from tests.search.test_vectors import Words
from gitmem.search.base import Document, IndexMoved
from gitmem.search.semantic.vectors import Vectors

name, store = sys.argv[1], Vectors(Path(sys.argv[2]), Words(), patience=60)
print("ready", flush=True)
for turn in range(int(sys.argv[3])):
    while True:
        since = store.seen()
        try:
            store.apply([Document(f"{name}{turn}", f"{name} {turn}")], {**since, name: str(turn)},
                        since)
            break
        except IndexMoved:
            continue
"""


def writer(name: str, folder: Path, turns: int) -> subprocess.Popen[str]:
    """Start a process that writes one document after another."""
    command = [sys.executable, "-c", WRITER, name, str(folder), str(turns)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def test_two_writers_lose_nothing(vectors: Vectors, folder: Path) -> None:
    writers = [writer(name, folder, 8) for name in "mn"]
    assert [process.wait() for process in writers] == [0, 0]
    assert vectors.seen() == {"catalog": "1", "m": "7", "n": "7"}
    there = {f"{name}{turn}" for name in "mn" for turn in range(8)} | {"a", "b"}
    assert set(nearest(vectors, "m 3", 100)) == there


def test_a_writer_killed_at_any_moment_leaves_no_gap(vectors: Vectors, folder: Path) -> None:
    for turn in range(5):
        process = writer("k", folder, 10_000)
        time.sleep(0.1 + 0.07 * turn)
        process.send_signal(signal.SIGKILL)
        process.wait()
        said = vectors.seen()
        has = set(nearest(vectors, "k 1", 10_000))
        assert {f"k{number}" for number in range(int(said.get("k", -1)) + 1)} | {"a", "b"} <= has


# -- a server ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a real Chroma server."""
    chroma = Path(sys.executable).with_name("chroma")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = tmp_path_factory.mktemp("server")
    command = [chroma, "run", "--path", data, "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "the server did not start"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def test_a_server_serves(url: str, folder: Path) -> None:
    store = Vectors(folder, Words(), url)
    assert store.seen() == {}
    store.apply(DOCUMENTS, {"catalog": "1"}, {})
    store.apply([Removed("a")], {"catalog": "2"}, {"catalog": "1"})
    assert Vectors(folder, Words(), url).seen() == {"catalog": "2"}
    assert nearest(store, "postgres") == ["b"] and not folder.exists() and store.local
    other = Vectors(folder.with_name("of another repository"), Words(), url)
    assert other.seen() == {} and nearest(other, "postgres") == []
    store.clear()
    assert store.seen() == {}


def test_a_server_that_is_gone_is_said(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{free.getsockname()[1]}"
    store = Vectors(folder, Words(), gone)
    for ask in (store.seen, store.clear, lambda: nearest(store, "x")):
        with pytest.raises(IndexUnusable, match="does not answer"):
            ask()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:8000", True),
        ("http://127.0.0.1:8000", True),
        ("https://[::1]:8000", True),
        ("http://10.0.0.1:8000", False),
        ("https://chroma.example.com", False),
        ("http://localhost.example.com", False),
    ],
)
def test_what_is_this_machine(url: str, local: bool) -> None:
    assert is_loopback(url) == local


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://localhost", "http://", "/tmp"])
def test_what_is_no_server(url: str) -> None:
    with pytest.raises(UsageError):
        is_loopback(url)
