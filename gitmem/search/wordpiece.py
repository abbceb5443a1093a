"""WordPiece as BERT's uncased models have it: text in, numbers of a vocabulary out.

It gives what the `tokenizers` library gives, without its import, its threads, and its reading of
megabytes of which 256 tokens are kept.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from gitmem.search.base import IndexUnusable

LIMIT = 256
"""Tokens of a text, the two around it included; the rest of a longer text is cut off."""

_LONGEST_WORD = 100  # characters; a longer one is as good as unknown
_REMEMBERED = 1 << 16
_IDEOGRAPHS = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class WordPiece:
    """The words of a vocabulary, whose file has one piece a line, and how text is cut into them.

    Attributes:
        pieces: by number; what continues a word begins with `##`.

    Raises:
        IndexUnusable: the file cannot be read, or is no such vocabulary.
    """

    def __init__(self, vocabulary: Path) -> None:
        self.pieces = _lines(vocabulary)
        self._numbers = dict(zip(self.pieces, range(len(self.pieces)), strict=True))
        try:
            special = (self._numbers[f"[{name}]"] for name in ("CLS", "SEP", "UNK"))
            self._first, self._last, self._unknown = special
        except KeyError as error:
            raise IndexUnusable(f"'{vocabulary}' is no vocabulary: it lacks {error}") from error
        self._longest = max(map(len, self.pieces))
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces, at most `LIMIT`, between [CLS] and [SEP]."""
        words = text.translate(_PLAIN).split()
        pieces = chain.from_iterable(map(self._word, words))
        return [self._first, *islice(pieces, LIMIT - 2), self._last]

    def _word(self, word: str) -> tuple[int, ...]:
        found = self._words.get(word)
        if found is None:
            if len(self._words) >= _REMEMBERED:
                self._words.clear()
            found = self._words[word] = self._cut(word)
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut a word into the longest pieces there are, from its beginning; unknown: all of it."""
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        cut: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._numbers.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            cut.append(number)
            start = end
        return tuple(cut)


class _Plain(dict[int, str]):
    """What each character becomes: small, without accents, and apart where it is its own word."""

    def __missing__(self, code: int) -> str:
        plain = self[code] = _plain(chr(code))
        return plain


_PLAIN = _Plain()


def _plain(char: str) -> str:
    if char in "\t\n\r" or (char.isspace() and not _is_control(char)):
        return " "
    if char in "\0\ufffd" or _is_control(char):
        return ""
    plain = "".join(map(_apart, _letters(char)))
    return f" {plain} " if any(ord(char) in some for some in _IDEOGRAPHS) else plain


def _letters(char: str) -> Iterator[str]:
    for part in unicodedata.normalize("NFD", char):
        if unicodedata.category(part) != "Mn":
            yield from part.lower()


def _apart(char: str) -> str:
    return f" {char} " if is_punctuation(char) else char


def is_punctuation(char: str) -> bool:
    """Return whether a character is a word of its own: punctuation, or a symbol of ASCII."""
    return char in _ASCII_PUNCTUATION or unicodedata.category(char)[0] == "P"


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise IndexUnusable(f"the vocabulary '{file}' cannot be read: {error}") from error
    return text.removesuffix("\n").split("\n")
