"""WordPiece: what the `tokenizers` library makes of a text, this makes of it too."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from gitmem.search.base import IndexUnusable
from gitmem.search.semantic import wordpiece
from gitmem.search.semantic.wordpiece import LIMIT, WordPiece
from tests.search.embedders import MODEL, needs_model
from tests.sessions.samples import SHARED, needs_samples

ROOT = Path(__file__).parents[2]
Encode = Callable[[str], list[int]]

PIECES = """
    [PAD] [UNK] [CLS] [SEP] [MASK] the index indexes cat ##ches commit ##ted commits note ##s git
    ##mem un ##aff ##able naive cafe strasse ß ##ße 2026 20 ##26 . , - _ / ( ) ' " # ¿ … “ ” 日 本
    語 ##本 の ру ##сский з ##и й ##й σ ##σ οδος i ##i a ##a b ##b c ##c d ##d e ##e o ##o n ##n
    t ##t 1 ##1 한 ##한
""".split()


def is_settled(char: str) -> bool:
    """Whether `tokenizers`, which knows an older Unicode, has the same opinion of a character."""
    then, now = unicodedata.ucd_3_2_0.category(char), unicodedata.category(char)
    if then == "Cn":
        return now in ("Lo", "No", "So") and not unicodedata.decomposition(char)
    return then == now != "Cs"


SETTLED = [char for char in map(chr, range(sys.maxunicode + 1)) if is_settled(char)]


def made(pieces: Sequence[str]) -> Tokenizer:
    """Return the library's own BERT tokenizer over a vocabulary."""
    numbers = {piece: number for number, piece in enumerate(pieces)}
    model = models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [(name, numbers[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=special
    )
    return tokenizer


def encoder(tokenizer: Any) -> Encode:
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT)
    tokenizer.encode_special_tokens = True  # what somebody writes is text, "[SEP]" as well
    return lambda text: list(tokenizer.encode(text).ids)


@pytest.fixture(scope="module", params=["small", pytest.param("model", marks=needs_model)])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[WordPiece, Encode]:
    """Return ours and the library's, over a few pieces and over those of the model."""
    if request.param == "model":
        library = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        return WordPiece(MODEL / "vocab.txt"), encoder(library)
    file = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    file.write_text("\n".join(PIECES) + "\n", "utf-8")
    return WordPiece(file), encoder(made(PIECES))


def test_each_character_is_what_the_library_makes_of_it() -> None:
    library = made(PIECES)

    def words(text: str) -> list[str]:
        plain = library.normalizer.normalize_str(text)
        return [word for word, _ in library.pre_tokenizer.pre_tokenize_str(plain)]

    texts = ("a".join(SETTLED[start : start + 50]) for start in range(0, len(SETTLED), 50))
    wrong = [text for text in texts if text.translate(wordpiece._PLAIN).split() != words(text)]
    assert wrong == []
    assert len(SETTLED) > 100_000


TEXTS = st.lists(
    st.one_of(
        st.text(st.sampled_from(SETTLED), max_size=20),
        st.text(st.characters(max_codepoint=0x17F), max_size=20),
        st.sampled_from([*PIECES, *"Ä É İ Ǆ ﬁ ½ ①".split(), "x" * 100, "x" * 101, "\u0301", "##"]),
        st.sampled_from(" \t\n\r\x00\x0b\x0c\x85\xa0\u2028\u3000\u200b\ufeff\ufffd"),
    ),
    max_size=30,
).map("".join)


@given(text=TEXTS)
def test_a_text_is_cut_as_the_library_cuts_it(both: tuple[WordPiece, Encode], text: str) -> None:
    ours, library = both
    assert ours.encode(text) == library(text)


@given(text=TEXTS)
def test_the_table_of_pieces_says_what_the_file_says(
    both: tuple[WordPiece, Encode], text: str
) -> None:
    ours = both[0]
    assert list(map(ours._scan, text.split())) == list(map(ours._numbers.get, text.split()))


def pages() -> Iterator[str]:
    """Yield the texts of this checkout: prose, code, samples in other scripts."""
    for pattern in ("*.md", "docs/*.md", "gitmem/*/*.py", "tests/search/*.py", "tests/text/*.py"):
        for file in ROOT.glob(pattern):
            yield file.read_text("utf-8")


def passages(text: str, size: int = 700) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def test_real_text_is_cut_as_the_library_cuts_it(both: tuple[WordPiece, Encode]) -> None:
    ours, library = both
    cut = [passage for page in pages() for passage in passages(page)]
    assert len(cut) > 500
    assert [passage for passage in cut if ours.encode(passage) != library(passage)] == []


@needs_samples
def test_conversations_are_cut_as_the_library_cuts_them(both: tuple[WordPiece, Encode]) -> None:
    ours, library = both
    assert SHARED is not None
    files = sorted((SHARED / "locomo").glob("*.json"))
    said = [
        turn["text"]
        for file in files
        for part in json.loads(file.read_text("utf-8"))
        for turns in part["conversation"].values()
        if isinstance(turns, list)
        for turn in turns
    ]
    assert [text for text in said if ours.encode(text) != library(text)] == []


def test_what_is_longer_than_the_limit_is_cut_off(both: tuple[WordPiece, Encode]) -> None:
    ours, library = both
    for words in (LIMIT - 3, LIMIT - 2, LIMIT - 1, 10 * LIMIT):
        text = "the " * words
        assert len(ours.encode(text)) == min(words + 2, LIMIT)
        assert ours.encode(text) == library(text)


def test_half_a_surrogate_pair_is_left_out(both: tuple[WordPiece, Encode]) -> None:
    assert both[0].encode("the\ud83d index") == both[1]("the index")  # the library raises


def test_many_words_are_no_reason_to_keep_them_all(
    both: tuple[WordPiece, Encode], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, library = both
    monkeypatch.setattr(wordpiece, "_REMEMBERED", 50)
    for number in range(200):
        text = f"note{number} and {number}"
        assert ours.encode(text) == library(text)
        assert len(ours._words) <= 50


@needs_model
def test_no_piece_of_the_model_is_longer_than_what_is_tried() -> None:
    assert max(map(len, WordPiece(MODEL / "vocab.txt").pieces)) == wordpiece._LONGEST_PIECE


@pytest.mark.parametrize("content", [b"", b"\n\n", b"the\nindex\n", b"[CLS]\n[SEP]\n", b"\xff\xfe"])
def test_another_file_is_no_vocabulary(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "vocab.txt"
    with pytest.raises(IndexUnusable, match="cannot be read"):
        WordPiece(file)
    file.write_bytes(content)
    with pytest.raises(IndexUnusable, match="is no vocabulary"):
        WordPiece(file)
