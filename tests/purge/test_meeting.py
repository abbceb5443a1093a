"""Whoever meets a purge takes it over, and brings nothing back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import gitmem
from gitmem.errors import Unavailable
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend
from gitmem.journal.journals import Journal
from gitmem.journal.purging import purge
from gitmem.model import JournalName
from tests.purge.conftest import live
from tests.purge.support import SHARED, lines, story, traces, whole
from tests.support import git

ADA = "Ada <ada@example.com>"
TRACKING = "refs/gitmem/remotes/origin/shared"


class Two:
    """Two clones of one bare remote, by stock git; `id` is a memory that both have."""

    def __init__(self, repo: Path, backend: Backend) -> None:
        self.backend = backend
        self.remote = repo.parent / "remote.git"
        git(repo.parent, "clone", "-q", "--bare", str(repo), str(self.remote))
        self.one, self.other = (self._clone(name) for name in ("one", "other"))
        with gitmem.open(self.one, backend=backend) as gm:
            self.id = live(gm)
        git(self.one, "push", "-q", "origin", SHARED)
        git(self.other, "fetch", "-q", "origin", f"{SHARED}:{SHARED}")
        with gitmem.open(self.other, backend=backend) as gm:
            assert len(gm.list()) == 4
            gm.search("vault")

    def _clone(self, name: str) -> Path:
        path = self.remote.parent / name
        git(self.remote.parent, "clone", "-q", str(self.remote), str(path))
        return path

    def purged(self) -> purge.Purged | None:
        """Purge in the one clone, and force it onto the remote by stock git."""
        with gitmem.open(self.one, backend=self.backend) as gm:
            gm.purge(self.id)
        git(self.one, "push", "-q", "--force", "origin", SHARED)
        return None

    def met(self, clone: Path) -> tuple[purge.Meeting | None, str]:
        """Fetch in a clone, and say how what it got differs by a purge."""
        git(clone, "fetch", "-q", "origin", f"+{SHARED}:{TRACKING}")
        theirs = git(clone, "rev-parse", TRACKING)
        with self.journal(clone) as journal:
            return purge.meets(journal, theirs), theirs

    def adopt(self, clone: Path) -> Sequence[str]:
        """Take what a clone fetched over; say what is left."""
        theirs = git(clone, "rev-parse", TRACKING)
        with gitmem.open(clone, backend=self.backend) as gm:
            return gm.adopt_purge(theirs)

    def journal(self, clone: Path) -> _Open:
        """Open a clone's journal."""
        return _Open(clone, self.backend)

    def texts(self, clone: Path) -> set[str | None]:
        """Return what a clone's memories say."""
        with gitmem.open(clone, backend=self.backend) as gm:
            assert gm.doctor().clean
            return {memory.text for memory in gm.list()}


class _Open:
    def __init__(self, clone: Path, backend: Backend) -> None:
        self._git = open_repository(clone, backend)

    def __enter__(self) -> Journal:
        return Journal(JournalName.SHARED, self._git)

    def __exit__(self, *_: object) -> None:
        self._git.close()


@pytest.fixture(params=["program", "libgit2"])
def two(request: pytest.FixtureRequest, repo: Path) -> Iterator[Two]:
    """Yield two clones, for each backend."""
    yield Two(repo, request.param)


REST = {"Before it", "Between", "After it"}


def test_a_stale_clone_neither_keeps_it_nor_brings_it_back(two: Two) -> None:
    with gitmem.open(two.other, backend=two.backend) as gm:
        mine = gm.remember("Of the other clone").id
        gm.tag(two.id, "zygomorph-too")
    two.purged()
    meeting, theirs = two.met(two.other)
    assert meeting and [event.memory for event in meeting.unseen] == [two.id]
    assert not meeting.stale
    assert two.adopt(two.other) == []
    assert two.texts(two.other) == REST | {"Of the other clone"}
    assert traces(two.other) == []
    assert whole(two.other)
    assert git(two.other, "merge-base", "--is-ancestor", theirs, SHARED) == ""
    git(two.other, "push", "-q", "origin", SHARED)
    assert mine in {memory.id for memory in _all(two, two.other)}
    git(two.remote, "gc", "-q", "--prune=now")
    assert traces(two.remote) == []
    assert two.met(two.one)[0] is None  # nothing but an ordinary fast-forward


def _all(two: Two, clone: Path) -> list[gitmem.Memory]:
    with gitmem.open(clone, backend=two.backend) as gm:
        return list(gm.list())


def test_a_clone_with_nothing_of_its_own_becomes_the_remote(two: Two) -> None:
    two.purged()
    two.met(two.other)
    two.adopt(two.other)
    assert git(two.other, "rev-parse", SHARED) == git(two.remote, "rev-parse", SHARED)
    assert story(two.other) == story(two.one)
    assert traces(two.other) == []


def test_a_purge_of_what_we_never_had_is_an_ordinary_merge(two: Two) -> None:
    with gitmem.open(two.one, backend=two.backend) as gm:
        later = gm.remember("The Kwyjibo is new").id
    git(two.one, "push", "-q", "origin", SHARED)
    with gitmem.open(two.one, backend=two.backend) as gm:
        gm.purge(later)
    git(two.one, "push", "-q", "--force", "origin", SHARED)
    with gitmem.open(two.other, backend=two.backend) as gm:
        gm.remember("Of the other clone")
    assert two.met(two.other)[0] is None


def test_ordinary_journals_do_not_meet_a_purge(two: Two) -> None:
    for clone in (two.one, two.other):
        with gitmem.open(clone, backend=two.backend) as gm:
            gm.remember(f"Of {clone.name}")
    git(two.one, "push", "-q", "origin", SHARED)
    assert two.met(two.other)[0] is None
    assert two.met(two.one)[0] is None


