"""Refs that are not what they should be, and remotes that are more than addresses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.conftest import Clone
from tests.hostile.support import SHARED, Listener, Victim, endure, refuse
from tests.support import git

REFS = (
    SHARED,
    "refs/gitmem/kept/shared",
    "refs/gitmem/remotes/origin/shared",
    "refs/gitmem/packed/shared",
)


def a_blob(repo: Path) -> str:
    return git(repo, "hash-object", "-w", "--stdin", input="no commit at all")


def a_tree(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD^{tree}")


def a_tag(repo: Path) -> str:
    git(repo, "tag", "-f", "-m", "a tag", "evil", "HEAD")
    return git(repo, "rev-parse", "refs/tags/evil")


def a_tag_of_a_blob(repo: Path) -> str:
    git(repo, "tag", "-f", "-m", "a tag", "evil", a_blob(repo))
    return git(repo, "rev-parse", "refs/tags/evil")


def a_branch(repo: Path) -> str:
    """A tree of another shape: files of the project, none of them a note."""
    return git(repo, "rev-parse", "HEAD")


def an_empty_tree(repo: Path) -> str:
    return commit_tree(repo, git(repo, "mktree", input=""))


def notes_of_every_mode(repo: Path) -> str:
    """Links, programs, submodules and folders where notes should be."""
    blob, head = a_blob(repo), git(repo, "rev-parse", "HEAD")
    link = git(repo, "hash-object", "-w", "--stdin", input="/etc/passwd")
    names = [f"{n:040x}" for n in range(9)]
    rows = [f"120000 blob {link}\t{names[0]}", f"100755 blob {blob}\t{names[1]}",
            f"160000 commit {head}\t{names[2]}", f"040000 tree {a_tree(repo)}\t{names[3]}",
            f"120000 blob {link}\t{head}", f"040000 tree {a_tree(repo)}\tab",
            f"100644 blob {blob}\tMEMORY.md", f"100644 blob {blob}\t-x"]  # fmt: skip
    return commit_tree(repo, git(repo, "mktree", input="".join(f"{row}\n" for row in rows)))


def notes_at_any_depth(repo: Path) -> str:
    """Folders in folders, two hundred of them."""
    tree = git(repo, "mktree", input=f"100644 blob {a_blob(repo)}\tab\n")
    for _ in range(200):
        tree = git(repo, "mktree", input=f"040000 tree {tree}\tab\n")
    return commit_tree(repo, tree)


def a_note_that_is_missing(repo: Path) -> str:
    rows = f"100644 blob {'d' * 40}\t{git(repo, 'rev-parse', 'HEAD')}\n"
    return commit_tree(repo, git(repo, "mktree", "--missing", input=rows))


def nothing(repo: Path) -> str:
    return "e" * 40


def commit_tree(repo: Path, tree: str) -> str:
    return git(repo, "commit-tree", "-m", "memories", tree)


def point(repo: Path, ref: str, oid: str) -> None:
    """Let a ref stand at an object, whatever git would say of it."""
    git(repo, "update-ref", "-d", ref, check=False)
    path = repo / ".git" / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{oid}\n")


ODD: tuple[Callable[[Path], str], ...] = (
    a_blob, a_tree, a_tag, a_tag_of_a_blob, a_branch, an_empty_tree, notes_of_every_mode,
    notes_at_any_depth, a_note_that_is_missing, nothing,
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
def test_the_journal_of_the_remote_is_something_else(
    odd: Callable[[Path], str], theirs: Path, clone: Clone
) -> None:
    """The clone takes no refs of gitmem's, as stock git does; `init` and `pull` meet them."""
    point(theirs, SHARED, odd(theirs))
    victim = clone()
    for ref in git(
        victim.path, "for-each-ref", "--format=%(refname)", "refs/notes", "refs/gitmem"
    ).split():
        git(victim.path, "update-ref", "-d", ref)
    refuse(victim)
    endure(victim)
    victim.run("remember", "Mine")
    assert "Mine" in victim.run("list")


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
def test_a_ref_of_gitmem_stands_at_something_odd(
    odd: Callable[[Path], str], theirs: Path, clone: Clone
) -> None:
    """As after `git fetch origin '+refs/*:refs/*'`, which somebody was told to type."""
    victim = clone()
    oid = odd(victim.path)
    kept = {ref: git(victim.path, "rev-parse", "-q", "--verify", ref, check=False) for ref in REFS}
    before = victim.around()
    for ref in REFS:
        point(victim.path, ref, oid)
        for args in (("sync", "--start"), ("list",), ("doctor", "--repair"), ("pull",), ("push",)):
            victim.run(*args)
        point(victim.path, ref, kept[ref] or kept[SHARED])
    assert victim.around() == before
    for ref in REFS:
        point(victim.path, ref, oid)
    endure(victim)


