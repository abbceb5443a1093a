"""The search of the workspace's files: what is found, what is left alone, and keeping up."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.journal.git.opening import open_repository
from gitmem.search import database
from gitmem.search.base import IndexUnusable
from gitmem.search.workspace import worktree
from gitmem.search.workspace.files import LONGEST, WIDEST, Files, passages
from gitmem.search.workspace.worktree import Worktree
from tests.search.workspace import add, ask, opened, paths
from tests.support import git, run_cli

ROOT = Path(__file__).resolve().parents[2]
CODE = """def getUserName(user_id):
    # see #482; run with --dry-run since v2.1.3
    return get_user_name(user_id)
"""


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what was just written be believed, but in the tests of that."""
    monkeypatch.setattr("gitmem.search.workspace.files.SETTLED", -(10**12))


@pytest.fixture
def files(repo: Path) -> Files:
    (repo / "src" / "app").mkdir(parents=True)
    (repo / "src" / "app" / "cache.py").write_text(CODE)
    (repo / "notes.md").write_text("# 数据库\n\nWe chose PostgreSQL.\n")
    git(repo, "add", "src")
    return opened(repo)


@pytest.mark.parametrize(
    "query",
    ["getUserName", "user name", "get_user_name", "--dry-run", "#482", "v2.1.3", "dry run",
     "src/app/cache.py", "cache", "path:cache user", '"return get_user_name"', "getUs*"],
)  # fmt: skip
def test_identifiers_are_found_whole_and_split(files: Files, query: str) -> None:
    assert paths(files, query) == ["src/app/cache.py"]


@pytest.mark.parametrize("query", ["数据库", "postgresql", "chose", "-nothing PostgreSQL"])
def test_untracked_files_are_found(files: Files, query: str) -> None:
    assert paths(files, query) == ["notes.md"]


@pytest.mark.parametrize(
    "query", ["zebra", "user -cache", '"user get"', "kind:user", "tag:user", ""]
)
def test_what_does_not_match(files: Files, query: str) -> None:
    assert paths(files, query) == []


def test_the_line_is_the_one_that_fits_best(repo: Path, files: Files) -> None:
    lines = [f"line {n}" for n in range(200)]
    lines[150] = "the needle is here"
    (repo / "long.txt").write_text("\n".join(lines))
    files.catch_up()
    [found] = ask(files, "needle")
    assert (found.path, found.line) == ("long.txt", 151)
    assert found.text.startswith("the needle is here\nline 151")
    assert len(found.text.splitlines()) <= LONGEST


def test_rarer_and_more_words_come_first(repo: Path, files: Files) -> None:
    for n in range(8):
        (repo / f"f{n}.txt").write_text("common words and more common words\n")
    (repo / "best.txt").write_text("common zebra\n")
    files.catch_up()
    found = ask(files, "common zebra giraffe")
    assert found[0].path == "best.txt"
    assert 0 < found[1].words.cover < found[0].words.cover < 1


def test_a_name_counts_more_than_a_mention(repo: Path, files: Files) -> None:
    for n in range(5):
        add(repo, f"notes{n}.txt", "the scheduler is mentioned here\n")
    add(repo, "src/scheduler.py", "def run(): ...\n")
    files.catch_up()
    best = ask(files, "scheduler")[0]
    assert (best.path, best.line) == ("src/scheduler.py", 1)


# -- keeping up -------------------------------------------------------------------------------


def test_only_what_changed_is_read(repo: Path, files: Files) -> None:
    assert files.catch_up() == 0
    (repo / "notes.md").write_text("giraffe\n")
    assert files.catch_up() == 1
    assert paths(files, "giraffe") == ["notes.md"] and paths(files, "postgresql") == []


def test_what_was_only_touched_stays(repo: Path, files: Files) -> None:
    os.utime(repo / "notes.md", ns=(1, 1))
    assert files.catch_up() == 1
    assert paths(files, "postgresql") == ["notes.md"] and files.catch_up() == 0


