"""From what a tool remembered to what is known here: journals, times, changes, and bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem import Gitmem
from gitmem.errors import NoIdentity
from gitmem.text.fence import fenced
from tests.imports.support import DATA, JSON, by_key, commit, mem0, opened, texts, tips
from tests.support import git

# -- where they go ------------------------------------------------------------------------------


def test_one_persons_memories_are_private_and_seen_from_every_branch(
    gm: Gitmem, repo: Path, tmp_path: Path
) -> None:
    file = mem0(tmp_path, {})
    git(repo, "switch", "-q", "-c", "f")
    report = gm.import_memories("mem0", file)
    git(repo, "switch", "-q", "main")
    (memory,) = gm.list()
    assert report.new == 1 and memory.private and memory.scope == "repo"
    assert "refs/notes" not in git(repo, "for-each-ref")


def test_they_are_shared_if_that_is_asked_for(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}), shared=True)
    assert not gm.list()[0].private
    assert git(repo, "rev-list", "--count", "refs/notes/gitmem/shared") == "1"


def test_a_teams_memories_are_private_if_that_is_asked_for(gm: Gitmem, repo: Path) -> None:
    git(repo, "notes", "--ref", "mem-main", "add", "-m", '{"a":{"d":"x","b":"main"}}', "HEAD")
    gm.import_memories("git-notes-memory", shared=False)
    assert gm.list()[0].private


def test_one_commit_by_the_importer(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}, {"id": "b"}), shared=True)
    shown = git(repo, "log", "--format=%an: %s", "refs/notes/gitmem/shared")
    assert shown == "Ada: import mem0: 2 memories"


def test_an_event_stands_on_the_commit_of_its_time(old: Path, tmp_path: Path) -> None:
    commit(old, "new", "2026-04-01T00:00:00Z")
    file = mem0(tmp_path, {}, {"id": "b", "created_at": "2026-04-02"})
    with opened(old) as gm:
        gm.import_memories("mem0", file)
        then = {memory.source["key"] for memory in gm.list(at="HEAD~1")}
        assert then == {"a"} and len(gm.list()) == 2


def test_a_repository_without_a_commit(tmp_path: Path, hermetic: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    git(here, "init", "-q")
    with opened(here) as gm:
        gm.import_memories("mem0", mem0(tmp_path, {}))
        assert texts(gm) == ["Prefers tabs"]
        commit(here, "first", "2026-04-01T00:00:00Z")
        assert texts(gm) == ["Prefers tabs"]


# -- times and authors --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00.000000Z"),
        ("2026-03-01", "2026-03-01T00:00:00.000000Z"),
        (1772359200, "2026-03-01T10:00:00.000000Z"),
        ("1970-01-01T00:00:00Z", "2026-11-20T12:00:00.000000Z"),
        ("2031-01-01T00:00:00Z", "2026-11-20T12:00:00.000000Z"),
        ("tomorrow", "2026-11-20T12:00:00.000000Z"),
        (None, "2026-11-20T12:00:00.000000Z"),
    ],
)
def test_times(gm: Gitmem, tmp_path: Path, given: object, kept: str) -> None:
    report = gm.import_memories("mem0", mem0(tmp_path, {"created_at": given}))
    (memory,) = gm.list()
    assert (memory.created, memory.author) == (kept, "Ada <ada@example.com>")
    impossible = str(given)[:4] in ("1970", "2031")
    assert report.remarks == (
        {"with a time that cannot be right, taken as now": 1} if impossible else {}
    )


def test_the_clock_goes_on_after_an_import(gm: Gitmem, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {"created_at": "2031-01-01"}))
    assert gm.remember("later").created == "2026-11-20T12:00:00.000001Z"


def test_without_an_identity_nothing_is_written(repo: Path, tmp_path: Path, hermetic: Path) -> None:
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    before = tips(repo)
    with opened(repo) as gm:
        assert gm.import_memories("mem0", mem0(tmp_path, {}), dry_run=True).new == 1
        with pytest.raises(NoIdentity):
            gm.import_memories("mem0", mem0(tmp_path, {}))
    assert tips(repo) == before


# -- again --------------------------------------------------------------------------------------


def test_a_trial_run_writes_nothing_and_says_the_same(repo: Path, tmp_path: Path) -> None:
    git(repo, "switch", "-q", "-c", "f")
    entry = '{"a":{"d":"x","b":"f"},"b":{"d":"y","b":"gone"}}'
    git(repo, "notes", "--ref", "mem-f", "add", "-m", entry, "HEAD")
    before = tips(repo), (repo / ".git" / "config").read_bytes()
    with opened(repo) as gm:
        trial = gm.import_memories("git-notes-memory", dry_run=True)
        assert (tips(repo), (repo / ".git" / "config").read_bytes()) == before
        assert trial.new == 2 and trial == gm.import_memories("git-notes-memory")


def test_a_text_that_changed_becomes_a_revision(gm: Gitmem, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}))
    (before,) = gm.list()
    changed = {"memory": "Prefers spaces", "updated_at": "2026-04-01T10:00:00Z"}
    report = gm.import_memories("mem0", mem0(tmp_path, {**changed, "categories": ["style"]}))
    (memory,) = gm.list()
    assert (report.new, report.revised, report.conflicts) == (0, 1, [])
    assert memory.id == before.id and memory.private and memory.scope == "repo"
    assert (memory.body, memory.updated) == ("Prefers spaces", "2026-04-01T10:00:00.000000Z")
    assert memory.tags == ("style",) and not memory.contested
    assert gm.import_memories("mem0", tmp_path / JSON).unchanged == 1
    gm.import_memories("mem0", mem0(tmp_path, {"memory": "Prefers neither"}))
    (memory,) = gm.list()
    assert memory.body == "Prefers neither" and not memory.contested and len(memory.heads) == 1


def test_what_was_revised_here_stays_and_is_reported(gm: Gitmem, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}))
    id = gm.list()[0].id
    gm.update(id, "Prefers tabs of four")
    assert gm.import_memories("mem0", tmp_path / JSON).unchanged == 1
    report = gm.import_memories("mem0", mem0(tmp_path, {"memory": "Prefers spaces"}))
    assert (report.conflicts, report.revised) == ([id], 0)
    assert texts(gm) == ["Prefers tabs of four"] and not gm.list()[0].contested


def test_what_was_forgotten_here_stays_forgotten(gm: Gitmem, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}))
    id = gm.list()[0].id
    gm.forget(id)
    assert gm.import_memories("mem0", tmp_path / JSON).unchanged == 1
    report = gm.import_memories("mem0", mem0(tmp_path, {"memory": "Prefers spaces"}))
    assert report.conflicts == [id] and texts(gm) == []


def test_tags_and_notes_of_ones_own_are_no_revision(gm: Gitmem, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}))
    id = gm.list()[0].id
    gm.tag(id, "mine")
    gm.evolve(id, "still so")
    report = gm.import_memories("mem0", mem0(tmp_path, {"memory": "Prefers spaces"}))
    (memory,) = gm.list()
    assert report.revised == 1 and memory.body == "Prefers spaces"
    assert memory.tags == ("mine",) and [note.text for note in memory.notes] == ["still so"]


def test_a_tag_taken_off_here_stays_off(gm: Gitmem, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {"categories": ["style"]}))
    gm.untag(gm.list()[0].id, "style")
    assert gm.import_memories("mem0", tmp_path / JSON).unchanged == 1
    assert gm.list()[0].tags == ()


def test_what_another_branch_sees_is_found(gm: Gitmem, repo: Path) -> None:
    git(repo, "switch", "-q", "-c", "f")
    entry = '{"a":{"d":"x","b":"f"}}'
    git(repo, "notes", "--ref", "mem-f", "add", "-m", entry, "HEAD")
    gm.import_memories("git-notes-memory")
    git(repo, "switch", "-q", "main")
    assert gm.list() == [] and gm.import_memories("git-notes-memory").unchanged == 1


def test_a_memory_imported_privately_is_not_imported_again_as_shared(
    gm: Gitmem, tmp_path: Path
) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}))
    gm.import_memories("mem0", mem0(tmp_path, {"memory": "Prefers spaces"}), shared=True)
    assert [memory.private for memory in gm.list()] == [True]


def test_two_memories_of_one_key(gm: Gitmem, tmp_path: Path) -> None:
    report = gm.import_memories("mem0", mem0(tmp_path, {}, {}, {"memory": "Another"}))
    assert (report.found, report.new, texts(gm)) == (1, 1, ["Prefers tabs"])
    assert report.skipped == {
        "a memory that was there already": 1,
        "another memory with the key of one before it": 1,
    }


def test_the_same_key_of_another_tool_is_another_memory(gm: Gitmem, tmp_path: Path) -> None:
    gm.import_memories("mem0", mem0(tmp_path, {}))
    gm.remember({"source": {"import": "openmemory", "key": "a"}, "text": "no import"})
    file = tmp_path / "memories.jsonl"
    file.write_text('{"id": "a", "content": "Prefers tea"}\n')
    assert gm.import_memories("openmemory", file).new == 1


def test_a_hundred_memories_and_again(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    file = mem0(tmp_path, *({"id": str(n), "memory": f"memory {n}"} for n in range(100)))
    assert gm.import_memories("mem0", file, shared=True).new == 100
    before = tips(repo)
    assert gm.import_memories("mem0", file).unchanged == 100 and tips(repo) == before


# -- what they say ------------------------------------------------------------------------------


def test_secrets_and_private_spans_are_not_kept(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    text = f"The token is {key} <private>and this is nobody's business</private>."
    file = mem0(tmp_path, {"memory": text, "metadata": {"note": key}, "id": key})
    report = gm.import_memories("mem0", file, shared=True)
    (memory,) = gm.list()
    assert report.remarks == {"with a secret, redacted": 1}
    assert "[redacted: " in memory.body and "business" not in memory.body
    assert key not in git(repo, "log", "-p", "refs/notes/gitmem/shared")
    assert gm.import_memories("mem0", file).unchanged == 1


def test_what_gitmem_injected_is_not_taken_for_memory(gm: Gitmem, tmp_path: Path) -> None:
    injected = fenced("Use PostgreSQL", "from gitmem")
    report = gm.import_memories(
        "mem0",
        mem0(tmp_path, {"memory": f"Prefers tea.\n\n{injected}"}, {"id": "b", "memory": injected}),
    )
    assert [text.strip() for text in texts(gm)] == ["Prefers tea."]
    assert report.skipped == {"a memory that cannot be kept: there is nothing to remember": 1}


def test_a_password_by_its_name_in_data(gm: Gitmem, repo: Path) -> None:
    data = {"a": {"d": {"decision": "Use it", "password": "hunter2-Hunter2"}, "b": "main"}}
    git(repo, "notes", "--ref", "mem-main", "add", "-m", json.dumps(data), "HEAD")
    gm.import_memories("git-notes-memory")
    (memory,) = gm.list()
    assert memory.data is not None and memory.data["decision"] == "Use it"
    assert "hunter2" not in str(memory.data["password"])


def test_a_text_that_is_too_long_is_cut(gm: Gitmem, tmp_path: Path) -> None:
    file = mem0(tmp_path, {"memory": "long " * 20_000})
    report = gm.import_memories("mem0", file)
    (memory,) = gm.list()
    assert report.remarks == {"longer than 64 KiB, cut": 1}
    assert 65_000 < len(memory.body) <= 64 * 1024
    assert memory.body.endswith("more bytes in mem0]")
    assert gm.import_memories("mem0", file).unchanged == 1


def test_odd_characters(gm: Gitmem, tmp_path: Path) -> None:
    odd = {"memory": "a\0b \ud800 \u2028 c", "id": "k\ud800", "categories": ["", "a b", "x" * 200]}
    report = gm.import_memories("mem0", mem0(tmp_path, odd))
    (memory,) = gm.list()
    assert memory.body == "ab \ufffd \u2028 c" and memory.tags == ("a-b",)
    assert report.remarks == {"with a tag that cannot be kept": 1}
    assert gm.import_memories("mem0", tmp_path / JSON).unchanged == 1


def test_data_that_nests_too_deep_is_counted(gm: Gitmem, repo: Path) -> None:
    deep = "[" * 80 + "]" * 80
    text = f'{{"a":{{"d":{{"x":{deep}}},"b":"main"}},"b":{{"d":"good","b":"main"}}}}'
    git(repo, "notes", "--ref", "mem-main", "add", "-m", text, "HEAD")
    report = gm.import_memories("git-notes-memory")
    assert (report.new, texts(gm)) == (1, ["good"])
    (reason,) = report.skipped
    assert reason.startswith("a memory that cannot be kept: the data nests deeper")


@pytest.mark.parametrize(
    ("given", "kept"),
    [("Big Decision!", "big-decision"), ("context", "note"), ("", "note"), ("学习", "学习")],
)
def test_kinds(gm: Gitmem, repo: Path, given: str, kept: str) -> None:
    data = {"a": {"d": "x", "b": "main", "t": given}}
    git(repo, "notes", "--ref", "mem-main", "add", "-m", json.dumps(data), "HEAD")
    gm.import_memories("git-notes-memory", shared=False)
    assert gm.list()[0].kind == kept and gm.context() == ""


def test_a_branch_whose_name_is_not_utf8(gm: Gitmem, repo: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    git(repo, "branch", name)
    git(repo, "notes", "--ref", f"mem-{name}", "add", "-m", '{"a":{"d":"x"}}', "HEAD")
    gm.import_memories("git-notes-memory")
    assert texts(gm) == [] and texts(gm, name) == ["x"]
    assert gm.import_memories("git-notes-memory").unchanged == 1


def test_links_between_memories(gm: Gitmem) -> None:
    place = DATA / "basic-memory"
    assert gm.import_memories("basic-memory", place).new == 2
    seen = by_key(gm)
    links = [(link.rel, link.target) for link in seen["decisions/cache"].links]
    plan = seen["plan"].id
    assert links == [("grew-out-of", "An incident"), ("part_of", plan), ("relates", plan)]
    assert gm.import_memories("basic-memory", place).unchanged == 2


IMPORT = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from gitmem.api.imports import Imports
with Imports(Path("."), "program", os.environ, lambda: datetime.now(UTC)) as gm:
    gm.import_memories("mem0", sys.argv[1])
"""


def test_imports_at_once_add_each_memory_once(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    file = mem0(tmp_path, *({"id": str(n), "created_at": None} for n in range(20)))
    command = [sys.executable, "-c", IMPORT, str(file)]
    running = [subprocess.Popen(command, cwd=repo) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert len(gm.list()) == 20
