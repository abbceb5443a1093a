"""The fence around what gitmem injects into an agent: it cannot be closed from within, and it tells
an import what was never said in the conversation.

A fence is a paragraph: `fenced` leaves no empty line in it. So one that a host tore, by cutting
what it injects, reaches to the next empty line or to the end of the text, and what somebody wrote
below stays. One that lost its beginning reaches back in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

__all__ = ["CLOSE", "OPEN", "fenced", "inert", "unfenced"]

OPEN, CLOSE = "<gitmem-memory>", "</gitmem-memory>"

# A marker fills its line, or the end of it, or its beginning; in a sentence it is only spoken of.
_OPENING = rf"{OPEN}(?=[ \t]*(?:\r?\n|\Z))"
_CLOSING = rf"(?m:^[ \t]*){CLOSE}"
MARKER = re.compile(rf"(?P<open>{_OPENING})|{_CLOSING}")
END = re.compile(rf"(?P<close>{_CLOSING})|\r?\n(?=[ \t]*\r?\n)")
EMPTY_LINE = re.compile(r"\n[ \t]*\r?\n")

LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
ESCAPES = re.compile(
    r"""
      (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]             # colours, movements of the cursor
    | (?: \x1b[\]PX^_] | [\x90\x98\x9d-\x9f] )            # titles, links, …
      [^\x07\x1b\x9c\n]* (?: \x07 | \x1b\\ | \x9c )
    | \x1b [ -/]* [0-~]
    """,
    re.VERBOSE,
)

# What a model may take for the end of the fence or for somebody else's turn. Words that name types
# too count only where no type could stand: `Promise<User>` is left alone.
TAG = re.compile(
    r"""
      [<＜﹤‹] (?= \s*+ [/|]? \s*+
        (?: gitmem | antml | system | assistant | human | developer | im_ | <SYS
          | (?:start|end|eot|eom|begin)_ | (?:hook|command|local|environment)[-_] ) )
    | [<＜﹤‹] (?= (?: (?<!\w.)\s*+ | \s*+ / \s*+ )
        (?:user|tool|function|invoke|result|thinking|instruction|reminder) )
    | [\[［] (?= /? (?: INST | (?:system|developer|assistant|human)\b [^\]\n]{0,20} ) [\]］] )
    """,
    re.VERBOSE | re.IGNORECASE,
)
SPELT = {"[": "&#91;", "［": "&#91;"}  # the others are kinds of `<`
ROLE = "system|developer|assistant|human|user|tool|instructions?"
TURN = re.compile(
    rf"^(?!\| )(?=(?>(?:[^\w\n]|_)*)(?:{ROLE})"
    r"(?:[ ](?:message|prompt|note|reminder|turn))?(?:[^\w\n]|_){0,8}[:：])",
    re.IGNORECASE | re.MULTILINE,
)

HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
FILLERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
TAGS = ("\U000e0000", "\U000e0fff")  # invisible letters, and what is reserved for more of them


def fenced(text: str, label: str = "") -> str:
    """Return `text` between the markers, inert; a line before it, `label`, says what it is."""
    inside = inert(f"{' '.join(label.split())}\n{text}")  # together: a tag may begin in the label
    return "\n".join(filter(None, (OPEN, inside, CLOSE)))


def unfenced(text: str) -> str:
    """Return `text` without what was fenced, torn fences included."""
    kept, place = [], 0
    while marker := MARKER.search(text, place):
        if marker["open"]:
            kept.append(text[place : marker.start()])
            place = _end(text, marker.end())
        else:
            kept.append(text[place : _beginning(text, place, marker.start())])
            place = marker.end()
    # Two halves of a marker, apart until now, must not make one: nothing would be removed twice.
    return MARKER.sub(lambda match: match[0].replace("<", "&lt;"), "".join([*kept, text[place:]]))


def inert(text: str) -> str:
    """Return `text` as lines that hide nothing and pretend nothing, none of them empty.

    Escape sequences, control, zero-width and bidirectional characters are dropped; tags that mean
    something to an agent are spelt out, and a line that opens somebody's turn becomes a quotation.
    """
    text = ESCAPES.sub("", LINE_ENDS.sub("\n", text))
    text = "".join(filter(_visible, text)).encode(errors="replace").decode()
    text = TAG.sub(lambda match: SPELT.get(match[0], "&lt;"), text)
    lines = (line.rstrip() for line in text.split("\n"))
    return TURN.sub("| ", "\n".join(filter(None, lines)))


def _end(text: str, place: int) -> int:
    """Return where the fence ends whose first marker ends at `place`."""
    end = END.search(text, place)
    if not end:
        return len(text)
    return end.end() if end["close"] else end.start()


def _beginning(text: str, start: int, place: int) -> int:
    """Return where the paragraph that `place` is in begins, not before `start`."""
    gaps = [gap.end() for gap in EMPTY_LINE.finditer(text, start, place)]
    return gaps[-1] if gaps else start


@cache
def _visible(char: str) -> bool:
    """Return whether a character shows, or shapes the text: a line's end, a tab."""
    if char in "\n\t":
        return True
    hidden = unicodedata.category(char) in HIDDEN or TAGS[0] <= char <= TAGS[1]
    return not (hidden or FILLERS.match(char))
