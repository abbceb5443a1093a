from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitmem.errors import Unreadable
from gitmem.sessions.importers import importer
from gitmem.sessions.model import About
from tests.sessions.importers.transcripts import (
    abouts,
    at_home,
    below,
    only,
    read,
    roles,
    skipped,
    told,
    turns,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

FOLDER = OWN / "codex"
ID = "01a20000-0000-7000-8000-000000000001"
NAME = f"rollout-2026-11-03T08-00-00-{ID}.jsonl"
GENERATIONS = ["legacy", "paginated"]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_session_of_both_generations(generation: str) -> None:
    """Injected text, reasoning, the kept history and the summary's double are left out."""
    records = read("codex", FOLDER / generation / NAME)
    found = told(only(records))
    assert [(role, said) for _, role, said in found] == [
        ("user", "List the files\n\n[image]"),
        (
            "tool",
            "apply_patch: hello.txt, a.py\nSuccess. Updated the following files:\nA hello.txt",
        ),
        (
            "tool",
            "exec_command: ls -a\n"
            "Chunk ID: 1f\nProcess exited with code 0\nOutput:\n.git\nAGENTS.md",
        ),
        ("assistant", "Two of them."),
        ("summary", "The files were listed."),
        ("user", "Never mind."),
        ("assistant", "As you wish."),
        ("tool", "mcp__tracker__search: uv"),  # interrupted: it never was answered
    ]
    assert [id for id, role, _ in found if role == "tool"] == ["call_2", "call_1", "call_3"]
    assert skipped(records) == []
    assert abouts(records)[ID] == About(
        agent="codex",
        id=ID,
        title="Files",
        started="2026-11-03T07:59:59.500000Z",
        cwd="/home/ada/shop",
        branch="main",
        model="gpt-5.6",
    )


def test_a_rollout_that_is_migrated_keeps_its_ids() -> None:
    legacy, paginated = (told(only(read("codex", FOLDER / g / NAME))) for g in GENERATIONS)
    assert legacy == paginated


def test_without_events_what_the_model_was_sent_is_sorted() -> None:
    records = read("codex", FOLDER / "no-events.jsonl")
    assert [(turn.role, turn.text) for turn in only(records)] == [
        ("user", "Fix the till"),
        ("tool", "local_shell: pytest -q\n1 passed"),
        ("assistant", "It is fixed."),
        ("user", "Thanks"),
    ]


def test_of_parts_with_an_origin_only_the_users_are_said(tmp_path: Path) -> None:
    kinds = ["agents_md.instructions", "user.text"]
    texts = ["Use uv, whatever this begins with.", "Fix it"]
    payload = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text} for text in texts],
        "internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds},
    }
    path = written(tmp_path / "a.jsonl", {"type": "response_item", "payload": payload})
    assert [turn.text for turn in only(read("codex", path))] == ["Fix it"]


def test_the_beginning_of_a_rollout_has_the_ids_of_the_whole(tmp_path: Path) -> None:
    """Before its first event a file looks like one without: the same is said, under the same id."""
    for generation in GENERATIONS:
        whole = FOLDER / generation / NAME
        lines = whole.read_text().splitlines(keepends=True)
        first = next(n for n, line in enumerate(lines) if '"List the files"' in line)
        part = tmp_path / f"{generation}-{NAME}"
        part.write_text("".join(lines[: first + 1]))
        assert told(only(read("codex", part))) == told(only(read("codex", whole)))[:1]


def test_a_subagent_without_what_it_was_given_of_its_parents() -> None:
    records = read("codex", FOLDER / "subagent.jsonl")
    id = f"{ID}/agent-01a20000-0000-7000-8000-000000000003"
    assert {id: [turn.text for turn in said] for id, said in turns(records).items()} == {
        id: ["Read a.py", "It is empty."]
    }
    assert abouts(records)[id].parent == ID


def test_a_file_of_usage_gives_nothing() -> None:
    assert read("codex", FOLDER / "usage.jsonl") == []


def test_a_session_without_a_header_is_named_by_its_file(tmp_path: Path) -> None:
    said = {"type": "event_msg", "payload": {"type": "user_message", "message": "Hi"}}
    for name, id in [(NAME, ID), ("of-mine.jsonl", "of-mine")]:
        assert turns(read("codex", written(tmp_path / name, said))).keys() == {id}


