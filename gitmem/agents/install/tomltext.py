"""Edits of TOML as text: one table comes or goes; every other byte, comments included, stays.

The standard library reads TOML and does not write it. One table at the end needs no more, and a
parser has the last word on every edit.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

Plain = str | int | list[str]


def parse(text: str) -> dict[str, Any]:
    """Return what a TOML text holds.

    Raises:
        ValueError: it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def insert(text: str, table: str, values: Mapping[str, Plain]) -> str:
    """Add a table at the end."""
    line = "\r\n" if "\r\n" in text else "\n"
    rows = [f"[{table}]", *(f"{key} = {_spell(value)}" for key, value in values.items())]
    gap = "" if not text or text.endswith("\n") else line
    gap += line if text.strip() else ""
    return text + gap + "".join(row + line for row in rows)


def update(text: str, table: str, values: Mapping[str, Plain]) -> str:
    """Give keys of a table other values, where each stands on a line of its own."""
    for start, end in _spans(text, re.escape(table)):
        body = text[start:end]
        for key, value in values.items():
            row = f"{key} = {_spell(value)}".replace("\\", r"\\")
            body = re.sub(rf"^{key}\s*=.*?(?=\r?$)", row, body, flags=re.MULTILINE)
        text = text[:start] + body + text[end:]
    return text


def delete(text: str, table: str) -> str:
    """Take out a table and those below it, with the blank line before each."""
    for start, end in reversed(_spans(text, rf"{re.escape(table)}(?:\..*)?")):
        before = re.sub(r"(\A|\n)\r?\n\Z", r"\1", text[:start])
        text = before + text[end:]
    return text


def _spans(text: str, table: str) -> list[tuple[int, int]]:
    """Return where tables begin and end: at the blank lines before the next header, or comment."""
    heads = list(re.finditer(r"^[ \t]*\[+\s*(.+?)\s*\]+[ \t]*(?:#.*)?\r?$", text, re.MULTILINE))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    spans = []
    for head, end in zip(heads, ends, strict=True):
        if re.fullmatch(table, head[1]):
            body = re.sub(r"(?:^[ \t]*(?:#.*)?\r?\n)+\Z", "", text[head.start() : end], flags=re.M)
            spans.append((head.start(), head.start() + len(body)))
    return spans


def _spell(value: Plain) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_spell, value))}]"
    # Of what JSON escapes, TOML knows all but the surrogates, which no path in UTF-8 has.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
