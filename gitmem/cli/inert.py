"""Text by anybody, made safe to print: characters that act instead of being seen are spelled out.

A memory may hold terminal escapes, bidirectional overrides (which show a line in another order
than it is stored) and zero-width characters (which hide words from people and not from models).
"""

from __future__ import annotations

import re

_CONTROLS = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029"
_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f"
    r"\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
# Joiners spell Persian and the scripts of India, and hold emoji families together.
_JOINERS = r"(?<![\u0600-\u0dff\u200d\ufe0f\u2600-\u27bf\U0001f000-\U0001faff])[\u200c\u200d]"

_SHORT = {"\n": r"\n", "\r": r"\r"}


def one_line(text: str) -> str:
    """Return `text` on one line: line ends and other control characters but tab spelled out."""
    return re.sub(f"[{_CONTROLS}]", _spell, text)


def visible(text: str) -> str:
    """Return `text` on one line with nothing in it that a terminal obeys or that cannot be seen."""
    return re.sub(f"[{_CONTROLS}{_BIDI}{_HIDDEN}]|{_JOINERS}", _spell, text)


def _spell(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
