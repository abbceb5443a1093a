"""Whether a value that something calls a password or a token is one, or stands for one.

No entropy: a value is judged by the characters it has, and by whether it consists of words.
"""

from __future__ import annotations

import re
import string
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from gitmem.text.secret_rules import data

FILLED = re.compile(r"(.)\1{7}")
"""What nobody's secret holds, but `AKIAXXXXXXXXXXXXXXXX` does."""

REFERENCE = re.compile(r"[$<{%\[@&*(]|\.{0,2}/(?!.*=$)|~/|[A-Za-z][\w+.-]*://|!\w+$")
"""How a variable, a placeholder, a path or an address begins."""

PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_A-Za-z]+")
SPELLED = re.compile(
    r"""
      [A-Z]?(?=[a-z]{0,4}[aeiouy])[a-z]{2,}+ | [A-Z]?[a-z]{2,4}(?![a-z]) | [A-Z][a-z](?![a-z])
    | (?=[A-Z]{0,4}[AEIOUY])[A-Z]{2,}+ | [A-Z]{2,4}(?![A-Z]) | [A-Za-z](?![A-Za-z])
    | (?:19|20)\d\d(?:\d{4})?(?!\d) | \d{1,3}(?!\d)
    """,
    re.VERBOSE,
)
"""What a name is spelled of: pronounceable words, abbreviations, years and small numbers."""

NAME = re.compile(r"[a-z]+\d{0,3}(?:[-_.][a-z]+\d{0,3}){2,}")
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]|$)")
LETTER = re.compile(r"[^\W\d_]")
MIXED = re.compile(r"(?=.*\d).*[^\W\d_]")
TOKEN = re.compile(r"[\w+/=.~-]+", re.ASCII)

LONG = re.compile(r"[!-;=?-[\]-z|~]+")  # a long one may have symbols, as Django's secret key does

SYMBOLS = frozenset(string.punctuation) - frozenset("-_.,:;/\\'\"`")


@dataclass(frozen=True, slots=True)
class Value:
    """A value: whether it stands in quotes, and whether only `prose` ("is") gives it its name."""

    text: str
    quoted: bool = True
    prose: bool = False


def filled(text: str) -> bool:
    """Return whether the rest of a token is no key: `xxxx…`, `your-token-here`."""
    return bool(FILLED.search(text) or NAME.fullmatch(text) or "..." in text or _of_words(text))


def is_url_password(value: Value) -> bool:
    """Return whether a URL's or a connection string's password is more than a placeholder."""
    text = value.text
    return not (_placeholder(text) or text.isdigit())


def is_password(value: Value) -> bool:
    """Return whether a value called a password is one: it mixes kinds of characters."""
    text = value.text
    symbols = not SYMBOLS.isdisjoint(text)
    plain = value.quoted and not value.prose  # then a symbol will do in place of a digit
    if len(text) < 6 or not (MIXED.match(text) or (plain and symbols and LETTER.search(text))):
        return False
    if value.prose and not (symbols or (_cases(text) and not _wordy(text))):
        return False
    return not (_placeholder(text) or _dotted(text) or DATE.match(text))


def is_secret(value: Value) -> bool:
    """Return whether a value called a token, secret or key is one: letters and digits, no words."""
    text = value.text
    return (
        len(text) >= 12
        and MIXED.match(text) is not None
        and (TOKEN if len(text) < 32 or not value.quoted else LONG).fullmatch(text) is not None
        and not (_placeholder(text) or _wordy(text) or DATE.match(text))
        and (value.quoted or not _dotted(text))
    )


def is_basic(value: Value) -> bool:
    """Return whether the value is base64 of `user:password`."""
    try:
        plain = b64decode(value.text, validate=True).decode()
    except (Error, UnicodeDecodeError):
        return False
    return ":" in plain and plain.isprintable()


CHECKS: Mapping[str, Callable[[Value], bool]] = {
    "basic": is_basic,
    "password": is_password,
    "secret": is_secret,
    "url": is_url_password,
}


def _placeholder(text: str) -> bool:
    lower = text.lower()
    return (
        REFERENCE.match(text) is not None
        or FILLED.search(text) is not None
        or len(set(text)) < 3
        or any(part in lower for part in data()["ordinary"]["within"])
        or (len(text) < 100 and _of_words(text))
    )


def _wordy(text: str) -> bool:
    """Return whether `text` is spelled as names are: `userToken_v2`, `Base64-encoded`."""
    numbers, pieces = re.findall(r"\d+", text), SPELLED.findall(text)
    scraps = len(text) >= 24 and len(text) < 4 * len(pieces)  # chance spells short words only
    return len(numbers) <= 3 and not scraps and not re.search(r"[^\W_]", SPELLED.sub("", text))


def _cases(text: str) -> bool:
    return text.lower() != text != text.upper()


def _dotted(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", text) is not None


def _of_words(text: str) -> bool:
    """Return whether `text` is ordinary words, digits and punctuation: `my-secret-token-123`."""
    pieces = [piece.lower() for piece in PIECE.findall(text)]
    return bool(pieces) and all(piece.isdigit() or _joined(piece) for piece in pieces)


def _joined(piece: str) -> bool:
    """Return whether `piece` is an ordinary word, or several without a space: `mypassword`."""
    if piece in _words() or len(piece) > 40:
        return piece in _words()
    reached = [True] + [False] * len(piece)
    for end in range(2, len(piece) + 1):
        reached[end] = any(
            reached[start] and piece[start:end] in _words() for start in range(end - 1)
        )
    return reached[-1]


@cache
def _words() -> frozenset[str]:
    return frozenset(data()["ordinary"]["words"])
