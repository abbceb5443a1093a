"""What a person says in passing that is worth keeping: preferences, decisions, facts, corrections.

`triggers.toml` has the rules. They are conservative: a sentence counts if it is one as a whole,
from its first word, and a question, code, a quotation or a word such as "maybe" never does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from gitmem.text import trade

__all__ = ["Said", "find", "labelled"]

LONG = 1_500
"""Characters from which on a prompt is likely pasted: only what is asked to be kept counts."""

LONGEST = 20_000
SENTENCE = 400
"""Characters of the longest sentence that is looked at."""

MOST = 5
"""Sentences of one prompt that count, at most."""

_CODE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)|<([a-z][\w-]*)[^<>]*>.*?</\2>")
_QUOTED = re.compile(r"(?m)^(?: {4}|\t|[ \t]*[>|+@$#%]|-{3}|[ \t]*\d+[:|]).*$")
_BULLET = re.compile(r"[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+(?P<item>\S.*)")
_HEAD = re.compile(
    r"""(?xi) [^.?!。？！]{0,60} (?:remember|memory|in[ ]mind|note|记住|记下|牢记)
        [^.?!。？！]{0,40} [:：]\s*"""
)
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?]+(?=[\s\"')\]]|$)|[。！？；]+|\n+|;(?=\s)"
)
_ASKS = re.compile(r"[?？]|(?:吗|呢|么|嘛)$")
_LABEL = re.compile(
    r"""(?xim) ^[ \t]* (?:[-*•][ \t]+)? \** (?:final[ ])?
        (?: (?P<decision>decision|decided|决定)
          | (?P<lesson>lesson(?:[ ]learned)?|root[ ]cause|takeaway|根本原因|教训) )
        \** [ ]? [:：] \** [ \t]* (?P<said>\S.{8,}) $"""
)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing said: its kind, the words, and what they are about, as far as that is clear.

    `value` is what holds or was chosen, `instead` what was turned down for it; `against` says that
    the value itself is turned down. What is `personal` is about the one who speaks; of what is
    `asked` for, that it be remembered was said too.
    """

    kind: str
    text: str
    rule: str
    about: str = ""
    value: str = ""
    instead: str = ""
    against: bool = False
    personal: bool = False
    correction: bool = False
    asked: bool = False


@dataclass(frozen=True)
class Rule:
    """One kind of sentence; `triggers.toml` says what each part means."""

    name: str
    kind: str
    expression: str
    anchors: tuple[str, ...]
    needs: str = ""
    unless: str = ""
    flags: frozenset[str] = frozenset()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled for the first sentence that has an anchor."""
        return re.compile(self.expression, 0 if "case" in self.flags else re.IGNORECASE)

    def parts(self, sentence: str) -> dict[str, str] | None:
        """Return the named parts of a sentence that is of this kind, None if it is not."""
        match = self.pattern.fullmatch(sentence)
        if not match or (self.unless and re.search(self.unless, match[0], re.IGNORECASE)):
            return None
        parts = {"whole": sentence}
        for name, value in match.groupdict().items():
            if value:
                parts[name.rstrip("0123456789")] = value.strip(" \t\"'“”")
        return parts


def find(prompt: str, *, kept: bool = False) -> list[Said]:
    """Return what a prompt says that is worth keeping, in its order.

    Of what is `kept` already it is only asked what it says, not whether it should be.
    """
    if len(prompt) > LONGEST or prompt.lstrip()[:1] in ("/", "!"):
        return []
    text = _QUOTED.sub("", _CODE.sub("\n", prompt))
    if not any(word in text.lower() for rule in rules() for word in rule.anchors):
        return []
    long = len(text) > LONG
    found = (_said(sentence, asked, long, kept) for sentence, asked in _sentences(text))
    unique = {said.text.casefold(): said for said in found if said}
    return list(unique.values())[:MOST]


def labelled(answer: str) -> list[Said]:
    """Return what an agent calls a decision, a lesson or a root cause, in so many words."""
    text = _CODE.sub("\n", answer[:LONGEST])
    return [
        Said("decision" if match["decision"] else "lesson", match["said"].strip(" *"), "labelled")
        for match in _LABEL.finditer(text)
        if len(match["said"]) <= SENTENCE and not _ASKS.search(match["said"])
    ][:MOST]


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield sentences without the sign at their end, and whether they ask."""
    for line in _lines(text):
        place = 0
        for end in [*_END.finditer(line), None]:
            sentence = line[place : end.start() if end else len(line)].strip(" \t*_-•")
            sign = end[0] if end else ""
            place = end.end() if end else place
            if sentence and len(sentence) <= SENTENCE:
                yield " ".join(sentence.split()), bool(_ASKS.search(sentence + sign))


