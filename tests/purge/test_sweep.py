"""What is deleted, and what is not: a repository holds more than the journal."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.packs import delete
from gitmem.journal.git.port import Backend
from gitmem.journal.git.raw import RawObjects
from tests.purge.conftest import live
from tests.purge.support import KEPT, SHARED, objects, traces, whole
from tests.support import git

Kind = tuple[Backend, Path]


def common(repo: Path) -> Path:
    return Path(git(repo, "rev-parse", "--path-format=absolute", "--git-common-dir"))


def everything(repo: Path) -> set[str]:
    return {oid for oid, _ in objects(common(repo))}


def commit(repo: Path, name: str, text: str) -> str:
    (repo / name).write_text(text)
    git(repo, "add", name)
    git(repo, "commit", "-q", "-m", f"add {name}")
    return git(repo, "rev-parse", "HEAD")


def losses(repo: Path) -> dict[str, str]:
    """Make everything that only a user's luck keeps: {what: an object that must survive}."""
    made = {"reflog": commit(repo, "one.txt", "only a reflog has it\n")}
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    made["dangling"] = git(
        repo, "commit-tree", "HEAD^{tree}", "-p", made["reflog"], "-m", "somebody's"
    )
    (repo / "README.md").write_text("# stashed\n")
    git(repo, "stash", "-q")
    made["stash"] = git(repo, "rev-parse", "stash")
    git(repo, "stash", "drop", "-q")
    made["blob"] = git(repo, "hash-object", "-w", "--stdin", input="somebody's own")
    (repo / "staged.txt").write_text("staged\n")
    git(repo, "add", "staged.txt")
    made["staged"] = git(repo, "rev-parse", ":staged.txt")
    git(repo, "notes", "--ref=other", "add", "-m", "another note", "HEAD")
    git(repo, "notes", "--ref=other", "remove", "HEAD")
    git(repo, "tag", "-a", "-m", "an annotated tag", "tagged")
    made["tag"] = git(repo, "rev-parse", "tagged")
    git(repo, "tag", "-d", "tagged")
    return made


@pytest.mark.parametrize("packed", [False, True])
def test_what_only_luck_keeps_survives(
    gm: Gitmem, kind: Kind, tmp_path: Path, packed: bool
) -> None:
    repo = kind[1]
    mine = everything(repo)
    made = losses(repo)
    mine |= everything(repo)
    id = live(gm)
    if packed:
        pack_all(repo)
    gm.purge(id)
    assert traces(tmp_path) == []
    assert mine <= everything(repo)
    for what, oid in made.items():
        assert git(repo, "cat-file", "-t", oid), what
    assert git(repo, "ls-files", "-s", "staged.txt")
    assert whole(repo)


def pack_all(repo: Path) -> None:
    """Put every object, reachable or not, into one pack."""
    folder = common(repo) / "objects"
    names = "\n".join(sorted(everything(repo))) + "\n"
    git(repo, "pack-objects", "-q", str(folder / "pack" / "pack"), input=names)
    git(repo, "prune-packed", "-q")
    assert git(repo, "count-objects") == "0 objects, 0 kilobytes"


def test_exactly_the_old_journal_goes(gm: Gitmem, kind: Kind) -> None:
    repo = kind[1]
    id = live(gm)
    before = everything(repo)
    old = set(git(repo, "rev-list", "--objects", "--no-object-names", SHARED).split())
    gm.purge(id)
    new = set(git(repo, "rev-list", "--objects", "--no-object-names", SHARED).split())
    assert before - everything(repo) == old - new


def test_what_losers_of_a_race_left_behind_goes_too(gm: Gitmem, kind: Kind, tmp_path: Path) -> None:
    """Their blobs, trees and commits hold the text, and no ref ever reached them."""
    repo = kind[1]
    id = live(gm)
    tip = git(repo, "rev-parse", SHARED)
    tree = git(repo, "rev-parse", f"{SHARED}^{{tree}}")
    (path,) = [
        line.split("\t")[1] for line in git(repo, "ls-tree", "-r", tip).split("\n")
        if id in git(repo, "cat-file", "blob", line.split()[2])
    ][:1]  # fmt: skip
    note = git(repo, "cat-file", "blob", f"{tip}:{path}")
    alone = git(
        repo,
        "hash-object",
        "-w",
        "--stdin",
        input=f'{note}\n{{"at":"2026-11-20T10:11:12.345678Z","op":"x","v":2}}\n',
    )
    inner = git(repo, "mktree", input=f"100644 blob {alone}\t{'0' * 36}\n")
    git(repo, "commit-tree", tree, "-p", tip, "-m", "tag: Kwyjibo, lost")
    git(repo, "mktree", input=f"040000 tree {inner}\tab\n")
    gm.purge(id)
    assert traces(tmp_path) == []
    assert whole(repo)