def test_a_change_within_the_same_moment_is_seen(
    repo: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.search.workspace.files.SETTLED", 2_000_000_000)
    file = add(repo, "note.txt", "walrus\n")
    facts = worktree._facts
    same = facts(os.fsencode(file))
    monkeypatch.setattr(  # the clock of the file system has not moved on since
        worktree, "_facts", lambda path: same if path == os.fsencode(file) else facts(path)
    )
    files.catch_up()
    assert paths(files, "walrus") == ["note.txt"]
    with open(file, "r+") as again:
        again.write("herons")
    files.catch_up()
    assert paths(files, "herons") == ["note.txt"] and paths(files, "walrus") == []


def test_a_change_that_keeps_size_and_time_is_seen(repo: Path, files: Files) -> None:
    file = add(repo, "note.txt", "walrus\n")
    files.catch_up()
    moment = file.stat().st_mtime_ns
    with open(file, "r+") as again:
        again.write("herons")
    os.utime(file, ns=(moment, moment))
    assert files.catch_up() == 1
    assert paths(files, "herons") == ["note.txt"] and paths(files, "walrus") == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_keeps_up_with_whatever_happens(repo: Path, seed: int) -> None:
    index = opened(repo)
    chance = random.Random(seed)
    git(repo, "branch", "other")
    for step in range(25):
        happen(repo, chance, step)
        index.catch_up()
        assert {one.path for one in ask(index, "walrus", 100)} == there(repo), step
        assert index.catch_up() == 0 and index.warnings == []
    index._db.execute("INSERT INTO words(words) VALUES('integrity-check')")


def happen(repo: Path, chance: random.Random, step: int) -> None:
    """Do one of the things that happen to files; each text is of another length."""
    one, other = chance.sample(["a.txt", "b.txt", "src/c.txt", "src/d.txt", "src/deep/e.txt"], 2)
    what = chance.choice(
        "write write write delete move copy add commit checkout uncache ignore mark touch".split()
    )
    if what == "write":
        add(repo, one, chance.choice(["walrus\n", "heron\n"]) * (step + 1))
    elif what == "ignore":
        add(repo, ".gitignore", chance.choice(["", "b.txt\n", "src/deep/\n"]) + "#" * step)
    elif what == "mark":
        rule = "d.txt linguist-generated\n" if chance.random() < 0.7 else ""
        add(repo, chance.choice(["", "src/"]) + ".gitattributes", rule + "#" * step)
    elif what == "add":
        git(repo, "add", ".")
    elif what == "commit":
        git(repo, "add", ".")
        git(repo, "commit", "-q", "--allow-empty", "-m", "step")
    elif what == "checkout":
        git(repo, "checkout", "-q", "-f", chance.choice(["main", "other"]))
    elif what == "uncache":
        git(repo, "rm", "-q", "-f", "--cached", "--ignore-unmatch", one)
    elif (repo / one).exists():
        if what in ("move", "copy"):
            add(repo, other, (repo / one).read_bytes())
        if what in ("move", "delete"):
            (repo / one).unlink()
        (repo / one).touch(exist_ok=True) if what == "touch" else None


def there(repo: Path) -> set[str]:
    """Return the files that a search for the walrus should find, as git alone tells it."""
    listed = git(repo, "ls-files", "-z", "-c", "-o", "--exclude-standard").split("\0")
    marked = git(repo, "check-attr", "linguist-generated", "--", *filter(None, listed))
    generated = {line.split(":")[0] for line in marked.split("\n") if line.endswith(": set")}
    return {
        path
        for path in {*listed} - generated
        if path and (repo / path).exists() and "walrus" in (repo / path).read_text()
    }


def test_progress_counts_files(repo: Path) -> None:
    told: list[tuple[int, int]] = []
    for n in range(250):
        add(repo, f"{n}.txt", f"walrus {n}\n")
    layout = open_repository(repo).layout
    index = Files(layout, repo / ".git" / "files", lambda *now: told.append(now))
    index.catch_up()
    assert told == [(0, 251), (100, 251), (200, 251), (251, 251)]
    index.catch_up()
    assert len(told) == 4


def test_an_interrupt_keeps_what_was_done(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(250):
        add(repo, f"{n}.txt", f"walrus n{n}\n")

    def interrupted(done: int, all: int) -> None:
        if done == 200:
            raise KeyboardInterrupt

    where = (open_repository(repo).layout, repo / ".git" / "files.sqlite")
    index = Files(*where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.catch_up()
    index.close()
    again = Files(*where)
    read = []
    monkeypatch.setattr(Worktree, "read", counted(Worktree.read, read))
    again.catch_up()
    assert len(read) == 51  # and the README
    assert all(paths(again, f"n{n}") == [f"{n}.txt"] for n in (0, 99, 100, 249))


def counted(read: Callable[..., worktree.Text], seen: list[bytes]) -> Callable[..., worktree.Text]:
    def reading(tree: Worktree, path: bytes, said: bool | None = None) -> worktree.Text:
        seen.append(path)
        return read(tree, path, said)

    return reading


def test_clear_forgets_everything(repo: Path, files: Files) -> None:
    files.clear()
    assert paths(files, "postgresql") == []
    files.catch_up()
    assert paths(files, "postgresql") == ["notes.md"]


def test_renamed_and_deleted(repo: Path, files: Files) -> None:
    git(repo, "mv", "src/app/cache.py", "moved.py")
    (repo / "notes.md").unlink()
    files.catch_up()
    assert paths(files, "getUserName") == ["moved.py"] and paths(files, "postgresql") == []


def test_ignored_files_are_left_alone(repo: Path, files: Files) -> None:
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "secret.log").write_text("giraffe\n")
    files.catch_up()
    assert paths(files, "giraffe") == []


def test_a_linked_worktree_has_its_own_files(repo: Path, files: Files, tmp_path: Path) -> None:
    git(repo, "commit", "-qm", "code")
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked" / "here.txt").write_text("giraffe\n")
    layout = open_repository(tmp_path / "linked").layout
    linked = Files(layout, layout.git_dir / "gitmem" / "files.sqlite")
    linked.catch_up()
    assert paths(linked, "giraffe") == ["here.txt"] and paths(linked, "postgresql") == []


# -- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b"garbage" * 1000])
def test_a_damaged_file_is_made_anew(repo: Path, files: Files, damage: bytes) -> None:
    files.close()
    for file in (repo / ".git" / "gitmem").glob("files.sqlite*"):
        file.unlink()
    (repo / ".git" / "gitmem" / "files.sqlite").write_bytes(damage)
    assert paths(opened(repo), "postgresql") == ["notes.md"]


def test_a_file_of_another_version_is_made_anew_without_a_word(repo: Path, files: Files) -> None:
    files.close()
    db = sqlite3.connect(repo / ".git" / "gitmem" / "files.sqlite")
    db.execute("PRAGMA user_version=9")
    db.close()
    again = opened(repo)
    assert paths(again, "postgresql") == ["notes.md"] and again.warnings == []


def test_damage_in_the_middle_loses_nothing(repo: Path) -> None:
    for n in range(300):
        add(repo, f"{n}.txt", f"walrus n{n} {n * n}\n" * 30)
    opened(repo).close()
    file = repo / ".git" / "gitmem" / "files.sqlite"
    data = bytearray(file.read_bytes())
    data[4096 * 8 :] = random.Random(2).randbytes(len(data) - 4096 * 8)
    file.write_bytes(data)
    add(repo, "new.txt", "giraffe\n")
    index = opened(repo)
    assert len(ask(index, "walrus", 30)) == 30 and paths(index, "giraffe") == ["new.txt"]
    index.catch_up()
    assert all(paths(index, f"n{n}") == [f"{n}.txt"] for n in (0, 150, 299))


def test_while_another_process_writes_what_there_is_is_searched(
    repo: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY", 0.05)
    other = opened(repo)
    holder = sqlite3.connect(repo / ".git" / "gitmem" / "files.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    add(repo, "new.txt", "postgresql\n")
    other.catch_up()
    assert paths(other, "postgresql") == ["notes.md"]
    assert other.warnings == ["another process is indexing the files: some may not be found yet"]
    holder.execute("ROLLBACK")
    holder.close()
    other.catch_up()
    assert paths(other, "postgresql") == ["new.txt", "notes.md"] and other.warnings == []


def test_an_index_of_git_that_is_broken_is_said_and_nothing_forgotten(
    repo: Path, files: Files
) -> None:
    kept = (repo / ".git" / "index").read_bytes()
    (repo / ".git" / "index").write_bytes(b"DIRC" + b"\0" * 40)
    with pytest.raises(IndexUnusable, match="files cannot be listed: "):
        files.catch_up()
    assert paths(files, "postgresql") == ["notes.md"]
    (repo / ".git" / "index").write_bytes(kept)
    assert files.catch_up() == 0


def test_where_no_file_can_be_written_all_is_found_nevertheless(repo: Path, tmp_path: Path) -> None:
    add(repo, "note.txt", "walrus\n")
    add(tmp_path, "file", "in the way")
    index = Files(open_repository(repo).layout, tmp_path / "file" / "files.sqlite")
    index.catch_up()
    assert paths(index, "walrus") == ["note.txt"]
    assert "cannot be used" in index.warnings[0] and "journal" not in index.warnings[0]


INDEXER = """
import sys, time
from pathlib import Path
from gitmem.journal.git.opening import open_repository
from gitmem.search.workspace.files import Files
repo, halts = Path(sys.argv[1]), sys.argv[2] == "halts"
def progress(done, all):
    if 0 < done < all:
        print(done, flush=True)
        while halts:
            time.sleep(1)
files = Files(open_repository(repo).layout, repo / ".git" / "gitmem" / "files.sqlite", progress)
files.catch_up()
"""


def test_two_index_at_once_and_one_is_killed(repo: Path, files: Files) -> None:
    for n in range(400):
        (repo / f"f{n}.txt").write_text(f"giraffe number{n}\n" * 20)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def index(how: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", INDEXER, str(repo), how]
        return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)

    halted = index("halts")
    assert halted.stdout and halted.stdout.readline(), "it is in the middle of it"
    other = index("goes on")
    assert other.stdout and other.stdout.readline(), "and so is this one"
    halted.kill()
    assert [halted.wait(), other.wait()] == [-signal.SIGKILL, 0]
    again = opened(repo)
    assert all(paths(again, f"number{n}")[0] == f"f{n}.txt" for n in (0, 199, 399))


def test_passages_are_cut_at_empty_lines() -> None:
    text = "\n".join(["x"] * 20 + [""] + ["y"] * 100)
    starts = [start for start, _ in passages(text)]
    assert (
        starts[0] == 1
        and starts[1] == 21
        and all(b - a <= LONGEST for a, b in zip(starts, starts[1:], strict=False))
    )
    assert list(passages("")) == [] == list(passages("\n \n"))


@given(
    st.lists(st.sampled_from(["", "def f():", "    body", "x" * 3_000, "\x0c\x1d"]), max_size=99)
)
def test_passages_are_the_file_in_order(lines: list[str]) -> None:
    covered = 0
    for line, passage in passages("\n".join(lines)):
        own = passage.split("\n")
        assert [one.rstrip() for one in lines[line - 1 : line - 1 + len(own)]] == [
            one.rstrip() for one in own
        ]
        assert len(own) <= LONGEST and (len(passage) <= WIDEST or len(own) == 1)
        covered += len([one for one in own if one.strip()])
    assert covered == len([one for one in lines if one.strip()])


def test_the_command_line(repo: Path, files: Files) -> None:
    done = run_cli("search", "--in", "files", "postgresql", cwd=repo)
    assert done.returncode == 0 and done.stdout.startswith("notes.md:3: ")
    (repo / "bin").mkdir()
    (repo / "bin" / "gitmem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
    (repo / "bin" / "gitmem").chmod(0o755)

    def script(*args: str) -> subprocess.CompletedProcess[str]:
        path = f"{repo / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            [str(ROOT / "scripts" / "file-search.sh"), *args],
            cwd=repo / "src", capture_output=True, text=True,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    assert script("postgresql", "1").stdout == done.stdout.splitlines()[0] + "\n"
    nothing, refused = script("walrus"), script("")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "")
    assert refused.returncode == 1 and "the query is empty" in refused.stderr
