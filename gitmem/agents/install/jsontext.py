"""Edits of JSON as text: one member or item comes, goes or changes, every other byte stays.

Comments (``//`` and ``/* */``) are passed over where an agent allows them. A parser reads what is
there before and after; here is only where things stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

Path = Sequence[str | int]
"""Keys of objects and indexes of arrays, from the outermost value inwards."""

_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_NOT_A_LINE_END = re.compile(r"[^\r\n]")


class Child(NamedTuple):
    """A member of an object or an item of an array: where it and its value begin, and its end."""

    key: str | None
    start: int
    value: int
    end: int


def parse(text: str, comments: bool = False) -> Any:
    """Return the value of a JSON text; nothing at all is an empty object.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    text = _bare(text) if comments else text.replace("\ufeff", " ", 1)
    if not text.strip():
        return {}
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def insert(text: str, path: Path, value: Any) -> str:
    """Put a value in: at the key that `path` ends with, or at the end of the array it names.

    What `path` leads through is made where it is missing, of objects.
    """
    if not text.strip("\ufeff \t\r\n"):
        text += "{}\n"
    at, rest = _reach(text, path)
    if rest:
        for key in reversed(rest[1:]):
            value = {key: value}
        return _insert(text, at, str(rest[0]), value)
    return _insert(text, at, None, value)


def replace(text: str, path: Path, value: Any) -> str:
    """Put another value in place of the one at `path`."""
    child = _child(text, path)
    pretty = "\n" in text[child.value : child.end] or not isinstance(value, dict | list)
    written = _spell(text, value, _indent(text, child.start)) if pretty else json.dumps(value)
    return text[: child.value] + written + text[child.end :]


def delete(text: str, path: Path) -> str:
    """Take out the member or item at `path`, with one comma."""
    at, _ = _reach(text, path[:-1])
    bare = _bare(text)
    children = _children(bare, at)
    child = _child(text, path)
    index = children.index(child)
    start, end = len(text[: child.start].rstrip()), child.end
    if index + 1 < len(children):
        end = bare.index(",", end) + 1
    if bare[start - 1].isspace() and text[end:].split("\n", 1)[0].strip():
        start = child.start  # a comment ends before it, and would swallow what follows
    before = text[:start]
    if index and index + 1 == len(children):
        comma = bare.index(",", children[index - 1].end)
        before = before[:comma] + before[comma + 1 :]
    return before + text[end:]


def _reach(text: str, path: Path) -> tuple[int, Path]:
    """Return where the innermost value on `path` begins, and what of the path is not there."""
    bare = _bare(text)
    at = len(bare) - len(bare.lstrip())
    for depth, step in enumerate(path):
        child = _find(bare, at, step)
        if child is None:
            return at, path[depth:]
        at = child.value
    return at, ()


def _child(text: str, path: Path) -> Child:
    at, _ = _reach(text, path[:-1])
    found = _find(_bare(text), at, path[-1])
    assert found
    return found


def _find(bare: str, at: int, step: str | int) -> Child | None:
    children = _children(bare, at)
    if isinstance(step, int):
        return children[step]
    return next((child for child in reversed(children) if child.key == step), None)


def _children(bare: str, at: int) -> list[Child]:
    """Return what an object or array that begins at `at` holds."""
    found = []
    decode = json.JSONDecoder().raw_decode
    is_object = bare[at] == "{"
    at = _skip(bare, at + 1)
    while bare[at] not in "}]":
        start, key = at, None
        if is_object:
            key, at = decode(bare, at)
            at = _skip(bare, _skip(bare, at) + 1)
        value = at
        _, at = decode(bare, at)
        found.append(Child(key, start, value, at))
        at = _skip(bare, at)
        if bare[at] == ",":
            at = _skip(bare, at + 1)
    return found


def _insert(text: str, at: int, key: str | None, value: Any) -> str:
    """Add a last child to the object or array that begins at `at`, spelled as those before it."""
    bare = _bare(text)
    children = _children(bare, at)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    last = children[-1].end if children else at + 1
    if children and "\n" not in text[at : children[0].start]:
        return f"{text[:last]}, {name}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    close = json.JSONDecoder().raw_decode(bare, at)[1] - 1
    kept = max(last, len(text[:close].rstrip()))  # to the end of a comment behind it
    outer = _indent(text, at)
    inner = _indent(text, children[-1].start) if children else outer + _unit(text)
    line, comma = _line_end(text), "," if children else ""
    tail = text[kept:close] if "\n" in text[kept:close] else line + outer
    child = f"{line}{inner}{name}{_spell(text, value, inner)}"
    return text[:last] + comma + text[last:kept] + child + tail + text[close:]


def _spell(text: str, value: Any, indent: str) -> str:
    spelled = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return spelled.replace("\n", _line_end(text) + indent)


def _unit(text: str) -> str:
    """Return what the text indents by."""
    found = re.search(r"^[{\[]\s*?\n([ \t]+)\S", _bare(text).lstrip())
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    """Return the white space that the line of `at` begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _bare(text: str) -> str:
    """Return the text with comments and a byte order mark blanked: the rest stays in place."""
    bare = _STRING_OR_COMMENT.sub(
        lambda found: found[1] or _NOT_A_LINE_END.sub(" ", found[0]), text
    )
    return " " + bare[1:] if bare.startswith("\ufeff") else bare


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _refuse(constant: str) -> None:
    raise ValueError(f"it holds '{constant}'")
