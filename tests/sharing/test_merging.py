"""The union of journals: whatever was written on either side is there, whoever merges first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import RefMoved, Unavailable
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend, Git, RefUpdate, TreeEntry
from gitmem.journal.journals import Journal
from gitmem.journal.notes import join
from gitmem.journal.sharing.merging import Merged, merge
from gitmem.model import JournalName
from tests.sharing.support import SHARED, lines
from tests.support import git

ADA = "Ada <ada@example.com>"
ANCHORS = [f"{number:02x}" * 20 for number in range(4)]
BLOB, TREE = 0o100644, 0o040000

Side = dict[str, list[bytes]]
sides = st.dictionaries(
    st.sampled_from(ANCHORS),
    st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b"e\xe2\x80\xa8f"]), min_size=1, unique=True),
    max_size=4,
)


@pytest.fixture(params=["program", "libgit2"])
def opened(request: pytest.FixtureRequest, repo: Path) -> Iterator[Git]:
    """Yield a repository, for each backend."""
    backend: Backend = request.param
    found = open_repository(repo, backend)
    yield found
    found.close()


def journal(opened: Git) -> Journal:
    """Return a journal without a line."""
    for ref in (SHARED, "refs/gitmem/kept/shared"):
        opened.delete_ref(ref)
    return Journal(JournalName.SHARED, opened)


def written(
    made: Journal, side: Side, parent: str | None = None, fan_outs: Sequence[int] = (2,)
) -> str:
    """Write a journal's commit that no ref names, its notes at these fan-outs in turn."""
    opened = made.git
    entries: dict[str, list[TreeEntry]] = {}
    for number, (anchor, content) in enumerate(sorted(side.items())):
        depth = fan_outs[number % len(fan_outs)]
        blob = TreeEntry(anchor[2 * depth :], BLOB, opened.write_blob(join(content)))
        for level in range(depth, 0, -1):
            tree = opened.write_tree([blob])
            blob = TreeEntry(anchor[2 * level - 2 : 2 * level], TREE, tree)
        entries.setdefault(blob.name, []).append(blob)
    tree = opened.write_tree([found[0] for found in entries.values()])
    return opened.write_commit(tree, [parent] if parent else [], ADA, 1_700_000_000, "written")


def content(side: Side) -> set[str]:
    """Return the lines of a side, each with its anchor."""
    return {f"{anchor} {line.decode()}" for anchor, found in side.items() for line in found}


def at(made: Journal, tip: str) -> None:
    """Move the journal somewhere, as an append would."""
    refs = (made.notes.kept, made.notes.name)
    made.git.update_refs([RefUpdate(ref, tip, made.git.ref(ref)) for ref in refs], "test")


@given(
    base=sides, ours=sides, theirs=sides, deep=st.sampled_from([(2,), (0,), (1, 2), (0, 1, 2, 3)])
)
@settings(max_examples=25)
def test_every_line_of_both_is_there(
    opened: Git, base: Side, ours: Side, theirs: Side, deep: tuple[int, ...]
) -> None:
    made = journal(opened)
    root = written(made, base)
    mine = written(made, _union(base, ours), root)
    other = written(made, _union(base, theirs), root, deep)
    at(made, mine)
    done = merge(made, other, "origin", ADA, 1_700_000_001)
    assert isinstance(done, Merged)
    everything = content(base) | content(ours) | content(theirs)
    repo = opened.layout.workdir
    assert repo and (lines(repo) if everything else set()) == everything
    new = {f"{line.decode()}" for line in done.lines}
    assert new >= {entry.split(" ")[1] for entry in content(theirs) - content(base) - content(ours)}
    tip = made.notes.tip()
    assert tip == made.git.ref(made.notes.kept)
    for parent in (mine, other):
        assert git(repo, "merge-base", "--is-ancestor", parent, SHARED) == ""
    again = merge(made, other, "origin", ADA, 1_700_000_002)
    assert again == Merged() and made.notes.tip() == tip
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""


def _union(one: Side, other: Side) -> Side:
    return {
        anchor: list(dict.fromkeys([*one.get(anchor, []), *other.get(anchor, [])]))
        for anchor in {*one, *other}
    }


@given(ours=sides.filter(bool), theirs=sides.filter(bool))
@settings(max_examples=15)
def test_both_orders_give_the_same_lines(opened: Git, ours: Side, theirs: Side) -> None:
    found = []
    for first, second in ((ours, theirs), (theirs, ours)):
        made = journal(opened)
        at(made, written(made, first))
        merge(made, written(made, second), "origin", ADA, 1_700_000_001)
        assert opened.layout.workdir
        found.append(lines(opened.layout.workdir))
    assert found[0] == found[1] == content(ours) | content(theirs)


def test_a_fast_forward_that_drops_lines_loses_none(opened: Git) -> None:
    made = journal(opened)
    mine = written(made, {ANCHORS[0]: [b"a", b"b"], ANCHORS[1]: [b"c"]})
    at(made, mine)
    done = merge(
        made, written(made, {ANCHORS[0]: [b"b", b"d"]}, mine), "origin", ADA, 1_700_000_001
    )
    assert done == Merged((b"d",), 2)
    assert opened.layout.workdir
    assert {entry.split(" ")[1] for entry in lines(opened.layout.workdir)} == {"a", "b", "c", "d"}


def test_who_writes_meanwhile_loses_nothing(opened: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    made = journal(opened)
    at(made, written(made, {ANCHORS[0]: [b"a"]}))
    theirs = written(made, {ANCHORS[0]: [b"b"]})
    update = type(opened).update_refs
    meanwhile = [b"c", b"d"]

    def late(self: Git, updates: Sequence[RefUpdate], message: str) -> None:
        if "merge" in message and meanwhile:
            made.notes.append({ANCHORS[0]: [meanwhile.pop()]}, "meanwhile", ADA, 1_700_000_001)
        update(self, updates, message)

    monkeypatch.setattr(type(opened), "update_refs", late)
    merge(made, theirs, "origin", ADA, 1_700_000_001)
    assert opened.layout.workdir
    assert {entry.split(" ")[1] for entry in lines(opened.layout.workdir)} == {"a", "b", "c", "d"}


def test_a_lock_that_stays_is_an_error(opened: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    made = journal(opened)
    at(made, written(made, {ANCHORS[0]: [b"a"]}))
    theirs = written(made, {ANCHORS[0]: [b"b"]})

    def locked(self: Git, updates: Sequence[RefUpdate], message: str) -> None:
        raise RefMoved("locked")

    monkeypatch.setattr(type(opened), "update_refs", locked)
    monkeypatch.setattr("gitmem.journal.notes.STUCK", 0.1)
    with pytest.raises(Unavailable, match="cannot be written"):
        merge(made, theirs, "origin", ADA, 1_700_000_001)
