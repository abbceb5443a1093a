"""Mixed text as search terms: stemmed words, CJK bigrams, identifiers whole and split. Pure.

A *leaf* term is a word or a pair of characters and takes one position; other terms stand *beside*
a leaf, at its position. So ``src/getUser.py`` gives ``src/getuser.py`` beside the leaf ``src``,
``getuser.py``, ``get`` and ``user`` beside the leaf ``getuser``, and the leaf ``py``. A phrase is a
run of leaves, so letter case and punctuation do not matter to it.

English words are stemmed with Porter 2 (Snowball English): its predecessor, Whoosh's default,
makes ``runn`` of running. Scripts written without spaces become overlapping pairs of characters,
with each ideograph beside: on Chinese questions that finds a tenth more than pairs alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

from gitmem.text.whoosh import whoosh

VERSION = 1
"""Raised with every change to what `terms` yields: an index made by another one is rebuilt."""

LONGEST = 100
"""Characters of a term: a longer leaf is cut there, a longer identifier found by its parts only."""


class Term(NamedTuple):
    """A term, its position, and where it stands in the text, from `start` to `end`."""

    text: str
    position: int
    start: int
    end: int
    leaf: bool = True


def terms(text: str) -> Iterator[Term]:
    """Yield the terms of `text` in order; what stands beside a leaf comes just before it."""
    position = 0
    for chunk in _chunks(text.isascii()).finditer(text):
        said, start = chunk.group(), chunk.start()
        for term, at, end, leaf in _known(said) if len(said) <= LONGEST else _analysed(said):
            yield Term(term, position, start + at, start + end, leaf)
            position += leaf


def _analysed(chunk: str) -> tuple[tuple[str, int, int, bool], ...]:
    """Return (term, start, end, leaf) of each term in a chunk."""
    folded = ((fold(piece[: 4 * LONGEST]), piece, at, leaf) for piece, at, leaf in _pieces(chunk))
    return tuple(
        (stem(term[:LONGEST]), at, at + len(piece), leaf)
        for term, piece, at, leaf in folded
        if term and (leaf or len(term) <= LONGEST)
    )


_known = lru_cache(maxsize=1 << 15)(_analysed)
"""The same words come again and again: a chunk that was met needs no second look."""


def joined(text: str) -> str:
    """Return the terms of `text` in order, spaces between: four times as fast as `terms`."""
    found = map(_joined, _chunks(text.isascii()).findall(text))
    return " ".join([said for said in found if said])


@lru_cache(maxsize=1 << 15)
def _joined(chunk: str) -> str:
    return " ".join([term for term, *_ in _analysed(chunk)])


@lru_cache(maxsize=1 << 15)
def fold(text: str) -> str:
    """Return `text` as it is compared: case and compatibility forms folded, invisibles dropped."""
    if text.isascii():
        return text.lower()
    visible = re.sub(f"[{_INVISIBLE}]", "", text)
    return normalize("NFKC", normalize("NFKC", visible).casefold()).replace("’", "'")


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return the stem of a folded English word; anything else is returned as it is."""
    if not (word.isascii() and word.replace("'", "").isalpha()):
        return word
    return str(whoosh("lang.porter2").stem(word))


# -- the alphabet -----------------------------------------------------------------------------

_INVISIBLE = "\u00ad\u200b-\u200d\u2060\ufeff\ufe00-\ufe0f"  # soft hyphen, joiners, selectors

_SPACELESS = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3005-\u3007\u3031-\u3035\u3041-\u318f\u31a0-\u31ff"  # jamo, kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"  # Han, Hangul
    "\ufe00-\ufe0f\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)

_JOINT = r"[./\\@#:+&-]{1,3}"
_SIGIL = r"(?:(?<![\w./@#$-])(?:--|[#@$.]))?"  # --option, #482, @ada, $HOME, .env
_TAIL = r"(?:['’](?:s|t|re|ve|ll|d|m)(?!\w)|(?:\+\+|#)(?![\w#+]))?"  # user's, c++, c#


@cache
def _marks() -> str:
    """Return the combining marks: Python's \\w lacks them and would cut Hindi and NFD in pieces."""
    found = (chr(code) for code in range(0x300, 0x1D00) if category(chr(code)).startswith("M"))
    return "".join(found) + "\u1dc0-\u1dff\u20d0-\u20f0\u3099\u309a\ua8e0-\ua8f1\ufe20-\ufe2f"


