"""Writers, clones, one remote, and everything that can befall them at once: nothing is lost.

The deeds are planned by a seed, which stands in the message of every failure; how they interleave
is the machine's. The same plan is run again by ``GITMEM_TORTURE_SEED=SEED pytest tests/torture``.
"""

from __future__ import annotations

import os
import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.torture.verdict import verdict
from tests.torture.world import make

SEED = os.environ.get("GITMEM_TORTURE_SEED")


@pytest.mark.parametrize(
    ("writers", "clones", "deeds"),
    [(3, 3, 60), pytest.param(8, 8, 2_000, marks=pytest.mark.long)],
)
def test_nothing_is_lost(tmp_path: Path, writers: int, clones: int, deeds: int) -> None:
    seed = int(SEED) if SEED else 9 if deeds < 100 else random.SystemRandom().getrandbits(32)
    with ExitStack() as stack:
        world = make(stack, tmp_path, seed, writers, clones, deeds)
        try:
            world.run(writers)
            world.settle()
            faults = verdict(world)
        finally:
            print(f"\n{world.summary()}")
    again = f"GITMEM_TORTURE_SEED={seed}, {writers} writers, {clones} clones, {deeds} deeds"
    assert not faults, "\n".join([again, f"{len(faults)} faults", *faults[:20]])
