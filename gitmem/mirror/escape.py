"""Text to Markdown and back, exactly; and which texts Markdown treats alike.

A memory's text is Markdown already, so little is escaped: what could open or close a comment,
what the line's own grammar uses, and characters that hide or reorder text.

==================  =====================  ====================================================
in the text         in the file            where
==================  =====================  ====================================================
``--``              ``-\\-``                in prose; in code, where the backslash would show and
                                           be copied, only ``<!--`` and ``-->``; never in table
                                           rules and thematic breaks, which it would break
control, hidden     ``&#x202E;``           everywhere; and blank lines at either end (``&#xA;``)
``<system>``        ``&#x3C;system>``      everywhere: what a model may take for somebody else's
``#word @word``     ``\\#word``             at the end of the bullet's line, where tags stand
==================  =====================  ====================================================

What is escaped already gets one more backslash or ``amp;``, so that reading takes one off.
Patterns are strings: ``re`` compiles them at first use, and most commands use few of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gitmem.text.unseen import BIDI, CONTROLS, HIDDEN, JOINERS

_UNSEEN = rf"(?!\n)[{CONTROLS}{BIDI}{HIDDEN}]|{JOINERS}"
_MARKS = "<[＜﹤‹［"
_ENTITY = r"&((?:amp;)*)#x([0-9A-F]{1,6});"
_DASHES = r"-(\\*)(?=-)"
_CODE_OR_DASHES = r"(?<!`)(`+)(?!`)(?P<code>.+?)(?<!`)\1(?!`)|-(\\*)(?=-)"
_FENCE = r"[ \t]*(`{3,}|~{3,})"
_RULE = r"[-|: \t]*"
_TAIL = r"(?:^|[ \t])([#@][^ \t]+)[ \t]*$"
_CONFLICT = r"(?m)^(\\*)(?=(?:<{7}|>{7}|\|{7})(?: |$))"
_ANNEX = r"(?m)^([ \t]*)(\\*)(?=> ?(?:\*\*|__)(?:contested|note|cut)(?:\*\*|__))"


def escape(text: str) -> str:
    """Return `text` as it stands in the file, line by line the same."""
    text = _ends(_tags(_characters(text)))
    if "--" not in text and "-\\" not in text:
        return text
    return "\n".join(_dashes(line, code) for line, code in _with_code(text))


def unescape(text: str) -> str:
    """Return what `escape` was given."""
    if "-\\" in text:
        text = re.sub(r"-\\(\\*)(?=-)", r"-\1", text)
    return re.sub(_ENTITY, _character, text) if "&" in text else text


@lru_cache(maxsize=1_000)
def escape_word(word: str, also: str = "") -> str:
    """Return a tag, kind or name as one word; characters in `also` become entities too."""
    word = re.sub(rf"[ \t\n{also}]", _entity, _tags(_characters(word)))
    return re.sub(_DASHES, r"-\\\1", word) if "-" in word else word


def guard_tail(line: str) -> str:
    """Escape what would be taken for tags at the end of a bullet's line."""
    if "#" not in line and "@" not in line:
        return line
    line = re.sub(r"(^|[ \t])(\\+)(?=[#@][^ \t])", r"\1\2\\", line)
    last = re.search(_TAIL, line)
    return f"{line[: last.start(1)]}\\{line[last.start(1) :]}" if last else line


def unguard_tail(text: str) -> str:
    """Return what `guard_tail` was given."""
    return re.sub(r"(?m)(^|[ \t])\\(\\*)(?=[#@][^ \t\n])", r"\1\2", text) if "\\" in text else text


def guard_lines(text: str) -> str:
    """Escape lines that would be taken for what gitmem adds below a memory."""
    return re.sub(_ANNEX, r"\1\2\\", text) if ">" in text else text


