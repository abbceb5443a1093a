"""Which files of a work tree are searched, as they lie there, and what is never touched."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from gitmem.search.workspace.worktree import LARGEST, SMALL, Worktree
from tests.search.workspace import add, ask, found, opened
from tests.support import git, run_cli

# -- what git knows ---------------------------------------------------------------------------


def test_tracked_changed_and_new_files_are_found_and_ignored_ones_are_not(repo: Path) -> None:
    add(repo, "tracked.py", "walrus = 1\n")
    add(repo, "changed.py", "walrus = 1\n")
    add(repo, ".gitignore", "*.log\nbuild/\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "walruses")
    add(repo, "changed.py", "penguin = 1\n")
    add(repo, "new.py", "walrus = 2\n")
    add(repo, "debug.log", "walrus\n")
    add(repo, "build/out.py", "walrus\n")
    assert found(repo, "walrus") == {"tracked.py", "new.py"}
    assert found(repo, "penguin") == {"changed.py"}


def test_what_lies_there_decides_not_what_git_has(repo: Path) -> None:
    for name in "abc":
        add(repo, f"{name}.py", "walrus\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "three")
    git(repo, "rm", "-q", "--cached", "a.py")
    git(repo, "update-index", "--assume-unchanged", "b.py")
    add(repo, "b.py", "penguin\n")
    (repo / "c.py").unlink()
    assert found(repo, "walrus") == {"a.py"}
    assert found(repo, "penguin") == {"b.py"}


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "fresh")
    add(tmp_path / "fresh", "note.txt", "walrus\n")
    assert found(tmp_path / "fresh", "walrus") == {"note.txt"}


def test_a_bare_repository_has_no_files(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    done = run_cli("search", "--in", "files", "demo", cwd=tmp_path / "bare.git")
    assert (done.returncode, done.stderr) == (0, "") and "nothing matched" in done.stdout


def test_a_sparse_tree_has_the_files_that_are_there(repo: Path) -> None:
    add(repo, "in/a.txt", "walrus\n")
    add(repo, "out/b.txt", "walrus\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "two")
    git(repo, "sparse-checkout", "set", "in")
    assert found(repo, "walrus") == {"in/a.txt"}
    add(repo, "out/b.txt", "walrus, put back by hand\n")
    assert found(repo, "walrus") == {"in/a.txt", "out/b.txt"}


def test_a_linked_worktree_has_its_own_files(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    add(tmp_path / "linked", "there.txt", "walrus\n")
    add(repo, "here.txt", "walrus\n")
    assert found(repo, "walrus") == {"here.txt"}
    assert found(tmp_path / "linked", "walrus") == {"there.txt"}


def test_a_submodule_and_a_repository_within_are_not_entered(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "other")
    other = tmp_path / "other"
    add(other, "walrus.txt", "walrus\n")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "walrus")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    shutil.copytree(other, repo / "nested")
    add(repo, "mine.txt", "walrus\n")
    assert found(repo, "walrus") == {"mine.txt"}
    assert found(repo / "sub", "walrus") == {"walrus.txt"}


def test_a_repository_of_sha256_is_searched_alike(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "modern")
    add(tmp_path / "modern", "new.txt", "walrus\n")
    assert found(tmp_path / "modern", "walrus") == {"new.txt"}


def test_a_conflict_is_found_once_as_it_lies_there(repo: Path) -> None:
    for branch, animal in (("one", "walrus"), ("two", "penguin")):
        git(repo, "checkout", "-q", "-b", branch, "main")
        add(repo, "zoo.txt", f"{animal}\n")
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", branch)
    git(repo, "merge", "one", check=False)
    (one,) = ask(opened(repo), "walrus penguin")
    assert (one.line, one.text.split("\n")[0]) == (2, "penguin")


def test_the_case_of_names_is_kept(repo: Path) -> None:
    add(repo, "Notes/README.txt", "walrus\n")
    add(repo, "Notes/readme.TXT", "penguin\n")
    names = {one.name for one in (repo / "Notes").iterdir()}
    assert {path.split("/")[1] for path in found(repo, "walrus penguin")} == names


def test_names_may_be_any_bytes(repo: Path) -> None:
    odd = [b"new\nline.txt", b"caf\xe9.txt", "数据库.md".encode(), b'a "quoted"\ttab', b" -x "]
    for name in odd:
        with open(os.path.join(os.fsencode(repo), name), "w") as file:
            file.write("walrus\n")
    assert {os.fsencode(path) for path in found(repo, "walrus")} == set(odd)
    git(repo, "add", ".")
    assert {os.fsencode(path) for path in found(repo, "walrus")} == set(odd)
    assert found(repo, "path:数据库") == {"数据库.md"}


# -- what nobody wrote ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["package-lock.json", "poetry.lock", "go.sum", "lib/app.min.js", "lib/app.js.map",
     "node_modules/left/index.js", "web/node_modules/left/index.js", "api_pb2.py",
     ".terraform.lock.hcl", "pnpm-lock.yaml", "__snapshots__/view.test.js.snap"],
)  # fmt: skip
def test_what_a_tool_wrote_is_left_out_by_its_name(repo: Path, path: str) -> None:
    add(repo, path, "walrus\n")
    add(repo, "locking.md", "walrus\n")
    git(repo, "add", "-f", ".")
    assert found(repo, "walrus") == {"locking.md"}


@pytest.mark.parametrize(
    "content",
    [
        b"walrus\0\n",
        b"\x89PNG\r\n\x1a\n" + random.Random(4).randbytes(500).replace(b"\0", b"") + b" walrus ",
        b"// Code generated by stringer; DO NOT EDIT.\n\nvar walrus = 1\n",
        b"/* @generated by a tool */\nwalrus\n",
        b"walrus\n" * 200_000,
        b"walrus," + b"1,2,3," * 4_000,
        b"<!-- gitmem:begin 1 -->\nwalrus\n<!-- gitmem:end -->\n",
        "数据库在这里，海象也在这里".encode("gbk") + b" walrus",
    ],
    ids=["nul", "image", "go", "marked", "huge", "one line", "mirror", "gbk"],
)
def test_what_nobody_wrote_is_left_out_by_its_content(repo: Path, content: bytes) -> None:
    add(repo, "walrus.txt", content)
    add(repo, "other.txt", "walrus\n")
    assert found(repo, "walrus") == {"other.txt"}


def test_minified_code_is_left_out_and_a_long_paragraph_is_not(repo: Path) -> None:
    add(repo, "code.js", "var walrus=1;" * 1000)
    add(repo, "paragraph.md", "A walrus is an animal. " * (SMALL // 30))
    add(repo, "essay.md", ("A walrus is an animal. " * 40 + "\n\n") * 30)
    assert found(repo, "walrus") == {"paragraph.md", "essay.md"}


def test_a_mebibyte_is_the_largest(repo: Path) -> None:
    line = "walrus " * 10 + "\n"
    large = add(repo, "large.txt", (line * (LARGEST // len(line) + 1))[: LARGEST + 1])
    assert found(repo, "walrus") == set()
    os.truncate(large, LARGEST)
    assert found(repo, "walrus") == {"large.txt"}


def test_attributes_say_what_is_generated_and_what_is_not(repo: Path) -> None:
    add(repo, "one.py", "walrus\n")
    add(repo, "keep.lock", "walrus\n")
    add(repo, "made.py", "# @generated\nwalrus\n")
    git(repo, "add", ".")
    assert found(repo, "walrus") == {"one.py"}
    rules = (
        "one.py linguist-generated\n*.lock -linguist-generated\nmade.py linguist-generated=false\n"
    )
    file = add(repo, ".gitattributes", rules)
    assert found(repo, "walrus") == {"keep.lock", "made.py"}
    file.unlink()
    assert found(repo, "walrus") == {"one.py"}
    add(repo, ".git/info/attributes", "*.py linguist-generated=true\n")
    assert found(repo, "walrus") == set()


def test_attributes_of_a_folder_hold_in_it(repo: Path) -> None:
    for path in ("src/gen/a.py", "src/a.py"):
        add(repo, path, "walrus\n")
    add(repo, "src/.gitattributes", "gen/** linguist-generated\n")
    assert found(repo, "walrus") == {"src/a.py"}


@pytest.mark.parametrize("rule", ["binary", "-diff"])
def test_what_git_grep_takes_for_binary_is_left_out(repo: Path, rule: str) -> None:
    add(repo, "data.txt", "walrus\n")
    add(repo, "text.txt", "walrus\n")
    add(repo, ".gitattributes", f"data.txt {rule}\n*.txt text\n")
    assert found(repo, "walrus") == {"text.txt"}
    listed = git(repo, "grep", "-I", "-l", "--untracked", "walrus")
    assert listed == "text.txt"


# -- what files hold --------------------------------------------------------------------------


def test_text_is_read_as_it_was_meant(repo: Path) -> None:
    add(repo, "latin.txt", "Der Wärter füttert das Walross\r\nzweimal\n".encode("latin-1"))
    add(repo, "dos.txt", "first\r\n\r\nthe penguin\r\nlast\r\n")
    add(repo, "bom.txt", "\ufeffalbatross\n")
    add(repo, "wide.txt", "okapi\r\n".encode("utf-16"))
    add(repo, "page.txt", "one\x0c\ntwo\x1d\u2028\nthe heron\x01\n")
    index = opened(repo)
    (latin,) = ask(index, "Wärter")
    assert latin.text == "Der Wärter füttert das Walross\nzweimal"
    (dos,) = ask(index, "penguin")
    assert (dos.line, dos.text) == (3, "the penguin\nlast")
    assert [one.text for one in ask(index, "albatross okapi")] == ["albatross", "okapi"]
    (page,) = ask(index, "heron")
    assert page.line == 3


def test_line_endings_that_git_converts_change_nothing(repo: Path) -> None:
    add(repo, ".gitattributes", "*.txt text eol=crlf\n")
    add(repo, "dos.txt", "one\nwalrus\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "dos")
    (repo / "dos.txt").unlink()
    git(repo, "checkout", "-q", "--", "dos.txt")
    assert b"\r\n" in (repo / "dos.txt").read_bytes()
    (one,) = ask(opened(repo), "walrus")
    assert (one.line, one.text) == (2, "walrus")


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_found_once_it_may(repo: Path) -> None:
    file = add(repo, "note.txt", "walrus\n")
    file.chmod(0)
    assert found(repo, "walrus") == set()
    file.chmod(0o644)
    assert found(repo, "walrus") == {"note.txt"}


# -- what is never touched --------------------------------------------------------------------


def test_no_link_leads_anywhere(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    add(outside, "secret.txt", "walrus\n")
    add(repo, "src/secret.txt", "penguin\n")
    git(repo, "add", ".")
    (repo / "link.txt").symlink_to(outside / "secret.txt")
    (repo / "folder").symlink_to(outside)
    git(repo, "add", "link.txt", "folder")
    assert found(repo, "penguin") == {"src/secret.txt"}
    shutil.rmtree(repo / "src")
    (repo / "src").symlink_to(outside)
    index = opened(repo)
    assert [one.path for one in ask(index, "walrus penguin")] == []


def test_a_link_put_in_place_while_we_look_is_not_followed(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path / "outside", "one.txt", "walrus\n")
    add(repo, "src/one.txt", "penguin\n")
    stamps = Worktree.stamps

    def swapped(tree: Worktree) -> object:
        listed = stamps(tree)
        shutil.rmtree(repo / "src")
        (repo / "src").symlink_to(tmp_path / "outside")
        return listed

    monkeypatch.setattr(Worktree, "stamps", swapped)
    index = opened(repo)
    assert ask(index, "walrus penguin") == []


def test_a_fifo_in_place_of_a_file_is_not_waited_for(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = add(repo, "pipe.txt", "walrus\n")
    stamps = Worktree.stamps

    def swapped(tree: Worktree) -> object:
        listed = stamps(tree)
        file.unlink()
        os.mkfifo(file)
        return listed

    monkeypatch.setattr(Worktree, "stamps", swapped)
    assert found(repo, "walrus") == set()
    monkeypatch.undo()
    assert found(repo, "walrus") == set()
    file.unlink()
    add(repo, "pipe.txt", "walrus\n")
    assert found(repo, "walrus") == {"pipe.txt"}


def test_no_program_that_the_repository_names_is_started(repo: Path) -> None:
    told = repo / ".git" / "started"
    program = add(repo, ".git/program", f"#!/bin/sh\necho \"$0\" >>'{told}'\ncat\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "core.hooksPath", "diff.external", "filter.own.clean",
                 "filter.own.smudge", "filter.own.process", "merge.own.driver",
                 "diff.own.command", "diff.own.textconv"):  # fmt: skip
        git(repo, "config", name, str(program))
    add(repo, "note.txt", "walrus\n")
    git(repo, "add", "note.txt")
    told.unlink(missing_ok=True)
    add(repo, ".gitattributes", "*.txt filter=own merge=own diff=own linguist-generated=false\n")
    os.utime(repo / "note.txt", ns=(1, 1))
    assert found(repo, "walrus") == {"note.txt"}
    assert not told.exists()
    git(repo, "diff", check=False)
    assert told.exists()  # the trap works


def test_the_variables_of_a_hook_do_not_lead_elsewhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(repo, "note.txt", "walrus\n")
    index = opened(repo)
    add(repo, "other.txt", "walrus\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    index.catch_up()
    assert {one.path for one in ask(index, "walrus")} == {"note.txt", "other.txt"}
