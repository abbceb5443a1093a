"""The store of token vectors: what is near, what it keeps, and what it survives."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gitmem.search.base import Document, IndexMoved, Removed
from gitmem.search.semantic.late import FAR, NEAR, TokenStore
from tests.search.embedders import HashEmbedder

ROOT = Path(__file__).resolve().parents[2]
TALK = [
    Document("q", "which database holds sessions", group="s", position=1),
    Document("a", "redis", group="s", position=2),
    Document("x", "thanks", group="s", position=3),
    Document("alone", "deploy on friday"),
]
NOW = {"catalog": "e:1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.sqlite"


@pytest.fixture
def store(path: Path) -> TokenStore:
    made = TokenStore(path, HashEmbedder())
    made.apply(TALK, NOW, {})
    return made


def close(store: TokenStore, question: str) -> dict[str, tuple[float, ...]]:
    found = store.closeness(HashEmbedder().query(question), [d.id for d in TALK])
    return {id: tuple(round(value, 2) for value in one) for id, one in found.items()}


def test_a_text_is_closest_to_itself(store: TokenStore) -> None:
    found = close(store, "deploy on friday")
    assert found["alone"] == (1.0, 1.0, 1.0)
    assert max(found["q"][0], found["a"][0], found["x"][0]) < 0.6


def test_what_stands_before_and_around_counts(store: TokenStore) -> None:
    found = close(store, "database")
    assert found["q"][0] == 1.0 > 0.5 > found["a"][0]
    assert found["a"][1] == 1.0  # an answer, by what it answers
    assert found["x"][1] < 0.5
    assert found["a"][2] == pytest.approx(NEAR, abs=0.01)
    assert found["x"][2] == pytest.approx(FAR, abs=0.01)
    assert found["alone"][2] == found["alone"][0]  # it stands alone


def test_rare_words_count_for_more(store: TokenStore) -> None:
    many = [Document(f"n{n}", "common words") for n in range(50)]
    store.apply([*many, Document("rare", "zebra")], {"catalog": "e:2"}, NOW)
    found = store.closeness(HashEmbedder().query("common zebra"), ["n1", "rare"])
    assert found["rare"].document > found["n1"].document


def test_a_question_without_a_known_token(store: TokenStore) -> None:
    nothing = (
        HashEmbedder()
        .query("x")
        ._replace(ids=np.zeros(0, np.uint16), tokens=np.zeros((0, 128), np.float32))
    )
    assert store.closeness(nothing, ["a"])["a"] == (0.0, 0.0, 0.0)
    assert store.closeness(HashEmbedder().query("x"), ["never"]) == {}
    assert store.closeness(HashEmbedder().query("x"), []) == {}


def test_a_text_is_embedded_once(path: Path) -> None:
    embedder = HashEmbedder()
    store = TokenStore(path, embedder)
    store.apply(TALK, NOW, {})
    assert embedder.asked == len(TALK)
    store.apply([Removed("alone")], {"catalog": "e:2"}, NOW)  # one leaves a branch …
    store.apply([TALK[3]], {"catalog": "e:3"}, {"catalog": "e:2"})  # … and comes back
    store.clear()
    assert embedder.asked == len(TALK)


def test_rounds_without_a_meaning_have_no_vectors(path: Path) -> None:
    embedder = HashEmbedder()
    store = TokenStore(path, embedder)
    store.apply([Document("tool", "100 lines of output", meaning="")], NOW, {})
    assert embedder.asked == 0 and store.seen() == NOW
    assert store.closeness(embedder.query("output"), ["tool"]) == {}


def test_who_speaks_is_a_part_of_what_is_said(store: TokenStore) -> None:
    said = Document("said", "yes", meaning="ada: yes")
    store.apply([said], {"catalog": "e:2"}, NOW)
    assert store.closeness(HashEmbedder().query("ada:"), ["said"])["said"].document > 0.9


def test_changes_from_elsewhere_are_refused(store: TokenStore) -> None:
    with pytest.raises(IndexMoved):
        store.apply([Removed("a")], {"catalog": "e:9"}, {"catalog": "e:8"})
    assert store.seen() == NOW and "a" in close(store, "redis")


def test_all_there_is_replaces_what_was_there(store: TokenStore) -> None:
    store.apply([Document("z", "alone")], {"catalog": "f:1"}, {})
    assert close(store, "alone") == {}
    assert store.closeness(HashEmbedder().query("alone"), ["z"])["z"].document > 0.9


def test_frequencies_follow_every_change(store: TokenStore, path: Path) -> None:
    store.apply([Document("a", "redis redis"), Removed("x")], {"catalog": "e:2"}, NOW)
    store.apply([Document("b", "redis")], {"catalog": "e:3"}, {"catalog": "e:2"})
    fresh = TokenStore(path.with_name("fresh.sqlite"), HashEmbedder())
    fresh.apply([TALK[0], TALK[3], Document("a", "redis redis"), Document("b", "redis")], NOW, {})
    one, other = (
        sqlite3.connect(file).execute("SELECT value FROM meta WHERE key='frequencies'").fetchone()
        for file in (path, path.with_name("fresh.sqlite"))
    )
    assert one == other


def test_another_embedder_begins_anew(store: TokenStore, path: Path) -> None:
    store.close()
    other = HashEmbedder()
    other.name = "others"
    again = TokenStore(path, other)
    assert again.seen() == {} and close(again, "redis") == {}


def test_what_is_no_longer_used_is_swept(store: TokenStore, path: Path) -> None:
    store.apply([Removed("q"), Removed("a")], {"catalog": "e:2"}, NOW)
    assert sqlite3.connect(path).execute("SELECT count(*) FROM texts").fetchone() == (2,)


def test_a_pooled_vector_is_that_of_the_text(store: TokenStore) -> None:
    embedder = HashEmbedder()
    new = Document("new", "never seen")
    for document, row in zip([TALK[1], new], store.pooled([TALK[1], new]), strict=True):
        [made] = embedder.documents([document.text])
        assert row @ made.pooled == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("damage", [b"", b"garbage " * 1000, b"SQLite format 3\0" + b"\0" * 5000])
def test_a_damaged_file_is_made_anew(store: TokenStore, path: Path, damage: bytes) -> None:
    store.close()
    for left in path.parent.glob("tokens.sqlite*"):
        left.unlink()
    path.write_bytes(damage)
    again = TokenStore(path, HashEmbedder())
    assert again.seen() == {}
    again.apply(TALK, NOW, {})
    assert close(again, "redis")["a"][0] == 1.0


WRITER = """
import sys
from pathlib import Path
from gitmem.search.base import Document
from gitmem.search.semantic.late import TokenStore
from tests.search.embedders import HashEmbedder
store = TokenStore(Path(sys.argv[1]), HashEmbedder())
print("ready", flush=True)
n = 0
while True:
    seen = store.seen()
    n = int(seen.get("catalog", "e:0").split(":")[1]) + 1
    documents = [Document(f"d{n}-{i}", f"text {n} {i}", group="g", position=n) for i in range(30)]
    store.apply(documents, {"catalog": f"e:{n}"}, seen)
"""


def test_a_writer_killed_at_any_moment_leaves_what_it_says(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for turn in range(5):
        command = [sys.executable, "-c", WRITER, str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        assert process.stdout and process.stdout.readline()
        time.sleep(0.02 * turn)
        process.send_signal(signal.SIGKILL)
        process.wait()
        store = TokenStore(path, HashEmbedder())
        last = int(store.seen().get("catalog", "e:0").split(":")[1])
        ids = [f"d{n}-{i}" for n in range(1, last + 3) for i in range(30)]
        assert len(store.closeness(HashEmbedder().query("text"), ids)) == 30 * last
        store.close()
