"""Text by anybody, made safe to print: characters that act instead of being seen are spelled out.

A memory may hold terminal escapes, bidirectional overrides (which show a line in another order
than it is stored) and zero-width characters (which hide words from people and not from models).
"""

from __future__ import annotations

import re

from gitmem.text.unseen import BIDI, CONTROLS, HIDDEN, JOINERS, SURROGATES

_ACTING = f"[{CONTROLS}{BIDI}{HIDDEN}{SURROGATES}]|{JOINERS}"
_SHORT = {"\n": r"\n", "\r": r"\r"}


def one_line(text: str) -> str:
    """Return `text` on one line: line ends and other control characters but tab spelled out."""
    return re.sub(f"[{CONTROLS}]", _spell, text)


def visible(text: str) -> str:
    """Return `text` on one line with nothing in it that a terminal obeys or that cannot be seen."""
    return re.sub(_ACTING, _spell, text)


def in_json(text: str) -> str:
    """Return JSON with such characters as its own escapes: a reader gets every one of them."""
    return re.sub(_ACTING, _escape, text)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def _spell(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
