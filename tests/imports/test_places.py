"""Where tools keep their memories, and what is found there that is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem import Gitmem
from gitmem.errors import NotFound, Unreadable, UsageError
from gitmem.imports import TOOLS, origin
from tests.imports.support import DATA, commit, opened, texts
from tests.support import git

# -- places -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_has_its_reader(tool: str) -> None:
    assert origin(tool).name == tool


@pytest.mark.parametrize(
    ("tool", "where"),
    [
        ("claude-memory", "home/.claude/projects/{slug}/memory"),
        ("basic-memory", "home/basic-memory"),
        ("letta-memfs", "home/.letta/agents/agent-1/memory"),
        ("openclaw-memory", "home/.openclaw/workspace"),
        ("memsearch", "repo/.memsearch/memory"),
    ],
)
def test_the_places_where_tools_keep_them(
    repo: Path, tmp_path: Path, tool: str, where: str
) -> None:
    slug = "".join(char if char.isalnum() else "-" for char in str(repo))
    place = tmp_path / where.format(slug=slug)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(DATA / tool)
    with opened(repo) as gm:
        assert gm.import_memories(tool).new == gm.import_memories(tool, DATA / tool).unchanged > 0


def test_a_worktree_has_the_memories_of_the_others(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "../other")
    place = repo / ".memsearch" / "memory"
    place.parent.mkdir()
    place.symlink_to(DATA / "memsearch")
    with opened(tmp_path / "other") as gm:
        assert gm.import_memories("memsearch").new == 2


def test_the_server_names_its_file(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_FILE_PATH", str(DATA / "mcp-memory" / "memory.jsonl"))
    with opened(repo) as gm:
        assert gm.import_memories("mcp-memory").new == 2


def test_letta_files_have_the_times_and_authors_of_their_commits(
    repo: Path, tmp_path: Path
) -> None:
    place = tmp_path / "memory"
    place.mkdir()
    git(place, "init", "-q")
    git(place, "config", "user.name", "agent-1")
    git(place, "config", "user.email", "agent-1@letta.com")
    (place / "human.md").write_text("---\ndescription: A person\n---\nAda\n")
    commit(place, "one", "2026-05-01T00:00:00Z")
    (place / "human.md").write_text("---\ndescription: A person\n---\nAda, of Lisbon\n")
    commit(place, "two", "2026-06-01T00:00:00Z")
    with opened(repo) as gm:
        gm.import_memories("letta-memfs", place)
        (memory,) = gm.list()
    assert memory.author == "agent-1 <agent-1@letta.com>"
    assert memory.created == "2026-05-01T00:00:00.000000Z"
    assert memory.source["updated"] == "2026-06-01T00:00:00.000000Z"


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_where_a_tool_keeps_its_memories(gm: Gitmem, tool: str) -> None:
    with pytest.raises((NotFound, Unreadable)) as raised:
        gm.import_memories(tool)
    assert raised.value.hint


def test_a_tool_that_is_not_known(gm: Gitmem, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no importer 'mem1'"):
        gm.import_memories("mem1", tmp_path)


def test_a_path_that_is_not_there(gm: Gitmem, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        gm.import_memories("mem0", tmp_path / "nowhere")


FILES = ("mem0", "openmemory", "mcp-memory", "claude-memory", "basic-memory", "memsearch")


@pytest.mark.parametrize("tool", FILES)
@pytest.mark.parametrize("kind", ["empty", "binary", "fifo", "json"])
def test_a_file_that_is_no_memory(gm: Gitmem, tmp_path: Path, tool: str, kind: str) -> None:
    file = tmp_path / "2026-01-01.md"
    match kind:
        case "empty":
            file.write_bytes(b"")
        case "binary":
            file.write_bytes(b"\xff\xfe\0\1" * 100)
        case "fifo":
            os.mkfifo(file)
        case "json":
            file.write_text("[1, 2]\n")
    plain = kind == "json" and tool in ("claude-memory", "basic-memory")  # Markdown may be anything
    if plain:
        assert gm.import_memories(tool, file).new == 1
    elif kind == "json" and tool in ("mem0", "memsearch"):  # a list without any memory
        assert gm.import_memories(tool, file).new == 0
    else:
        with pytest.raises(Unreadable, match="2026-01-01.md"):
            gm.import_memories(tool, file)


def test_of_a_folder_what_can_be_read_is_imported(gm: Gitmem, tmp_path: Path) -> None:
    place = tmp_path / "notes"
    place.mkdir()
    (place / "good.md").write_text("Prefers tea\n")
    (place / "empty.md").write_text("")
    (place / "latin.md").write_bytes(b"caf\xe9")
    (place / "loop.md").symlink_to("loop.md")
    (tmp_path / "secret.md").write_text("not a note")
    (place / "outside.md").symlink_to("../secret.md")
    (place / "dir.md").mkdir()
    os.mkfifo(place / "fifo.md")
    report = gm.import_memories("basic-memory", place)
    assert (report.new, texts(gm)) == (1, ["Prefers tea"])
    assert sum(report.skipped.values()) == 5
