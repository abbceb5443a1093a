"""Secrets and private spans, taken out of what is about to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitmem.errors import Refused
from gitmem.text.secret_glance import may_hold
from gitmem.verbs.draft import Draft

ALLOWED = "secrets"
"""The key of an event that lists the rules whose findings its author let pass, knowingly."""

WHOLLY_PRIVATE = "[private]"
_TEXTS = ("text", "data", "reason")
_WORDS = ("kind", "rel", "tag", "tags", "target")
_PRIVATE = "<private>"


class Redaction:
    """Goes over drafts; `allowed` returns the rules that a memory's events let pass.

    `found` are the rules whose findings were taken out, in order.
    """

    def __init__(self, allowed: Callable[[str], set[str]]) -> None:
        self._allowed = allowed
        self.found: list[str] = []

    def draft(self, draft: Draft) -> Draft:
        """Return a draft without secrets, or with them and the rules that were let pass.

        Raises:
            Refused: a tag or a target holds one.
        """
        rules = {rule for text in strings(draft.fields) for rule in rules_in(text)}
        fields = {key: without_spans(draft.fields[key]) if key in _TEXTS else draft.fields[key]
                  for key in draft.fields}  # fmt: skip
        if rules and draft.allow_secrets:
            fields[ALLOWED] = sorted(rules)
        elif rules and not rules <= self._allowed(draft.memory.id if draft.memory else ""):
            fields = {key: self._clean(key, value) for key, value in fields.items()}
        return replace(draft, fields=fields)

    def message(self, text: str) -> str:
        """Return a commit's message without what the drafts' texts were freed from."""
        return _redacted(without_spans(text)) if self.found or _PRIVATE in text.lower() else text

    def _clean(self, key: str, value: Any) -> Any:
        if key in _WORDS:
            for text in strings(value):
                if rules := rules_in(text):
                    raise Refused(f"the {key} holds what looks like a secret ({', '.join(rules)})")
        if key not in _TEXTS:
            return value
        self.found += [rule for text in strings(value) for rule in rules_in(text)]
        return _without_secrets(value)


def rules_in(text: str) -> list[str]:
    """Return the rules that find a secret in a text, each once."""
    if not may_hold(text):
        return []
    from gitmem.text.secrets import find

    return list(dict.fromkeys(finding.rule for finding in find(text)))


def allowed_by(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rules that an event lets pass."""
    rules = fields.get(ALLOWED)
    yield from (str(rule) for rule in rules) if isinstance(rules, list) else ()


def _redacted(text: str) -> str:
    from gitmem.text.secrets import redact

    return redact(text).text


def without_spans(value: Any) -> Any:
    """Return a value without its private spans; of one that is private as a whole, a mark."""

    def public(text: str) -> str:
        if _PRIVATE not in text.lower():
            return text
        from gitmem.text.secrets import without_private

        left = without_private(text)
        return left if left.strip() else WHOLLY_PRIVATE

    return _mapped(value, public)


def strings(value: Any, label: str = "") -> Iterator[str]:
    """Yield every text in a value, after its key: in JSON, that is what makes it a password."""
    if isinstance(value, str):
        yield f"{label}: {value}" if label else value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from strings(inner, key)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from strings(inner, label)


def _without_secrets(value: Any, label: str = "") -> Any:
    """Return a value without secrets, each text read after its key."""
    if isinstance(value, str):
        prefix = f"{label}: " if label else ""
        return _redacted(prefix + value).removeprefix(prefix)
    if isinstance(value, Mapping):
        keys = {key: _redacted(key) for key in value}
        return {keys[key]: _without_secrets(value[key], keys[key]) for key in value}
    if isinstance(value, Sequence):
        return [_without_secrets(inner, label) for inner in value]
    return value


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with every text in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [_mapped(inner, change) for inner in value]
    return value
