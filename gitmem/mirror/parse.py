"""A block's text to items: what each bullet says, however it was reformatted.

An item is a bullet with its indented lines, and lines that follow it directly, as Markdown has
it. The comment with the id may stand anywhere in it; before the comment stand the tags. What is
neither an item nor a heading is a *stray*: typed into the block, and no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitmem.mirror import escape
from gitmem.mirror.document import ID_COMMENT
from gitmem.model import Importance

_COMMENT = r"<!--\s*([0-9a-fA-F]{4,64})((?:\s+[^\s<>]+)*)\s*-->"
_BULLET = r"( {0,1}(?:[-*+]|\d{1,9}[.)])(?:[ ]{1,4}(?=\S)|\t|[ ]|$))"
_NESTED = r"[ \t]+(?:[-*+]|\d{1,9}[.)])[ \t].*" + ID_COMMENT
_KIND = r"(\*\*|__)([^\s*]{1,400}?):?\1:?(?:[ \t\n]|$)"
_HEADING = r"#{1,6}(?:[ \t]|$)"
_ANNEX = r"> ?(?:\*\*|__)(?:contested|note|cut)(?:\*\*|__)"
_DATE = r"\d{4}-\d\d-\d\d"
_IMPORTANCES = frozenset(Importance)


@dataclass(frozen=True, slots=True)
class Item:
    """One bullet: its parts, unescaped; `whole` is all of it but the comment, as it stands.

    `tangled` says that it holds several memories' ids, `lead` is the bold word that `kind` was
    read from, `run` are the ``#tag`` and ``@name`` words before the comment, `annex` the quoted
    lines that gitmem adds (other sides, notes), `heading` the one above it.
    """

    whole: str
    tangled: bool
    id: str | None
    words: tuple[str, ...]
    lead: str
    kind: str | None
    text: str
    run: tuple[str, ...]
    annex: str
    heading: str

    @property
    def importance(self) -> str | None:
        """The importance in the comment, if there is one."""
        return next((word for word in self.words if word in _IMPORTANCES), None)

    @property
    def tags(self) -> tuple[str, ...]:
        """The labels, without ``#``, once each."""
        return tuple(dict.fromkeys(word[1:] for word in self.run if word[0] == "#"))

    @property
    def mentions(self) -> tuple[str, ...]:
        """The names, without ``@``."""
        return tuple(word[1:] for word in self.run if word[0] == "@")

    def alike(self, other: Item) -> bool:
        """Whether two items say the same; their ids and importance do not count."""
        return escape.alike(self.whole, other.whole)


@dataclass(frozen=True, slots=True)
class Block:
    """The items of a block in order, and what stands between them, headings included."""

    items: tuple[Item, ...] = ()
    strays: tuple[str, ...] = ()


def parse_block(text: str) -> Block:
    """Read a block's text; nothing in it is left out of the result but blank lines."""
    items: list[Item] = []
    strays: list[str] = []
    heading = ""
    for chunk in _chunks(text.split("\n")):
        if mark := re.match(_BULLET, chunk[0]):
            items.append(parse_item(_dedent(chunk, mark[0]), heading))
            continue
        strays.append("\n".join(chunk))
        if re.match(_HEADING, chunk[0]):
            heading = chunk[0].strip("# \t")
    return Block(tuple(items), tuple(strays))


def parse_item(body: str, heading: str = "") -> Item:
    """Read a bullet's content, without the bullet and its indentation."""
    body, annex = _without_annex(body)
    comments = [match for match in re.finditer(_COMMENT, body) if _is_ours(match)]
    found = comments[0] if comments else None
    if found is None:
        before, after, id, words = body, "", None, ""
    else:
        before, after = body[: found.start()], body[found.end() :]
        id, words = found[1].lower(), found[2]
    after = re.sub(r"\A[ \t]+(?=\n|\Z)", "", after)
    whole = f"{before} {after}"
    lead, kind, before = _kind(before.lstrip(" \t\n"))
    if found and not before.strip() and not after.startswith("\n"):
        # the comment was moved to the front: kind and tags stand behind it
        if not lead:
            lead, kind, after = _kind(after.lstrip(" \t\n"))
        before, after = after.lstrip(" \t"), ""
    elif found and before[-1:] in (" ", "\t", "\n"):
        before = before[:-1]
    before, run = _run(before)
    text = escape.unguard_tail(before) + escape.unguard_lines(after)
    return Item(
        whole=whole,
        tangled=len(comments) > 1,
        id=id,
        words=tuple(escape.unescape(word) for word in words.split()),
        lead=lead,
        kind=kind,
        text=escape.unescape(text.removeprefix("\n")),
        run=tuple(escape.unescape(word) for word in run),
        annex=annex,
        heading=heading,
    )


