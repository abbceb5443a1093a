"""The fence around what gitmem injects into an agent: it cannot be closed from within, and it tells
an import what was never said in the conversation.

A fence is a paragraph: `fenced` leaves no empty line in it. So a fence that was torn, by a host that
cuts what it injects, reaches to the next empty line or the end of the text, and no further: what a
user wrote below it stays. A fence that lost its beginning reaches back in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

__all__ = ["CLOSE", "OPEN", "fenced", "inert", "unfenced"]

OPEN, CLOSE = "<gitmem-memory>", "</gitmem-memory>"

ROLES = "system|developer|user|human|assistant|tool|instructions?"

ESCAPES = re.compile(
    r"""
      (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]                     # colours, cursor movements
    | (?: \x1b[\]PX^_] | [\x90\x98\x9d-\x9f] ) [^\x07\x1b\x9c\n]* (?: \x07 | \x1b\\ | \x9c )  # titles, links
    | \x1b [ -/]* [0-~]
    """,
    re.VERBOSE,
)
LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")

# What a model may take for the end of the fence, or for somebody else's turn.
TAG = re.compile(
    rf"""
    [<＜﹤‹] (?= \s{{0,9}} [/|]? \s{{0,9}}
      (?: gitmem | \|? (?:im|start|end|eot|begin|eom) | {ROLES} | antml | function | invoke | result
        | thinking | hook | command | local-command | environment | <SYS ) )
    | [\[［] (?= /? (?: INST | {ROLES} ) \b )
    """,
    re.VERBOSE | re.IGNORECASE,
)
TURN = re.compile(
    rf"^(?=[ \t>#*_~`-]*(?:{ROLES})(?:[ ](?:message|prompt|note|reminder|turn))?[ \t*_~`\])]*[:：])",
    re.IGNORECASE | re.MULTILINE,
)
SPELT = {"<": "&lt;", "＜": "&lt;", "﹤": "&lt;", "‹": "&lt;", "[": "&#91;", "［": "&#91;"}
QUOTE = "| "

# A marker is a line's last word; spoken of in a sentence, it is none.
MARKER = re.compile(rf"{OPEN}(?=[ \t]*(?:\r?\n|\Z))|{CLOSE}")
STOP = re.compile(rf"{CLOSE}|\n(?=[ \t]*\r?\n)")


def fenced(text: str, label: str = "") -> str:
    """Return `text` between the markers, inert; `label` says in a line before it what it is."""
    title = " ".join(inert(label).split())
    return "\n".join(filter(None, (OPEN, title, inert(text), CLOSE)))


def unfenced(text: str) -> str:
    """Return `text` without what was fenced, torn fences included."""
    while (rest := _without(text)) != text:  # two halves of a marker may come together
        text = rest
    return text


def inert(text: str) -> str:
    """Return `text` as lines that hide nothing and pretend nothing, none of them empty.

    Escape sequences, control, zero-width and bidirectional characters are dropped; tags that mean
    something to an agent are spelt out, and a line that opens somebody's turn becomes a quotation.
    """
    text = ESCAPES.sub("", LINE_ENDS.sub("\n", text))
    text = "".join(filter(_shown, text)).encode(errors="replace").decode()
    text = TAG.sub(lambda match: SPELT[match[0]], text)
    lines = (line.rstrip() for line in text.split("\n"))
    return TURN.sub(QUOTE, "\n".join(filter(None, lines)))


def _without(text: str) -> str:
    """Return `text` without its fences as they stand."""
    kept, place = [], 0
    while marker := MARKER.search(text, place):
        start = marker.start()
        if marker[0] == CLOSE:
            start = max(place, _paragraph(text, place, start))
            end = marker.end()
        else:
            stop = STOP.search(text, marker.end())
            end = len(text) if not stop else stop.end() if stop[0] == CLOSE else stop.start()
        kept.append(text[place:start])
        place = end
    return "".join([*kept, text[place:]])


def _paragraph(text: str, start: int, end: int) -> int:
    """Return where the paragraph that `end` is in begins, not before `start`."""
    place = start
    for gap in re.finditer(r"\n[ \t]*\r?\n", text[start:end]):
        place = start + gap.end()
    return place


def _shown(char: str) -> bool:
    return char in "\n\t" or (char >= " " and (char < "\x7f" or _visible(char)))


@cache
def _visible(char: str) -> bool:
    """Return whether a character shows: neither control nor format nor a filler of no width."""
    return not (
        unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}
        or char in "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
        or "\u180b" <= char <= "\u180f"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0000" <= char <= "\U000e0fff"
    )