def test_a_dangling_commit_that_holds_the_text_is_the_users(gm: Gitmem, kind: Kind) -> None:
    repo = kind[1]
    id = live(gm)
    git(repo, "update-ref", "refs/heads/export", SHARED)
    git(repo, "checkout", "-q", "export")
    (repo / "mine.txt").write_text("mine\n")
    git(repo, "add", "mine.txt")
    git(repo, "commit", "-q", "-m", "mine")
    mine = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main" if "linked" not in repo.name else "topic")
    git(repo, "branch", "-q", "-D", "export")
    history = git(repo, "rev-list", "--objects", mine)
    git(repo, "reflog", "expire", "--expire=all", "--expire-unreachable=all", "--all")
    done = gm.purge(id)
    assert git(repo, "rev-list", "--objects", mine) == history
    assert any("object" in line for line in done.left)
    assert whole(repo)


@pytest.mark.parametrize("committed", [False, True])
def test_a_copy_of_a_note_in_the_users_files_survives(
    gm: Gitmem, kind: Kind, committed: bool
) -> None:
    """It is one object, whoever made it: in an index, or in a commit that a reflog has."""
    repo = kind[1]
    id = live(gm)
    notes = git(repo, "ls-tree", "-r", "--format=%(objectname)", SHARED).split()
    (note,) = [oid for oid in notes if id in git(repo, "cat-file", "blob", oid)][:1]
    (repo / "copy.jsonl").write_text(git(repo, "cat-file", "blob", note) + "\n")
    git(repo, "add", "copy.jsonl")
    if committed:
        git(repo, "commit", "-q", "-m", "a copy")
        git(repo, "reset", "-q", "--hard", "HEAD~1")
    done = gm.purge(id)
    assert any(f"object {note[:12]}" in line for line in done.left)
    assert id in git(repo, "cat-file", "blob", note)
    assert whole(repo)


def test_a_copy_of_the_journal_under_another_ref_is_said(gm: Gitmem, kind: Kind) -> None:
    repo = kind[1]
    id = live(gm)
    git(repo, "update-ref", "refs/notes/backup", SHARED)
    done = gm.purge(id)
    assert [line for line in done.left if "refs/notes/backup" in line]
    assert git(repo, "log", "--format=%s", "refs/notes/backup")
    assert whole(repo)
    git(repo, "update-ref", "-d", "refs/notes/backup")


def test_reflogs_and_marks_of_the_journal_go_and_no_others(gm: Gitmem, kind: Kind) -> None:
    repo = kind[1]
    git(repo, "config", "core.logAllRefUpdates", "always")
    id = live(gm)
    gm.sync_end()
    git(repo, "update-ref", "refs/gitmem/remotes/origin/shared", SHARED)
    before = git(repo, "reflog", "show", "HEAD")
    assert git(repo, "reflog", "show", SHARED)
    gm.purge(id)
    assert git(repo, "reflog", "show", SHARED) == git(repo, "reflog", "show", KEPT) == ""
    assert git(repo, "reflog", "show", "HEAD") == before
    refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/gitmem", "refs/notes")
    assert refs.split() == [KEPT, SHARED]


def test_what_git_dropped_from_the_journal_goes_too(gm: Gitmem, kind: Kind, tmp_path: Path) -> None:
    """An amend, a removed note: only the reflog knows those commits."""
    repo = kind[1]
    id = live(gm)
    git(repo, "notes", f"--ref={SHARED}", "remove", "HEAD")
    gm.list()
    git(repo, "commit", "-q", "--amend", "--allow-empty", "-m", "first, amended")
    gm.list()
    gm.purge(id)
    assert traces(tmp_path) == []
    assert whole(repo)
    assert {memory.text for memory in gm.list()} == {"Before it", "Between", "After it"}


# -- packs ----------------------------------------------------------------------------------------


def keep(repo: Path) -> None:
    for pack in packs(repo):
        pack.with_suffix(".keep").write_text("because\n")


def multi(repo: Path) -> None:
    pack_all(repo)
    git(repo, "multi-pack-index", "write")


