"""`purge --push`: the remote has it no more, and nobody's memory is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem.errors import NotFound, Refused, Unavailable
from gitmem.journal.codec import encode
from gitmem.journal.sharing.transfer import Remote
from tests.purge.support import SHARED, traces, whole
from tests.purge.test_meeting import ADA, REST, TRACKING, Two
from tests.support import git


@pytest.fixture(params=["program", "libgit2"])
def two(request: pytest.FixtureRequest, repo: Path) -> Iterator[Two]:
    """Yield two clones, for each backend."""
    yield Two(repo, request.param)


def test_the_remote_has_none_of_it_after_its_gc(two: Two) -> None:
    assert traces(two.remote)
    branches = git(two.remote, "for-each-ref", "refs/heads")
    with gitmem.open(two.one, backend=two.backend) as gm:
        done = gm.purge(two.id, push=True)
        assert done.pushed == "origin"
        assert any("garbage" in line for line in done.left)
    assert git(two.remote, "rev-parse", SHARED) == git(two.one, "rev-parse", SHARED)
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.one) == []
    assert git(two.remote, "for-each-ref", "refs/heads") == branches
    assert whole(two.remote) and whole(two.one)


def test_what_others_pushed_before_is_taken_along(two: Two) -> None:
    with gitmem.open(two.other, backend=two.backend) as gm:
        gm.remember("Of the other clone")
    git(two.other, "push", "-q", "origin", SHARED)
    with gitmem.open(two.one, backend=two.backend) as gm:
        gm.remember("Of the one clone")
        gm.purge(two.id, push=True)
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.one) == []
    assert two.texts(two.one) == REST | {"Of the other clone", "Of the one clone"}
    meeting, _ = two.met(two.other)
    assert meeting
    two.adopt(two.other)
    assert two.texts(two.other) == two.texts(two.one)
    assert traces(two.other) == []


def test_what_others_push_meanwhile_is_taken_along(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    force = Remote.force
    pushed = []

    def late(self: Remote, ref: str, new: str, expected: str | None) -> None:
        if len(pushed) < 2:
            with gitmem.open(two.other, backend=two.backend) as gm:
                pushed.append(gm.remember(f"Meanwhile {len(pushed)}").id)
            git(two.other, "push", "-q", "origin", SHARED)
        force(self, ref, new, expected)

    monkeypatch.setattr(Remote, "force", late)
    with gitmem.open(two.one, backend=two.backend) as gm:
        assert gm.purge(two.id, push=True).pushed == "origin"
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.one) == []
    assert two.texts(two.one) == REST | {"Meanwhile 0", "Meanwhile 1"}
    assert whole(two.one)


def test_a_purge_that_was_not_pushed_can_be_pushed_later(two: Two) -> None:
    with gitmem.open(two.one, backend=two.backend) as gm:
        done = gm.purge(two.id)
        assert done.pushed is None
        assert any("--push origin" in line for line in done.left)
        assert traces(two.remote)
        gm.remember("Of the one clone")
        again = gm.purge(two.id[:8], push=True)
        assert again.pushed == "origin"
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.one) == []
    assert two.texts(two.one) == REST | {"Of the one clone"}


def test_a_remote_without_memory(two: Two) -> None:
    git(two.remote, "update-ref", "-d", SHARED)
    with gitmem.open(two.one, backend=two.backend) as gm:
        assert gm.purge(two.id, push=True).pushed == "origin"
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.one) == []


def test_a_remote_that_forbids_it_is_named(two: Two) -> None:
    hook = two.remote / "hooks" / "update"
    hook.write_text("#!/bin/sh\necho no forced pushes here >&2\nexit 1\n")
    hook.chmod(0o755)
    with (
        gitmem.open(two.one, backend=two.backend) as gm,
        pytest.raises(Refused, match=r"origin.*hook declined"),
    ):
        gm.purge(two.id, push=True)
    assert two.texts(two.one) == REST
    assert traces(two.one) == []
    hook.unlink()
    with gitmem.open(two.one, backend=two.backend) as gm:
        assert gm.purge(two.id[:8], push=True).pushed == "origin"
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.one) == []


def test_a_remote_that_is_not_there(two: Two) -> None:
    git(two.one, "remote", "set-url", "origin", str(two.remote.parent / "nowhere"))
    with gitmem.open(two.one, backend=two.backend) as gm:
        with pytest.raises(Unavailable, match="origin"):
            gm.purge(two.id, push=True)
        git(two.one, "remote", "remove", "origin")
        with pytest.raises(NotFound, match="remote"):
            gm.purge(two.id, push=True)
        assert two.id in {memory.id for memory in gm.list()}  # asked for as one: nothing was done


def test_no_other_ref_is_pushed(two: Two) -> None:
    git(two.one, "config", "push.followTags", "true")
    git(two.one, "tag", "-a", "-m", "mine", "v1")
    git(two.one, "commit", "-q", "--allow-empty", "-m", "mine")
    before = set(git(two.remote, "for-each-ref").split("\n"))
    with gitmem.open(two.one, backend=two.backend) as gm:
        gm.purge(two.id, push=True)
    after = set(git(two.remote, "for-each-ref").split("\n"))
    assert {line.split("\t")[1] for line in before ^ after} == {SHARED}


def test_somebody_elses_purge_at_the_remote_is_taken_over_first(two: Two) -> None:
    mine = next(memory.id for memory in _memories(two) if memory.text == "Between")
    git(two.one, "config", "user.email", "grace@example.com")
    git(two.other, "config", "gitmem.trust", "all")
    two.purged()
    with gitmem.open(two.other, backend=two.backend) as gm:
        with pytest.raises(Refused, match="grace@example.com"):
            gm.purge(mine, push=True)
        assert len(gm.list()) == 4
        gm.adopt_purge(git(two.other, "rev-parse", TRACKING))
        assert gm.purge(mine, push=True).pushed == "origin"
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.other) == []


def _memories(two: Two) -> list[gitmem.Memory]:
    with gitmem.open(two.other, backend=two.backend) as gm:
        return list(gm.list())


def test_a_private_memory_forces_nothing(two: Two) -> None:
    before = git(two.remote, "for-each-ref")
    with gitmem.open(two.one, backend=two.backend) as gm:
        gm.remember("Not pushed yet")
        id = gm.remember("The other Kwyjibo", private=True).id
        assert gm.purge(id, push=True).pushed is None
    assert git(two.remote, "for-each-ref") == before


def test_no_other_secret_leaves_with_it(two: Two) -> None:
    key = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    said = {"at": "2026-01-02T03:04:05.000000Z", "by": ADA, "op": "remember", "text": f"key: {key}"}
    event = encode(said)
    with two.journal(two.one) as journal:  # as a gitmem without rules for secrets would write it
        head = git(two.one, "rev-parse", "HEAD")
        journal.append({head: [event.line]}, "remember", ADA, 1_700_000_000)
    before = git(two.remote, "rev-parse", SHARED)
    with gitmem.open(two.one, backend=two.backend) as gm:
        with pytest.raises(Refused, match="secret"):
            gm.purge(two.id, push=True)
        assert two.id in {memory.id for memory in gm.list()}
        assert git(two.remote, "rev-parse", SHARED) == before
        gm.purge(event.id)
        assert gm.purge(two.id, push=True).pushed == "origin"
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote, two.one) == []
