"""Carries: the same in every clone, never a word of a private memory in the shared journal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.branches.world import SHARED, World
from tests.support import git


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A host, a branch f with P remembered before its commit and Q on it, squashed and pushed."""
    world = World(tmp_path)
    world.begin()
    world.git("clone", "-q", "--bare", ".", "../origin.git")
    world.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    world.git("fetch", "-q")
    world.git("branch", "-q", "-u", "origin/main", "main")
    world.git("switch", "-q", "-c", "f")
    world.remember("P")
    world.commit("c1")
    world.remember("Q")
    world.git("push", "-q", "origin", "f")
    world.git("switch", "-q", "main")
    yield world
    world.close()


def squash(world: World) -> None:
    world.commit("m1")
    world.git("merge", "-q", "--squash", "f")
    world.git("commit", "-q", "-m", "squash")


def events(path: Path, ref: str = SHARED) -> list[dict[str, Any]]:
    listed = git(path, "notes", f"--ref={ref}", "list", check=False)
    blobs = [row.split(" ")[0] for row in listed.split("\n") if row]
    lines = [line for blob in blobs for line in git(path, "cat-file", "blob", blob).split("\n")]
    return [json.loads(line) for line in lines if line]


def carries(path: Path, ref: str = SHARED) -> list[dict[str, Any]]:
    return [event for event in events(path, ref) if event["op"] == "carry"]


def test_a_carry_tells_of_its_commit_alone(world: World) -> None:
    squash(world)
    world.gm.sync_start()
    commit = git(world.here, "log", "-1", "--format=%an <%ae> %cI", "main")
    written = [carry for carry in carries(world.here) if carry.get("branch") == "main"]
    assert written
    for carry in written:
        assert carry.keys() == {"at", "branch", "by", "events", "op", "v"}
        assert f"{carry['by']} {carry['at'][:19]}+00:00" == commit.replace("Z", "+00:00")


def test_two_clones_write_the_same_carry(world: World) -> None:
    world.gm.sync_start()  # what home calls for, before the clones part
    world.share()
    squash(world)
    world.git("push", "-q", "origin", "main")
    world.git("clone", "-q", str(world.root / "origin.git"), str(world.root / "other"))
    world.gm.sync_start()
    mine = carries(world.here)
    world.go("other")
    git(world.here, "fetch", "-q", "origin", f"{SHARED}:{SHARED}")
    assert len(carries(world.here)) < len(mine)
    world.gm.sync_start()
    assert sorted(map(json.dumps, carries(world.here))) == sorted(map(json.dumps, mine))


def test_a_second_look_writes_no_second_carry(world: World) -> None:
    squash(world)
    world.gm.sync_start()
    tip = git(world.here, "rev-parse", SHARED)
    world.gm.sync_start()
    with world.fresh("libgit2") as other:
        other.sync_start()
    assert git(world.here, "rev-parse", SHARED) == tip


def test_private_memories_are_carried_in_the_private_journal(world: World) -> None:
    world.git("switch", "-q", "f")
    world.remember("R", private=True)
    world.remember("S", scope="user")
    world.git("switch", "-q", "main")
    squash(world)
    world.gm.sync_start()
    assert set(world.seen()) == {"P", "Q", "R", "S"}
    named = {id for carry in carries(world.here) for id in carry["events"]}
    assert world.ids["P"] in named and world.ids["R"] not in named
    private = world.here / ".git" / "gitmem" / "private.git"
    (carry,) = carries(private, "refs/notes/gitmem/private")
    assert carry["events"] == [world.ids["R"]]


def test_a_mutating_verb_writes_what_is_due(world: World) -> None:
    squash(world)
    world.remember("T")
    named = {id for carry in carries(world.here) for id in carry["events"]}
    assert {world.ids["P"], world.ids["Q"]} <= named


def test_what_was_carried_outlives_the_branch(world: World) -> None:
    world.gm.sync_start()
    world.git("merge", "-q", "--ff-only", "f")
    world.git("branch", "-q", "-D", "f")
    world.git("reflog", "expire", "--expire=now", "--all")
    assert set(world.seen()) == {"P", "Q"}


def test_a_strangers_carry_of_an_unknown_event_harms_nothing(world: World) -> None:
    line = json.dumps(
        {"at": "2026-03-02T09:00:00.000000Z", "by": "Eve <eve@example.com>", "events": ["0" * 64],
         "op": "carry", "v": 1}, separators=(",", ":"),
    )  # fmt: skip
    git(world.here, "notes", "--ref=gitmem/shared", "append", "-m", line, "main")
    assert set(world.seen()) == set()
    assert set(world.seen("f")) == {"P", "Q"}
