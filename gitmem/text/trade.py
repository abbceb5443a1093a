"""Whether a text speaks of technology: by the gazetteer's names, or by words as in code."""

from __future__ import annotations

import re

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
    """Whether a technology is named, or something that is written as in code."""
    return bool(_CODE.search(text)) or any(True for _ in _technologies(text))


def _technologies(text: str) -> list[str]:
    from gitmem.text.entity_names import gazetteer

    known = gazetteer()
    words = [word.rstrip(".-") for word in _WORD.findall(text)]
    found = []
    for place, word in enumerate(words):
        for name in (word, " ".join(words[place : place + 2])):
            folded = name.casefold()
            if folded in known.strict:
                continue  # "make", "click", "black": too common
            if folded in known.names and name in known.ordinary.get(folded, {name}):
                found.append(name)
    return found
