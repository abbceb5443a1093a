"""What is done to whom, all of it by a seed; only the interleaving is the machine's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

OURS = {"remember": 20, "revise": 14, "forget": 7, "tag": 12, "push": 12, "pull": 12}
"""How often each of gitmem's verbs is used, of a hundred deeds or so."""

STOCK = {"commit": 4, "amend": 5, "merge": 6, "git push": 4, "remove": 3, "gc": 2}
"""What somebody does with git alone, who need not know what gitmem is."""

STRATEGIES = {"cat_sort_uniq": 6, "union": 2, "ours": 1, "theirs": 1}
"""How stock git merges notes: the last two drop lines."""

KILLED = 0.15
"""The share of gitmem's deeds that are killed on the way."""


class Deed(NamedTuple):
    """One thing that one writer does in one clone.

    `seed` chooses what cannot be planned, such as the memory to forget among those that are there.
    `kill` are seconds after which the process is killed, `alone` without the git it has started.
    `skew` are the days by which its clock is wrong.
    """

    number: int
    writer: int
    clone: int
    verb: str
    seed: int
    skew: float
    kill: float | None = None
    alone: bool = False

    @property
    def mark(self) -> str:
        """What stands in the event that it writes, and in no other."""
        return f"deed-{self.number}"


def plan(seed: int, writers: int, clones: int, deeds: int) -> Sequence[Deed]:
    """Return so many deeds by so many writers, each of whom goes from clone to clone."""
    dice = random.Random(seed)
    clocks = [dice.uniform(-2, 2) for _ in range(clones)]
    weights = {**OURS, **STOCK}
    made = []
    for number in range(deeds):
        clone = dice.randrange(clones)
        verb = dice.choices(list(weights), list(weights.values()))[0]
        jumps = dice.random() < 0.1  # somebody has set the clock
        skew = dice.uniform(-2, 2) if jumps else clocks[clone]
        killed = verb in OURS and dice.random() < KILLED
        made.append(
            Deed(
                number=number,
                writer=number % writers,
                clone=clone,
                verb=verb,
                seed=dice.getrandbits(32),
                skew=skew,
                kill=dice.uniform(0.2, 1.2) if killed else None,
                alone=dice.random() < 0.5,
            )
        )
    return made