def bitmaps(repo: Path) -> None:
    git(repo, "repack", "-adbq")


def graph(repo: Path) -> None:
    git(repo, "commit-graph", "write", "--reachable", "--changed-paths")


def graphs(repo: Path) -> None:
    git(repo, "commit-graph", "write", "--reachable", "--split")


def cruft(repo: Path) -> None:
    git(repo, "repack", "--cruft", "-dq")


def old_index(repo: Path) -> None:
    (pack,) = packs(repo)
    pack.with_suffix(".idx").unlink()
    git(repo, "index-pack", "--index-version=1", str(pack))


def several(repo: Path) -> None:
    folder = common(repo) / "objects" / "pack"
    ids = sorted(everything(repo))
    for start in range(0, len(ids), 5):
        names = "\n".join(ids[start : start + 9]) + "\n"
        git(repo, "pack-objects", "-q", str(folder / "pack"), input=names)


def packs(repo: Path) -> list[Path]:
    return sorted((common(repo) / "objects" / "pack").glob("*.pack"))


@pytest.mark.parametrize(
    "prepare", [keep, multi, bitmaps, graph, graphs, cruft, old_index, several]
)
def test_packs_of_every_sort(
    gm: Gitmem, kind: Kind, tmp_path: Path, prepare: Callable[[Path], None]
) -> None:
    repo = kind[1]
    made = losses(repo)
    git(repo, "reset", "-q", "--hard")
    mine = everything(repo)
    id = live(gm)
    if prepare is not bitmaps:
        pack_all(repo)
    prepare(repo)
    marked = len(list((common(repo) / "objects" / "pack").glob("*.keep")))
    gm.purge(id)
    assert traces(tmp_path) == []
    assert mine <= everything(repo) or prepare is bitmaps
    assert whole(repo)
    assert len(list((common(repo) / "objects" / "pack").glob("*.keep"))) == marked
    if prepare is multi:
        git(repo, "multi-pack-index", "verify")
        assert (common(repo) / "objects" / "pack" / "multi-pack-index").exists()
    if prepare in (graph, graphs):
        git(repo, "commit-graph", "verify")
    git(repo, "gc", "-q")
    assert whole(repo)
    assert made


def test_a_new_pack_is_as_old_as_the_one_it_replaces(repo: Path) -> None:
    """What is unreachable in it grows old all the same, and `git gc` deletes it in time."""
    pack_all(repo)
    (old,) = packs(repo)
    os.utime(old, (1_700_000_000, 1_700_000_000))
    gone = git(repo, "rev-parse", "HEAD")
    port = open_repository(repo)
    with RawObjects(port.layout) as raw:
        assert delete(raw, [gone], 1_600_000_000) == [gone]
        assert packs(repo) == [old]
        assert delete(raw, [gone], 1_700_000_000) == []
    (new,) = packs(repo)
    assert new != old and new.stat().st_mtime == 1_700_000_000
    port.close()


