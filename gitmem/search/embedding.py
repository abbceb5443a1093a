"""What text means, in vectors: one a token and one a text. The model behind it can be exchanged.

Of a document a token takes 130 bytes: what stop words and punctuation mean is left out, the rest
is turned onto its 128 main axes, and kept to 1/127.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

DATA = Path(__file__).parent / "data"
SCALE = 127
"""What a token's vector of length 1 is multiplied with before it is rounded to bytes."""

_FORMAT = 1  # to be raised with every change of what comes out
_CUT_OFF = frozenset(
    "aren couldn d didn doesn don hadn hasn haven isn ll m re s shouldn t ve wasn weren wouldn".split()
)
"""What is left of stop words when they are cut at their apostrophe."""
