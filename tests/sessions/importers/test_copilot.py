from __future__ import annotations

from pathlib import Path

from gitmem.sessions.importers import importer
from gitmem.sessions.model import About
from tests.sessions.importers.transcripts import (
    abouts,
    at_home,
    below,
    only,
    read,
    skipped,
    told,
    turns,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

ID = "c0910000-0000-4000-8000-000000000001"
SESSION = OWN / "copilot" / "session-state" / ID / "events.jsonl"


def test_a_session_and_its_subagent() -> None:
    """What a skill says in a person's place, and reasoning, are left out."""
    records = read("copilot", SESSION)
    agent = f"{ID}/agent-tool-2"
    assert {id: told(said) for id, said in turns(records).items()} == {
        ID: [
            ("u1", "user", "Say hello in a file"),
            ("a1", "assistant", "Two calls."),
            ("tool-1", "tool", "create: /home/ada/shop/hello.py\nCreated hello.py"),
            ("tool-2", "tool", "task: Look around\nthe agent stopped"),
            ("c1", "summary", "A file says hello."),
            ("a2", "assistant", "It says hello."),
            ("tool-4", "tool", "bash: python hello.py\nhello"),
        ],
        agent: [("tool-3", "tool", "bash: ls\nhello.py"), ("s2", "assistant", "One file.")],
    }
    assert skipped(records) == []
    assert abouts(records)[ID] == About(
        agent="copilot",
        id=ID,
        title="Hello",
        started="2026-11-06T05:00:00.250000Z",
        cwd="/home/ada/shop",
        branch="main",
        model="gpt-5.6",
    )
    assert abouts(records)[agent].parent == ID


def test_a_session_without_a_start_is_named_by_its_folder_or_file(tmp_path: Path) -> None:
    said = {"type": "user.message", "id": "u", "data": {"content": "Hi"}}
    for name, id in [("s1/events.jsonl", "s1"), ("s2.jsonl", "s2")]:
        assert turns(read("copilot", written(tmp_path / name, said))).keys() == {id}


def test_places_and_ours(tmp_path: Path) -> None:
    for base in (".copilot", "elsewhere"):
        written(tmp_path / base / "session-state/s1/events.jsonl")
        written(tmp_path / base / "session-state/s1/workspace.yaml")
        written(tmp_path / base / "session-state/s2.jsonl")
    expected = ["session-state/s1/events.jsonl", "session-state/s2.jsonl"]
    home = at_home(tmp_path, Path("/home/ada/shop"))
    assert below("copilot", home) == [f".copilot/{name}" for name in expected]
    named = at_home(tmp_path, environ={"COPILOT_HOME": str(tmp_path / "elsewhere")})
    assert below("copilot", named) == [f"elsewhere/{name}" for name in expected]
    about = abouts(read("copilot", SESSION))[ID]
    assert importer("copilot").ours(about, home)
    assert not importer("copilot").ours(about, at_home(tmp_path, tmp_path))


@needs_samples
def test_collected() -> None:
    found = only(read("copilot", collected("copilot-cli/gitai-copilot_cli_session_events.jsonl")))
    assert [(turn.role, turn.text) for turn in found] == [
        ("user", "create a hello world file"),
        ("assistant", "I'll create a hello world file for you."),
        (
            "tool",
            "create: /Users/test/project/hello.py\nCreated file /Users/test/project/hello.py",
        ),
    ]
