"""Whether a spelling of the gazetteer is meant as the technology: `go` seldom is.

The word lists, and what counts as a cue, stand in `gazetteer.toml` under [senses].
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

from gitmem.text.entity_names import gazetteer

Span = tuple[int, int]

CONTEXT = 32
"""Characters looked at on either side."""

IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
MID_SENTENCE = re.compile(r"""[\w,;)\]][)*_"']*[ \t]+[*_"'(\[]*$""")
ONLY_VALUE = re.compile(r":[ \t]*$"), re.compile(r"[ \t]*(?:$|[\n,;.(])")
SMALL_NUMBER = re.compile(r"[ ]\d{1,2}\b(?!%)")


def meant(text: str, spans: Iterable[Span]) -> set[Span]:
    """Return those of `spans`, spellings in reading order, that are meant as technologies."""
    possible = [span for span in spans if _possible(text, *span)]
    kept = {span for span in possible if _certain(text, *span)}
    joined = _cue("joins", r"\s*(?:(?:{})\s*){{1,2}}")
    links = [
        (left, right)
        for left, right in pairwise(possible)
        if right[0] - left[1] < CONTEXT and joined.fullmatch(text, left[1], right[0])
    ]
    for one, other in (*links, *((right, left) for left, right in reversed(links))):
        if one in kept:
            kept.add(other)
    return kept


def _possible(text: str, start: int, end: int) -> bool:
    word = text[start:end]
    strict = gazetteer().strict.get(word.casefold())
    return strict is None or word in strict or text[start - 1 : start] == "`"


def _certain(text: str, start: int, end: int) -> bool:
    word = text[start:end]
    before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
    cued = before.endswith("`") or bool(_cue("after", r"(?:[ @]|==)?(?:\d+\.\d|{})").match(after))
    if word.casefold() in gazetteer().strict:
        return cued or bool(_cue("before", r"(?:{})[ ]?$").search(before))
    spelled = gazetteer().ordinary.get(word.casefold())
    if spelled is None or cued or _beside_ideograph(before, after):
        return True
    return word in spelled and _stands_out(before, after)


def _stands_out(before: str, after: str) -> bool:
    """Whether a capital there is no accident: mid-sentence, a value alone, or numbered."""
    alone = ONLY_VALUE[0].search(before) and ONLY_VALUE[1].match(after)
    return bool(MID_SENTENCE.search(before) or alone or SMALL_NUMBER.match(after))


def _beside_ideograph(before: str, after: str) -> bool:
    near = before.removesuffix(" ")[-1:] + after.removeprefix(" ")[:1]
    return bool(IDEOGRAPH.search(near))


@cache
def _cue(words: str, pattern: str) -> re.Pattern[str]:
    """Compile `pattern` with the gazetteer's list `words` as alternatives of whole words."""
    cues = sorted(map(re.escape, getattr(gazetteer(), words)), key=len, reverse=True)
    whole = (rf"\b{cue}\b" if cue.isascii() and cue.isalpha() else cue for cue in cues)
    return re.compile(pattern.format("|".join(whole)), re.ASCII)
