"""What is private leaves by no way that git or gitmem has: it is looked for byte by byte."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from tests.purge.support import LATER, SECRET, traces
from tests.sessions.test_importing import record, transcript
from tests.support import git

SHARED_TEXT = "Everybody may know this"


def fill(gm: Gitmem, folder: Path) -> None:
    """Write private memories by every verb, the user's own, working memory and a conversation."""
    gm.remember(SHARED_TEXT, importance="critical")
    id = gm.remember(SECRET, private=True, importance="critical", tags=["topic:kwyjibo"]).id
    gm.update(id, LATER)
    gm.evolve(id, f"and {SECRET}")
    gm.tag(id, "quixotry")
    gm.link(id, "src/kwyjibo.py", comment=SECRET)
    gm.forget(id, reason=SECRET)
    gm.restore(id)
    gm.undo()
    gm.restore(id)
    gm.remember({"vault": SECRET}, private=True, kind="preference")
    gm.remember(SECRET, scope="user")
    gm.set_context(f"working on {SECRET}")
    place = transcript(folder / "said" / "s1.jsonl", record("1", SECRET), record("2", LATER))
    assert gm.import_transcripts("claude-code", path=place).new == 2
    assert gm.search("kwyjibo vault quixotry").hits  # so that indexes hold it too


@pytest.fixture
def repo_with_secrets(repo: Path, tmp_path: Path) -> Path:
    """Return a repository in which all that is written is private but for one memory."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "remote.git"))
    with gitmem.open(repo, backend="program") as gm:
        gm.init()
        fill(gm, tmp_path)
        git(repo, "checkout", "-q", "-b", "other")
        gm.remember(SECRET, private=True, kind="decision")
        git(repo, "checkout", "-q", "main")
        gm.adopt("other")
        gm.sync_end()
    git(repo, "tag", "v1")
    git(repo, "tag", "-m", "two", "v2")
    assert traces(repo / ".git"), "it is here"
    return repo


def push_memories(repo: Path, to: Path) -> None:
    with gitmem.open(repo, backend="program") as gm:
        gm.push("origin")


def by_push(*args: str) -> Callable[[Path, Path], None]:
    def push(repo: Path, to: Path) -> None:
        git(repo, "push", "-q", *args)

    push.__name__ = "git push " + " ".join(args)
    return push


def bundle(repo: Path, to: Path) -> None:
    git(repo, "bundle", "create", "-q", str(to / "all.bundle"), "--all")
    git(to, "clone", "-q", "--mirror", str(to / "all.bundle"), "unbundled.git")


def clone_mirror(repo: Path, to: Path) -> None:
    git(to, "clone", "-q", "--mirror", "--no-local", str(repo), "mirror.git")


def clone_local(repo: Path, to: Path) -> None:
    """By hard links: whatever is among the repository's objects comes along, reachable or not."""
    git(to, "clone", "-q", "--mirror", "--local", str(repo), "local.git")


def fetch_all(repo: Path, to: Path) -> None:
    git(to, "init", "-q", "fetched")
    git(to / "fetched", "fetch", "-q", str(repo), "+refs/*:refs/stolen/*")


def export(repo: Path, to: Path) -> None:
    stream = subprocess.run(
        ["git", "fast-export", "--all"], cwd=repo, capture_output=True, check=True
    )
    (to / "stream").write_bytes(stream.stdout)


def archive(repo: Path, to: Path) -> None:
    git(repo, "archive", "-o", str(to / "all.tar"), "HEAD")


def add_everything(repo: Path, to: Path) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "everything")
    git(repo, "stash", "push", "-q", "--include-untracked")
    git(repo, "push", "-q", "origin", "main")


WAYS: tuple[Callable[[Path, Path], None], ...] = (
    push_memories,
    by_push("origin", "--all"),
    by_push("origin", "--tags"),
    by_push("origin", "--mirror"),
    by_push("origin", "refs/*:refs/*"),
    by_push("origin", "+refs/notes/*:refs/notes/*", "+refs/gitmem/*:refs/gitmem/*"),
    bundle,
    clone_mirror,
    clone_local,
    fetch_all,
    export,
    archive,
    add_everything,
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_it_does_not_leave(
    way: Callable[[Path, Path], None], repo_with_secrets: Path, tmp_path: Path
) -> None:
    to = tmp_path / "to"
    to.mkdir()
    way(repo_with_secrets, to)
    assert traces(to, tmp_path / "remote.git") == []


def test_what_is_shared_does_leave_with_a_mirror(repo_with_secrets: Path, tmp_path: Path) -> None:
    git(repo_with_secrets, "push", "-q", "--mirror", "origin")
    notes = git(tmp_path / "remote.git", "log", "-1", "--format=%s", "refs/notes/gitmem/shared")
    assert notes
    assert SHARED_TEXT in git(
        tmp_path / "remote.git", "grep", "-h", "Everybody", "refs/notes/gitmem/shared"
    )


def test_it_is_in_no_ref_and_no_object_of_the_repository(repo_with_secrets: Path) -> None:
    """There is nothing to be kept out of a push: it is another repository."""
    found = traces(repo_with_secrets / ".git")
    inside = repo_with_secrets / ".git" / "gitmem"
    assert [place for place in found if not place.startswith(str(inside))] == []
    assert [
        ref for ref in git(repo_with_secrets, "for-each-ref").split("\n") if "private" in ref
    ] == []
    assert not (inside / "private.git" / "objects" / "info" / "alternates").exists()


def test_the_private_repository_has_no_remote_and_runs_no_hook(repo_with_secrets: Path) -> None:
    inside = repo_with_secrets / ".git" / "gitmem" / "private.git"
    assert "remote" not in (inside / "config").read_text()
    assert not list((inside / "hooks").glob("*"))


def test_committed_markdown_holds_nothing_private(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "remote.git"))
    with gitmem.open(repo, backend="program") as gm:
        gm.init(track=True)
        fill(gm, tmp_path)
        gm.sync_end("The day is over")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "with MEMORY.md")
    git(repo, "push", "-q", "origin", "main")
    assert SHARED_TEXT in git(tmp_path / "remote.git", "show", "main:MEMORY.md")
    assert traces(tmp_path / "remote.git") == []
