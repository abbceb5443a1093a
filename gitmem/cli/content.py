"""What a user hands over, on the command line or on standard input, as the library takes it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gitmem.cli.verb import current
from gitmem.errors import UsageError

STDIN = "-"
ENOUGH = 1 << 20
"""Bytes read of standard input: beyond what a memory may hold, so that the library refuses it."""


def text_of(argument: str) -> str:
    """Return the argument, or what stands on standard input where it is ``-``.

    Raises:
        UsageError: standard input is closed, or not UTF-8.
    """
    if argument != STDIN:
        return argument
    if sys.stdin is None:
        raise UsageError("standard input is closed", "give the text as an argument")
    content = sys.stdin.buffer.read(ENOUGH)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) < ENOUGH:
            raise UsageError(
                f"standard input is not UTF-8 text, at byte {error.start}",
                "convert it first, for example with iconv",
            ) from None
        text = content.decode("utf-8", "replace")  # cut within a character, and too long anyway
    return text.removesuffix("\n").removesuffix("\r")  # the line end that `echo` adds


def content_of(argument: str) -> str | Mapping[str, Any]:
    """Return the text, or the object if the text is a JSON object."""
    text = text_of(argument)
    value = _json(text)
    if isinstance(value, dict):
        return value
    if value is not _NO_JSON:
        current().warnings.append(
            'the text is JSON but no object, and is stored as text; put it in one, {"key": …}'
        )
    return text


def summary_of(argument: str) -> str:
    """Return a session's summary: text, or what a JSON object says, its ``summary`` first."""
    text = text_of(argument)
    value = _json(text)
    if not isinstance(value, dict):
        return text
    from gitmem.model import render_data

    first = str(value.pop("summary", ""))
    return "\n".join(part for part in (first, render_data(value)) if part)


def tags_of(values: Sequence[str]) -> tuple[str, ...]:
    """Split ``a,b`` into tags; a value without any stays as it is, for the library to refuse."""
    split = ([part.strip() for part in value.split(",") if part.strip()] for value in values)
    return tuple(
        part for parts, value in zip(split, values, strict=True) for part in parts or [value]
    )


_NO_JSON = object()


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in tuple('{["'):
        return _NO_JSON
    import json

    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # text that merely begins like JSON
        return _NO_JSON


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