def test_a_pack_left_half_removed_is_removed(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        gm.init()
        id = live(gm)
        pack_all(repo)
        (old,) = packs(repo)
        copy = old.read_bytes()
        gm.purge(id)
        old.write_bytes(copy)
        old.with_suffix(".removed").write_bytes(b"")
        gm.purge(gm.remember("Kwyjibo again").id)
        assert not old.exists() and not old.with_suffix(".removed").exists()
        assert whole(repo)


def test_a_partial_clones_packs_stay_marked(repo: Path, tmp_path: Path) -> None:
    for number in range(3):
        commit(repo, "big.txt", f"{number}\n" * 1000)
    git(repo, "config", "uploadpack.allowFilter", "true")
    with gitmem.open(repo) as gm:
        id = live(gm)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", repo.as_uri(), str(clone))
    git(clone, "fetch", "-q", "--no-filter", "origin", f"{SHARED}:{SHARED}")
    one_promised_pack(clone)
    before = everything(clone)
    with gitmem.open(clone) as gm:
        assert len(gm.list()) == 4
        gm.purge(id)
        assert len(gm.list()) == 3
    assert traces(clone) == []
    assert len(everything(clone) & before) > 3
    assert list((clone / ".git" / "objects" / "pack").glob("*.promisor"))
    assert whole(clone)
    git(clone, "checkout", "-q", "HEAD~1")


def one_promised_pack(clone: Path) -> None:
    """Put everything into one pack from a promisor, the journal too."""
    names = "\n".join(sorted(everything(clone))) + "\n"
    old = list((clone / ".git" / "objects" / "pack").iterdir())
    git(clone, "pack-objects", "-q", ".git/objects/pack/pack", input=names)
    for file in old:
        file.unlink()
    (pack,) = packs(clone)
    pack.with_suffix(".promisor").touch()
    git(clone, "prune-packed", "-q")
    assert whole(clone)


def test_objects_of_an_alternate_are_out_of_reach_and_said(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        id = live(gm)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--shared", str(repo), str(clone))
    git(clone, "fetch", "-q", "origin", f"{SHARED}:{SHARED}")
    before = everything(repo)
    with gitmem.open(clone) as gm:
        done = gm.purge(id)
    assert any(str(repo / ".git" / "objects") in line for line in done.left)
    assert everything(repo) == before
    assert whole(clone)
    assert whole(repo)


def test_what_somebody_wants_again_meanwhile_stays(repo: Path) -> None:
    """Git touches an object that it would write again: from then on it is not old any more."""
    with gitmem.open(repo) as gm:
        id = live(gm)
    note = git(repo, "ls-tree", "-r", SHARED).split()[2]
    path = repo / ".git" / "objects" / note[:2] / note[2:]
    future = time.time() + 3600
    os.utime(path, (future, future))
    from gitmem.errors import Unavailable

    with gitmem.open(repo) as gm:
        with pytest.raises(Unavailable, match="still here"):
            gm.purge(id)
        assert path.exists()
        os.utime(path, (0, 0))
        gm.purge(id[:8])
        assert not path.exists()


def test_a_merge_of_notes_under_way_is_not_disturbed(repo: Path) -> None:
    from gitmem.errors import Refused

    with gitmem.open(repo) as gm:
        id = live(gm)
        before = git(repo, "rev-parse", SHARED)
        (repo / ".git" / "NOTES_MERGE_REF").write_text(f"ref: {SHARED}\n")
        with pytest.raises(Refused, match="under way"):
            gm.purge(id)
        assert git(repo, "rev-parse", SHARED) == before


def test_a_repository_that_git_cannot_walk_loses_nothing(repo: Path) -> None:
    from gitmem.errors import Unavailable

    with gitmem.open(repo) as gm:
        id = live(gm)
        (repo / ".git" / "refs" / "heads" / "broken").write_text("1" * 40 + "\n")
        before = everything(repo)
        with pytest.raises(Unavailable):
            gm.purge(id)
        assert before <= everything(repo)
        (repo / ".git" / "refs" / "heads" / "broken").unlink()
        gm.purge(id[:8])
    assert traces(repo) == []
    assert whole(repo)


def test_a_port_that_was_open_reads_on(kind: Kind) -> None:
    """Packs are replaced below it."""
    backend, repo = kind
    with gitmem.open(repo, backend=backend) as gm:
        id = live(gm)
        pack_all(repo)
        port = open_repository(repo, backend)
        old = port.ref(SHARED)
        assert old and port.commit(old)
        gm.purge(id)
        new = port.ref(SHARED)
        assert new and len(list(port.walk(new))) == 7 + 1
        assert dict(port.files(port.commit(new).tree))
        port.close()


def test_a_signature_of_a_rewritten_commit_goes(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        id = live(gm)
        tip, tree = git(repo, "rev-parse", SHARED), git(repo, "rev-parse", f"{SHARED}^{{tree}}")
        raw = (
            f"tree {tree}\nparent {tip}\nauthor J\xfcrgen <j@example.com> 1700000000 +0530\n"
            "committer C <c@example.com> 1700000009 -0800\nencoding ISO-8859-1\n"
            "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n"
            "\nGr\xfc\xdfe\n\nparent of none\n"
        ).encode("latin-1")
        new = subprocess.run(
            ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
            cwd=repo, input=raw, capture_output=True, check=True,
        ).stdout.decode().strip()  # fmt: skip
        git(repo, "update-ref", SHARED, new)
        gm.purge(id)
    now = subprocess.run(
        ["git", "cat-file", "commit", f"{SHARED}^"], cwd=repo, capture_output=True, check=True
    ).stdout
    head = raw.split(b"gpgsig")[0].split(b"\n", 2)[2]
    assert now.split(b"\n", 2)[2] == head + raw.split(b"SIGNATURE-----\n")[-1]
    assert traces(tmp_path) == []
    assert whole(repo)
