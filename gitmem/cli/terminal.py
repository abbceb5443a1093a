"""Colour. The one module that imports rich, imported only to write to a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.text import Text

from gitmem.cli.inert import visible
from gitmem.cli.view import Line
from gitmem.model import first_line

STYLES = {
    "id": "yellow",
    "kind": "bold cyan",
    "critical": "bold red",
    "high": "magenta",
    "tag": "green",
    "dim": "dim",
    "key": "bold",
    "heading": "bold underline",
    "error": "bold red",
    "warning": "bold yellow",
}
BRIEF = "content"
"""The style of a whole memory on one line; a terminal shows its first line."""


def write_coloured(lines: Iterable[Line | str], stream: TextIO) -> None:
    """Write lines in colour; what a terminal would obey or hide is spelled out."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    for line in lines:
        console.print(_passage(line) if isinstance(line, str) else _text(line), soft_wrap=True)


def _passage(text: str) -> Text:
    return Text("\n".join(visible(part) for part in text.rstrip("\n").split("\n")))


def _text(line: Line) -> Text:
    text = Text()
    for style, span in line:
        text.append(
            visible(first_line(span) if style == BRIEF else span), style=STYLES.get(style, "")
        )
    return text
