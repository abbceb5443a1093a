"""Tracked files of the mirror, and what git's own commands do to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.mirror.mirror import LONG_TERM
from gitmem.model import Memory
from tests.mirror.support import Desk, FakeView, make
from tests.support import git

SHARED = [make(f"shared memory {number}", kind="fact") for number in range(3)]
MINE = make("only mine", kind="lesson")
THEIRS = make("only theirs", kind="lesson")


@pytest.fixture
def desk(repo: Path) -> Desk:
    desk = Desk(repo, FakeView(*SHARED))
    desk.sync()
    commit(desk, "mirror")
    return desk


def commit(desk: Desk, message: str) -> None:
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-q", "-m", message)


def on_branch(desk: Desk, name: str, *memories: Memory) -> None:
    """Remember on a new branch and commit the files."""
    git(desk.root, "switch", "-q", "-c", name, "main")
    desk.view.memories = {memory.id: memory for memory in [*SHARED, *memories]}
    desk.sync()
    commit(desk, name)


def test_a_merge_with_conflicts_waits_until_they_are_resolved(desk: Desk) -> None:
    on_branch(desk, "theirs", THEIRS)
    on_branch(desk, "mine", MINE)
    git(desk.root, "merge", "theirs", check=False)
    assert "<<<<<<<" in desk.text()
    conflicted = desk.text()
    desk.view.memories[THEIRS.id] = THEIRS
    found, written = desk.sync()
    assert found.edits == []
    assert any(LONG_TERM in line and "conflict" in line for line in found.held)
    assert LONG_TERM not in written
    assert desk.text() == conflicted
    git(desk.root, "checkout", "--ours", ".")
    found, written = desk.sync()
    assert found.edits == []
    assert LONG_TERM in written
    assert "only mine" in desk.text()
    assert "only theirs" in desk.text()


def test_resolving_by_keeping_both_sides_is_no_edit(desk: Desk) -> None:
    on_branch(desk, "theirs", THEIRS)
    on_branch(desk, "mine", MINE)
    git(desk.root, "-c", "merge.conflictStyle=diff3", "merge", "theirs", check=False)
    desk.view.memories[THEIRS.id] = THEIRS
    for path in (LONG_TERM, "memory/2026-11-20.md"):
        lines = desk.text(path).split("\n")
        marks = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
        (desk.root / path).write_text("\n".join(x for x in lines if not x.startswith(marks)))
    found, _ = desk.sync()
    assert (found.edits, found.held) == ([], [])
    assert desk.text().count("gitmem:begin") == 1
    assert desk.text().count("shared memory 1") == 1


@pytest.mark.parametrize("move", [["switch", "-q", "main"], ["checkout", "-q", "main", "--", "."]])
def test_a_checkout_is_no_edit(desk: Desk, move: list[str]) -> None:
    on_branch(desk, "mine", MINE)
    git(desk.root, *move)
    assert "only mine" not in desk.text()
    assert desk.mirror().edits(desk.view).edits == []


def test_a_stash_that_comes_back_is_read_as_the_edit_it_was(desk: Desk) -> None:
    desk.change("shared memory 1", "changed memory 1")
    git(desk.root, "stash", "-q")
    assert desk.mirror().edits(desk.view).edits == []
    git(desk.root, "stash", "pop", "-q")
    assert len(desk.mirror().edits(desk.view).edits) == 1


def test_an_edit_that_was_committed_waits(desk: Desk) -> None:
    desk.change("shared memory 1", "changed memory 1")
    commit(desk, "by hand")
    desk.view.head[LONG_TERM] = git(desk.root, "show", f"HEAD:{LONG_TERM}").encode()
    found, written = desk.sync()
    assert (found.edits, written) == ([], [])
    assert "was edited in a commit by somebody" in found.held[0]
    assert len(desk.sync(accept=True)[0].edits) == 1