def _chunks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Group lines into items (the first has a bullet), headings and other paragraphs."""
    chunk: list[str] = []
    blanks: list[str] = []
    fence = ""
    for line in lines:
        if fence:  # a fence at the margin is no item, whatever it shows
            chunk.append(line)
            fence = "" if line.startswith(fence) else fence
        elif not line.strip():
            blanks.append(line)
        elif chunk and _continues(chunk, line, bool(blanks)):
            chunk += [*blanks, line]
            blanks = []
        else:
            if chunk:
                yield chunk
            chunk, blanks = [line.lstrip() if re.match(_NESTED, line) else line], []
            fence = line[:3] if line.startswith(("```", "~~~")) else ""
    if chunk:
        yield chunk


def _continues(chunk: Sequence[str], line: str, apart: bool) -> bool:
    """Whether `line` belongs to `chunk`; `apart` when blank lines stand between."""
    item = re.match(_BULLET, chunk[0])
    if item and line.startswith(("  ", "\t")):
        # an item with an id of its own was indented: it stays itself
        return not (re.match(_NESTED, line) and any(re.search(ID_COMMENT, row) for row in chunk))
    if apart or re.match(_HEADING, chunk[0]):
        return False
    return not re.match(_BULLET, line) and not re.match(rf"{_HEADING}|```|~~~", line)


def _dedent(chunk: Sequence[str], bullet: str) -> str:
    """Return the lines without the bullet, and as much indentation as the bullet is wide."""
    width = len(bullet) if not bullet.endswith("\t") else 4
    return "\n".join([chunk[0][len(bullet) :], *(_unindent(line, width) for line in chunk[1:])])


def _unindent(line: str, width: int) -> str:
    if line.startswith("\t"):
        return line[1:]
    return line[min(width, len(line) - len(line.lstrip(" "))) :]


def _is_ours(comment: re.Match[str]) -> bool:
    """Whether a comment is an id's, and not one in which somebody wrote ``added`` or ``face``."""
    words = comment[2].split()
    if any(word in _IMPORTANCES or re.fullmatch(_DATE, word) for word in words):
        return True
    return not words and (len(comment[1]) >= 8 or any(char.isdigit() for char in comment[1]))


def _kind(text: str) -> tuple[str, str | None, str]:
    """Split a leading bold word off: the markup, the kind, and what follows."""
    match = re.match(_KIND, text)
    if match is None:
        return "", None, text
    return match[0].rstrip(), escape.unescape(match[2]).lower(), text[match.end() :]


def _run(text: str) -> tuple[str, list[str]]:
    """Split the ``#tag`` and ``@name`` words off the end; the text keeps its own white space."""
    run: list[str] = []
    while True:
        stripped = text.rstrip(" \t\n")
        space = max(stripped.rfind(" "), stripped.rfind("\t"), stripped.rfind("\n"))
        word = stripped[space + 1 :]
        if len(word) < 2 or word[0] not in "#@":
            return text, run
        run.insert(0, word)
        text = stripped[: max(space, 0)]


def _without_annex(body: str) -> tuple[str, str]:
    """Split off the quoted lines that gitmem adds below a memory, and blank lines at the end."""
    first, *lines = body.split("\n")
    text = [first]
    annex: list[str] = []
    inside = False
    for line in lines:
        inside = re.match(_ANNEX, line) is not None or (inside and line.startswith(">"))
        (annex if inside else text).append(line)
    return _without_blank_lines("\n".join(text)), "\n".join(annex)


def _without_blank_lines(text: str) -> str:
    """Drop blank lines at the end; the last line keeps the white space it ends with."""
    stripped = text.rstrip(" \t\n")
    return stripped + text[len(stripped) :].split("\n", 1)[0]
