"""The managed block of AGENTS.md: what an agent without hooks is told, between two markers.

Everything outside the markers is somebody else's. A block that is not closed is left alone.
"""

from __future__ import annotations

import re

BEGIN = "<!-- gitmem:begin -->"
END = "<!-- gitmem:end -->"

_BLOCK = re.compile(rf"{BEGIN}.*?{END}", re.DOTALL)


def put(text: str | None, body: str) -> str:
    """Return the text with the block: in its place if it is there, else at the end.

    Raises:
        ValueError: the markers do not come in one pair.
    """
    text = text or ""
    line = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{body.strip()}\n{END}".replace("\n", line)
    if _paired(text):
        return _BLOCK.sub(lambda _: block, text)
    gap = "" if not text else line if text.endswith("\n") else line * 2
    return f"{text}{gap}{block}{line}"


def take(text: str | None) -> str | None:
    """Return the text without the block and the blank line before it.

    Raises:
        ValueError: the markers do not come in one pair.
    """
    if text is None or not _paired(text):
        return text
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return re.sub(r"(\A|\n)\r?\n\Z", r"\1", before) + re.sub(r"\A\r?\n", "", after)


def _paired(text: str) -> bool:
    counts = text.count(BEGIN), text.count(END)
    if counts == (0, 0):
        return False
    if counts != (1, 1) or not _BLOCK.search(text):
        raise ValueError(f"the markers '{BEGIN}' and '{END}' do not come in one pair")
    return True
