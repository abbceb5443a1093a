"""Every row of the table in ``docs/branches.md``, against real repositories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.branches.scenarios import PAGE, Scenario, check, page, play, scenarios
from tests.branches.world import World
from tests.support import git


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.begin()
    yield world
    world.close()


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_what_is_seen(world: World, scenario: Scenario) -> None:
    play(world, scenario)
    last = [step[1:] for step in scenario.steps[-1:] if step[0] == ">"]
    last = list(scenario.checks())[-1] if last else []
    seen_again(world, last)


def seen_again(world: World, checks: list[tuple[str, ...]]) -> None:
    """Hold checks once more, after what was computed is written, through the other way to git."""
    world.gm.sync_start()
    with world.fresh("libgit2") as other:
        for words in checks:
            check(world, words, gm=other)


def test_a_look_writes_nothing_to_the_journal(world: World) -> None:
    world.git("switch", "-q", "-c", "f")
    world.remember("P")
    world.commit("c1")
    world.git("switch", "-q", "main")
    world.git("merge", "-q", "--squash", "f")
    world.git("commit", "-q", "-m", "squash")
    before = git(world.here, "rev-parse", "refs/notes/gitmem/shared")
    assert set(world.seen()) == {"P"}
    assert git(world.here, "rev-parse", "refs/notes/gitmem/shared") == before
    world.gm.sync_start()
    assert git(world.here, "rev-parse", "refs/notes/gitmem/shared") != before
    assert '"op":"carry"' in git(world.here, "notes", "--ref=gitmem/shared", "show", "HEAD")


def test_names_of_scenarios_are_distinct() -> None:
    names = [scenario.name for scenario in scenarios()]
    assert len(set(names)) == len(names)


def test_the_table_in_the_docs_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.branches.scenarios"
