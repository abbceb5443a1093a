"""Stock git merges what two clones wrote, by somebody who has never heard of gitmem."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.journal.codec import Event, decode
from gitmem.journal.fold import fold
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend
from gitmem.journal.journals import Journal
from gitmem.model import JournalName
from tests.journal.histories import heads, read, remember, write
from tests.support import git

REF = "gitmem/shared"


@pytest.fixture(params=["program", "libgit2"])
def backend(request: pytest.FixtureRequest) -> Backend:
    value: Backend = request.param
    return value


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stock_git_merges_two_clones(
    repo: Path, tmp_path: Path, backend: Backend, seed: int
) -> None:
    """Both write to the same anchors and to others; somebody who never heard of gitmem merges."""
    events = _two_sides(seed)
    paths = [repo, tmp_path / "clone"]
    git(repo, "clone", "-q", str(repo), str(paths[1]))
    anchors = [git(repo, "rev-parse", name) for name in ("HEAD", "HEAD^{tree}", "HEAD:README.md")]
    shared, *halves = events
    with_both = [(paths[0], shared), (paths[1], shared), *zip(paths, halves, strict=True)]
    for path, part in with_both:
        port = open_repository(path, backend)
        journal = Journal(JournalName.SHARED, port)
        for index, event in enumerate(part):
            journal.append({anchors[index % 3]: [event.line]}, "x", "Ada <a@b>", 1_700_000_000)
        port.close()
    for here, there in (paths, reversed(paths)):
        git(here, "fetch", "-q", str(there), f"refs/notes/{REF}:refs/notes/theirs")
        git(here, "notes", "--ref", REF, "merge", "-q", "-s", "cat_sort_uniq", "theirs")
    union = {event.line for part in events for event in part}
    for path in paths:
        port = open_repository(path, backend)
        notes = Journal(JournalName.SHARED, port).notes
        tip = notes.tip()
        assert tip is not None
        stand = list(notes.read(tip))
        assert {line for _, line in stand} == union
        assert len(stand) == len(set(stand)), "no line stands twice on one anchor"
        assert fold(read(line for _, line in stand)) == fold(read(union))
        port.close()
        for anchor in anchors:
            note = git(path, "notes", "--ref", REF, "show", anchor).split("\n")
            times = [decode(line.encode()).at for line in note]
            assert times == sorted(times), "a merged note is in time order"
        git(path, "fsck", "--strict")


def _two_sides(seed: int) -> tuple[list[Event], list[Event], list[Event]]:
    """Return what both had, and what each wrote without the other: forgets beside revisions."""
    roots = [remember(n, f"memory {n} of {seed}\u2028é") for n in range(6)]
    mine, yours = [], []
    for n, root in enumerate(roots):
        for who, side in enumerate((mine, yours)):
            at = 100 + 10 * n + who + seed
            base = heads([root, *(event for event in side if event.memory == root.id)])
            op, fields = [
                ("revise", {"text": f"{who}"}),
                ("forget", {}),
                ("tag", {"tag": f"t{who}"}),
                ("revise", {"reason": f"note {who}"}),
            ][(n + who * seed) % 4]
            side.append(write(at, op, memory=root.id, base=base, **fields))
    yours.append(remember(500, "yours alone"))
    mine.append(yours[1])  # a line that reached both by another way, on two anchors
    return roots, mine, yours
