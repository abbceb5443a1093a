"""Memories of other tools, made fit for events: cleaned, bounded, in gitmem's words."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitmem.errors import UsageError
from gitmem.imports.model import Addition, Foreign
from gitmem.journal import clock
from gitmem.journal.codec import encode, printable_name, without_floats
from gitmem.model import render_data
from gitmem.text.fence import unfenced
from gitmem.text.secrets import redact, without_private
from gitmem.verbs import content
from gitmem.verbs.whereabouts import Site

EARLIEST = "2000-01-01"
"""Times before it are a clock that was never set, or a zero."""

LONGEST_KEY = 200
LONGEST_SOURCE = 4 * 1024
"""Bytes of what is kept of where a memory comes from, besides tool and key."""

SECRET = "with a secret, redacted"
LONG = f"longer than {content.LARGEST // 1024} KiB, cut"
NO_TIME = "with a time that cannot be right, taken as now"
ODD_TAG = "with a tag that cannot be kept"
ODD_ADDITION = "with an addition that says nothing"

_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_SEPARATORS = re.compile(r"[\s,]+")
_NO_WORD = re.compile(r"[^\w-]+")


@dataclass(frozen=True, slots=True)
class Later:
    """What a revision of it says: `fields` are a ``reason``, or ``text`` or ``data``."""

    fields: Mapping[str, Any]
    at: str
    by: str
    branch: str


@dataclass(frozen=True, slots=True)
class Fitting:
    """A memory as events may hold it: `fields` are content, kind and importance.

    Times are those of events, empty where the tool has none that can be right. `name` is the tool's
    key and `key` what is kept of it; `remarks` say what is not as it was.
    """

    name: str
    key: str
    fields: Mapping[str, Any]
    tags: Sequence[str]
    source: Mapping[str, Any]
    at: str
    updated: str
    by: str
    site: Site
    later: Sequence[Later]
    links: Sequence[tuple[str, str]]
    remarks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tailor:
    """Makes the memories of one tool fit, as of one moment."""

    tool: str
    now: datetime

    def fit(self, memory: Foreign) -> Fitting:
        """Return a memory as events may hold it.

        Raises:
            UsageError: it says nothing, or nothing that can be written.
        """
        try:
            fitting = self._fit(memory, set())
            encode({"at": EARLIEST, **fitting.fields, "source": fitting.source})
            return fitting
        except RecursionError:
            raise UsageError("the data nests too deep", "remember it as text") from None

    def _fit(self, memory: Foreign, remarks: set[str]) -> Fitting:
        said = memory.text if memory.data is None else memory.data
        key = self._key(memory.key)
        fields = {
            **self._content(said, remarks),
            "kind": _kind(memory.kind),
            "importance": _importance(memory.importance),
        }
        return Fitting(
            name=memory.key,
            key=key,
            fields={name: value for name, value in fields.items() if value},
            tags=_tags(memory.tags, remarks),
            source={**self._extra(memory.source, remarks), "import": self.tool, "key": key},
            at=self._moment(memory.at, remarks),
            updated=self._moment(memory.updated, remarks),
            by=_author(memory.by),
            site=Site(_branch(memory.branch), tuple(map(_branch, memory.known)), memory.commit),
            later=[later for each in memory.additions if (later := self._later(each, remarks))],
            links=[self._link(*link, remarks) for link in memory.links if all(link)],
            remarks=frozenset(remarks),
        )

    def _content(self, said: str | Mapping[str, Any], remarks: set[str]) -> dict[str, Any]:
        if isinstance(said, str):
            return content.content(self._cut(self._clean(said, remarks), remarks))
        data = self._cleaned(said, "", remarks)
        rendered = render_data(data)
        short = self._cut(rendered, remarks)
        return content.content(data if short == rendered else short)

    def _cut(self, text: str, remarks: set[str]) -> str:
        size = len(text.encode())
        if size <= content.LARGEST:
            return text
        remarks.add(LONG)
        kept = text.encode()[: content.LARGEST - 100].decode(errors="ignore").rstrip()
        return f"{kept}\n\n[cut here: {size - len(kept.encode()):,} more bytes in {self.tool}]"

    def _clean(self, text: str, remarks: set[str]) -> str:
        """Return a text without what gitmem injected, what is private, and secrets."""
        redacted = redact(without_private(unfenced(_plain(text))))
        if redacted.found:
            remarks.add(SECRET)
        return redacted.text.replace("\0", "")

    def _cleaned(self, value: Any, name: str, remarks: set[str]) -> Any:
        """Clean the texts in a JSON value; its name tells whether one is a password."""
        if isinstance(value, str):
            said = self._clean(f"{name}: {value}" if name else value, remarks)
            return said.removeprefix(f"{name}: ") if name else said
        if isinstance(value, Mapping):
            names = {key: self._clean(str(key), remarks) for key in value}
            return {names[key]: self._cleaned(value[key], names[key], remarks) for key in value}
        if isinstance(value, list | tuple):
            return [self._cleaned(item, name, remarks) for item in value]
        return without_floats(value)

    def _later(self, addition: Addition, remarks: set[str]) -> Later | None:
        try:
            if addition.content is not None:
                fields = self._content(addition.content, remarks)
            else:
                fields = {"reason": self._content(addition.text, remarks)["text"]}
        except UsageError:
            remarks.add(ODD_ADDITION)
            return None
        at = self._moment(addition.at, remarks)
        return Later(fields, at, _author(addition.by), _branch(addition.branch))

    def _link(self, relation: str, target: str, remarks: set[str]) -> tuple[str, str]:
        return _word(relation, "relates"), self._clean(target, remarks)[:1000]

    def _moment(self, at: str, remarks: set[str]) -> str:
        """Return a time that can be right, or nothing."""
        if not at or self._credible(at):
            return at
        remarks.add(NO_TIME)
        return ""

    def _credible(self, at: str) -> bool:
        try:
            clock.parse_at(at)
        except ValueError:
            return False
        return EARLIEST <= at <= clock.format_at(self.now)

    def _extra(self, source: Mapping[str, Any], remarks: set[str]) -> Mapping[str, Any]:
        kept = self._cleaned(source, "", remarks)
        small = len(json.dumps(kept, ensure_ascii=False).encode()) <= LONGEST_SOURCE
        return kept if small else {}

    def _key(self, key: str) -> str:
        """Return a key as it is kept: a digest of one that is long or has a secret."""
        key = _plain(key)
        if len(key) <= LONGEST_KEY and not redact(key).found:
            return key
        return "sha256:" + hashlib.sha256(key.encode()).hexdigest()


def _plain(text: str) -> str:
    """Return a text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()


