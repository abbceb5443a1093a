"""The query language: words, "phrases", -not, field:value, prefix*. Pure; nothing is an error.

Words and prefixes are alternatives: one of them has to match, and each that does ranks. A phrase
and a field's value must match; beside a phrase, words only rank. What a dash excludes must not
match. What is no syntax is words: an unknown field, a lone quote, a regular expression, ``-m``, as
in a pasted command. Stop words are left out, unless a query has nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gitmem.text.analysis import fold, stem, terms
from gitmem.text.snippet import snippet

FIELDS = {
    "text": "text",
    "tag": "tags",
    "tags": "tags",
    "entity": "entities",
    "entities": "entities",
    "kind": "kind",
    "author": "author",
    "by": "author",
    "path": "paths",
    "file": "paths",
}
"""The names people write, and the field each means."""

STOP_WORDS = frozenset(
    """
    a about after all also am an and any are aren't as at be because been before being between both
    but by can can't could couldn't did didn't do does doesn't doing don't during each else ever few
    for from get gets got had hadn't has hasn't have haven't having he her here hers him his how
    how's i i'd i'll i'm i've if in into is isn't it it's its itself just let let's like may me
    might mine more most must my myself no nor not of on once one only or other our ours out over
    please she should shouldn't so some such tell than that that's the their theirs them then there
    there's these they they're this those through to too under until up us very was wasn't we we're
    were weren't what what's when where where's which while who who's whom whose why will with
    won't would wouldn't yes you you're your yours
    的 了 是 在 我 你 他 她 它 们 和 与 及 也 都 就 而 着 过 这 那 个 有 不 对 去 要
    会 能 被 把 给 从 到 为 以 之 其 或 但 因 所
    """.split()
)

_ASKING = """
    什么时候 什麼時候 为什么 為什麼 是什么 是什麼 什么 什麼 怎么样 怎麼樣 怎么 怎麼 怎样 怎樣
    如何 哪里 哪裡 哪儿 哪些 哪个 哪個 哪一 哪 谁 誰 多少 多久 几个 幾個 几 幾 是否 有没有 有沒有
    吗 嗎 呢 请问 請問 告诉我 告訴我 なぜ どうして どうやって どうすれば どう どこ どれ どの どんな
    だれ いつ いくつ いくら 何故 何 ですか ますか でしたか ましたか とは 教えて
    무엇 누구 누가 어디 언제 왜 어떻게 얼마나
"""
"""What Chinese, Japanese and Korean ask with: no space tells it from what is sought."""

_ASKED = re.compile(
    r"\b(?:what|which) (?:kind|sort|type)s? of\b|\bhow (?:long|many|much|often)\b|"
    + "|".join(sorted(_ASKING.split(), key=len, reverse=True)),
    re.IGNORECASE,
)
_ENDINGS = ("", *"d e ed er es g ing ion ly ment n ng on r s t tion ts y".split())
_QUOTES = str.maketrans("“”„「」『』", '"' * 7)
_PREFIX = re.compile(r"[^*?^|(){}\[\]\\]*\w[^\w*?^|(){}\[\]\\]?\*+")
_CLAUSE = re.compile(
    rf"""
    (?P<minus> (?<!\S) - (?=[^\s-]) (?!\w(?!\S)(?<=[A-Za-z0-9])) )?
    (?: (?P<field> {"|".join(FIELDS)} ) : (?=[^\s:/]) )?
    (?: "(?P<phrase> [^"]* )" | (?P<word> [^\s"]+ ) )
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """What a query asks of a document beyond a word.

    Attributes:
        terms: leaves that follow one another, or a single term.
        field: the field they are in; None for any.
        prefix: unless empty, a term that begins with it will do as well,
        forms: and so will one of these: stems, whose words may be longer than the prefix.
    """

    terms: tuple[str, ...]
    field: str | None = None
    prefix: str = ""
    forms: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; `text` is what it seeks in plain words, for an index of meanings."""

    text: str
    words: tuple[str, ...] = ()
    prefixes: tuple[Clause, ...] = ()
    required: tuple[Clause, ...] = ()
    excluded: tuple[Clause, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to look for: an exclusion alone is nothing."""
        return bool(self.words or self.prefixes or self.required)

    @property
    def needs_word(self) -> bool:
        """Whether one of the words and prefixes has to match."""
        return bool(self.words or self.prefixes) and all(c.field for c in self.required)

    @property
    def quotes(self) -> bool:
        """Whether it is words with a phrase among them, and nothing else that has to hold."""
        return bool(self.words and self.required) and not (
            self.excluded or any(clause.field for clause in self.required)
        )

    @property
    def terms(self) -> frozenset[str]:
        """The terms looked for, apart from those that a prefix begins."""
        clauses = (*self.prefixes, *self.required)
        return frozenset(self.words).union(
            *(clause.forms.union(clause.terms) for clause in clauses)
        )

    def wants(self) -> Callable[[str], bool]:
        """Return what tells whether a term of a text is looked for."""
        terms, clauses = self.terms, (*self.prefixes, *self.required)
        prefixes = tuple(clause.prefix for clause in clauses if clause.prefix)
        return lambda term: term in terms or term.startswith(prefixes)


