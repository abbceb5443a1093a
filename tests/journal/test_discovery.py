"""Finding the repository as git does, and holding on to it whatever a hook's environment says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.errors import NotARepository, Unavailable, UsageError
from gitmem.journal.git.discovery import bare_layout, discover
from gitmem.journal.git.libgit2 import Libgit2
from gitmem.journal.git.opening import open_bare, open_repository
from gitmem.journal.git.port import Backend, Layout
from gitmem.journal.git.program import GitProgram
from tests.journal.conftest import REF, commit_file, land
from tests.support import git

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give a repository to another user"
)


def test_a_repository_is_found_from_below(repo: Path) -> None:
    (repo / "a" / "b").mkdir(parents=True)
    layout = discover(repo / "a" / "b")
    assert layout == Layout(repo / ".git", repo / ".git", repo, "sha1")
    assert layout.hex_length == 40


def test_a_linked_worktree_shares_the_common_directory(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "../linked")
    layout = discover(tmp_path / "linked")
    assert layout.common_dir == repo / ".git"
    assert layout.git_dir == repo / ".git" / "worktrees" / "linked"
    assert layout.workdir == tmp_path / "linked"


@pytest.mark.parametrize("backend", ["program", "libgit2"])
def test_a_submodule_has_a_journal_of_its_own(repo: Path, tmp_path: Path, backend: Backend) -> None:
    git(tmp_path, "init", "-q", "outer")
    outer = tmp_path / "outer"
    git(outer, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(repo), "inner")
    port = open_repository(outer / "inner", backend)
    assert port.layout.workdir == outer / "inner"
    assert port.layout.git_dir == port.layout.common_dir == outer / ".git" / "modules" / "inner"
    tip = land(port, commit_file(port))
    assert port.tracked("README.md")
    assert port.blob_at_head("README.md")
    assert git(outer / "inner", "rev-parse", REF) == tip
    assert git(outer, "for-each-ref", "refs/notes") == ""
    port.close()


def test_bare_and_sha256_repositories_are_told_apart(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", "bare.git")
    layout = discover(tmp_path / "bare.git")
    assert layout == Layout(tmp_path / "bare.git", tmp_path / "bare.git", None, "sha256")
    assert layout.hex_length == 64
    assert bare_layout(tmp_path / "bare.git") == layout


def test_inside_the_git_directory_there_is_no_place_for_files(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert discover(repo / ".git" / "refs").workdir is None
    monkeypatch.setenv("GIT_DIR", ".")  # as `post-receive` sees it
    layout = discover(repo / ".git")
    assert (layout.git_dir, layout.workdir) == (repo / ".git", None)


def test_git_dir_in_the_environment_decides(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    assert discover(tmp_path).git_dir == repo / ".git"


def test_no_repository_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(NotARepository) as refused:
        discover(tmp_path)
    assert refused.value.exit_code == 3
    assert str(tmp_path) in refused.value.message
    assert "\n" not in refused.value.message
    assert "git init" in refused.value.hint


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_path_that_is_no_directory_is_bad_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=name):
        discover(tmp_path / name)


def test_a_repository_git_cannot_read_is_refused_with_its_reason(repo: Path) -> None:
    (repo / ".git" / "config").write_text("[core\n")
    with pytest.raises(NotARepository, match="bad config line 1"):
        discover(repo)


@needs_root
def test_a_repository_of_another_user_is_refused_until_allowed(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    monkeypatch.delenv("SUDO_UID", raising=False)
    with pytest.raises(NotARepository, match="another user owns it") as refused:
        discover(repo)
    command = f"git config --global --add safe.directory {repo}"
    assert command in refused.value.hint
    git(repo, *command.split()[1:])
    for backend in ("program", "libgit2"):
        port = open_repository(repo, backend)  # type: ignore[arg-type]
        assert port.head().branch == "main"
        port.close()


def test_without_git_there_is_a_hint(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = open_repository(repo, "program")
    monkeypatch.setenv("PATH", str(repo))
    with pytest.raises(Unavailable, match="git is not installed") as missing:
        discover(repo)
    assert "2.34" in missing.value.hint
    assert port.head().branch == "main"


def test_libgit2_is_taken_where_it_can_open_the_repository(repo: Path, tmp_path: Path) -> None:
    assert isinstance(open_repository(repo), Libgit2)
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "extensions.noop-v1", "true")  # git knows it, libgit2 does not
    assert isinstance(open_repository(repo), GitProgram)
    with pytest.raises(Unavailable, match="libgit2 cannot open"):
        open_repository(repo, "libgit2")
    git(tmp_path, "init", "-q", "--object-format=sha256", "new")
    assert isinstance(open_repository(tmp_path / "new"), GitProgram)


@pytest.mark.parametrize("backend", ["program", "libgit2"])
def test_a_hook_of_git_never_diverts_a_write(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: Backend
) -> None:
    """Variables set for hooks would send objects to quarantine, or to another repository."""
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(away / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(away))
    monkeypatch.setenv("GIT_QUARANTINE_PATH", str(away))
    monkeypatch.setenv("GIT_GLOB_PATHSPECS", "1")
    port = open_repository(tmp_path, backend)
    private = tmp_path / "private.git"
    port.init_bare(private)
    aside = open_bare(private, backend)
    land(aside, commit_file(aside, b"private"), "refs/notes/gitmem/private")
    tip = land(port, commit_file(port, b"shared"))
    assert port.tracked("README.md")
    for name in list(os.environ):
        if name.startswith("GIT_") and name != "GIT_CONFIG_NOSYSTEM":
            monkeypatch.delenv(name)
    assert list(away.iterdir()) == []
    assert git(repo, "show", f"{tip}:note") == "shared"
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/notes") == REF
    assert git(private, "for-each-ref", "--format=%(refname)") == "refs/notes/gitmem/private"
    port.close()
    aside.close()


def test_a_new_bare_repository_has_the_same_object_format_and_no_hook(made: Layout) -> None:
    assert made.object_format == "sha256"
    assert not list((made.git_dir).glob("hooks/*"))


@pytest.fixture
def made(tmp_path: Path, hermetic: Path) -> Layout:
    """Return the layout of a bare repository made from a SHA-256 one, despite a template."""
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "reference-transaction").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "reference-transaction").chmod(0o755)
    git(tmp_path, "config", "--global", "init.templateDir", str(hooks.parent))
    git(tmp_path, "init", "-q", "--object-format=sha256", "--template=", "first")
    port = open_repository(tmp_path / "first")
    port.init_bare(tmp_path / "deep" / "er.git")
    return bare_layout(tmp_path / "deep" / "er.git")


def test_there_must_be_a_bare_repository_to_open_one(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match="nothing"):
        open_bare(tmp_path / "nothing")