def unguard_lines(text: str) -> str:
    """Return what `guard_lines` was given."""
    return re.sub(_ANNEX.replace(r"(\\*)", r"\\(\\*)"), r"\1\2", text) if "\\>" in text else text


def guard_conflicts(text: str) -> str:
    """Escape lines that would be taken for a merge conflict."""
    return re.sub(_CONFLICT, r"\1\\", text)


def unguard_conflicts(text: str) -> str:
    """Return what `guard_conflicts` was given."""
    return re.sub(_CONFLICT.replace(r"(\\*)", r"\\(\\*)"), r"\1", text)


def opens_fence(line: str) -> bool:
    """Whether a fenced code block begins on this line."""
    return re.match(_FENCE, line) is not None


def alike(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but white space and spellings Markdown treats alike."""
    return one == other or canonical(one) == canonical(other)


def canonical(text: str) -> str:
    """Return the one spelling of `text` that formatters' rewritings of it share."""
    lines = [line.strip() for line in text.split("\n")]
    quoted = [line.startswith(">") for line in lines]
    text = " ".join(
        line.lstrip("> ") if again and quote else _canonical_line(line)
        for line, quote, again in zip(lines, quoted, [False, *quoted], strict=False)
    )
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    text = re.sub(r"(?<![^\W_])_+|_+(?![^\W_])", lambda match: "*" * len(match[0]), text)
    text = re.sub(r"\]\(\s*([^()\s]+)\s*\)", r"](\1)", text)
    return " ".join(text.split())


def _canonical_line(line: str) -> str:
    if re.fullmatch(r"([-*_])(?:[ \t]*\1){2,}", line):
        return "---"
    if line.startswith("|"):
        return re.sub(r"\s*\|\s*", "|", re.sub(r"-{2,}", "-", line))
    line = re.sub(r"^(?:`{3,}|~{3,})", "```", line)
    line = re.sub(r"^[*+](?=\s)", "-", line)
    return re.sub(r"^(\d+)\)(?=\s)", r"\1.", line)


def _characters(text: str) -> str:
    if "&" in text:
        text = re.sub(_ENTITY, r"&amp;\1#x\2;", text)
    return text if text.isascii() and text.isprintable() else re.sub(_UNSEEN, _entity, text)


def _tags(text: str) -> str:
    """Spell out the beginnings of tags that would end an agent's fence or open another's turn."""
    if not any(mark in text for mark in _MARKS):
        return text
    from gitmem.text.fence import TAG  # 10 ms, for the few texts with a tag in them

    return re.sub(TAG, _entity, text)


def _entity(match: re.Match[str]) -> str:
    return f"&#x{ord(match[0]):X};"


def _character(match: re.Match[str]) -> str:
    amps, code = match[1], int(match[2], 16)
    if amps:
        return f"&{amps[4:]}#x{match[2]};"
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else match[0]


def _ends(text: str) -> str:
    """Write the newlines of blank lines at both ends as entities: formatters drop such lines."""
    if "\n" not in text:
        return text
    text = re.sub(r"\A[ \t\n]*\n", lambda match: match[0].replace("\n", "&#xA;"), text)
    body = text.rstrip(" \t\n")
    return body + text[len(body) :].replace("\n", "&#xA;")


def _with_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is code: in a fence, or its first or last line."""
    fence = ""
    for line in text.split("\n"):
        mark = re.match(_FENCE, line)
        yield line, bool(fence or mark)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""


def _dashes(line: str, code: bool) -> str:
    if code:
        return _code_dashes(line)
    if re.fullmatch(_RULE, line):
        return line
    return re.sub(_CODE_OR_DASHES, _span, line)


def _span(match: re.Match[str]) -> str:
    return _code_dashes(match[0]) if match["code"] is not None else f"-\\{match[3]}"


def _code_dashes(code: str) -> str:
    code = re.sub(r"-(\\+)(?=-)", r"-\1\\", code)
    return code.replace("<!--", "<!-\\-").replace("-->", "-\\->")
