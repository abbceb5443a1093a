from __future__ import annotations

import sqlite3
from contextlib import closing
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

ID = "0c1a0000-0000-4000-8000-000000000001"
SESSION = OWN / "openclaw" / f"{ID}.jsonl"
TURNS = [
    ("u1", "user", "Rename the helper."),
    ("a1", "assistant", "I rename it."),
    ("call_2", "tool", "exec: pytest -q\n1 passed"),
    ("call_1", "tool", "edit: a.py\nok\n\n[image]"),
    ("b1", "tool", "bash: git status\nclean"),
    ("k1", "summary", "The helper was renamed."),
    ("k2", "summary", "Another way was tried."),
    ("k3", "summary", "A third way was tried."),
    ("k4", "summary", "All ways lead there."),
    ("u2", "user", "Good.\n\n[image]"),
    ("a2", "assistant", "Anything else?"),
]
SCHEMA = """
CREATE TABLE session_windows (
  session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE transcript_events (
  session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq),
  FOREIGN KEY (session_id) REFERENCES session_windows(session_id) ON DELETE CASCADE
) STRICT;
"""


def database(path: Path, sessions: dict[str, list[str]]) -> Path:
    """Make a database as OpenClaw has it, its rows out of order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as made, made:
        made.executescript(SCHEMA)
        for id, events in sessions.items():
            made.execute("INSERT INTO session_windows VALUES (?, ?, 0)", (id, f"agent:main:{id}"))
            rows = [(id, seq, event) for seq, event in reversed(list(enumerate(events)))]
            made.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, 0)", rows)
    return path


def test_a_session_of_lines() -> None:
    records = read("openclaw", SESSION)
    assert told(only(records)) == TURNS
    assert skipped(records) == []
    assert abouts(records)[ID] == About(
        agent="openclaw",
        id=ID,
        title="The helper",
        started="2026-11-05T06:00:00.000000Z",
        cwd="/home/ada/.openclaw/workspace",
        model="claude-opus-5",
    )


def test_the_sessions_of_a_database(tmp_path: Path) -> None:
    """The same records: an importer must find the same turns under the same ids."""
    lines = SESSION.read_text().splitlines()[:-1]
    headless = '{"type":"message","id":"x1","message":{"role":"user","content":"Hi"}}'
    path = database(
        tmp_path / "openclaw-agent.sqlite", {"later": [headless, "{", '"\xff'], ID: lines}
    )
    records = read("openclaw", path)
    assert {id: told(said) for id, said in turns(records).items()} == {
        ID: TURNS,
        "later": [("x1", "user", "Hi")],
    }
    assert skipped(records) == ["an event that is no JSON object, or too long"] * 2
    assert abouts(records)[ID] == abouts(read("openclaw", SESSION))[ID]


def test_an_event_too_long_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitmem.sessions.importers.records.LONGEST", 200)
    short = '{"type":"message","id":"x1","message":{"role":"user","content":"Hi"}}'
    path = database(
        tmp_path / "openclaw-agent.sqlite", {"s": [short.replace("Hi", "x" * 200), short]}
    )
    records = read("openclaw", path)
    assert skipped(records) == ["an event that is no JSON object, or too long"]
    assert [turn.text for turn in only(records)] == ["Hi"]


def test_a_database_that_is_being_written_is_read(tmp_path: Path) -> None:
    """What stands in the write-ahead log alone counts, and reading changes nothing."""
    path = tmp_path / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(path)) as writing:
        writing.execute("PRAGMA journal_mode = WAL")
        writing.executescript(SCHEMA)
        event = '{"type":"message","id":"x1","message":{"role":"user","content":"Hi"}}'
        writing.execute("INSERT INTO session_windows VALUES ('s', 'k', 0)")
        writing.execute("INSERT INTO transcript_events VALUES ('s', 0, ?, 0)", (event,))
        writing.commit()
        before = path.read_bytes()
        assert [turn.text for turn in only(read("openclaw", path))] == ["Hi"]
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"not at all", "is no SQLite database"),
        (b"SQLite format 3\0" + b"x" * 5000, "cannot be read as a database of sessions"),
    ],
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=said):
        read("openclaw", path)


def test_a_database_before_sessions_were_kept_there(tmp_path: Path) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE auth_profile_store (store_key TEXT)")
    with pytest.raises(Unreadable, match="no such table: transcript_events"):
        read("openclaw", path)


def test_places_and_ours(tmp_path: Path) -> None:
    for base in (".openclaw", "elsewhere"):
        agent = tmp_path / base / "agents/main"
        for name in (f"{ID}.jsonl", f"{ID}.jsonl.reset.2026", f"{ID}.jsonl.deleted.2026.zst"):
            written(agent / "sessions" / name)
        written(agent / "sessions/sessions.json")
        database(agent / "agent/openclaw-agent.sqlite", {})
    expected = [
        "agent/openclaw-agent.sqlite",
        f"sessions/{ID}.jsonl",
        f"sessions/{ID}.jsonl.deleted.2026.zst",
        f"sessions/{ID}.jsonl.reset.2026",
    ]
    home = at_home(tmp_path, Path("/home/ada/.openclaw/workspace"))
    assert below("openclaw", home) == [f".openclaw/agents/main/{name}" for name in expected]
    named = at_home(tmp_path, environ={"OPENCLAW_STATE_DIR": str(tmp_path / "elsewhere")})
    assert below("openclaw", named) == [f"elsewhere/agents/main/{name}" for name in expected]
    about = abouts(read("openclaw", SESSION))[ID]
    assert importer("openclaw").ours(about, home)
    assert not importer("openclaw").ours(about, at_home(tmp_path, tmp_path))


def test_a_compressed_archive_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / f"{ID}.jsonl.deleted.2026.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(Unreadable, match="is compressed"):
        read("openclaw", path)


# Read by a person in the samples. The summaries of the first ask to be ignored, but are summaries.
COLLECTED = {
    "ignorable": ("u s s a", {0: "Summarize the config", 1: "Ignore this branch summary."}),
    "simple": ("u a", {0: "Please update src/main.rs", 1: "I will update the file now."}),
    "tool": ("u a t", {2: "edit: src/main.rs\nApplied edit to src/main.rs"}),
}


@needs_samples
@pytest.mark.parametrize("name", COLLECTED)
def test_collected(name: str) -> None:
    expected, begin = COLLECTED[name]
    found = only(read("openclaw", collected(f"openclaw-pi/gitai-pi-session-{name}.jsonl")))
    assert roles(found) == expected
    for place, text in begin.items():
        assert found[place].text.startswith(text)
