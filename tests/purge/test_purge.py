"""A purged memory is nowhere any more, and everything else is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.errors import NotFound
from gitmem.journal.git.port import Backend
from tests.purge.conftest import live
from tests.purge.support import KEPT, SHARED, lines, story, traces, whole
from tests.support import git

Kind = tuple[Backend, Path]


def test_nothing_is_left_of_it(gm: Gitmem, kind: Kind, tmp_path: Path) -> None:
    id = live(gm)
    assert traces(tmp_path)
    done = gm.purge(id)
    assert (done.journals, done.events, done.left) == (["shared"], 4, [])
    assert traces(tmp_path) == []
    assert whole(kind[1])
    assert {memory.text for memory in gm.list()} == {"Before it", "Between", "After it"}
    assert gm.doctor().clean
    with pytest.raises(NotFound):
        gm.show(id)


def test_all_else_survives_with_its_history_times_and_authors(gm: Gitmem, kind: Kind) -> None:
    repo = kind[1]
    live(gm)
    git(repo, "config", "user.name", "Grace")
    gm.remember("By somebody else")
    before, told = lines(repo), story(repo)
    id = next(memory.id for memory in gm.list() if "Zygomorph" in (memory.text or ""))
    git(repo, "config", "user.name", "Ada")
    gm.purge(id)
    now, after = lines(repo), story(repo)
    gone = {line for line in before if id in line or "Quixotry" in line}
    assert before - now == gone != set()
    (added,) = now - before
    assert '"op":"purge"' in added and id in added
    assert [entry[:3] for entry in after[:-1]] == [entry[:3] for entry in told]
    subjects = [(old[3], new[3]) for old, new in zip(told, after, strict=False)]
    changed = {old.split(":")[0]: new for old, new in subjects if old != new}
    assert changed == {
        verb: f"{verb}: (purged)" for verb in ("remember", "update", "tag", "evolve")
    }
    assert after[-1][3] == f"purge: {id[:8]}"


def test_what_was_written_before_it_keeps_its_id(gm: Gitmem, kind: Kind) -> None:
    gm.remember("Before it")
    before = git(kind[1], "rev-parse", SHARED)
    gm.purge(gm.remember("The Kwyjibo vault").id)
    assert git(kind[1], "rev-parse", f"{SHARED}~2") == before
    assert git(kind[1], "rev-parse", SHARED) == git(kind[1], "rev-parse", KEPT)


def test_a_purge_holds_no_content_and_names_the_memory(gm: Gitmem) -> None:
    id = live(gm)
    gm.purge(id)
    (event,) = [event for event in gm.log() if event.op == "purge"]
    assert set(event.fields) == {"at", "by", "memory", "op", "v"}
    assert event.memory == id


def test_the_only_memory(gm: Gitmem, kind: Kind, tmp_path: Path) -> None:
    gm.purge(gm.remember("The Kwyjibo vault").id)
    assert traces(tmp_path) == []
    assert gm.list() == []
    assert whole(kind[1])
    gm.remember("Life goes on")
    assert [memory.text for memory in gm.list()] == ["Life goes on"]
    assert gm.doctor().clean


@pytest.mark.parametrize("where", ["private", "user"])
def test_private_and_user_journals(gm: Gitmem, kind: Kind, tmp_path: Path, where: str) -> None:
    told = git(kind[1], "rev-parse", "HEAD")
    id = live(gm, private=where == "private", scope="user" if where == "user" else None)
    gm.import_session([{"role": "user", "text": "Hello there"}], session="5a1c")
    done = gm.purge(id)
    assert done.journals == [where]
    assert traces(tmp_path) == []
    assert len(gm.list()) == 3
    assert [turn.turn.text for turn in gm.session("5a1c").rounds] == ["Hello there"]
    for bare in tmp_path.rglob(f"{where}.git"):
        assert whole(bare)
    assert git(kind[1], "rev-parse", "HEAD") == told
    assert gm.doctor().clean


def test_a_packed_journal(gm: Gitmem, kind: Kind, tmp_path: Path) -> None:
    repo = kind[1]
    id = live(gm)
    gm.sync_end()
    assert git(repo, "for-each-ref", "refs/gitmem/packed")
    git(repo, "gc", "-q")
    assert git(repo, "count-objects", "-v").startswith("count: 0")
    gm.purge(id)
    assert traces(tmp_path) == []
    assert whole(repo)
    assert len(gm.list()) == 3
    git(repo, "gc", "-q")
    assert whole(repo)


@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_notes_under_any_fan_out(repo: Path, tmp_path: Path, backend: Backend, levels: int) -> None:
    with gitmem.open(repo, backend=backend) as gm:
        id = live(gm)
    fanned(repo, levels)
    with gitmem.open(repo, backend=backend) as gm:
        gm.purge(id)
        assert traces(tmp_path) == []
        assert {memory.text for memory in gm.list()} == {"Before it", "Between", "After it"}
        assert gm.doctor().clean
    assert whole(repo)


def fanned(repo: Path, levels: int) -> None:
    """Write the tip's notes with another fan-out, and with one object under two of them."""
    rows = git(repo, "ls-tree", "-r", SHARED).split("\n")
    index = str(repo / ".git" / "other-index")
    entries = []
    for row in rows:
        head, path = row.split("\t")
        name = path.replace("/", "")
        parts = [name[2 * n : 2 * n + 2] for n in range(levels)]
        entries.append(f"{head.replace(' blob', '')}\t{'/'.join([*parts, name[2 * levels :]])}")
        if levels != 1:
            entries.append(f"{head.replace(' blob', '')}\t{name[:2]}/{name[2:]}")
    environ = ["env", f"GIT_INDEX_FILE={index}"]
    import subprocess

    subprocess.run(
        [*environ, "git", "update-index", "--index-info"],
        cwd=repo, input="\n".join(entries) + "\n", text=True, check=True,
    )  # fmt: skip
    tree = subprocess.run(
        [*environ, "git", "write-tree"], cwd=repo, capture_output=True, text=True, check=True
    ).stdout.strip()
    commit = git(repo, "commit-tree", tree, "-p", SHARED, "-m", "another fan-out")
    git(repo, "update-ref", SHARED, commit)
    (repo / ".git" / "other-index").unlink()