def _author(by: str) -> str:
    return _CONTROL.sub(" ", _plain(printable_name(by))).strip()


def _branch(name: str) -> str:
    """Return a branch as git has it: bytes that are not UTF-8 stand as lone surrogates."""
    name = _CONTROL.sub("?", name)
    try:
        name.encode("utf-8", "surrogateescape")
        return name
    except UnicodeEncodeError:  # another half of a character, out of a JSON escape
        return _plain(name)


def _word(value: str, otherwise: str) -> str:
    """Return a kind or relation as one word."""
    return _NO_WORD.sub("-", value.strip().lower()).strip("-_")[:40].rstrip("-") or otherwise


def _kind(value: str) -> str:
    """Return a kind; another tool's context is no working memory of a branch here."""
    word = _word(value, "note")
    return "note" if word == "context" else word


def _importance(value: str) -> str | None:
    try:
        return content.importance(value) if value else None
    except UsageError:
        return None


def _tags(values: tuple[str, ...], remarks: set[str]) -> list[str]:
    tags: dict[str, None] = {}
    for value in values:
        word = _SEPARATORS.sub("-", _plain(value).strip().lstrip("#"))
        try:
            tags[content.tag(word)] = None
        except UsageError:
            remarks.add(ODD_TAG)
    return list(tags)
