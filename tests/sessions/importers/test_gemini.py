from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

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

FOLDER = OWN / "gemini"
CHATS = FOLDER / "tmp" / "shop" / "chats"
SESSION = CHATS / "session-2026-11-04T07-00-06400000.jsonl"
ID = "06400000-0000-4000-8000-000000000001"


def test_a_session() -> None:
    """Hook context, expanded files, thoughts and notices are no part of what was said.

    A message that was written again counts as it was written last. What was rewound was said.
    After a compression: its summary, not its copies, nor the thanks that Gemini puts behind it.
    """
    records = read("gemini", SESSION)
    assert told(only(records)) == [
        ("u1", "user", "Which files are there?\n\n[image]"),
        ("run-1", "tool", "run_shell_command: ls\na.txt\nb.txt"),
        ("g2", "assistant", "Two files."),
        ("u2", "user", "explain @a.txt"),
        ("g3", "assistant", "It is empty."),
        ("u3", "user", "Never mind: what of @b.txt?"),
        ("x1", "summary", "<state_snapshot>Two files, both empty.</state_snapshot>"),
        ("g4", "assistant", "Let me see."),
        ("read-2", "tool", "read_file: b.txt\nno such file"),
        ("u4", "user", "continue"),
        ("g5", "assistant", "Gone."),
        ("t-3", "tool", "web_fetch: docs of b\nFound 3"),
        ("u5", "user", "continue"),
        ("y3", "user", "continue"),  # said twice before, set three times
        ("y4", "assistant", "Still gone."),
    ]
    assert skipped(records) == []
    assert abouts(records)[ID] == About(
        agent="gemini",
        id=ID,
        title="Which files there are",
        started="2026-11-04T07:00:00.000000Z",
        cwd="/home/ada/shop",
        model="gemini-3",
    )


def test_where_it_was_held_is_told_by_its_folder_or_its_first_message(tmp_path: Path) -> None:
    alone = tmp_path / SESSION.name
    alone.write_bytes(SESSION.read_bytes())
    assert abouts(read("gemini", alone))[ID].cwd == "/home/ada/shop"
    said = {"id": "u", "type": "user", "content": "Hi"}
    owned = written(tmp_path / "tmp/till/chats/session-1.jsonl", said)
    (tmp_path / "tmp/till/.project_root").write_text("/home/ada/till")
    assert abouts(read("gemini", owned))["session-1"].cwd == "/home/ada/till"


def test_a_subagent() -> None:
    records = read("gemini", CHATS / ID / "0640abcd.jsonl")
    id = f"{ID}/agent-0640abcd-0000-4000-8000-000000000002"
    assert {id: roles(said) for id, said in turns(records).items()} == {id: "u a"}
    about = abouts(records)[id]
    assert (about.parent, about.title, about.cwd) == (ID, "Read a.txt", "/home/ada/shop")


def test_an_older_session_of_one_document() -> None:
    """Two that say the same are two; one without an id gets one."""
    records = read("gemini", FOLDER / "session-2026-01-04T07-00-older.json")
    found = told(only(records))
    assert found[:-1] == [
        ("u1", "user", "continue"),
        ("run-1", "tool", "run_shell_command: ls\na.txt\nb.txt"),
        ("u2", "user", "continue"),
    ]
    assert found[-1][0].startswith("3-") and found[-1][1:] == ("assistant", "Done.")
    assert abouts(records)["06400000-0000-4000-8000-000000000003"].model == "gemini-2.5"


def test_a_document_that_is_no_session_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "logs.json"
    path.write_text('[{"sessionId": "s", "type": "user", "message": "Hi"}]')
    assert read("gemini", path) == []


def test_places_are_this_repositorys_alone(tmp_path: Path) -> None:
    shop, till = tmp_path / "shop", tmp_path / "till"
    shop.mkdir()
    (tmp_path / "link").symlink_to("shop")
    hashed = hashlib.sha256(os.fsencode(shop)).hexdigest()
    roots = {"shop": shop, "linked": tmp_path / "link" / "src", "till": till, hashed: None}
    for base in (".gemini", "elsewhere/.gemini"):
        for name, root in roots.items():
            written(tmp_path / base / "tmp" / name / "chats/session-1.jsonl")
            written(tmp_path / base / "tmp" / name / "logs.json")
            if root:
                (tmp_path / base / "tmp" / name / ".project_root").write_text(f"{root}\n")
    os.mkfifo(tmp_path / ".gemini/tmp" / hashed / ".project_root")
    expected = [f"tmp/{name}/chats/session-1.jsonl" for name in (hashed, "linked", "shop")]
    assert below("gemini", at_home(tmp_path, shop)) == [f".gemini/{name}" for name in expected]
    home = at_home(tmp_path, shop, environ={"GEMINI_CLI_HOME": str(tmp_path / "elsewhere")})
    assert below("gemini", home) == [f"elsewhere/.gemini/{name}" for name in expected]


def test_ours(tmp_path: Path) -> None:
    """A session that says nothing of where it was held was found in a place of ours."""
    home = at_home(tmp_path, tmp_path / "shop")
    for cwd, ours in [("", True), (str(tmp_path / "shop/src"), True), ("/home/ada", False)]:
        assert importer("gemini").ours(About("gemini", "s", cwd=cwd), home) == ours


# Read by a person in the samples: roles, and how some begin.
COLLECTED = {
    "entire-2026-01-session.json": ("u a t a", {0: "run an agent", 2: "write_file: docs/blue.md"}),
    "entire-2026-01-session-2.json": (
        "u a u t t a",
        {2: '",how are you"', 3: "read_file: test-gemini.txt\nhello from gemini"},
    ),
    "gitai-gemini-session-simple.jsonl": (
        "u a a a a a t t t t",
        {5: "Task complete.", 6: "replace: /Users/dev/", 9: "read_file: /Users/dev/"},
    ),
    "self-0.61.0-session-1.jsonl": (
        "u t a",
        {0: "What do we use for packaging?", 1: "mcp_gitmem_memory_search: uv\n<untrusted"},
    ),
    "self-0.61.0-session-2.jsonl": ("u t a", {0: "Hi there", 2: "All done."}),
}


@needs_samples
@pytest.mark.parametrize("name", COLLECTED)
def test_collected(name: str) -> None:
    expected, begin = COLLECTED[name]
    found = only(read("gemini", collected(f"gemini-cli/{name}")))
    assert roles(found) == expected
    for place, text in begin.items():
        assert found[place].text.startswith(text)


@needs_samples
def test_what_a_hook_is_given_is_no_session() -> None:
    assert read("gemini", collected("gemini-cli/self-0.61.0-hook-stdin.jsonl")) == []