def test_what_git_lost_comes_back_but_not_what_was_purged(
    gm: Gitmem, kind: Kind, tmp_path: Path
) -> None:
    repo = kind[1]
    id = live(gm)
    old = git(repo, "rev-parse", SHARED)
    bundle = tmp_path.parent / f"{tmp_path.name}.bundle"
    git(repo, "bundle", "create", "-q", str(bundle), SHARED)
    try:
        gm.purge(id)
        kept = gm.remember("Written after it").id
        git(repo, "fetch", "-q", str(bundle), f"{SHARED}:refs/old")
        # As a process that had read the kept ref before the purge would find it.
        git(repo, "update-ref", KEPT, old)
        git(repo, "update-ref", "-d", "refs/old")
        texts = {memory.text for memory in gm.list()}
        assert texts == {"Before it", "Between", "After it", "Written after it"}
        assert not any(id in line and "purge" not in line for line in lines(repo))
        assert gm.show(kept)
    finally:
        bundle.unlink()


def test_purging_again_and_purging_what_is_not_there(gm: Gitmem) -> None:
    id = live(gm)
    assert gm.purge(id[:8]).events == 4
    again = gm.purge(id[:8])
    assert (again.events, again.objects, again.journals) == (0, 0, ["shared"])
    for wrong in ("1234567", "12", "kwyjibo"):
        with pytest.raises(NotFound):
            gm.purge(wrong)


def test_several_one_after_the_other(gm: Gitmem, kind: Kind, tmp_path: Path) -> None:
    ids = [live(gm), gm.remember("The Kwyjibo is a beast").id]
    for id in ids:
        gm.purge(id)
    assert traces(tmp_path) == []
    assert whole(kind[1])
    assert [event.memory for event in gm.log() if event.op == "purge"] == ids[::-1]


@pytest.fixture(params=["program", "libgit2"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Return each backend in turn."""
    name: Backend = request.param
    return name
