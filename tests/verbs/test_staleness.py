"""Memories that name files: what is recorded of them, and when they count as stale."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gitmem
from gitmem import Gitmem, Memory
from gitmem.journal.codec import decode, encode
from gitmem.journal.fold import fold_memory
from gitmem.journal.git.port import Backend
from gitmem.verbs.staleness import MOST, candidates, inside
from tests.support import git, run_cli

ABSENT = "0" * 40
PATH = "src/app.py"


BACKENDS: tuple[Backend, ...] = ("program", "libgit2")
both = pytest.mark.parametrize("gm", BACKENDS, indirect=True)


@pytest.fixture
def gm(repo: Path, request: pytest.FixtureRequest) -> Iterator[Gitmem]:
    """The memory of a repository that has src/app.py."""
    write(repo, PATH, "one\n")
    backend: Backend = getattr(request, "param", "program")
    with gitmem.open(repo, backend=backend) as gm:
        yield gm


def write(repo: Path, path: str, content: str, commit: bool = True) -> str:
    """Write a file, commit it, and return its blob id."""
    (repo / path).parent.mkdir(parents=True, exist_ok=True)
    (repo / path).write_text(content)
    if commit:
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", path)
    return git(repo, "hash-object", "--", path)


def commit(repo: Path, *args: str) -> None:
    """Run a git command, and commit what it did."""
    git(repo, *args)
    git(repo, "commit", "-q", "-a", "--allow-empty", "-m", "more")


def stale(gm: Gitmem, memory: Memory) -> list[str]:
    """Return the files of a memory that are not as they were."""
    return [str(change) for change in gm.show(memory.id).stale]


# -- what is recorded -----------------------------------------------------------------------------


@both
def test_the_blob_ids_of_named_files_are_recorded(gm: Gitmem, repo: Path) -> None:
    oid = git(repo, "rev-parse", f"HEAD:{PATH}")
    said = [f"In {PATH}: the cache", f"`{PATH}:12` is it.", f"See (./{PATH}).", f"{PATH}::test_it"]
    for text in said:
        assert gm.remember(text).paths == {PATH: oid}
    assert gm.remember({"file": PATH, "nested": [PATH]}).paths == {PATH: oid}
    assert gm.remember("Nothing of src, app.py or no/such.py is a file here").paths == {}
    assert gm.remember("README.md says so", private=True).paths.keys() == {"README.md"}


@pytest.mark.parametrize(
    "path", ["docs/my file.md", "src/缓存/redis.py", "a+b/[id]/(x).ts", "Makefile"]
)
def test_names_of_every_kind(gm: Gitmem, repo: Path, path: str) -> None:
    write(repo, path, "content\n")
    memory = gm.remember(f"`{path}` is where it is")
    assert list(memory.paths) == [path] and not stale(gm, memory)
    write(repo, path, "other\n")
    assert stale(gm, memory) == [path]


def test_a_path_between_chinese_words(gm: Gitmem) -> None:
    assert list(gm.remember(f"缓存在{PATH}里，用的是Redis").paths) == [PATH]


@pytest.mark.parametrize(
    "path", ["../outside.txt", "/etc/hostname", "src/../README.md", "link", "folder/it.txt", "src",
             ".git/config", "src//app.py", "~/x.txt"]
)  # fmt: skip
def test_what_is_no_file_of_the_repository_is_not(gm: Gitmem, repo: Path, path: str) -> None:
    (repo.parent / "outside.txt").write_text("secret\n")
    (repo.parent / "outside").mkdir()
    (repo.parent / "outside/it.txt").write_text("secret\n")
    (repo / "link").symlink_to("../outside.txt")
    (repo / "folder").symlink_to("../outside")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "links")
    assert gm.remember(f"look at `{path}`").paths == {}


def test_a_link_in_the_working_tree_alone_is_not_followed(gm: Gitmem, repo: Path) -> None:
    outside = repo.parent / "outside"
    outside.mkdir()
    (outside / "app.py").write_text("secret\n")
    shutil.rmtree(repo / "src")
    (repo / "src").symlink_to(outside)
    assert gm.remember(f"look at {PATH}").paths == {PATH: git(repo, "rev-parse", f"HEAD:{PATH}")}


def test_a_file_that_git_ignores_is_not_recorded(gm: Gitmem, repo: Path) -> None:
    write(repo, ".gitignore", "*.key\n")
    write(repo, "my.key", "hunter2\n", commit=False)
    new = write(repo, "new.py", "new\n", commit=False)
    memory = gm.remember("`my.key` opens new.py")
    assert memory.paths == {"new.py": f"{ABSENT} {new}"}


def test_there_is_a_limit(gm: Gitmem, repo: Path) -> None:
    for number in range(MOST + 5):
        write(repo, f"many/{number}.txt", "x\n", commit=False)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "many")
    text = " ".join(f"many/{number}.txt" for number in range(MOST + 5))
    assert len(gm.remember(text).paths) == MOST
    assert gm.remember(" ".join(f"a/{number}.txt" for number in range(5_000))).paths == {}


def test_sessions_and_the_user_record_nothing(gm: Gitmem) -> None:
    assert gm.remember(f"did {PATH}", kind="episode").paths == {}
    assert gm.remember(f"always read {PATH}", scope="user").paths == {}
    gm.set_context(f"working on {PATH}")
    assert all(not memory.paths for memory in gm.list())


def test_a_user_memory_with_paths_is_not_judged(gm: Gitmem, repo: Path) -> None:
    """Its paths are those of some other repository."""
    memory = gm.remember("mine", scope="user")
    journal = gm._journals.writable(memory.journal)
    event = encode({"at": "2026-01-01T00:00:00.000000Z", "by": "Ada <a@x>", "op": "remember",
                    "text": "theirs", "paths": {PATH: "1" * 40}})  # fmt: skip
    anchor = journal.git.write_blob(b"gitmem 2026-01")
    journal.append({anchor: [event.line]}, "by hand", "Ada <a@x>", 0)
    assert gm.show(event.id).paths and not gm.show(event.id).stale


# -- when it is stale -----------------------------------------------------------------------------


@both
def test_changed_and_restored(gm: Gitmem, repo: Path) -> None:
    memory = gm.remember(f"{PATH} prints one")
    assert not stale(gm, memory)
    write(repo, PATH, "two\n")
    assert stale(gm, memory) == [PATH]
    assert gm.list(stale=True) == [gm.show(memory.id)] == list(gm.topic(PATH))
    write(repo, PATH, "one\n")
    assert not stale(gm, memory) and not gm.list(stale=True)


@pytest.mark.parametrize(
    "how", [("rm", "-q", PATH), ("mv", PATH, "src/main.py"), ("mv", "src", "lib")]
)
def test_gone(gm: Gitmem, repo: Path, how: tuple[str, ...]) -> None:
    memory = gm.remember(f"{PATH} prints one")
    commit(repo, *how)
    assert stale(gm, memory) == [f"{PATH} (gone)"]


@both
def test_a_folder_or_a_submodule_in_its_place_is_gone(gm: Gitmem, repo: Path) -> None:
    memory = gm.remember(f"{PATH} prints one, README.md tells of it")
    (repo / PATH).unlink()
    write(repo, f"{PATH}/inner.py", "one\n")
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},README.md")
    git(repo, "commit", "-q", "-m", "submodule")
    assert stale(gm, memory) == ["README.md (gone)", f"{PATH} (gone)"]


def test_the_mode_alone_and_other_files_do_not_count(gm: Gitmem, repo: Path) -> None:
    memory = gm.remember(f"{PATH} prints one")
    (repo / PATH).chmod(0o755)
    commit(repo, "add", PATH)
    assert git(repo, "ls-tree", "HEAD", PATH).startswith("100755")
    write(repo, "src/other.py", "one\n")
    assert not stale(gm, memory)


def test_a_path_in_a_submodule_is_not_recorded(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "library")
    write(tmp_path / "library", "a.py", "one\n")
    allowed = ("-c", "protocol.file.allow=always")
    commit(repo, *allowed, "submodule", "add", "-q", str(tmp_path / "library"), "vendor/library")
    memory = gm.remember(f"vendor/library/a.py and `vendor/library` use {PATH}")
    assert list(memory.paths) == [PATH]
    with gitmem.open(repo / "vendor/library") as inner:  # which is a repository of its own
        assert list(inner.remember("a.py is it").paths) == ["a.py"]


@both
def test_a_path_on_another_branch(gm: Gitmem, repo: Path) -> None:
    git(repo, "switch", "-q", "-c", "feature")
    write(repo, PATH, "two\n")
    write(repo, "new.py", "new\n")
    memory = gm.remember(f"{PATH} prints two, new.py helps", scope="repo")
    assert not stale(gm, memory)
    git(repo, "switch", "-q", "main")
    assert stale(gm, memory) == ["new.py (gone)", PATH]
    assert not gm.show(memory.id, branch="feature").stale
    assert not gm.list(stale=True, branch="feature")
    git(repo, "merge", "-q", "feature")
    assert not stale(gm, memory)
    write(repo, PATH, "three\n")
    assert stale(gm, memory) and not gm.show(memory.id, at="HEAD~1").stale


# -- in the midst of a change ---------------------------------------------------------------------


@both
def test_a_change_that_is_committed_next_is_what_was_spoken_of(gm: Gitmem, repo: Path) -> None:
    two = write(repo, PATH, "two\n", commit=False)
    new = write(repo, "new.py", "new\n", commit=False)
    (repo / "README.md").unlink()
    old = git(repo, "rev-parse", f"HEAD:{PATH}")
    memory = gm.remember(f"{PATH} prints two, new.py helps, README.md is not needed")
    assert memory.paths[PATH] == f"{old} {two}"
    assert memory.paths["new.py"] == f"{ABSENT} {new}"
    assert memory.paths["README.md"].endswith(f" {ABSENT}")
    assert not stale(gm, memory)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "done")
    assert not stale(gm, memory)
    write(repo, PATH, "three\n")
    write(repo, "new.py", "newer\n")
    write(repo, "README.md", "# demo\n")
    assert stale(gm, memory) == ["new.py", PATH]  # README.md is as it was before


def test_on_an_unborn_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "fresh")
    repo = tmp_path / "fresh"
    write(repo, PATH, "one\n", commit=False)
    with gitmem.open(repo) as gm:
        memory = gm.remember(f"{PATH} prints one")
        assert list(memory.paths) == [PATH] and not stale(gm, memory)
        write(repo, PATH, "one\n")
        assert not stale(gm, memory)
        write(repo, PATH, "two\n")
        assert stale(gm, memory) == [PATH]
        git(repo, "switch", "-q", "--orphan", "empty")
        everywhere = gm.list(branch="main", stale=True)
        assert [found.id for found in everywhere] == [memory.id] and not gm.list(stale=True)


# -- what changes the record ----------------------------------------------------------------------


def test_only_a_new_text_is_a_new_record(gm: Gitmem, repo: Path) -> None:
    memory = gm.remember(f"{PATH} prints one")
    write(repo, PATH, "two\n")
    gm.evolve(memory.id, f"seen in {PATH} again")
    gm.update(memory.id, importance="high", tags=["x"])
    gm.tag(memory.id, "y")
    assert stale(gm, memory) == [PATH]
    assert not stale(gm, gm.update(memory.id, f"{PATH} prints two"))
    gm.undo()
    assert gm.show(memory.id).paths == memory.paths and stale(gm, memory) == [PATH]
    assert gm.update(memory.id, "README.md alone").paths.keys() == {"README.md"}
    assert gm.update(memory.id, "No file at all").paths == {}


def test_a_hand_edit_is_a_new_record(repo: Path) -> None:
    write(repo, PATH, "one\n")
    with gitmem.open(repo) as gm:
        gm.init()
        memory = gm.remember("README.md says hello", importance="high")
        page = repo / "MEMORY.md"
        page.write_text(page.read_text().replace("README.md says", f"{PATH} says"))
        gm.sync_start()
        assert list(gm.show(memory.id).paths) == [PATH]
        before = page.read_bytes()
        write(repo, PATH, "two\n")
        gm.sync_start()
        assert stale(gm, memory) and page.read_bytes() == before  # the mirror does not say


def test_paths_go_with_the_text_and_are_never_contested() -> None:
    def event(at: int, **fields: object) -> bytes:
        stamp = f"2026-01-01T00:00:0{at}.000000Z"
        return encode({"at": stamp, "by": "Ada <a@x>", **fields}).line

    root = decode(event(0, op="remember", text="one", paths={"a": "1"}))
    about = {"op": "revise", "memory": root.id, "base": [root.id]}
    mine = decode(event(1, **about, text="same", paths={"a": "2"}))
    yours = decode(event(2, **about, text="same", paths={"a": "3"}))
    memory = fold_memory([root, mine, yours])
    assert memory and memory.paths == {"a": "3"} and memory.contested == ()
    bare = fold_memory([root, decode(event(3, **about, text="none"))])
    assert bare and bare.paths == {}
    kind = fold_memory([root, decode(event(3, **about, kind="fact"))])
    assert kind and kind.paths == {"a": "1"}


# -- where it is said -----------------------------------------------------------------------------


def test_the_session_start_says_so(gm: Gitmem, repo: Path) -> None:
    write(repo, "b.py", "one\n")
    gm.remember(f"{PATH} uses b.py", importance="critical")
    gm.remember("README.md is short")
    assert "files changed" not in gm.sync_start().markdown
    write(repo, PATH, "two\n")
    commit(repo, "rm", "-q", "b.py")
    (line,) = [line for line in gm.sync_start().markdown.split("\n") if "files changed" in line]
    assert line.endswith(f"{PATH} uses b.py (its files changed: b.py (gone), {PATH})")
    assert "files changed" not in gm.sync_start(branch="HEAD~2").markdown


def test_search_and_entities_say_so(gm: Gitmem, repo: Path) -> None:
    gm.remember(f"The cache is in {PATH}")
    write(repo, PATH, "two\n")
    (hit,) = gm.search("cache").hits
    (named,) = gm.entity(PATH).memories
    assert [str(it) for it in hit.memory.stale] == [str(it) for it in named.stale] == [PATH]


def test_the_command_line_says_so(repo: Path) -> None:
    write(repo, PATH, "one\n")
    for text in (f"{PATH} prints one", "README.md stays", "no file"):
        assert run_cli("remember", text, cwd=repo).returncode == 0
    write(repo, PATH, "two\n")
    (line,) = run_cli("list", "--stale", cwd=repo).stdout.splitlines()
    assert line.endswith(", stale)")
    shown = run_cli("show", line.split()[0], cwd=repo).stdout
    assert f"- stale: {PATH}\n" in shown
    answer = json.loads(run_cli("list", "--json", cwd=repo).stdout)
    assert [memory["stale"] for memory in answer["data"]] == [
        [], [], [{"path": PATH, "change": "changed"}]
    ]  # fmt: skip


def test_a_limit_counts_stale_ones(gm: Gitmem, repo: Path) -> None:
    first = gm.remember(f"{PATH} prints one")
    for number in range(3):
        gm.remember(f"README.md {number}")
    write(repo, PATH, "two\n")
    assert [memory.id for memory in gm.list(stale=True, limit=1)] == [first.id]


# -- what is not there ----------------------------------------------------------------------------


def test_bare_and_shallow_and_partial_clones(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    memory = gm.remember(f"{PATH} prints one")
    write(repo, PATH, "two\n")
    git(repo, "config", "uploadpack.allowFilter", "true")
    notes = "refs/notes/gitmem/*:refs/notes/gitmem/*"
    for name, *options in (("bare", "--bare"), ("shallow", "--depth=1"),
                           ("partial", "--filter=tree:0", "--no-checkout")):  # fmt: skip
        clone = tmp_path / name
        git(tmp_path, "clone", "-q", *options, f"file://{repo}", str(clone))
        git(clone, "fetch", "-q", "--no-filter", "origin", notes)
        if name == "partial":  # which has no tree of this commit: none is fetched, nothing said
            write(repo, PATH, "three\n")
            git(clone, "fetch", "-q", "origin")
            git(clone, "update-ref", "HEAD", "origin/main")
        assert_stale(clone, memory, [] if name == "partial" else [PATH])


def assert_stale(clone: Path, memory: Memory, expected: list[str]) -> None:
    for backend in BACKENDS:
        with gitmem.open(clone, backend=backend) as there:
            assert stale(there, memory) == expected
            there.remember(f"{PATH} again")


def test_a_linked_worktree_has_its_own_head(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    memory = gm.remember(f"{PATH} prints one")
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    write(tmp_path / "side", PATH, "two\n")
    with gitmem.open(tmp_path / "side") as there:
        assert stale(there, memory) == [PATH]
    assert not stale(gm, memory)


@pytest.mark.parametrize(
    "paths",
    [{"../../etc/passwd": "1" * 40}, {PATH: 7}, {PATH: None}, {"a\nb": "1"}, {"": "1"}, {"/": "1"},
     {"x/" * 5_000: "1"}],
)  # fmt: skip
def test_paths_by_strangers_do_no_harm(gm: Gitmem, paths: dict[str, object]) -> None:
    memory = gm.remember("mine")
    journal = gm._journals.writable(memory.journal)
    event = encode({"at": "2026-01-01T00:00:00.000000Z", "by": "Eve <e@x>", "op": "remember",
                    "scope": "repo", "text": "theirs", "paths": paths})  # fmt: skip
    journal.append({gm._git.head().commit or "": [event.line]}, "by hand", "Eve <e@x>", 0)
    assert not gm.show(event.id).stale
    assert {found.id for found in gm.list()} == {memory.id, event.id}


@given(st.text(st.sampled_from('ab./\\:`"~* \n#0é中'), max_size=40))
def test_candidates_stay_inside(text: str) -> None:
    for path in candidates(text):
        assert inside(path) and not path.startswith("/") and ".." not in path.split("/")


@given(st.lists(st.from_regex(r"[a-zA-Z_][\w+-]{0,8}", fullmatch=True), min_size=1, max_size=4))
def test_a_path_in_backticks_is_always_a_candidate(parts: list[str]) -> None:
    path = "/".join(parts)
    assert path in list(candidates(f"see `{path}`, and go on"))


def test_a_long_text_is_looked_at_in_part() -> None:
    assert len(list(candidates(" ".join(f"a/{number}" for number in range(10_000))))) == 200
