"""Where imported memories belong: branches that are here, elsewhere, merged, or gone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.imports.skill import Skill, ref
from tests.imports.support import commit, opened, texts
from tests.support import git

TOOL = "git-notes-memory"


def note(repo: Path, branch: str, *said: str, at: str = "2026-03-02T09:00:00") -> None:
    """Write memories of a branch, as the skill does."""
    entries = {text: {"d": text, "b": branch, "c": at, "u": at} for text in said}
    git(repo, "notes", "--ref", ref(branch), "add", "-f", "-m", json.dumps(entries), "HEAD")


def worked(repo: Path, branch: str, *texts: str) -> None:
    """Fork a branch, remember on it before and after its commit, and go back."""
    skill = Skill(repo)
    git(repo, "switch", "-q", "-c", branch)
    for number, text in enumerate(texts):
        skill.remember(text)
        if not number:
            skill.now = skill.now.replace(hour=12)
            commit(repo, branch, "2026-03-02T11:00:00Z")
    git(repo, "switch", "-q", "main")


@pytest.mark.parametrize(
    "merge",
    [
        ["merge", "-q", "--no-ff", "--no-edit", "f"],
        ["merge", "-q", "--ff-only", "f"],
        ["merge", "-q", "--squash", "f"],
    ],
)
def test_a_branch_merged_and_deleted_before_the_import(old: Path, merge: Sequence[str]) -> None:
    """HEAD's reflog still tells what the branch was."""
    worked(old, "f", "before its commit", "after it")
    git(old, *merge)
    if "--squash" in merge:
        git(old, "commit", "-q", "-m", "squashed")
    git(old, "branch", "-q", "-D", "f")
    with opened(old) as gm:
        assert gm.import_memories(TOOL).new == 2
        assert texts(gm) == ["after it", "before its commit"]
        gm.remember("writes what must be carried")
        assert not gm.status().orphaned


def test_a_branch_that_only_the_remote_has(old: Path, tmp_path: Path) -> None:
    worked(old, "f", "before its commit", "after it")
    git(tmp_path, "clone", "-q", old.as_uri(), "copy")
    copy = tmp_path / "copy"
    git(copy, "fetch", "-q", "origin", "refs/notes/mem-*:refs/notes/mem-*")
    with opened(copy) as gm:
        gm.import_memories(TOOL)
        assert texts(gm) == [] and not gm.status().orphaned
        git(copy, "switch", "-q", "f")
        assert texts(gm) == ["after it", "before its commit"]


def test_a_branch_with_memories_already_keeps_its_line(old: Path) -> None:
    git(old, "switch", "-q", "-c", "f")
    with opened(old) as gm:
        gm.remember("said here")
        line = git(old, "config", "branch.f.gitmem")
        note(old, "f", "imported")
        gm.import_memories(TOOL)
        assert {event.fields["line"] for event in gm.log()} == {line}
        git(old, "branch", "-q", "-m", "renamed")
        assert texts(gm) == ["imported", "said here"]


def test_the_trunk_whatever_it_is_called(old: Path) -> None:
    git(old, "branch", "-q", "-m", "main", "develop")
    git(old, "branch", "-q", "main")
    git(old, "config", "gitmem.trunk", "develop")
    note(old, "develop", "of the trunk")
    note(old, "main", "of a branch")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        assert texts(gm) == ["of the trunk"]
        assert texts(gm, "main") == ["of a branch", "of the trunk"]


def test_branches_see_what_the_trunk_knew_when_they_were_forked(old: Path) -> None:
    note(old, "main", "known")
    commit(old, "second", "2026-03-03T00:00:00Z")
    git(old, "branch", "f")
    commit(old, "third", "2026-03-04T00:00:00Z")
    known = json.loads(git(old, "notes", "--ref", ref("main"), "show", "HEAD~2"))
    later = {"learned": {"d": "learned", "b": "main", "c": "2026-03-05T00:00:00"}}
    git(old, "notes", "--ref", ref("main"), "add", "-f", "-m", json.dumps(known | later), "HEAD~2")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        assert texts(gm) == ["known", "learned"]
        assert texts(gm, "f") == ["known"]


def test_a_shallow_clone(old: Path, tmp_path: Path) -> None:
    note(old, "main", "known")
    commit(old, "second", "2026-03-03T00:00:00Z")
    git(tmp_path, "clone", "-q", "--depth", "1", old.as_uri(), "copy")
    copy = tmp_path / "copy"
    git(copy, "fetch", "-q", "origin", "refs/notes/mem-*:refs/notes/mem-*")
    with opened(copy) as gm:
        assert gm.import_memories(TOOL).new == 1
        assert texts(gm) == ["known"]


def test_from_a_branch_and_from_a_detached_head(old: Path) -> None:
    note(old, "main", "known")
    git(old, "switch", "-q", "-c", "f")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        assert texts(gm, "main") == texts(gm) == ["known"]
    git(old, "switch", "-q", "--detach")
    with opened(old) as gm:
        assert texts(gm) == ["known"] and gm.import_memories(TOOL).unchanged == 1


def test_a_repository_of_the_other_object_format(tmp_path: Path, hermetic: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    git(here, "init", "-q", "--object-format=sha256")
    commit(here, "first", "2026-03-01T00:00:00Z")
    worked(here, "f", "before its commit", "after it")
    with opened(here) as gm:
        assert gm.import_memories(TOOL).new == 2
        assert texts(gm, "f") == ["after it", "before its commit"] and texts(gm) == []
