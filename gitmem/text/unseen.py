"""Characters that act instead of being seen: classes for regular expressions, as strings.

Bidirectional overrides show a line in another order than it is stored; zero-width characters and
invisible letters hide words from people and not from models.
"""

from __future__ import annotations

CONTROLS = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029"
"""Controls but the tab: line ends, and what a terminal obeys."""

BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
HIDDEN = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f"
    r"\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
SURROGATES = r"\ud800-\udfff"

# Joiners spell Persian and the scripts of India, and hold emoji families together.
JOINERS = r"(?<![\u0600-\u0dff\u200d\ufe0f\u2600-\u27bf\U0001f000-\U0001faff])[\u200c\u200d]"
"""No class, but an expression: joiners where they join nothing."""
