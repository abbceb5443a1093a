"""What messages of many agents have alike: blocks of text, and calls of tools.

Nothing here trusts a type: a transcript may hold a number where a text is expected.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from gitmem.sessions.importers.records import parsed

_IMAGES = {"image", "input_image", "image_url", "imageurl", "local_image", "localimage"}
_TEXTS = {"", "text", "input_text", "output_text", "summary_text"}
_TELLING = (
    "command cmd script file_path filePath filepath notebook_path absolute_path pattern query q"
    " search_term url path dir_path skill description prompt question input"
).split()
"""The arguments that tell a call best, the best first."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_BREAK = re.compile(r"\s*[\r\n]\s*")


def text(value: object) -> str:
    """Return a text, '' for anything else."""
    return value if isinstance(value, str) else ""


def table(value: object) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return a JSON array, an empty one for anything else."""
    return value if isinstance(value, list) else []


def said(content: object) -> str:
    """Return the texts of a message's content: a string, or blocks; an image is ``[image]``."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    return "\n\n".join(found for block in blocks if (found := _block(block)))


def called(name: str, arguments: object) -> str:
    """Return a call as one line, such as ``Bash: ls -a``: the tool, and what it was asked."""
    asked = _asked(unpacked(arguments))
    return f"{name or 'tool'}: {asked}" if asked else name or "tool"


def derived(ordinal: object, role: str, said: str) -> str:
    """Return an id for a turn of a format that has none: ``17-3fa9c2d1``.

    It stays as a file grows; the ordinal tells two turns that say the same apart.
    """
    digest = hashlib.sha256(f"{role}\0{said}".encode()).hexdigest()
    return f"{ordinal}-{digest[:8]}"


def title(spoken: str) -> str:
    """Return a text as a title: one line of at most 120 characters."""
    line = " ".join(spoken[:1_000].split())
    return line if len(line) <= 120 else f"{line[:119]}…"


def _block(block: object) -> str:
    if isinstance(block, str):
        return block
    fields = table(block)
    kind = text(fields.get("type")).lower()
    if kind in _IMAGES or "inlineData" in fields:
        return "[image]"
    if kind not in _TEXTS or fields.get("thought"):
        return ""
    return text(fields.get("text"))


def unpacked(arguments: object) -> object:
    """Return arguments that were written as JSON in a string as what they are."""
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        try:
            return parsed(arguments.encode())
        except (ValueError, RecursionError):  # torn, or a script that begins with a brace
            pass
    return arguments


def _asked(arguments: object) -> str:
    if isinstance(arguments, str):
        return ", ".join(_PATCHED.findall(arguments)) or _BREAK.sub(" ", arguments.strip())
    fields = table(arguments)
    if patch := text(fields.get("patch")):
        return _asked(patch)
    for name in _TELLING:
        value = fields.get(name)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            value = value[-1] if "-lc" in value or "-c" in value else " ".join(value)
        if isinstance(value, str) and value.strip():
            return _asked(value)
    return json.dumps(fields, ensure_ascii=False) if fields else ""
