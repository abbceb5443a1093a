"""What a command answers: the values for a program, and lines for people.

A line is made of spans, (style, text), from which both the coloured and the Markdown form are made,
so that the two cannot drift apart. A plain string is a passage of Markdown printed as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Span = tuple[str, str]
Line = Sequence[Span]


@dataclass(frozen=True, slots=True)
class View:
    """What a command answers: `data` for the envelope, `lines` for people.

    `none` is said where there are no lines: on standard error in a pipe, whose reader counts lines.
    """

    data: Any
    lines: Iterable[Line | str]
    none: str = ""
    exit_code: int = 0
