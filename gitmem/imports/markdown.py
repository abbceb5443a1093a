"""Memories in Markdown files: front matter, read leniently, and the pieces of a page."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records
from gitmem.sessions.model import Skipped

LONGEST_MATTER = 64 * 1024
"""Characters of front matter that are parsed: YAML's aliases multiply."""

_MATTER = re.compile(
    r"\s*^---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_FIELD = re.compile(r"([ \t]*)([\w.-]+):(?:[ \t]+(.*))?$")
_OWN = re.compile(
    r"^[ \t]*<!--[ \t]*gitmem:begin\b.*?(?:^[ \t]*<!--[ \t]*gitmem:end[ \t]*-->|\Z)",
    re.DOTALL | re.MULTILINE,
)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_BULLET = re.compile(r"[-*+][ \t]+(?=\S)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_LINK = re.compile(r"\[\[([^\[\]|#\n]+)(?:[|#][^\[\]\n]*)?\]\]")
_WHEN = r"[\d\s:.,/T-]*"
_SAYS_NOTHING = (
    re.compile(rf"{_WHEN}|.*\b(?:index|log|memor(?:y|ies)|notes)\b.*", re.IGNORECASE),
    re.compile(_WHEN),
)
"""Headings that only date what is below them; at the top of a page also what every page is."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file: its path within its place, its text without what gitmem wrote, when it changed."""

    name: str
    text: str
    changed: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a page that stands for itself: an item of a list, or a section of prose.

    `key` stays when other parts change: the heading of prose, a digest of an item. `heading` is as
    it stands in the page, `level` its number of ``#``.
    """

    key: str
    heading: str
    level: int
    text: str
    item: bool

    @property
    def said(self) -> str:
        """The text with its heading, if that says what it is about."""
        if _SAYS_NOTHING[self.level > 1].fullmatch(self.heading):
            return self.text
        if self.item:
            return f"{self.heading}: {self.text}"
        return headed(self.heading, self.text)


@dataclass(slots=True)
class _Section:
    level: int
    heading: str
    lines: list[str] = field(default_factory=list)


def pages(place: Path, files: Iterator[Path]) -> Iterator[Page | Skipped]:
    """Yield the pages in some files of a place; a link that leads out of it is not followed.

    Raises:
        Unreadable: `place` is a file, and cannot be read.
    """
    root = place.resolve() if place.is_dir() else None
    for file in files:
        if root is None:
            yield _page(file, Path(file.name))
            continue
        try:
            inside = file.resolve().is_relative_to(root)
            yield (
                _page(file, file.relative_to(place))
                if inside
                else Skipped("a link that leads out of the folder")
            )
        except (OSError, RuntimeError):  # links that loop
            yield Skipped("a link that leads nowhere")
        except Unreadable as error:
            yield Skipped(error.message)


def _page(file: Path, name: Path) -> Page:
    lines = list(records.lines(file))
    if any(isinstance(line, Skipped) for line in lines):
        raise Unreadable(f"'{_shown(name)}' has an endless line")
    try:
        text = b"\n".join(line for line in lines if isinstance(line, bytes)).decode()
    except UnicodeDecodeError:
        raise Unreadable(f"'{_shown(name)}' is not UTF-8") from None
    return Page(_shown(name), _OWN.sub("", text), records.utc(file.stat().st_mtime))


def _shown(name: Path) -> str:
    return os.fsencode(name.as_posix()).decode(errors="replace")


# -- front matter ---------------------------------------------------------------------------------


def front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """Return what stands between the dashes at the top, values as text, and what follows.

    Descriptions with an unquoted ``: `` are no YAML: where it fails, lines are read one by one.
    """
    found = _MATTER.match(text)
    matter = _parsed(found[1]) if found else {}
    if not found or (found[1].strip() and not matter):  # a text between two rules
        return {}, text
    return matter, text[found.end() :]


def _parsed(matter: str) -> Mapping[str, Any]:
    import yaml

    try:
        value = yaml.load(matter[:LONGEST_MATTER], yaml.BaseLoader)
        if isinstance(value, dict):
            return value
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    return _by_line(matter[:LONGEST_MATTER])


def _by_line(matter: str) -> Mapping[str, Any]:
    values: dict[str, Any] = {}
    last = ""
    for line in matter.split("\n"):
        if named := _FIELD.match(line):
            indent, key, value = named[1], named[2], _unquoted(named[3] or "")
            if indent and isinstance(values.get(last) or {}, dict):
                values[last] = {**(values.get(last) or {}), key: value}
            elif not indent:
                last, values[key] = key, value
        elif (item := line.strip()).startswith("- ") and not isinstance(values.get(last), dict):
            values[last] = [*([] if not values.get(last) else words(values[last])), item[2:]]
    return values


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def plain(value: Any) -> str:
    """Return a value of the front matter if it is text, on one line; else nothing."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def words(value: Any) -> tuple[str, ...]:
    """Return a list, or a text with commas, as words."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.strip("[] ").split(",") if word.strip())
    return tuple(filter(None, map(plain, value))) if isinstance(value, list) else ()


def wiki_links(text: str) -> tuple[str, ...]:
    """Return what a text names as ``[[target]]``, once each."""
    return tuple(dict.fromkeys(match.strip() for match in _LINK.findall(text)))


def headed(heading: str, body: str) -> str:
    """Return a text under a line that says what it is about, if it does not say that itself."""
    body = body.strip("\n").rstrip()
    if not heading or heading.casefold() in body.casefold():
        return body
    return f"{heading}\n\n{body}" if body.strip() else heading


# -- pieces ---------------------------------------------------------------------------------------


def pieces(text: str) -> Iterator[Piece]:
    """Yield the items of the sections that are lists, and all other sections as they are."""
    seen: dict[str, int] = {}
    for section in _sections(text.split("\n")):
        body = "\n".join(section.lines).strip("\n")
        if not body.strip():
            continue
        items = _items(section.lines)
        for text in items or [body.rstrip()]:
            key = _digest(text) if items else section.heading
            seen[key] = count = seen.get(key, 0) + 1
            if count > 1 and items:  # said twice is said once
                continue
            key += f" ({count})" if count > 1 else ""  # two sections of one name
            yield Piece(key, section.heading, section.level, text, bool(items))


def _sections(lines: Sequence[str]) -> list[_Section]:
    sections = [_Section(0, "")]
    fence = ""
    for line in lines:
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading:
            sections.append(_Section(len(heading[1]), heading[2]))
        else:
            sections[-1].lines.append(line)
    return sections


def _items(lines: Sequence[str]) -> list[str]:
    """Return the items of a list, each with the lines below it; none if there is other text."""
    items: list[list[str]] = []
    for line in lines:
        if bullet := _BULLET.match(line):
            items.append([line[bullet.end() :]])
        elif line.strip() and not (items and line[0] in " \t"):
            return []
        elif items:
            items[-1].append(line)
    return ["\n".join(item).strip() for item in items]


def _digest(text: str) -> str:
    """Return the same for the same words, whatever the space between them."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]
