"""WordPiece as BERT's uncased models have it: text in, numbers of a vocabulary out.

It gives what the `tokenizers` library gives, without its import, its threads, and its reading of
megabytes of which 256 tokens are kept.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

from gitmem.search.base import IndexUnusable

LIMIT = 256
"""Tokens of a text, the two around it included; the rest of a longer text is cut off."""

_BEGINNING = 1 << 16  # characters that are looked at: of a log of megabytes 256 tokens are kept
_LONGEST_WORD = 100  # characters; a longer one is as good as unknown
_LONGEST_PIECE = 18
_FEW = 40
"""Words looked up in the file as it is: a question has fewer, and the table takes 6 ms to make."""

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
    """A vocabulary, of which a file has one piece a line, and how text is cut into its pieces.

    Raises:
        IndexUnusable: the file cannot be read, or is no such vocabulary.
    """

    def __init__(self, vocabulary: Path) -> None:
        try:
            self._lines = b"\n" + vocabulary.read_bytes()
        except OSError as error:
            raise IndexUnusable(f"'{vocabulary}' cannot be read: {error.strerror}") from error
        special = {name: self._scan(f"[{name}]") for name in ("CLS", "SEP", "UNK")}
        numbers = [number for number in special.values() if number is not None]
        if len(numbers) < len(special):
            raise IndexUnusable(f"'{vocabulary}' is no vocabulary: it has no {', '.join(special)}")
        self._first, self._last, self.unknown = numbers
        self._words: dict[str, tuple[int, ...]] = {}

    @cached_property
    def pieces(self) -> list[str]:
        """The pieces by number; what continues a word begins with `##`."""
        return self._lines.decode("utf-8", "replace").split("\n")[1:-1]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return dict(zip(self.pieces, range(len(self.pieces)), strict=True))

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces, at most `LIMIT`, between [CLS] and [SEP]."""
        words = text[:_BEGINNING].translate(_PLAIN).split()
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
            return (self.unknown,)
        cut: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + _LONGEST_PIECE), start, -1):
                number = self._number(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self.unknown,)
            cut.append(number)
            start = end
        return tuple(cut)

    def _number(self, piece: str) -> int | None:
        return self._scan(piece) if len(self._words) < _FEW else self._numbers.get(piece)

    def punctuation(self, text: str) -> frozenset[int]:
        """Return the numbers of the marks of punctuation that stand in a text."""
        marks = {mark for mark in text.translate(_PLAIN) if is_punctuation(mark)}
        return frozenset(number for mark in marks if (number := self._scan(mark)) is not None)

    def _scan(self, piece: str) -> int | None:
        at = self._lines.find(b"\n%b\n" % piece.encode("utf-8", "replace"))
        return None if at < 0 else self._lines.count(b"\n", 0, at)


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