def test_somebody_elses_purge_is_told_from_ones_own(two: Two) -> None:
    git(two.one, "config", "user.email", "grace@example.com")
    two.purged()
    meeting, _ = two.met(two.other)
    assert meeting
    assert [event.memory for event in meeting.foreign(ADA)] == [two.id]
    assert meeting.foreign("G <grace@example.com>") == []


def test_a_remote_that_was_not_purged_is_stale_and_brings_only_what_is_new(two: Two) -> None:
    with gitmem.open(two.other, backend=two.backend) as gm:
        gm.remember("Of the other clone")
    git(two.other, "push", "-q", "origin", SHARED)
    with gitmem.open(two.one, backend=two.backend) as gm:
        gm.purge(two.id)
        gm.remember("Of the one clone")
    meeting, _ = two.met(two.one)
    assert meeting and meeting.stale and not meeting.unseen
    before = story(two.other)
    two.adopt(two.one)
    assert two.texts(two.one) == REST | {"Of the other clone", "Of the one clone"}
    assert traces(two.one) == []
    assert whole(two.one)
    assert before[-1] in story(two.one)  # with its author and time
    tip = git(two.one, "rev-parse", SHARED)
    two.met(two.one)
    two.adopt(two.one)  # the same remote again: there is nothing to take
    assert git(two.one, "rev-parse", SHARED) == tip


def test_what_a_stock_merge_brought_back_is_seen_and_purged_again(two: Two) -> None:
    two.purged()
    git(two.other, "fetch", "-q", "origin", f"+{SHARED}:refs/notes/theirs")
    git(two.other, "notes", f"--ref={SHARED}", "merge", "-q", "-s", "cat_sort_uniq", "theirs")
    git(two.other, "push", "-q", "origin", SHARED)
    meeting, _ = two.met(two.one)
    assert meeting and meeting.stale
    two.adopt(two.one)
    assert traces(two.one) == []
    assert two.texts(two.one) == REST
    with gitmem.open(two.other, backend=two.backend) as gm:
        gm.purge(two.id)
        assert {memory.text for memory in gm.list()} == REST
    git(two.other, "update-ref", "-d", "refs/notes/theirs")
    assert traces(two.other) == []


def test_two_purges_that_meet(two: Two) -> None:
    """Each clone purged another memory: both are gone, in both, in the end."""
    second = next(memory.id for memory in _all(two, two.one) if memory.text == "Between")
    two.purged()
    with gitmem.open(two.other, backend=two.backend) as gm:
        gm.purge(second)
        gm.remember("Of the other clone")
    meeting, _ = two.met(two.other)
    assert meeting and meeting.unseen and meeting.stale
    two.adopt(two.other)
    assert two.texts(two.other) == {"Before it", "After it", "Of the other clone"}
    assert traces(two.other) == []
    assert not any('"text":"Between"' in line for line in lines(two.other))
    git(two.other, "push", "-q", "--force", "origin", SHARED)
    meeting, _ = two.met(two.one)
    assert meeting and [event.memory for event in meeting.unseen] == [second]
    two.adopt(two.one)
    assert two.texts(two.one) == two.texts(two.other)
    assert lines(two.one) == lines(two.other)
    for clone in (two.one, two.other):
        assert whole(clone)


def test_the_same_purge_in_two_clones_needs_no_merge(two: Two) -> None:
    for clone in (two.one, two.other):
        with gitmem.open(clone, backend=two.backend) as gm:
            gm.purge(two.id)
    assert story(two.one)[:-1] == story(two.other)[:-1]
    assert git(two.one, "rev-parse", f"{SHARED}^") == git(two.other, "rev-parse", f"{SHARED}^")


def test_the_doctor_sees_what_a_stock_merge_brought_back(two: Two) -> None:
    with gitmem.open(two.one, backend=two.backend) as gm:
        gm.purge(two.id)
        assert gm.doctor().clean
    git(two.one, "fetch", "-q", "origin", f"+{SHARED}:refs/notes/theirs")
    git(two.one, "notes", f"--ref={SHARED}", "merge", "-q", "-s", "cat_sort_uniq", "theirs")
    git(two.one, "update-ref", "-d", "refs/notes/theirs")
    with gitmem.open(two.one, backend=two.backend) as gm:
        assert {memory.text for memory in gm.list()} == REST  # a purge is final, lines or not
        (finding,) = gm.doctor().findings
        assert (finding.code, two.id[:8] in finding.hint) == ("returned", True)
        gm.purge(two.id)
        assert gm.doctor(repair=True).clean
    assert traces(two.one) == []


def test_a_remote_with_objects_that_git_would_not_write(two: Two) -> None:
    """A hostile one: a tree that nests for ever, a tree with a name twice."""
    with gitmem.open(two.one, backend=two.backend) as gm:
        gm.purge(two.id)
    deep = git(two.one, "hash-object", "-t", "tree", "-w", "/dev/null")
    for _ in range(1_200):
        deep = git(two.one, "mktree", input=f"040000 tree {deep}\tab\n")
    hostile = git(two.one, "commit-tree", deep, "-p", SHARED, "-m", "deep")
    with two.journal(two.one) as journal:
        assert purge.meets(journal, hostile) is None
    odd = two.one / "odd"
    odd.write_bytes(b"100644 .." * 3)
    bad = git(two.one, "hash-object", "-t", "tree", "-w", "--literally", str(odd))
    hostile = git(two.one, "commit-tree", bad, "-p", SHARED, "-m", "odd")
    with two.journal(two.one) as journal, pytest.raises(Unavailable, match="damaged"):
        purge.meets(journal, hostile)
