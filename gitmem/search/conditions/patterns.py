"""What LIKE means, the same in SQLite and here: ``%`` is any text, ``_`` any character.

A backslash takes their meaning from them, and the case of ASCII letters does not matter.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_TOKEN = re.compile(r"\\([%_\\])|(%+)|(_)|(.)", re.DOTALL)


@dataclass(frozen=True)
class Pattern:
    """A pattern of LIKE as it was written."""

    text: str

    @property
    def sql(self) -> str:
        """The pattern for ``LIKE ? ESCAPE '\\'``, which finds nothing where an escape is open."""
        return "%".join("".join(part) for part in self._parts)

    def matches(self, value: str) -> bool:
        """Whether `value`, all of it, is as the pattern says.

        Each part is taken where it is found first: one regular expression for all of them would
        try every way to divide the text.
        """
        first, *others = self._finders
        if not others:
            return bool(first.fullmatch(value))
        *middle, last = others
        if not (found := first.match(value)):
            return False
        for finder in middle:
            if not (found := finder.search(value, found.end())):
                return False
        start = len(value) - len(self._parts[-1])
        return start >= found.end() and bool(last.match(value, start))

    @cached_property
    def _parts(self) -> list[list[str]]:
        """The characters between the ``%``, each escaped where it has to be."""
        parts: list[list[str]] = [[]]
        for match in _TOKEN.finditer(self.text):
            escaped, many, one, char = match.groups()
            if many:
                parts.append([])
            elif one:
                parts[-1].append("_")
            else:
                parts[-1].append(_escaped(escaped or char))
        return parts

    @cached_property
    def _finders(self) -> list[re.Pattern[str]]:
        flags = re.IGNORECASE | re.ASCII | re.DOTALL
        return [re.compile("".join(_expressions(part)), flags) for part in self._parts]


def lower(text: str) -> str:
    """Return `text` with its ASCII letters in lower case, as SQLite's ``lower`` does it."""
    return text.translate(_LOWER)


def _escaped(char: str) -> str:
    return f"\\{char}" if char in "%_\\" else char


def _expressions(part: list[str]) -> Iterator[str]:
    for char in part:
        yield "." if char == "_" else re.escape(char[-1])