def parse(text: str) -> Query:
    """Read `text` as it is typed into a search."""
    bare: list[str] = []
    sought: list[str] = []
    prefixes: list[Clause] = []
    required: list[Clause] = []
    excluded: list[Clause] = []
    for match in _CLAUSE.finditer(text.translate(_QUOTES)):
        value = match["word"] or match["phrase"] or ""
        starred = match["word"] is not None and bool(_PREFIX.fullmatch(value))
        clause = _clause(value, match["field"], starred)
        if match["minus"]:
            excluded += clause
            continue
        sought.append(value)
        if match["field"] or match["word"] is None:
            required += clause
        elif starred:
            prefixes += clause
        else:
            bare.append(value)
    return Query(
        text=" ".join(sought),
        words=content_terms(" ".join(bare), alone=not (prefixes or required)),
        prefixes=tuple(dict.fromkeys(prefixes)),
        required=tuple(dict.fromkeys(required)),
        excluded=tuple(dict.fromkeys(excluded)),
    )


def plain(text: str) -> Query:
    """Take all of `text` as words: a prompt was not typed as a search."""
    return Query(text, content_terms(text))


def snippet_of(query: str, text: str, width: int) -> str:
    """Return the passage of `text`, at most `width` characters, that best shows why it matched."""
    return snippet(text, parse(query).wants(), width)


def content_terms(text: str, alone: bool = True) -> tuple[str, ...]:
    """Return the distinct terms of `text` but stop words; if `alone`, rather those than none."""
    asked = _ASKED.sub(lambda match: " " * len(match[0]), text)
    kept = {t.text: None for t in terms(asked) if fold(asked[t.start : t.end]) not in STOP_WORDS}
    if not kept and alone:
        kept = {term.text: None for term in terms(text)}
    return tuple(kept)


def _clause(value: str, name: str | None, starred: bool) -> list[Clause]:
    """Return the clause for `value`, or none where it has no term, such as punctuation."""
    field = FIELDS[name.lower()] if name else None
    if field == "author":  # of an address, what stands before the @ is indexed
        value = value.partition("@")[0]
    found = list(terms(value))
    leaves = tuple(term.text for term in found if term.leaf)
    if not leaves:
        return []
    covering = found[0].start == min(t.start for t in found) and found[0].end >= found[-1].end
    sequence = (found[0].text,) if len(leaves) == 1 and covering else leaves
    if not starred:
        return [Clause(sequence, field)]
    prefix = fold(value.rstrip("*").lstrip("./\\~"))
    return [Clause(sequence, field, prefix, _forms(prefix))]


def _forms(prefix: str) -> frozenset[str]:
    """Return the stems that `prefix` is longer than: of ``migratio``, as ``migration`` has it."""
    stems = {stem(prefix + ending) for ending in _ENDINGS}
    return frozenset(form for form in stems if prefix.startswith(form))
