"""Secrets in a text: found by their form, so that they are never written down.

`secrets.toml` has the rules. Whatever is found is a key by its form or by its name; no rule asks
how random a word looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.text.secret_blocks import private_keys
from gitmem.text.secret_rules import Rule, anchors, rules
from gitmem.text.secret_values import CHECKS, Value, filled

__all__ = ["Finding", "Redacted", "find", "redact", "without_private"]

PRIVATE_KEY = "private-key"

PRIVATE = re.compile(r"(?P<open>(?!(?<=`)<private>`)<private>)|</private>", re.IGNORECASE)
"""Marks of a private span; between back-ticks, `<private>` is only spoken of."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret: the rule that found it, and where it stands (characters)."""

    rule: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the names of the rules that found them, in order."""

    text: str
    found: tuple[str, ...] = ()


def find(text: str) -> list[Finding]:
    """Return the secrets in `text` in reading order; none overlap."""
    found = [Finding(PRIVATE_KEY, *span) for span in private_keys(text)]
    found += _findings(text)
    return _apart(found) if found else []


def redact(text: str) -> Redacted:
    """Return `text` with `[redacted: RULE]` in place of each secret."""
    findings = find(text)
    parts, place = [], 0
    for finding in findings:
        parts += [text[place : finding.start], f"[redacted: {finding.rule}]"]
        place = finding.end
    return Redacted("".join([*parts, text[place:]]), tuple(finding.rule for finding in findings))


def without_private(text: str) -> str:
    """Return `text` without its `<private>…</private>` spans; an open one reaches to the end."""
    kept, place, depth = [], 0, 0
    for mark in PRIVATE.finditer(text):
        if mark["open"]:
            if not depth:
                kept.append(text[place : mark.start()])
            depth += 1
        elif depth:
            depth -= 1
            place = mark.end()
    return "".join(kept if depth else [*kept, text[place:]])


def _findings(text: str) -> Iterator[Finding]:
    """Yield what the rules find, each from where its last finding ended."""
    done: dict[str, int] = {}
    for folded in (False, True):
        for place, rule in anchors(folded).found(_folded(text) if folded else text):
            if place < done.get(rule.name, 0):
                continue
            for match in rule.matches(text, place):
                if span := _secret(rule, match):
                    yield Finding(rule.name, *span)
                if span or rule.token:  # a secret may stand in what is none, but no token in one
                    done[rule.name] = match.end()
            if rule.anywhere:
                done[rule.name] = len(text)


def _secret(rule: Rule, match: re.Match[str]) -> tuple[int, int] | None:
    """Return where the secret of a match is, None if it only looks like one."""
    groups = match.groupdict()
    if rule.token:
        return None if filled(match["body"]) else match.span()
    name = next((name for name in ("quoted", "bare", "secret") if groups.get(name)), 0)
    quoted = name != "bare"
    found = match[name] if quoted else match[name].rstrip(".:?")
    value = Value(found, quoted, prose=bool(groups.get("prose")))
    if rule.check and not CHECKS[rule.check](value):
        return None
    return match.start(name), match.start(name) + len(found)


def _apart(findings: list[Finding]) -> list[Finding]:
    """Return the findings in order, those that overlap as one, under the first rule's name."""
    rank = {rule.name: number for number, rule in enumerate(reversed(rules()))}
    rank[PRIVATE_KEY] = len(rank)
    apart: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: finding.start):
        if apart and finding.start < apart[-1].end:
            last = apart.pop()
            name = max(last.rule, finding.rule, key=rank.__getitem__)
            finding = Finding(name, last.start, max(last.end, finding.end))
        apart.append(finding)
    return apart


def _folded(text: str) -> str:
    """Return `text` in lower case, every character where it was."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
