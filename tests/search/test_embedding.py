"""Embedding: numpy and onnxruntime agree, what is stored of a document, and damaged weights."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.search.base import IndexUnusable
from gitmem.search.semantic import bulk, embedding
from gitmem.search.semantic.bulk import BATCH, ROOM, Bulk, batches
from gitmem.search.semantic.checked import USED
from gitmem.search.semantic.embedding import DATA, SCALE, Embedder, load
from gitmem.search.semantic.minilm import MiniLM
from gitmem.search.semantic.pins import MINILM
from gitmem.search.semantic.wordpiece import WordPiece
from tests.search.embedders import MODEL, HashEmbedder, needs_model

TEXTS = [
    "We decided on PostgreSQL because the team knows it.",
    "retry with back-off: `git fetch` fails behind the proxy (see #482)",
    "Ça marche à Zürich, 你好世界, привет",
    "",
    "ok",
    "the the of and",
    "?!",
    "src/app/cache.py " * 100,
    "x" * 300,
]
TASKS = Path("/proc/self/task")


@pytest.fixture(scope="module")
def model() -> Embedder:
    return load(MODEL)


def length(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(vectors.astype(np.float64), axis=-1))


# -- the model ------------------------------------------------------------------------------------

ALONE = """
import sys
from pathlib import Path
import chromadb
from gitmem.search.semantic.embedding import load
print(len([*load(Path(sys.argv[1])).documents([f"text {n}" for n in range(8)])]))
"""


@needs_model
def test_nobody_is_told_what_is_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An onnxruntime that reports to its maker keeps an identity and what it has to send."""
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        (tmp_path / f"its {name}").mkdir()
        monkeypatch.setenv(name, str(tmp_path / f"its {name}"))
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(MODEL)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "8\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [
        tmp_path / "home" / ".gitconfig"
    ]


@needs_model
def test_a_text_means_what_the_models_authors_publish(model: Embedder) -> None:
    first = [0.06765693, 0.06349593, 0.04871314, 0.07930495, 0.03744806, 0.00265273]
    text = "This is an example sentence"
    (embedded,) = model.documents([text])
    assert embedded.pooled[:6] == pytest.approx(first, abs=1e-6)
    assert model.query(text).pooled[:6] == pytest.approx(first, abs=1e-6)


@needs_model
def test_numpy_and_onnxruntime_make_the_same_of_each_token() -> None:
    words = WordPiece(MODEL / "vocab.txt")
    encoded = [words.encode(text) for text in TEXTS]
    one = MiniLM(MODEL / "model.safetensors")
    for number, states in Bulk(MODEL).states(encoded):
        assert states.shape == (len(encoded[number]), 384)
        np.testing.assert_allclose(states, one.states(encoded[number]), atol=2e-5)