@cache  # not compiled at import: the wide classes take milliseconds, and most text is ASCII
def _chunks(ascii: bool) -> re.Pattern[str]:
    word = r"\w+" if ascii else rf"[\w{_marks()}{_INVISIBLE}]+"
    return re.compile(f"{_SIGIL}{word}(?:{_JOINT}{word})*{_TAIL}")


@cache
def _spaceless() -> re.Pattern[str]:
    return re.compile(f"([{_SPACELESS}]+)")


@cache
def _character() -> re.Pattern[str]:
    return re.compile(rf".[{_marks()}{_INVISIBLE}\uff9e\uff9f]*", re.DOTALL)


# -- taking a chunk apart: each yields (piece, offset, leaf) ------------------------------------

_EDGES = "./\\@#:+&-_$"
_SEPARATORS = tuple(re.compile(p) for p in (r"[/\\]+", r"[@:&]+", r"[.#+]+", r"-+", r"_+"))
_PLAIN = re.compile(r"[A-Z]?[a-z]+(?:['’][a-z]+)?|[A-Z]+(?:['’][A-Za-z]+)?|\d+")
_RELEASE = re.compile(r"[vV]?(\d+(?:\.\d+)+)(?=$|[-+])")
_HUMP = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_NUMBERED = re.compile(r"([A-Za-z]{2,})(\d+)")

Piece = tuple[str, int, bool]


def _pieces(chunk: str) -> Iterator[Piece]:
    start = 0
    if chunk.isascii():
        yield from _words(chunk, start)
        return
    for turn, run in enumerate(_spaceless().split(chunk)):  # odd turns are spaceless
        yield from _pairs(run, start) if turn % 2 else _words(run, start)
        start += len(run)


def _pairs(run: str, start: int) -> Iterator[Piece]:
    """Overlapping pairs of characters with their marks, each ideograph beside: it can be a word."""
    spans = [match.span() for match in _character().finditer(run)]
    if len(spans) == 1:
        yield run, start, True
    for turn, ((begin, middle), (_, end)) in enumerate(zip(spans, spans[1:], strict=False), 2):
        if _is_ideograph(run[begin]):
            yield run[begin:middle], start + begin, False
        if turn == len(spans) and _is_ideograph(run[middle]):
            yield run[middle:end], start + middle, False
        yield run[begin:end], start + begin, True


def _is_ideograph(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or char >= "\U00020000"


def _words(token: str, start: int) -> Iterator[Piece]:
    """A word, or an identifier itself and then its parts, down to words."""
    if _PLAIN.fullmatch(token):
        yield token, start, True
    elif parts := _parts(token):
        yield token, start, False
        for part, at in parts:
            yield from _words(part, start + at)
    elif token.strip(_EDGES):
        for hump, at in _humps(token):
            yield hump, start + at, False
        yield token, start, True


def _parts(token: str) -> list[tuple[str, int]]:
    """Return [(part, offset)], cut at the outermost separators; [] for a single word."""
    bare = token.strip(_EDGES)
    if len(bare) < len(token):
        return [(bare, token.index(bare))] if bare else []
    if release := _RELEASE.match(token):
        if release.end() == len(token):
            return [(release[1], 1)] if release.start(1) else []
        rest = token[release.end() :].lstrip(_EDGES)
        return [(release[0], 0), (rest, len(token) - len(rest))]
    for separator in _SEPARATORS:
        cuts = [match.span() for match in separator.finditer(token)]
        if cuts:
            begins, ends = [0, *(end for _, end in cuts)], [*(at for at, _ in cuts), len(token)]
            spans = zip(begins, ends, strict=True)
            return [(token[at:end].rstrip(_EDGES), at) for at, end in spans]
    return []


def _humps(token: str) -> list[tuple[str, int]]:
    """Return the words in ``getUserName`` or ``sha256``; single characters say nothing."""
    if not token.isascii():
        return []
    if match := _NUMBERED.fullmatch(token):
        return [(match[1], 0), (match[2], match.start(2))]
    if token == token.lower():  # a hash, k8s or 3.11
        return []
    return [(m[0], m.start()) for m in _HUMP.finditer(token) if len(m[0]) > 1 and m[0] != token]
