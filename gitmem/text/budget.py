"""How many tokens a text costs a language model, estimated without one."""

from __future__ import annotations


def tokens(text: str) -> int:
    """Estimate the tokens of `text`: four ASCII characters each, one for any other character."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return (ascii_count + 3) // 4 + len(text) - ascii_count
