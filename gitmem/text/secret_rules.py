"""The rules of `secrets.toml`, compiled when the first text is looked at.

A rule is only tried where one of its anchors stands, and one pass over a long text finds all of
them, so that ordinary text costs that pass. Repetitions are bounded or stand last: time is linear
in the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from gitmem.text.secret_glance import one_of

# Between a name and its value: the end of a quoted name, a type, `=` and the like, or a verb.
JOIN = r"""
  (?: [_-]?\d{1,2} )? \\{0,3} ["'`*\]]{0,3}
  (?: [ ]?:[ ]? (?:Optional\[)? (?:str|bytes|[Ss]tring|SecretStr) \]? (?:[ ]?\|[ ]?None)?
      (?=[ ]?=) )?
  (?: [ \t]{0,8} (?: := | => | -> | ={1,3} | :{1,2} | ： | > ) [ \t]{0,8}
    | (?P<prose> [ \t]{1,2} (?:is|was|to|ist|est|es) [ \t:]{1,3} | 是 | 为 ) )
  \*{0,2} [ ]?
"""

# A value that `secret_values` judges: between quotes, or up to what ends a word in code.
VALUE = r"""
  (?: [bru](?=["']) )? \\{0,3}
  (?: (?P<quote>["'`])
      (?P<quoted> (?> (?: (?!\\{0,3}(?P=quote)) \S ){6,4096} ) ) (?=\\{0,3}(?P=quote))
    | ["'`]? (?=\S{6})
      (?P<bare> «bare»{1,1024}+ (?> (?: &(?!\w{1,30}=|\w{1,9};|&|\s|$) «bare»{0,256}+ ){0,4} ) )
      (?![(\[{]) )
""".replace("«bare»", r"""[^\s"'`,;<>(){}\[\]|&\\，。；、）」]""")

# `DB_PASS`, `dbPass`, `pass=`, but not the "PASS:" of test results.
PASS = r"""(?:(?i:(?<=[_-])pass|(?<![A-Za-z])pass(?=["']|[ ]?=))|(?<=[a-z])Pass)"""


SHORT = 8_000
"""Characters below which the anchors are looked for one by one: one turn, one prompt."""


@dataclass(frozen=True)
class Rule:
    """One kind of secret: where to look (`anchors`), what for, and what else is asked of it.

    The expression begins at an anchor, unless `anywhere`: then an anchor only has to be there. A
    token's anchors stand as they are, other rules' in lower case in the text in lower case.
    """

    name: str
    anchors: tuple[str, ...]
    expression: str
    check: str
    token: bool = False
    anywhere: bool = False
    flags: int = re.ASCII

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled for the first text that has an anchor: all take 30 ms."""
        return re.compile(self.expression, self.flags)

    def matches(self, text: str, place: int) -> Iterator[re.Match[str]]:
        """Yield the match that begins at `place`, or all of `text` if they may be anywhere."""
        if self.anywhere:
            yield from self.pattern.finditer(text)
        elif match := self.pattern.match(text, place):
            yield match


@dataclass(frozen=True)
class Anchors:
    """Finds where any rule's anchor stands, and which rules are to be tried there."""

    rules: Mapping[str, tuple[Rule, ...]]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What finds all anchors in one pass: 20 ms to compile, and then twice as fast."""
        return re.compile(f"(?=({one_of(self.rules)}))")

    def found(self, text: str) -> Iterator[tuple[int, Rule]]:
        """Yield each place of an anchor in `text` with a rule to try there."""
        for place, word in self._one_by_one(text) if len(text) < SHORT else self._at_once(text):
            for rule in self.rules[word]:
                yield place, rule

    def _at_once(self, text: str) -> Iterator[tuple[int, str]]:
        return ((match.start(), match[1]) for match in self.pattern.finditer(text))

    def _one_by_one(self, text: str) -> list[tuple[int, str]]:
        places = []
        for word in self.rules:
            place = text.find(word)
            while place >= 0:
                places.append((place, word))
                place = text.find(word, place + 1)
        return sorted(places)


@cache
def data() -> dict[str, Any]:
    """Read the rules that ship with the package, once a process."""
    # Not by `importlib.resources`, which imports tempfile and zipfile for it: 8 ms.
    return tomllib.loads(Path(__file__).with_name("secrets.toml").read_text(encoding="utf-8"))


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules, in the order in which they name what several of them find."""
    return (*_tokens(), *_named(), *_shapes(), *_assigned())


@cache
def anchors(folded: bool) -> Anchors:
    """Return what finds the anchors, in the text in lower case or as it stands."""
    chosen = [rule for rule in rules() if rule.token != folded]
    pairs = sorted(
        {(anchor, number) for number, one in enumerate(chosen) for anchor in one.anchors}
    )
    tried: dict[str, set[int]] = {}  # each with each took 11 ms
    short = ""
    for anchor, number in pairs:  # what begins with another comes right after it
        if not (short and anchor.startswith(short)):
            short = anchor
        tried.setdefault(short, set()).add(number)
    return Anchors({short: tuple(chosen[n] for n in sorted(some)) for short, some in tried.items()})


def _tokens() -> Iterator[Rule]:
    for name, rule in data()["tokens"].items():
        starts = tuple(rule["starts"].split())
        expression = f"{_expand('«start»')}{_any(starts)}(?P<body>{_expand(rule['then'])})"
        yield Rule(name, starts, expression, "", token=True)


def _named() -> Iterator[Rule]:
    for name, rule in data()["named"].items():
        value = rf"\\{{0,3}}[\"'`]?(?P<secret>{_expand(rule['value'])})"
        expression = rf"(?i:{_any(rule['names'])})[^\n=]{{0,40}}?(?x:{JOIN}){value}"
        yield Rule(name, tuple(rule["names"]), expression, rule.get("check", ""))


def _shapes() -> Iterator[Rule]:
    for name, rule in data()["shapes"].items():
        expression, check = _expand(rule["pattern"]), rule.get("check", "")
        yield Rule(name, tuple(rule["with"]), expression, check, anywhere=True)


def _assigned() -> Iterator[Rule]:
    assigned, then = data()["assigned"], f"(?xi:{JOIN}{VALUE})"
    keys = "|".join(f"(?<={first}key)|(?<={first}[ _.-]key)" for first in assigned["key"])
    for kind in ("password", "secret"):
        names = f"(?i:(?<!publickey)(?<!public_key_)(?<!\\w:){_any(assigned[kind])})"
        yield Rule(kind, tuple(assigned[kind]), names + then, kind, flags=0)
    yield Rule("password", ("pass",), PASS + then, "password", flags=0)
    yield Rule("secret", ("key",), f"(?i:key(?=\\W|[\\d_])(?:{keys})){then}", "secret", flags=0)


def _any(words: tuple[str, ...] | list[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, longest_first))})"


def _expand(pattern: str) -> str:
    parts = data()["parts"]
    return re.sub("«(.*?)»", lambda match: str(parts[match[1]]), pattern)
