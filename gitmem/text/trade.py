"""Whether a text speaks of technology: by the gazetteer's names, or by words as in code."""

from __future__ import annotations

import re
from itertools import pairwise

_CODE = re.compile(
    r"""(?x)
      `[^`\n]+`
    | \b [A-Za-z]\w* _ \w+                            # snake_case
    | \b [a-z]+ [A-Z] \w*                             # camelCase
    | \b [A-Z][a-z]+ [A-Z]+ \w*                       # PostgreSQL
    | \b [\w-]+ \. (?:[a-z]{1,4}|[a-z]+ile) \b (?!\s*[A-Z])   # a file, a host
    | (?:^|\s) [~.]? / [\w.-]+                        # a path
    | \b \w+ / \w+ (?:/\w+)+
    | \b v? \d+ \. \d+                                # a version
    | \b [a-z]+ -? \d+ \b                             # py3, utf-8
    | \b : \d{2,5} \b
    """
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]*")


def technical(text: str) -> bool:
    """Whether a technology is named, or something that is written as in code.

    A line that is nothing but a name may spell it in any case: who uses "flask" means that.
    """
    return bool(_CODE.search(text)) or any(_named(line.strip()) for line in text.split("\n"))


def _named(line: str) -> bool:
    from gitmem.text.entity_names import gazetteer

    known = gazetteer()
    if line.casefold() in known.names:
        return True
    words = [word.rstrip(".-") for word in _WORD.findall(line)]
    pairs = (" ".join(pair) for pair in pairwise(words))
    return any(
        folded in known.names and name in known.ordinary.get(folded, {name})
        for name in (*words, *pairs)
        if (folded := name.casefold()) not in known.strict  # "make", "click": too common
    )
