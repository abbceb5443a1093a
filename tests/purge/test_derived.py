"""What is derived of the journal: indexes, Markdown files, renderings, other worktrees."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import gitmem
from tests.purge.conftest import live
from tests.purge.support import traces, whole
from tests.support import git


def test_every_worktree_is_clean(repo: Path, tmp_path: Path) -> None:
    linked, gone = tmp_path / "linked", tmp_path / "gone"
    git(repo, "worktree", "add", "-q", "-b", "topic", str(linked))
    git(repo, "worktree", "add", "-q", "-b", "lost", str(gone))
    with gitmem.open(repo) as gm:
        gm.init()
        id = live(gm)
    for worktree in (linked, gone):
        with gitmem.open(worktree) as there:
            there.search("vault")
            there.sync_start()
    for path in sorted(gone.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    gone.rmdir()
    assert len([place for place in traces(tmp_path) if "worktrees" in place]) >= 4
    with gitmem.open(repo) as gm:
        assert gm.purge(id).left == []
    assert traces(tmp_path) == []
    with gitmem.open(linked) as there:
        assert {memory.text for memory in there.list()} == {"Before it", "Between", "After it"}
        assert there.search("vault").hits == []
        assert there.doctor().clean
    assert whole(repo)


def test_hand_edits_are_taken_in_before(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        gm.init()
        id = live(gm)
    long_term = repo / "MEMORY.md"
    text = long_term.read_text()
    long_term.write_text(text.replace("Between", "Between, as typed").replace("Zygo", "Quixo-Zygo"))
    with gitmem.open(repo) as gm:
        done = gm.purge(id)
        assert done.left == []
        assert {memory.text for memory in gm.list()} == {
            "Before it", "Between, as typed", "After it",
        }  # fmt: skip
        assert gm.warnings == []
    assert traces(tmp_path) == []


def test_a_held_edit_keeps_its_base_and_is_said(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        gm.init()
        for number in range(6):
            gm.remember(f"Fact number {number}")
        id = live(gm)
    long_term = repo / "MEMORY.md"
    kept = [line for line in long_term.read_text().split("\n") if "Fact" not in line]
    long_term.write_text("\n".join(kept))
    with gitmem.open(repo) as gm:
        done = gm.purge(id)
        assert len(done.left) == 1 and str(long_term) in done.left[0]
        assert len(gm.list()) == 9
        gm.accept()
        assert {memory.text for memory in gm.list()} == {"Before it", "Between", "After it"}
        assert gm.purge(id).left == []
    assert traces(tmp_path) == []


def test_what_the_user_wrote_is_the_users(repo: Path) -> None:
    (repo / "MEMORY.md").write_text("# Mine\n\nThe Kwyjibo vault opens with Quixotry-4711\n")
    with gitmem.open(repo) as gm:
        gm.init()
        id = live(gm)
        done = gm.purge(id)
    assert "Quixotry" in (repo / "MEMORY.md").read_text()
    assert "Zygomorph" not in (repo / "MEMORY.md").read_text()
    assert len(done.left) == 1 and "wrote there" in done.left[0]


def test_committed_markdown_is_said(repo: Path) -> None:
    with gitmem.open(repo) as gm:
        gm.init(track=True)
        id = live(gm)
        gm.sync_end()
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "with the memory")
        head = git(repo, "rev-parse", "--short", "HEAD")
        done = gm.purge(id)
    assert [line for line in done.left if f"commit {head}" in line]
    assert "Kwyjibo" not in (repo / "MEMORY.md").read_text()
    assert git(repo, "status", "--porcelain")


def test_conversations_are_said(repo: Path) -> None:
    with gitmem.open(repo) as gm:
        said = "The Kwyjibo vault opens with Quixotry-4711"
        gm.import_session([{"role": "user", "text": said}], session="5a1c")
        done = gm.purge(live(gm))
        assert [line for line in done.left if "conversations" in line]
        assert gm.session("5a1c").rounds[0].turn.text == said


def test_a_catalog_that_was_open_elsewhere_forgets_too(repo: Path, tmp_path: Path) -> None:
    """A server lives on: it has the old catalog open, which is a file without a name now."""
    with gitmem.open(repo) as gm, gitmem.open(repo, backend="libgit2") as server:
        id = live(gm)
        assert len(server.list()) == 4
        gm.purge(id)
        assert len(server.list()) == 3
        assert server.search("vault").hits == []
        server.remember("And it writes")
        assert len(gm.list()) == 4
        assert traces(tmp_path) == []


def test_the_free_pages_of_a_catalog_hold_nothing(repo: Path, tmp_path: Path) -> None:
    """A clone whose catalog knew the memory, and whose journal was replaced below it."""
    clone = tmp_path / "clone"
    with gitmem.open(repo) as gm:
        id = live(gm)
        gm.update(id, "Kwyjibo " * 8_000)
    git(tmp_path, "clone", "-q", str(repo), str(clone))
    fetch = ("fetch", "-q", "origin", "+refs/notes/gitmem/shared:refs/notes/gitmem/shared")
    git(clone, *fetch)
    with gitmem.open(clone) as there:
        assert len(there.list()) == 4
    with gitmem.open(repo) as gm:
        gm.purge(id)
    git(clone, *fetch)
    git(clone, "update-ref", "-d", "refs/gitmem/kept/shared")
    with gitmem.open(clone) as there:
        assert len(there.list()) == 3
    assert traces(clone / ".git" / "gitmem") == []
    with sqlite3.connect(clone / ".git" / "gitmem" / "catalog.sqlite") as db:
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)


def test_logs_and_leftovers_of_killed_processes(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        gm.init()
        id = live(gm)
        folder = repo / ".git" / "gitmem"
        (folder / "hook.log").write_text("remembered: The Kwyjibo vault opens with Quixotry-4711\n")
        (folder / "other.log").write_text("nothing of it\n")
        (folder / "start.json.4242").write_text('{"answer": "Kwyjibo"}')
        gm.purge(id)
        assert (folder / "other.log").exists()
    assert traces(tmp_path) == []


def test_an_old_export_does_not_bring_it_back(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        id = live(gm)
        export = tmp_path.parent / f"{tmp_path.name}.jsonl"
        export.write_text("".join(f"{line}\n" for line in gm.export("jsonl")))
        try:
            gm.purge(id)
            report = gm.import_memories("gitmem", export)
        finally:
            export.unlink()
        assert dict(report.skipped) == {"a line of a memory that was purged here": 4}
        assert len(gm.list()) == 3
    assert traces(tmp_path) == []


def test_ones_own_memories_in_other_repositories(repo: Path, tmp_path: Path) -> None:
    """Their indexes and Markdown files forget at the next command there, an empty day's too."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repo), str(other))
    with gitmem.open(repo) as gm:
        id = gm.remember("The Kwyjibo vault", scope="user").id
    with gitmem.open(other) as gm:
        gm.init()
        gm.search("vault")
        gm.sync_start()
    assert [place for place in traces(other) if place.endswith(".md")]
    with gitmem.open(repo) as gm:
        assert any("other repositories" in line for line in gm.purge(id).left)
    with gitmem.open(other) as gm:
        gm.sync_start()
        assert gm.search("vault").hits == []
    left = traces(other)
    assert left and all(place.endswith("/.git/gitmem/mirror/renderings") for place in left)