def test_a_compressed_rollout_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    assert list(importer("codex").transcripts(tmp_path)) == [path]
    with pytest.raises(Unreadable, match=f"/{NAME}.zst' is compressed") as refused:
        read("codex", path)
    assert "zstd -d" in refused.value.hint


def test_places_and_ours(tmp_path: Path) -> None:
    for base in (".codex", "elsewhere"):
        written(tmp_path / base / "sessions/2026/11/03" / NAME)
        written(tmp_path / base / "archived_sessions" / NAME)
        written(tmp_path / base / "history.jsonl")
    expected = [f"sessions/2026/11/03/{NAME}", f"archived_sessions/{NAME}"]
    home = at_home(tmp_path, Path("/home/ada/shop"))
    assert below("codex", home) == [f".codex/{name}" for name in expected]
    elsewhere = at_home(tmp_path, environ={"CODEX_HOME": str(tmp_path / "elsewhere")})
    assert below("codex", elsewhere) == [f"elsewhere/{name}" for name in expected]
    about = abouts(read("codex", FOLDER / "legacy" / NAME))[ID]
    assert importer("codex").ours(about, home)
    assert not importer("codex").ours(about, at_home(tmp_path, tmp_path))


# Read by a person in the samples: roles, and how some begin.
COLLECTED = {
    "gitai-codex-session-simple": ("u a t", {0: "Refactor src/main.rs to", 2: "apply_patch: src/"}),
    "gitai-codex-session-updated": ("u a t t", {2: "apply_patch: src/", 3: "shell_command: cargo"}),
    "self-0.121.0-legacy-apply-patch": ("u t a", {1: "apply_patch: hello.txt\nunsupported"}),
    "self-0.121.0-legacy-compacted": ("u t s a", {2: "SUMMARY OR ANSWER 1", 3: "SUMMARY OR ANS"}),
    "self-0.121.0-legacy-shell": ("u t a", {1: "exec_command: echo hello && ls -a\nChunk ID: "}),
    "self-0.145.0-legacy-apply-patch": ("u t a", {0: "Add file"}),
    "self-0.145.0-legacy-compacted": ("u t s a", {0: "Please add the tool", 3: "SUMMARY OR ANSWE"}),
    "self-0.145.0-legacy-shell": ("u t a", {2: "Done: the directory has a .git folder."}),
    "self-0.169.0-paginated-apply-patch-resumed": ("u a u t a", {0: "Hi", 2: "Add file"}),
    "self-0.169.0-paginated-compacted": ("u t s a", {0: "Do something long", 2: "SUMMARY OR A"}),
    "self-0.169.0-paginated-mcp-call": ("u t a", {1: "mcp__gitmem__memory_search: uv\n"}),
    "self-0.169.0-paginated-shell": ("u t a", {0: "List the files please"}),
}


@needs_samples
@pytest.mark.parametrize("name", COLLECTED)
def test_collected(name: str) -> None:
    expected, begin = COLLECTED[name]
    found = only(read("codex", collected(f"codex/{name}.jsonl")))
    assert roles(found) == expected
    for place, text in begin.items():
        assert found[place].text.startswith(text)


@needs_samples
@pytest.mark.parametrize("name", COLLECTED)
def test_nothing_that_codex_or_a_hook_injected_is_collected(name: str) -> None:
    """The hook of these samples said this, and there was an AGENTS.md."""
    found = only(read("codex", collected(f"codex/{name}.jsonl")))
    said = json.dumps([turn.text for turn in found if turn.role != "tool"])
    for injected in ("GITMEM-CONTEXT", "plain text context", "AGENTS.md", "<environment", "##"):
        assert injected not in said


@needs_samples
def test_collected_without_rounds() -> None:
    for name in ("ccusage-session-alpha.jsonl", "self-0.169.0-hook-stdin.jsonl"):
        assert read("codex", collected(f"codex/{name}")) == []
    argv = collected("codex/self-0.169.0-notify-argv.json")  # what a program was given: no lines
    with pytest.raises(Unreadable, match="has no line that is a JSON object"):
        read("codex", argv)
    assert argv not in list(importer("codex").transcripts(argv.parent))
