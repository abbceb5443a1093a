"""Configuration, identity, and what the project has committed, on both backends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.errors import NoIdentity, Unavailable
from gitmem.journal.git.configuration import identity, read, usual_files
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Git
from tests.journal.conftest import place
from tests.support import git


def test_every_value_of_a_key_is_read_in_order(port: Git, hermetic: Path) -> None:
    git(place(port), "config", "--global", "gitmem.tags", "from home")
    git(place(port), "config", "gitmem.tags", "two\nlines")
    git(place(port), "config", "--add", "gitmem.tags", "日本 = x")
    git(place(port), "config", "remote.Origin.URL", "")
    with (port.layout.common_dir / "config").open("a") as file:
        file.write("[gitmem]\n\tbare\n")
    config = port.config()
    assert config["gitmem.tags"] == ["from home", "two\nlines", "日本 = x"]
    assert config["remote.Origin.url"] == [""]
    assert config["gitmem.bare"] == ["true"]
    assert config["user.name"] == ["Ada"]
    origins = port.config_origins()
    assert {hermetic / ".gitconfig", port.layout.common_dir / "config"} <= set(origins)
    assert hermetic / ".config" / "git" / "config" in origins  # may come into being


def test_a_change_of_any_file_is_seen(port: Git, hermetic: Path) -> None:
    assert "gitmem.late" not in port.config()
    xdg = hermetic / ".config" / "git" / "config"
    xdg.parent.mkdir(parents=True)
    xdg.write_text("[gitmem]\n\tlate = xdg\n")
    assert port.config()["gitmem.late"] == ["xdg"]
    included = hermetic / "more"
    git(place(port), "config", "include.path", str(included))
    assert port.config()["gitmem.late"] == ["xdg"]
    included.write_text("[gitmem]\n\tlate = included\n")
    git(place(port), "config", "gitmem.other", "x")
    assert port.config()["gitmem.late"] == ["xdg", "included"]
    included.write_text("[gitmem]\n\tlate = changed once more\n")
    assert port.config()["gitmem.late"][-1] == "changed once more"


def test_a_write_while_git_reads_is_noticed(repo: Path) -> None:
    layout = open_repository(repo).layout
    file = layout.common_dir / "config"

    def listing() -> bytes:
        asked = ("config", "--list", "--show-origin", "-z")
        said = git(layout.git_dir, f"--git-dir={layout.git_dir}", *asked).encode()
        file.write_text(file.read_text() + "[gitmem]\n\tlate = yes\n")
        return said

    config = read(listing, layout, usual_files(layout, os.environ))
    assert "gitmem.late" not in config.values and not config.current


def test_adding_never_replaces_setting_always_does(port: Git) -> None:
    for value in ("one", "two", "-x", ".*"):
        port.config_add("remote.origin.fetch", value)
    assert port.config()["remote.origin.fetch"][-4:] == ["one", "two", "-x", ".*"]
    assert git(place(port), "config", "--local", "--get-all", "remote.origin.fetch").endswith(".*")
    port.config_unset("remote.origin.fetch", ".*")
    assert port.config()["remote.origin.fetch"][-3:] == ["one", "two", "-x"]
    port.config_unset("remote.origin.fetch", "not there")
    port.config_set("remote.origin.fetch", "only")
    assert port.config()["remote.origin.fetch"] == ["only"]
    port.config_unset("remote.origin.fetch")
    port.config_unset("remote.origin.fetch")
    assert "remote.origin.fetch" not in port.config()


def test_settings_of_the_user_are_never_written(port: Git, hermetic: Path) -> None:
    before = (hermetic / ".gitconfig").read_text()
    port.config_set("user.name", "Somebody")
    port.config_unset("init.defaultBranch")
    assert (hermetic / ".gitconfig").read_text() == before
    assert port.config()["user.name"] == ["Ada", "Somebody"]


def test_a_locked_configuration_is_unavailable(plain: Git) -> None:
    (plain.layout.common_dir / "config.lock").touch()
    with pytest.raises(Unavailable, match="config"):
        plain.config_set("gitmem.x", "y")


def test_the_identity_is_the_one_git_commits_with(port: Git) -> None:
    assert port.identity() == "Ada <ada@example.com>"
    git(place(port), "config", "user.email", "second@example.com")
    git(place(port), "config", "author.name", "Ada L.")
    assert port.identity() == "Ada L. <second@example.com>"


CONFIG = {"user.name": ["Ada"], "user.email": ["ada@example.com"]}


@pytest.mark.parametrize(
    ("environ", "config", "expected"),
    [
        ({}, CONFIG, "Ada <ada@example.com>"),
        ({"GIT_AUTHOR_NAME": "Bob", "EMAIL": "unused"}, CONFIG, "Bob <ada@example.com>"),
        ({"GIT_AUTHOR_EMAIL": "b@x"}, {**CONFIG, "author.email": ["c@x"]}, "Ada <b@x>"),
        ({"EMAIL": "e@x"}, {"user.name": ["A", "B"]}, "B <e@x>"),
        ({}, {**CONFIG, "user.name": [" <A>d\na; \n"]}, "Ada <ada@example.com>"),
        ({}, {**CONFIG, "user.name": ["Zo\udceb"]}, "Zo%EB <ada@example.com>"),
        ({}, {**CONFIG, "user.name": ["Zoë 日本"]}, "Zoë 日本 <ada@example.com>"),
    ],
)
def test_where_the_identity_comes_from(
    environ: dict[str, str], config: dict[str, list[str]], expected: str
) -> None:
    assert identity(environ, config) == expected


def test_an_identity_that_is_not_utf8_is_percent_encoded(repo: Path, plain: Git) -> None:
    with (repo / ".git" / "config").open("ab") as file:
        file.write(b"[user]\n\tname = Zo\xeb\n")
    author = plain.identity()
    assert author == "Zo%EB <ada@example.com>"
    assert (
        plain.commit(plain.write_commit(plain.write_tree([]), (), author, 1, "m")).author == author
    )


@pytest.mark.parametrize("missing", ["name", "email"])
def test_git_is_never_let_guess_who_writes(plain: Git, hermetic: Path, missing: str) -> None:
    git(hermetic, "config", "--global", "--unset", f"user.{missing}")
    with pytest.raises(NoIdentity, match=f"user.{missing}") as unknown:
        plain.identity()
    assert "git config --global user.name" in unknown.value.hint
    git(hermetic, "config", "--global", f"user.{missing}", " <> ")
    with pytest.raises(NoIdentity):
        plain.identity()


def test_tracked_is_what_any_branch_or_the_index_holds(port: Git) -> None:
    assert port.tracked("README.md")
    assert not port.tracked("README")
    assert not port.tracked("*.md")
    assert not port.tracked("memory")
    head = port.head().commit
    blob = port.blob_at_head("README.md")
    inner = git(place(port), "mktree", input=f"100644 blob {blob}\t2026-01-01.md\n")
    tree = git(place(port), "mktree", input=f"040000 tree {inner}\tmemory\n")
    commit = git(place(port), "commit-tree", "-m", "m", "-p", str(head), tree)
    git(place(port), "update-ref", "refs/notes/anything", commit)
    assert not port.tracked("memory")
    git(place(port), "update-ref", "refs/remotes/origin/other", commit)
    for path in ("memory", "memory/2026-01-01.md"):
        assert port.tracked(path)
    git(place(port), "pack-refs", "--all")
    assert port.tracked("memory")
    git(place(port), "update-ref", "-d", "refs/remotes/origin/other")
    assert not port.tracked("memory")


def test_a_tag_and_a_detached_head_count_as_tracked(repo: Path, plain: Git) -> None:
    git(repo, "checkout", "-q", "--detach")
    (repo / "MEMORY.md").write_text("x")
    git(repo, "add", "MEMORY.md")
    assert plain.tracked("MEMORY.md")  # in the index alone
    git(repo, "commit", "-q", "-m", "detached")
    git(repo, "rm", "-q", "--cached", "MEMORY.md")
    assert plain.tracked("MEMORY.md")  # at HEAD alone
    git(repo, "tag", "-a", "-m", "v1", "v1")
    git(repo, "checkout", "-q", "-f", "main")
    assert plain.tracked("MEMORY.md")  # in an annotated tag alone
    git(repo, "tag", "-d", "v1")
    assert not plain.tracked("MEMORY.md")


def test_the_blob_at_head_is_the_committed_one(port: Git) -> None:
    expected = git(place(port), "rev-parse", "HEAD:README.md")
    assert port.blob_at_head("README.md") == expected
    for path in ("missing", "README.md/below", "", "two\nlines", "README.md 3", "x missing"):
        assert port.blob_at_head(path) is None
    git(place(port), "symbolic-ref", "HEAD", "refs/heads/unborn")
    assert port.blob_at_head("README.md") is None


def test_a_clone_that_lacks_objects_fetches_none(repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    (repo / "README.md").write_text("second\n")
    git(repo, "commit", "-q", "-a", "-m", "second")
    url = f"file://{repo}"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--depth=1", "--no-checkout", url, "part")
    part = tmp_path / "part"
    lacking, parent = git(repo, "rev-parse", "HEAD:README.md", "HEAD^").split()
    for backend in ("program", "libgit2"):
        port = open_repository(part, backend)  # type: ignore[arg-type]
        head = str(port.head().commit)
        assert [port.has(oid) for oid in (head, lacking, parent)] == [True, False, False]
        with pytest.raises(KeyError):
            list(port.blobs([lacking]))
        assert [commit.oid for commit in port.walk(head)] == [head]
        port.close()
    objects = git(part, "rev-list", "--objects", "--missing=print", "HEAD")
    assert f"?{lacking}" in objects
    assert os.environ.get("GIT_NO_LAZY_FETCH") is None