def _lines(text: str) -> Iterator[str]:
    """Yield lines; the items of a list that is to be remembered come with what says so."""
    head = ""
    for line in text.split("\n"):
        item = _BULLET.fullmatch(line)
        if item and head:
            yield f"{head} {item['item']}"
        else:
            head = line.strip() if _HEAD.fullmatch(line) else ""
            yield item["item"] if item else line


def _said(sentence: str, asked: bool, long: bool, kept: bool) -> Said | None:
    lower = sentence.lower()
    for rule in rules():
        flags = rule.flags
        if (asked and "asked" not in flags) or (long and "explicit" not in flags):
            continue
        if "only_within" in flags or not any(word in lower for word in rule.anchors):
            continue
        if said := _by(rule, sentence, kept):
            return said
    return None


def _by(rule: Rule, sentence: str, kept: bool) -> Said | None:
    """Return what a sentence says by one rule."""
    parts = rule.parts(sentence)
    if parts is None or not (kept or _fits(rule, parts)):
        return None
    rest = parts.get("said", "")
    if "within" in rule.flags:
        inner = _inner(rest, kept)
        return replace(inner, correction=True) if inner else None
    said = Said(
        rule.kind,
        rest or _bare(sentence),
        rule.name,
        about=parts.get("about", ""),
        value=parts.get("choice") or parts.get("value", ""),
        instead=parts.get("instead") or parts.get("to") or parts.get("from", ""),
        against="against" in parts,
        personal="personal" in rule.flags or bool(_PERSONAL.match(rest or _bare(sentence))),
    )
    if "as_said" not in rule.flags:
        return said
    return replace(_inner(rest, kept) or said, text=rest, asked=True)


_PERSONAL = re.compile(r"(?i)(?:i|i'm|i’m|my)\b|我(?!们)")


def _inner(rest: str, kept: bool) -> Said | None:
    lower = rest.lower()
    plain = (rule for rule in rules() if not {"as_said", "within"} & rule.flags)
    tried = (rule for rule in plain if any(word in lower for word in rule.anchors))
    return next((said for rule in tried if (said := _by(rule, rest, kept))), None)


def _fits(rule: Rule, parts: Mapping[str, str]) -> bool:
    """Whether a sentence lasts, is calm where it has to be, and speaks of the right things."""
    whole = parts["whole"]
    words = _words()
    if "explicit" not in rule.flags and words["passing"].search(whole):
        return False
    if "calm" in rule.flags and words["trouble"].search(whole):
        return False
    named = ("choice", "value", "about", "instead", "said")
    told = " \n ".join(parts[name] for name in named if name in parts) or whole
    if rule.needs == "tech":
        return trade.technical(told)
    return rule.needs != "work" or bool(words["work"].search(told)) or trade.technical(told)


def _bare(sentence: str) -> str:
    """Return a sentence without what only leads to it."""
    for lead in _leads():
        if match := lead.match(sentence):
            sentence = sentence[match.end() :] or sentence
    return sentence


@cache
def data() -> dict[str, Any]:
    """Read the rules that ship with the package, once a process."""
    # Not by `importlib.resources`, which imports tempfile and zipfile for it: 8 ms.
    return tomllib.loads(Path(__file__).with_name("triggers.toml").read_text(encoding="utf-8"))


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules in the order in which they are tried."""
    marks = ("as_said", "explicit", "asked", "within", "only_within", "calm", "personal", "case")
    return tuple(
        Rule(
            raw["name"],
            raw["kind"],
            _expand(raw["pattern"]),
            tuple(raw["with"]),
            raw.get("needs", ""),
            raw.get("unless", ""),
            frozenset(mark for mark in marks if raw.get(mark)),
        )
        for raw in data()["rule"]
    )


@cache
def _leads() -> tuple[re.Pattern[str], ...]:
    parts = data()["parts"]
    return tuple(re.compile(parts[name], re.IGNORECASE) for name in ("lead", "zh_lead"))


@cache
def _words() -> dict[str, re.Pattern[str]]:
    words = data()["words"]
    work = (_word(word) for word in sorted(words["work"], key=len, reverse=True))
    return {
        "passing": re.compile(words["passing"], re.IGNORECASE),
        "trouble": re.compile(words["trouble"], re.IGNORECASE),
        "work": re.compile("|".join(work), re.IGNORECASE),
    }


def _word(word: str) -> str:
    """Return what finds a word; `*` is how it may go on, and Chinese has no bounds of words."""
    if not word.isascii():
        return re.escape(word)
    plain = re.escape(word.rstrip("*"))
    return rf"\b{plain}\w*" if word.endswith("*") else rf"\b{plain}\b"


def _expand(pattern: str) -> str:
    parts = data()["parts"]
    return re.sub("«(.*?)»", lambda match: str(parts[match[1]]), pattern)
