"""Random sequences of git and memory operations, against a naive model of the rules.

GITMEM_SEQUENCES=10000 pytest -m long tests/branches/test_property.py    how many
GITMEM_SEED=4711 …                                                       from which seed on
GITMEM_SHRINK=1 …                                                        shorten what fails
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.branches.sequences import attempt, draw, settings, shrink
from tests.support import git

SEQUENCES, SEED, SHRINK = (
    os.environ.get(name) for name in ("GITMEM_SEQUENCES", "GITMEM_SEED", "GITMEM_SHRINK")
)  # before a test's environment is cleared


@pytest.fixture(autouse=True)
def able() -> None:
    version = git(Path(), "version").split(" ")[2].split(".")
    if (int(version[0]), int(version[1])) < (2, 38):
        pytest.skip("the model asks `git merge-tree --write-tree`, which came with git 2.38")


@pytest.mark.parametrize("seed", range(int(SEED or 0), int(SEED or 0) + 10))
def test_sequences(seed: int, tmp_path: Path) -> None:
    hold(seed, tmp_path)


@pytest.mark.long
def test_many_sequences(tmp_path: Path) -> None:
    for seed in range(int(SEED or 0), int(SEED or 0) + int(SEQUENCES or 1000)):
        root = tmp_path / str(seed)
        root.mkdir()
        hold(seed, root)
        shutil.rmtree(root)


def hold(seed: int, root: Path) -> None:
    """Play the sequence of a seed; fail with what was done, shortened if wished."""
    steps, (backend, tick) = draw(seed), settings(seed)
    print(f"seed {seed} ({backend}, {tick} s a command)")
    failure, log = attempt(steps, backend, tick, root)
    if failure and SHRINK:
        steps = shrink(steps, backend, tick)
        again = root / "again"
        again.mkdir()
        failure, log = attempt(steps, backend, tick, again)
    told = "\n    ".join(log)
    assert not failure, f"seed {seed} ({backend}, {tick} s): {failure}\nafter\n    {told}"