@pytest.mark.parametrize(
    "name", ["shared/x", "shared-evil", "shared.lock.x", "private", "user", "-x"]
)
def test_more_refs_beside_the_journal(name: str, theirs: Path, clone: Clone) -> None:
    git(theirs, "update-ref", "-d", SHARED)
    point(theirs, f"refs/notes/gitmem/{name}", git(theirs, "rev-parse", "HEAD"))
    victim = clone()
    refuse(victim)
    endure(victim)


def test_a_journal_that_stands_for_another_ref(theirs: Path, clone: Clone) -> None:
    victim = clone()
    (victim.path / ".git" / SHARED).parent.mkdir(parents=True, exist_ok=True)
    (victim.path / ".git" / SHARED).write_text("ref: refs/heads/main\n")
    head = git(victim.path, "rev-parse", "HEAD")
    refuse(victim)
    endure(victim)
    victim.run("remember", "Mine")
    assert git(victim.path, "rev-parse", "HEAD") == head
    assert git(victim.path, "status", "--porcelain") == ""


BRANCHES = ("--output=canary", "-x", "--upload-pack=touch canary", "@", "a..b", "HEAD", "--all")


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_named_like_an_option(branch: str, theirs: Path, clone: Clone) -> None:
    victim = clone()
    point(victim.path, f"refs/heads/{branch}", git(victim.path, "rev-parse", "HEAD"))
    point(victim.path, f"refs/remotes/origin/{branch}", git(victim.path, "rev-parse", "HEAD"))
    for args in (
        ("list", f"--branch={branch}"),
        ("sync", "--start", f"--branch={branch}"),
        ("list", f"--at={branch}"),
        ("diff", f"main..{branch}"),
        ("adopt", "--", branch),
    ):
        victim.run(*args)
    refuse(victim)
    (victim.path / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    refuse(victim)
    endure(victim)


# -- remotes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "ext::touch {canary}",
        "ext::sh -c 'touch% {canary}'",
        "--upload-pack=touch {canary}",
        "-oProxyCommand=touch {canary}",
        "ssh://-oProxyCommand=touch%20{canary}/x",
        "-oProxyCommand=touch {canary}:x",
        "file:///dev/zero",
        "evil::x",
    ],
)
def test_an_address_runs_nothing(url: str, theirs: Path, clone: Clone) -> None:
    """Whoever is talked into adding such a remote is refused by git, and gitmem asks only git."""
    victim = clone()
    git(victim.path, "config", "remote.evil.url", url.format(canary=victim.canary))
    git(victim.path, "config", "remote.evil.fetch", "+refs/heads/*:refs/remotes/evil/*")
    for args in (("pull", "evil"), ("push", "evil"), ("remote",), ("remote", "evil"), ("pull",)):
        victim.run(*args)
    victim.run("init")
    assert not victim.canary.exists()


@pytest.mark.parametrize(
    "name", ["--upload-pack=touch canary", "-x", "--all", "../x", "https://x.invalid/y"]
)
def test_a_remote_is_a_name_and_nothing_else(name: str, clone: Clone) -> None:
    victim = clone()
    before = victim.around()
    for verb in ("pull", "push", "remote"):
        assert "no remote" in victim.run(verb, "--", name)
    assert victim.around() == before


def test_a_remote_named_like_an_option(theirs: Path, clone: Clone) -> None:
    victim = clone()
    name = "--upload-pack=touch canary"
    git(victim.path, "config", f"remote.{name}.url", str(theirs))
    before = victim.around()
    for verb in ("pull", "push", "remote"):
        victim.run(verb, "--", name)
    victim.run("remote")
    assert victim.around() == before
    assert not (victim.path / "canary").exists()


def test_reading_asks_no_remote(theirs: Path, clone: Clone, listener: Listener) -> None:
    """Nothing is fetched unless somebody said so: not at a session's start, not by a search."""
    victim = clone()
    git(victim.path, "config", "remote.origin.url", f"git://127.0.0.1:{listener.port}/x")
    refuse_quietly(victim)
    assert listener.knocks == []
    victim.run("pull")
    assert listener.knocks != [], "the port would have told"


def refuse_quietly(victim: Victim) -> None:
    """Run everything but what talks to a remote."""
    from tests.hostile.support import READING

    for args in READING:
        victim.run(*args)
    victim.told()
