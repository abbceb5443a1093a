"""The language of ``--where``: conditions on fields, joined by AND, OR, NOT and parentheses.

::

    kind = decision AND tag IN (a, b) AND created_at > 2026-01-01 AND branch LIKE 'feature/%'

    either    = both { OR both }
    both      = single { AND single }
    single    = NOT single | "(" either ")" | condition
    condition = field ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
              | field [NOT] LIKE value
              | field [NOT] IN "(" value { "," value } ")"
              | field IS [NOT] NULL
              | field                                 (one that is true or false)
    value     = 'quoted' | "quoted" | bare            (a quote within is written twice)

A field is one of `fields.FIELDS`; words in capitals may be in small letters too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, NoReturn
from unicodedata import combining, east_asian_width

from gitmem.errors import UsageError
from gitmem.search.conditions.condition import All, Condition, Either, Is, Not
from gitmem.search.conditions.fields import (
    EMPTY,
    EQUALS,
    FIELDS,
    LIKE,
    ORDERED,
    Expected,
    Field,
    Flag,
)

LONGEST = 10_000
"""Characters of a condition: SQLite takes no pattern of more than 50,000 bytes."""

MOST = 200
"""Values and fields in a condition: as SQL it may be 1,000 operators deep."""

DEEPEST = 20
"""Parentheses and NOTs within one another: each takes three of the 100 places that SQLite has."""

END = "end"
KEYWORDS = frozenset("AND OR NOT IN LIKE IS NULL".split())
EXAMPLE = "for example: kind = decision AND created_at > 30d"

_TOKEN = re.compile(
    r"""
    (?P<space> \s+ )
    | (?P<quoted> '(?:[^']|'')*' | "(?:[^"]|"")*" )
    | (?P<mark> <= | >= | != | <> | == | [=<>(),] )
    | (?P<word> (?: [^\s(),'"=<>!] | !(?!=) | (?<=\w)'(?=\w) )+ )
    | (?P<open> ['"] )
    """,
    re.VERBOSE | re.DOTALL,
)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_OPERATORS = {
    **dict.fromkeys(("=", "==", "!=", "<>", "IN"), EQUALS),
    **{operator: operator for operator in ORDERED},
    "LIKE": LIKE,
    "IS": EMPTY,
}
_ALIASES = {"tags": "tag", "created": "created_at", "updated": "updated_at"}
_SHOWN = 60  # characters of the condition in a hint
_SHOWN_WORD = 30


def parse(text: str, now: datetime) -> Condition:
    """Read a condition; ages such as ``7d`` are counted from `now`.

    Raises:
        UsageError: it is none; the hint shows it with a caret below the place.
    """
    if len(text) > LONGEST:
        raise UsageError(f"the condition is longer than {LONGEST:,} characters", EXAMPLE)
    if not text.strip():
        raise UsageError("the condition is empty", EXAMPLE)
    return _Parser(text, now).whole()


class _Token(NamedTuple):
    """A token and where it stands; `kind` is a group of `_TOKEN`, or `END`."""

    kind: str
    text: str
    at: int

    @property
    def keyword(self) -> str:
        """The keyword it is, in capitals, the mark, or `END`; else empty."""
        if self.kind in ("mark", END):
            return self.text or END
        word = self.text.upper()
        return word if self.kind == "word" and word in KEYWORDS else ""


class _Parser:
    """One reading of one text, from its start to its end."""

    def __init__(self, text: str, now: datetime) -> None:
        self._text = text
        self._now = now
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0
        self._count = 0

    def whole(self) -> Condition:
        found = self._either()
        self._need(END, "AND, OR or the end")
        return found

    # -- the grammar --------------------------------------------------------------------------

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._take("OR"):
            parts.append(self._both())
        return Either(tuple(parts)) if len(parts) > 1 else parts[0]

    def _both(self) -> Condition:
        parts = [self._single()]
        while self._take("AND"):
            parts.append(self._single())
        return All(tuple(parts)) if len(parts) > 1 else parts[0]

    def _single(self) -> Condition:
        opened = self._token
        if opened.keyword not in ("NOT", "("):
            return self._condition()
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(f"at most {DEEPEST} parentheses and NOTs within one another")
        self._next += 1
        if opened.keyword == "NOT":
            found: Condition = Not(self._single())
        else:
            found = self._either()
            self._need(")", "AND, OR or ')'")
        self._depth -= 1
        return found

    def _condition(self) -> Condition:
        name = self._field()
        field = FIELDS[name]
        if isinstance(field, Flag) and self._token.keyword in ("AND", "OR", ")", END):
            return Is(name, EQUALS, (1,))
        denied = self._take("NOT")
        token = self._token
        operator = _OPERATORS.get(token.keyword, "")
        if operator not in field.operators or (denied and token.keyword not in ("IN", "LIKE")):
            self._refuse(_spelled(field.operators))
        self._next += 1
        values: tuple[Any, ...] = ()
        if operator == EMPTY:
            denied = self._take("NOT")
            self._need("NULL", "NULL" if denied else "NULL or NOT NULL")
        elif token.keyword == "IN":
            values = self._list(field)
        else:
            values = (self._value(field, operator),)
        found = Is(name, operator, values)
        return Not(found) if denied or token.text in ("!=", "<>") else found

    def _field(self) -> str:
        token = self._token
        name = _ALIASES.get(token.text.lower(), token.text.lower())
        if token.kind != "word" or token.keyword:
            self._refuse("a field: " + ", ".join(FIELDS))
        if name not in FIELDS:
            shown = _cut(token.text)
            self._fail(f"unknown field '{shown}'", "the fields are " + ", ".join(FIELDS))
        self._counted()
        self._next += 1
        return name

    def _list(self, field: Field) -> tuple[Any, ...]:
        self._need("(", "'('")
        values = [self._value(field, EQUALS)]
        while self._take(","):
            self._counted()
            values.append(self._value(field, EQUALS))
        self._need(")", "',' or ')'")
        return tuple(values)

    def _value(self, field: Field, operator: str) -> Any:
        token = self._token
        if token.keyword in KEYWORDS:
            self._refuse("a value, which a keyword is in quotes")
        if token.kind not in ("quoted", "word"):
            self._refuse("a value")
        quote = token.text[0]
        bare = token.kind == "word"
        text = token.text if bare else token.text[1:-1].replace(quote * 2, quote)
        try:
            value = field.read(text, operator, self._now)
        except Expected as error:
            self._refuse(str(error))
        self._next += 1
        return value

    # -- tokens -------------------------------------------------------------------------------

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, keyword: str) -> bool:
        """Go past a keyword or mark, if it is the next token."""
        found = self._token.keyword == keyword
        self._next += found
        return found

    def _need(self, keyword: str, expected: str) -> None:
        if not self._take(keyword):
            self._refuse(expected)

    def _counted(self) -> None:
        self._count += 1
        if self._count > MOST:
            self._refuse(f"at most {MOST} fields and values")

    def _refuse(self, expected: str) -> NoReturn:
        token = self._token
        found = _cut(token.text) if token.kind == "quoted" else f"'{_cut(token.text)}'"
        found = "the end" if token.kind == END else found
        self._fail(f"expected {expected}, not {found},")

    def _fail(self, what: str, more: str = "") -> NoReturn:
        raise _error(what, self._text, self._token.at, more)


def _tokens(text: str) -> Iterator[_Token]:
    if bad := _NO_TEXT.search(text):
        raise _error("a character that no text has", text, bad.start())
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "open":
            raise _error("a quote that is not closed", text, match.start())
        if kind != "space":
            yield _Token(kind, match[0], match.start())
    yield _Token(END, "", len(text))


def _error(what: str, text: str, at: int, more: str = "") -> UsageError:
    message = f"{what} at column {at + 1} of the condition"
    return UsageError(f"{message}: {more}" if more else message, _pointed(text, at))


def _spelled(operators: Sequence[str]) -> str:
    """Return the operators of a field as one writes them."""
    *most, last = [
        word
        for operator in operators
        for word in (("=", "!=", "IN") if operator == EQUALS else (operator,))
    ]
    return f"{', '.join(most)} or {last}"


def _pointed(text: str, at: int) -> str:
    """Return the part of `text` around a place, and a line with a caret below it."""
    start = max(0, min(at - _SHOWN // 2, len(text) - _SHOWN))
    shown = [char if char.isprintable() else " " for char in text[start : start + _SHOWN]]
    before = sum(map(_width, shown[: at - start]))
    return f"{''.join(shown)}\n{' ' * before}^"


def _width(char: str) -> int:
    """Return the columns that a character takes on a terminal."""
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_WORD else text[: _SHOWN_WORD - 1] + "…"