@needs_model
def test_documents_come_in_their_order_whatever_they_are_embedded_with(
    model: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [next(model.documents([text])) for text in TEXTS]
    monkeypatch.setattr(embedding, "BUFFER", 4)
    monkeypatch.setattr(bulk, "BATCH", 3)
    together = list(model.documents(TEXTS))
    for apart, beside in zip(alone, together, strict=True):
        assert apart.ids.tolist() == beside.ids.tolist()
        np.testing.assert_allclose(apart.tokens, beside.tokens, atol=1)  # rounded
        np.testing.assert_allclose(apart.pooled, beside.pooled, atol=1e-5)


@needs_model
def test_no_more_is_embedded_than_is_asked_for(
    model: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BUFFER", 2)
    seen: list[str] = []

    class Watched(list[str]):
        def __getitem__(self, part: slice) -> list[str]:  # type: ignore[override]
            seen.extend(found := super().__getitem__(part))
            return found

    assert len(list(islice(model.documents(Watched(TEXTS)), 3))) == 3
    assert seen == TEXTS[:4]


@needs_model
def test_a_document_is_kept_small(model: Embedder) -> None:
    words = WordPiece(MODEL / "vocab.txt").pieces
    (found,) = model.documents(["We didn't use Redis, and the cache isn't warm: don't ask!"])
    (bare,) = model.documents(["We didn t use Redis and the cache isn t warm don t ask"])
    assert found.tokens.shape == bare.tokens.shape == (15, 128)
    assert {words[id] for id in found.ids} >= {"we", "didn", "t", "cache", ",", "!", "the"}
    assert found.ids.dtype == np.uint16 and len(set(found.ids)) == len(found.ids)
    assert found.tokens.dtype == np.int8
    assert length(found.tokens) == pytest.approx(SCALE, rel=0.01)
    assert found.pooled.dtype == np.float32 and length(found.pooled) == pytest.approx(1)


@needs_model
def test_a_question_keeps_all_its_words(model: Embedder) -> None:
    words = WordPiece(MODEL / "vocab.txt").pieces
    found = model.query("Where is the cache?")
    assert [words[id] for id in found.ids] == ["where", "is", "the", "cache"]
    assert found.ids.dtype == np.uint16 and found.tokens.dtype == np.float32
    assert length(found.tokens) == pytest.approx(1)
    assert length(found.pooled) == pytest.approx(1)


@needs_model
@pytest.mark.parametrize(("text", "tokens"), [("", 1), ("to be or not", 4), ("?!", 2), ("ok", 1)])
def test_something_is_kept_of_every_text(model: Embedder, text: str, tokens: int) -> None:
    (found,) = model.documents([text])
    assert found.tokens.shape == (tokens, 128) and len(found.ids) == tokens
    assert np.isfinite(found.pooled).all() and length(found.tokens) == pytest.approx(
        SCALE, rel=0.01
    )
    assert model.query(text).tokens.shape == (tokens, 128)


@needs_model
def test_of_a_long_text_the_beginning_counts(model: Embedder) -> None:
    cut, whole = model.documents(["index " * 254, "index " * 254 + "and something else"])
    assert cut.tokens.tolist() == whole.tokens.tolist()


@needs_model
def test_the_128_axes_keep_how_close_tokens_are(model: Embedder) -> None:
    """Of text that the axes were not fitted on: the figures are those of whole vectors."""
    words = WordPiece(MODEL / "vocab.txt")
    one = MiniLM(MODEL / "model.safetensors")
    question, text = "why was the queue moved?", TEXTS[0] + " The job queue went from Redis to it."
    whole = [one.states(words.encode(part))[1:-1] for part in (question, text)]
    said = whole[1] / length(whole[1])[:, None]
    asked = whole[0][:-1] / length(whole[0][:-1])[:, None]  # without the question mark
    (found,) = model.documents([text])
    kept = np.array([embedding._is_telling(words.pieces[id]) for id in words.encode(text)[1:-1]])
    small = model.query(question).tokens @ found.tokens.T.astype(np.float32) / SCALE
    assert np.corrcoef(small.ravel(), (asked @ said[kept].T).ravel())[0, 1] > 0.95


def test_the_axes_stand_square_on_each_other() -> None:
    axes = np.load(DATA / "projection.npy").astype(np.float64)
    np.testing.assert_allclose(axes @ axes.T, np.eye(128), atol=2e-3)


@needs_model
def test_other_axes_are_another_name(
    model: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load(MODEL).name == model.name
    axes = np.load(DATA / "projection.npy")
    np.save(tmp_path / "projection.npy", axes[::-1])
    monkeypatch.setattr(embedding, "DATA", tmp_path)
    assert load(MODEL).name != model.name


@needs_model
def test_a_question_loads_numpy_and_nothing_else() -> None:
    code = (
        "import sys; from pathlib import Path; from gitmem.search.semantic.embedding import load;"
        "load(Path(sys.argv[1])).query('Where is the cache?');"
        "print({'numpy', 'onnxruntime', 'tokenizers', 'chromadb', 'whoosh'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(MODEL)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "{'numpy'}"


@pytest.mark.skipif(not TASKS.is_dir(), reason="no /proc here that tells of threads")
def test_the_program_keeps_numpy_to_one_thread() -> None:
    code = (
        "import os, sys; from gitmem.__main__ import main\n"
        "sys.argv[1:] = ['--version']\n"
        "try: main()\n"
        "except SystemExit: import numpy; print(len(os.listdir('/proc/self/task')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "1"


# -- batches --------------------------------------------------------------------------------------


@given(st.lists(st.integers(2, 256), max_size=200))
def test_every_text_is_in_one_batch_beside_those_of_its_length(lengths: list[int]) -> None:
    made = list(batches(lengths))
    assert sorted(number for batch in made for number in batch) == list(range(len(lengths)))
    in_turn = [lengths[number] for batch in made for number in batch]
    assert in_turn == sorted(lengths, reverse=True)
    assert all(len(batch) <= BATCH and len(batch) * lengths[batch[0]] <= ROOM for batch in made)


# -- a model that is missing, cut short, or another -----------------------------------------------


def folder(path: Path) -> Path:
    """Make a folder whose files have the right sizes, and nothing else right."""
    for name, pin in MINILM.items():
        with (path / name).open("wb") as file:
            file.truncate(pin.size)
    return path


@pytest.mark.parametrize("name", ["vocab.txt", "model.safetensors"])
def test_a_model_that_is_missing_or_cut_short_is_said_at_once(tmp_path: Path, name: str) -> None:
    file = folder(tmp_path) / name
    load(tmp_path)
    with file.open("ab") as longer:
        longer.write(b"x")
    with pytest.raises(IndexUnusable, match=rf"{name}' has \d+ bytes, not {MINILM[name].size}"):
        load(tmp_path)
    file.write_bytes(b"")
    with pytest.raises(IndexUnusable, match=f"{name}' has 0 bytes"):
        load(tmp_path)
    file.unlink()
    with pytest.raises(IndexUnusable, match="cannot be read: No such file") as caught:
        load(tmp_path)
    assert "gitmem model install" in caught.value.hint


@pytest.mark.parametrize(
    "use", [lambda model: model.query("x"), lambda model: next(model.documents(["x"]))]
)
def test_other_files_of_the_same_size_are_said_when_they_are_used(
    tmp_path: Path, use: Callable[[Embedder], object]
) -> None:
    with pytest.raises(IndexUnusable, match=r"vocab\.txt' is another file: its sha256 starts '"):
        use(load(folder(tmp_path)))


@needs_model
def test_a_model_changed_in_place_is_noticed_and_otherwise_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in USED:
        shutil.copy(MODEL / name, tmp_path)
    load(tmp_path).query("x")
    with monkeypatch.context() as patched:
        patched.setattr("hashlib.file_digest", lambda *_: pytest.fail("it was read again"))
        load(tmp_path).query("x")
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        file.write(bytes(100))
    for _ in range(2):
        with pytest.raises(IndexUnusable, match=r"model\.safetensors' is another file") as caught:
            load(tmp_path).query("x")
    assert "gitmem model install" in caught.value.hint


def tensors(header: object) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text


WRONG = [
    b"",
    b"short",
    b"\xff" * 100,
    tensors([]),
    tensors({"x": {"dtype": "F32"}}),
    tensors({"x": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}),
    tensors({"x": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}),
    tensors({"x": {"dtype": "F32", "shape": "two", "data_offsets": [0, 0]}}),
    tensors({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}) + bytes(8),
    tensors({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}) + bytes(8),
]


@pytest.mark.parametrize("data", WRONG, ids=range(len(WRONG)))
def test_what_holds_no_such_weights_is_said(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(data)
    with pytest.raises(IndexUnusable, match=r"model\.safetensors'"):
        MiniLM(file)


@given(st.binary(max_size=200))
def test_no_bytes_are_a_surprise(tmp_path: Path, data: bytes) -> None:
    test_what_holds_no_such_weights_is_said(tmp_path, data)


# -- the stand-in for other tests -----------------------------------------------------------------


def test_the_embedder_of_the_tests_is_like_the_model() -> None:
    model: Embedder = HashEmbedder()
    for text, found in zip(TEXTS, model.documents(TEXTS), strict=True):
        asked = model.query(text)
        assert found.tokens.shape == asked.tokens.shape and found.tokens.shape[1] == 128
        assert {*found.ids} == {*asked.ids}
        assert length(found.pooled) == pytest.approx(1)
    one, same, other = model.documents(["Redis cache", "cache redis", "warm"])
    assert one.pooled @ same.pooled == pytest.approx(1) and abs(one.pooled @ other.pooled) < 0.5
