"""A query as an expression of SQLite's FTS5, and text as the terms it indexes. Pure.

Terms are joined by spaces. The leaves, whose order makes a phrase, stand in a column of their own,
and what stands beside them (whole identifiers, and their parts) in another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitmem.text.analysis import terms
from gitmem.text.query import Clause, Query

TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cs'"
"""Cuts at spaces and control characters alone: of a term as `columns` writes it, nowhere."""

COLUMNS = ("path", "path_beside", "text", "text_beside")
_LEAVES = ("path", "text")
_NAMED = {None: COLUMNS, "paths": COLUMNS[:2], "text": COLUMNS[2:]}

MOST_CLAUSES = 64
"""Clauses of a kind that are heeded: SQLite allows no more than some hundred."""


def columns(text: str) -> tuple[str, str]:
    """Return the terms of a text: its leaves, and what stands beside them."""
    leaves: list[str] = []
    beside: list[str] = []
    for term in terms(text):
        (leaves if term.leaf else beside).append(_solid(term.text))
    return " ".join(leaves), " ".join(beside)


def expression(query: Query, words: Sequence[str]) -> str | None:
    """Return what matches as `query` says, of its words those given; None if nothing can."""
    required = [_clause(clause) for clause in query.required[:MOST_CLAUSES]]
    excluded = [_clause(clause) for clause in query.excluded[:MOST_CLAUSES]]
    prefixes = [_clause(clause) for clause in query.prefixes[:MOST_CLAUSES]]
    wanted = [*(_quoted(word) for word in words), *filter(None, prefixes)]
    if None in required or not (required or wanted):
        return None
    needed = [one for one in required if one]
    if wanted:
        # Beside a phrase words only rank: it stands among them, and one of them is always there.
        ranked = wanted if query.needs_word else [*wanted, needed[0]]
        needed.append(_any(ranked))
    found = " AND ".join(needed)
    return f"({found}) NOT {_any(ruled)}" if (ruled := list(filter(None, excluded))) else found


def single(term: str) -> str:
    """Return what matches a passage that has a term, in its text or its path."""
    return _quoted(term)


def _clause(clause: Clause) -> str | None:
    """Return what matches a clause; None where its field is none of a file's."""
    named = _NAMED.get(clause.field)
    if named is None:
        return None
    phrase = _quoted(" ".join(map(_solid, clause.terms)))
    if len(clause.terms) > 1:
        found = [_in([name for name in named if name in _LEAVES], phrase)]
    else:
        found = [_in(named, phrase)]
    found += [_in(named, _quoted(form)) for form in sorted(clause.forms)]
    if clause.prefix:
        found.append(_in(named, _quoted(clause.prefix) + "*"))
    return _any(found)


def _in(names: Iterable[str], phrase: str) -> str:
    return f"{{{' '.join(names)}}} : {phrase}"


def _any(expressions: Iterable[str]) -> str:
    return f"({' OR '.join(expressions)})"


def _quoted(text: str) -> str:
    """Return a string of FTS5: it ends at a NUL, and SQLite takes no lone surrogate."""
    known = text.replace("\0", " ").encode("utf-8", "ignore").decode()
    return '"' + known.replace('"', '""') + '"'


def _solid(term: str) -> str:
    """Return a term without a space: compatibility forms of some Arabic marks fold into one."""
    return term if term.isascii() else "".join(term.split())
