"""Which edited item was which item of the base: by id, by equal text, by similar text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from gitmem.mirror.escape import canonical
from gitmem.mirror.parse import Item

SIMILAR = 0.75
"""Least `difflib` ratio at which a text without an id is taken for a changed one."""

_MOST = 500  # items without an id that are compared: more are pasted text, not a rewritten block
_COMPARED = 199  # characters; from 200 on difflib leaves frequent ones out
_CANDIDATES = 3  # texts compared with one text, the likely first: 200 rewritten lines take < 1 s


@dataclass(frozen=True, slots=True)
class Pairing:
    """Pairs of (base, edited) items, edited items that are new, base items that are gone.

    `arrived` are the ids of items that the base lacks and another file has.
    """

    pairs: list[tuple[Item, Item]]
    fresh: list[Item]
    missing: list[Item]
    arrived: list[str]


def pair(
    edited: Sequence[Item], base: Sequence[Item], elsewhere: Callable[[str], Item | None]
) -> Pairing:
    """Pair the items of two blocks; `elsewhere` gives the item of an id that the base lacks."""
    olds = list(base)
    claims: dict[int, list[int]] = defaultdict(list)
    loose: list[int] = []
    for index, item in enumerate(edited):
        place = _place(item.id, olds, elsewhere) if item.id else None
        (loose if place is None else claims[place]).append(index)
    pairs, fresh = [], set()
    for place, claimants in claims.items():
        keeper = _keeper(olds[place], [edited[index] for index in claimants])
        pairs.append((olds[place], keeper))
        fresh |= {
            index for index in claimants
            if not edited[index].alike(keeper) and not edited[index].alike(olds[place])
        }  # fmt: skip
    missing = [place for place in range(len(base)) if place not in claims]
    for place, index in _without_id(olds, missing, edited, loose):
        pairs.append((olds[place], edited[index]))
        missing.remove(place)
        loose.remove(index)
    return Pairing(
        pairs=pairs,
        fresh=[edited[index] for index in sorted(fresh | set(loose))],
        missing=[olds[place] for place in missing],
        arrived=[item.id for item in olds[len(base) :] if item.id],
    )


def _place(id: str, olds: list[Item], elsewhere: Callable[[str], Item | None]) -> int | None:
    """Return the place of an id in `olds`, where an item from elsewhere is added."""
    exact = [place for place, item in enumerate(olds) if item.id == id]
    places = exact or [
        place for place, item in enumerate(olds)
        if item.id and (item.id.startswith(id) or id.startswith(item.id))
    ]  # fmt: skip
    if len(places) == 1:
        return places[0]
    item = elsewhere(id)
    if item is None:
        return None
    olds.append(item)
    return len(olds) - 1


def _keeper(old: Item, claimants: Sequence[Item]) -> Item:
    """Return which of several items with one id keeps it: the equal one, else the most similar."""
    if len(claimants) == 1:
        return claimants[0]
    equal = next((item for item in claimants if item.alike(old)), None)
    text = canonical(old.text)
    return equal or max(claimants, key=lambda item: _ratio(canonical(item.text), text))


def _without_id(
    olds: Sequence[Item], missing: Sequence[int], edited: Sequence[Item], loose: Sequence[int]
) -> list[tuple[int, int]]:
    """Match items that lost their id with those that are missing, each once."""
    if not missing or not loose:
        return []
    left = {place: canonical(olds[place].text) for place in missing}
    right = {index: canonical(edited[index].text) for index in loose}
    matched: list[tuple[int, int]] = []
    for place, index in chain(_equal(left, right), _likely(left, right)):
        if place in left and index in right and _ratio(left[place], right[index]) >= SIMILAR:
            matched.append((place, index))
            del left[place], right[index]
    return matched


def _equal(left: Mapping[int, str], right: Mapping[int, str]) -> list[tuple[int, int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in left.items():
        places[text].append(place)
    return [(places[text].pop(0), index) for index, text in right.items() if places.get(text)]


def _likely(left: Mapping[int, str], right: Mapping[int, str]) -> list[tuple[int, int]]:
    """Return pairs of texts that share many pairs of letters, those that share most first."""
    letters = {place: _letters(text) for place, text in left.items()}
    found: list[tuple[float, int, int]] = []
    for index, text in islice(right.items(), _MOST):
        mine = _letters(text)
        shares = (
            (-len(mine & others) / (len(mine) + len(others) or 1), place, index)
            for place, others in letters.items()
        )
        found += sorted(shares)[:_CANDIDATES]
    return [(place, index) for _, place, index in sorted(found)]


def _letters(text: str) -> frozenset[str]:
    text = text[:_COMPARED]
    return frozenset(text[start : start + 2] for start in range(len(text)))


def _ratio(one: str, other: str) -> float:
    if one == other:
        return 1.0
    from difflib import SequenceMatcher  # imported here: only a file edited by hand needs it

    return SequenceMatcher(None, one[:_COMPARED], other[:_COMPARED]).ratio()
