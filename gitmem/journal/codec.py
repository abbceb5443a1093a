"""Event lines: one immutable fact about one memory as one line of canonical JSON.

The id of an event is the SHA-256 of its line as it stands in the note, so a reader never
re-serialises what it did not write. See ``docs/format.md``, "Event line".
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.errors import UsageError
from gitmem.journal.clock import AT
from gitmem.model import Importance

VERSION = 1
DEEPEST = 64
"""Levels that a line may nest: copying 400 would exhaust the stack of whoever reads the memory."""

UNDO = "undo "
"""How the reason of an undo begins; the id of the event it takes back follows."""

OPS = frozenset("remember revise forget restore tag untag link unlink carry purge".split())
_STRINGS = frozenset("branch by expires kind line memory reason rel scope tag target text".split())
_STRING_LISTS = ("base", "events", "tags")
_IMPORTANCES = tuple(importance.value for importance in Importance)
_OBJECTS = ("data", "paths", "source")
_NEEDS = {
    "carry": ("events",),
    "remember": ("by",),
    "tag": ("memory", "tag"),
    "untag": ("memory", "tag"),
    "link": ("memory", "rel", "target"),
    "unlink": ("memory", "rel", "target"),
}
_UNDO = re.compile(UNDO + "([0-9a-f]{64})")


class BrokenLine(ValueError):
    """A line that is no event: kept in the note, skipped, counted."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a journal, read. `fields` has every key, also those of later versions."""

    id: str
    line: bytes
    fields: Mapping[str, Any]

    @property
    def understood(self) -> bool:
        """Whether this version of gitmem knows what the event does; if not it is kept untouched."""
        return self.fields["v"] == VERSION and self.fields["op"] in OPS

    @property
    def at(self) -> str:
        """When it was written, by the hybrid clock."""
        at: str = self.fields["at"]
        return at

    @property
    def op(self) -> str:
        """What it does."""
        op: str = self.fields["op"]
        return op

    @property
    def by(self) -> str:
        """Who says to have written it."""
        return self._string("by") or ""

    @property
    def branch(self) -> str | None:
        """The branch as people read it; None when HEAD was detached."""
        return self._string("branch")

    @property
    def memory(self) -> str | None:
        """The id of the memory it is about; None for a carry."""
        return self.id if self.op == "remember" else self._string("memory")

    @property
    def base(self) -> Sequence[str]:
        """The memory's latest events that the writer saw."""
        base = self.fields.get("base", ())
        return base if _fits("base", base) else ()

    @property
    def text(self) -> str | None:
        """The text it sets, if any."""
        return self._string("text")

    @property
    def reason(self) -> str:
        """Why, in the writer's words."""
        return self._string("reason") or ""

    @property
    def undoes(self) -> str | None:
        """The id of the event it takes back, if it is an undo."""
        undo = _UNDO.fullmatch(self.reason)
        return undo[1] if undo else None

    def _string(self, key: str) -> str | None:
        value = self.fields.get(key)
        return value if isinstance(value, str) else None  # a later version's may be anything


def event_id(line: bytes) -> str:
    """Return the id of a line (without its newline)."""
    return hashlib.sha256(line).hexdigest()


def encode(fields: Mapping[str, Any]) -> Event:
    """Write an event as its canonical line; empty and None values are left out.

    Raises:
        UsageError: a text cannot be stored as UTF-8, or `data` nests deeper than `DEEPEST`.
    """
    kept = {key: value for key, value in fields.items() if value not in (None, "", [], {}, ())}
    kept["v"] = VERSION
    # `at` sorts first, so that a cat_sort_uniq merge leaves lines in time order.
    assert min(kept) == "at", f"no key may sort before 'at': {min(kept)}"
    try:
        text = json.dumps(
            kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        line = text.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = repr(error.object[error.start : error.start + 1])
        raise UsageError(
            f"the text has {bad}, half of a character, which UTF-8 cannot hold",
            "check the encoding of the input",
        ) from None
    if _depth(line) > DEEPEST:
        raise UsageError(f"the data nests deeper than {DEEPEST} levels", "remember it as text")
    return Event(event_id(line), line, _JSON.decode(text))


def decode(line: bytes) -> Event:
    """Read one line.

    Raises:
        BrokenLine: it is no event, with the reason.
    """
    try:
        if _depth(line) > DEEPEST:
            raise BrokenLine(f"nests deeper than {DEEPEST} levels")
        fields = _JSON.decode(line.decode("utf-8"))
        if not isinstance(fields, dict):
            raise BrokenLine("not a JSON object")
        _check(fields)
        if b"\\ud" in line or b"\\uD" in line:  # an escaped lone surrogate cannot be shown
            json.dumps(fields, ensure_ascii=False).encode("utf-8")
    except BrokenLine:
        raise
    except ValueError as error:  # bad UTF-8, bad JSON, half a character, a number of 5,000 digits
        raise BrokenLine(str(error)) from None
    return Event(event_id(line), line, fields)


def _check(fields: dict[str, Any]) -> None:
    at, version, op = fields.get("at"), fields.get("v"), fields.get("op")
    if not isinstance(at, str) or not AT.fullmatch(at):
        raise BrokenLine("'at' does not have the fixed form")
    if type(version) is not int or version < 1 or not isinstance(op, str):
        raise BrokenLine("no version or no op")
    if version != VERSION or op not in OPS:
        return  # of a later version: its keys may mean anything
    for key in _NEEDS.get(op, ("memory",)):
        if key not in fields:
            raise BrokenLine(f"'{op}' without '{key}'")
    for key, value in fields.items():
        if not _fits(key, value):
            raise BrokenLine(f"'{key}' has the wrong type")


def _fits(key: str, value: Any) -> bool:
    if key in _STRINGS:
        return isinstance(value, str)
    if key in _STRING_LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if key in _OBJECTS:
        return isinstance(value, dict)
    if key == "importance":
        return value in _IMPORTANCES
    return True


def _depth(line: bytes) -> int:
    """Return how deep a line nests; 0 if it has too few brackets to nest too deep."""
    if line.count(b"{") + line.count(b"[") <= DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRING.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _no_constant(name: str) -> Any:
    raise BrokenLine(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise BrokenLine(f"{digits[:20]} is too large")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):  # each reader would take another of the two
        raise BrokenLine("a key stands twice in one object")
    return fields


# Made once: `json.loads` with a hook makes one for each line, which tripled the time to read.
_JSON = json.JSONDecoder(
    parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique
)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(rb"[][{}]")


def printable_name(name: str) -> str:
    """Percent-encode a branch or identity that is not UTF-8 (its bytes come as lone surrogates)."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(
            f"%{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else char
            for char in name.replace("%", "%25")
        )
    return name


def without_floats(value: Any) -> Any:
    """Return `value` with floats as the text that was typed: a float would not be canonical."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        return {str(key): without_floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_floats(item) for item in value]
    return value
