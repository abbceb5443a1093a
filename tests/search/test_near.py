"""What is near: found alike by Chroma and by looking at every vector, and which is asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import gitmem
from gitmem.search import near
from gitmem.search.base import Document, Removed
from gitmem.search.database import Database
from gitmem.search.semantic.late import TokenStore
from gitmem.search.semantic.pooled import BLOCK, DIGEST, SCHEMA, Pooled
from gitmem.search.semantic.vectors import Vectors
from tests.search.embedders import HashEmbedder
from tests.support import git

WORDS = [f"{name}{number}" for name in ("cache", "queue", "index", "retry") for number in range(9)]


def documents(count: int, seed: int) -> list[Document]:
    chosen = random.Random(seed)
    return [Document(str(n), " ".join(chosen.choices(WORDS, k=6))) for n in range(count)]


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[TokenStore]:
    store = TokenStore(tmp_path / "tokens.sqlite", HashEmbedder())
    yield store
    store.close()


# -- the same, both ways ----------------------------------------------------------------------


def test_chroma_finds_what_looking_at_each_finds(tokens: TokenStore, tmp_path: Path) -> None:
    first, seen = documents(600, seed=1), {"catalog": "e:1"}
    changed = [Removed("5"), Document("6", "cache1 cache2"), Document("new", "retry8 retry7")]
    vectors = Vectors(tmp_path / "vectors", tokens)
    for index in (tokens, vectors):
        index.apply(first, seen, {})
        index.apply(changed, {"catalog": "e:2"}, seen)
    for asked in ("cache1 cache2", "retry8", "queue3 index4 retry5", "nothing of that"):
        pooled = HashEmbedder().query(asked).pooled
        looked, told = tokens.nearest(pooled, 50), vectors.nearest(pooled, 50)
        found = {hit.id: hit.score for hit in told}
        both = [hit for hit in looked if hit.id in found]
        assert len(both) >= 45, "Chroma's graph leads to nearly all of them"
        assert [hit.score for hit in both] == pytest.approx(
            [found[hit.id] for hit in both], abs=1e-3
        )
        assert looked[0].score == pytest.approx(told[0].score, abs=1e-3)
    assert "5" not in {hit.id for hit in tokens.nearest(pooled, 1000)}
    vectors.close()


def test_documents_of_one_text_are_all_near(tokens: TokenStore) -> None:
    twins = [Document(str(n), "the same words") for n in range(9)]
    tokens.apply([*twins, Document("other", "cache1")], {"catalog": "e:1"}, {})
    found = tokens.nearest(HashEmbedder().query("the same words").pooled, 9)
    assert [hit.id for hit in found] == [str(n) for n in range(9)]


def test_what_is_out_of_use_takes_no_place(tokens: TokenStore) -> None:
    tokens.apply(documents(100, seed=2), {"catalog": "e:1"}, {})
    gone = [Removed(str(n)) for n in range(20)]  # too few to be swept
    tokens.apply(gone, {"catalog": "e:2"}, {"catalog": "e:1"})
    found = tokens.nearest(HashEmbedder().query("cache1 retry2").pooled, 80)
    assert {hit.id for hit in found} == {str(n) for n in range(20, 100)}
    assert tokens.nearest(HashEmbedder().query("cache1").pooled, 0) == []


# -- who is asked -----------------------------------------------------------------------------


@pytest.fixture
def opened(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., gitmem.Gitmem]:
    monkeypatch.setattr(gitmem.Gitmem, "_embedder", lambda self: HashEmbedder())

    def open(backend: str = "program") -> gitmem.Gitmem:
        return gitmem.open(repo, backend=backend)  # type: ignore[arg-type]

    with open() as gm:
        gm.remember("Deploy on Friday is forbidden")
        gm.remember("The cache is redis")
    return open


def chroma(repo: Path) -> Path:
    return repo / ".git" / "gitmem" / "vectors"


def test_one_command_looks_for_itself_and_what_lives_on_asks_chroma(
    opened: Callable[..., gitmem.Gitmem], repo: Path
) -> None:
    with opened("program") as gm:
        brief = gm.search("redis forbidden", within=("memories",))
    assert brief.searched == ("semantic", "lexical") and not chroma(repo).exists()
    with opened("libgit2") as gm:
        lasting = gm.search("redis forbidden", within=("memories",))
    assert "vectors" in lasting.searched and chroma(repo).exists()
    assert [hit.key for hit in brief.hits] == [hit.key for hit in lasting.hits]


def test_of_many_documents_chroma_is_asked_but_never_in_haste(
    opened: Callable[..., gitmem.Gitmem], repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "LOOKED_THROUGH", 1)
    with opened("program") as gm:
        assert gm.recall("redis", threshold=0.0) and not chroma(repo).exists()
        assert "vectors" in gm.search("redis", within=("memories",)).searched


def test_a_server_that_was_set_up_is_asked(
    opened: Callable[..., gitmem.Gitmem], repo: Path
) -> None:
    git(repo, "config", "gitmem.chroma.url", "http://127.0.0.1:9")
    with opened("program") as gm:
        assert gm.search("redis", within=("memories",)).hits
        assert any("127.0.0.1:9" in line for line in gm.warnings)


def test_what_shares_no_word_is_near_all_the_same(
    opened: Callable[..., gitmem.Gitmem], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Synonyms(HashEmbedder):
        """What is shipped on a weekend is what is deployed on a Friday."""

        def query(self, text: str) -> object:  # type: ignore[override]
            return super().query(text.replace("weekend shipping", "deploy on friday is forbidden"))

    monkeypatch.setattr(gitmem.Gitmem, "_embedder", lambda self: Synonyms())
    with opened() as gm:
        (hit,) = gm.recall("weekend shipping", threshold=0.5)
    assert hit.memory is not None and hit.memory.summary == "Deploy on Friday is forbidden"


# -- blocks -----------------------------------------------------------------------------------


TEXTS = ("CREATE TABLE texts(digest BLOB PRIMARY KEY, block INT)",)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "blocks.sqlite", (*SCHEMA, *TEXTS), 1, lambda: None)
    yield made
    made.close()


def made(count: int, seed: int = 0) -> dict[bytes, np.ndarray]:
    chosen = np.random.default_rng(seed)
    rows = chosen.normal(size=(count, 4)).astype(np.float32)
    return {chosen.bytes(DIGEST): row / np.linalg.norm(row) for row in rows}


def keep(db: Database, vectors: dict[bytes, np.ndarray]) -> dict[bytes, int]:
    with db.transaction():
        block = Pooled(db).add(vectors)
        db.executemany("INSERT INTO texts VALUES(?,?)", ((name, block) for name in vectors))
    return dict.fromkeys(vectors, block)


def test_texts_that_come_one_by_one_fill_a_block(db: Database) -> None:
    every: dict[bytes, np.ndarray] = {}
    places: dict[bytes, int] = {}
    for seed in range(BLOCK + 1):
        one = made(1, seed)
        every |= one
        places |= keep(db, one)
    assert db.value("SELECT count(*) FROM blocks") == 2
    found = Pooled(db).of(places)
    assert all(np.allclose(found[name], every[name], atol=1e-3) for name in every)
    last = [*every][-1]
    assert next(Pooled(db).nearest(every[last]))[0] == last


def test_a_sweep_drops_what_is_no_text_and_fills_the_blocks(db: Database) -> None:
    every = [made(BLOCK, seed) for seed in range(3)]
    for some in every:
        keep(db, some)
    kept = [name for some in every for name in list(some)[: BLOCK // 3]]
    with db.transaction():
        marks = ",".join("?" * len(kept))
        db.execute(f"DELETE FROM texts WHERE digest NOT IN ({marks})", kept)
        Pooled(db).sweep()
    assert db.value("SELECT count(*) FROM blocks") == 1
    assert {name for name, _ in Pooled(db).nearest(np.ones(4, np.float32))} == {*kept}
    assert len(Pooled(db).of(dict(db.rows("SELECT * FROM texts")))) == len(kept)


def test_a_block_of_other_bytes_is_damage(db: Database) -> None:
    keep(db, made(3))
    db.execute("UPDATE blocks SET vectors=?", (b"\0" * 7,))
    assert list(Pooled(db).nearest(np.ones(4, np.float32))) == []
    assert any("is rebuilt" in line for line in db.warnings)


def test_nothing_is_near_where_nothing_is(db: Database) -> None:
    assert list(Pooled(db).nearest(np.ones(4, np.float32))) == []
    with db.transaction():
        Pooled(db).sweep()
