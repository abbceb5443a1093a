from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitmem.errors import Unreadable
from gitmem.sessions.importers import databases, importer
from gitmem.sessions.model import About
from tests.sessions.importers.transcripts import (
    abouts,
    at_home,
    below,
    ids,
    only,
    read,
    roles,
    skipped,
    told,
    turns,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

FOLDER = OWN / "opencode"
STORAGE = FOLDER / "storage"
SHOP = STORAGE / "message" / "ses_shop01"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return a database as opencode makes it, made anew for each test."""
    return made(tmp_path / "opencode.db", FOLDER / "schema.sql")


def made(path: Path, script: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"BEGIN;{script.read_text()}COMMIT;")
    return path


def test_a_session_in_files() -> None:
    """Messages in the order of their times, parts in that of their ids.

    What opencode put beside a person's words is left out. Of a message that is being written, what
    is finished counts; of one that was stopped, all.
    """
    records = read("opencode", SHOP)
    assert told(only(records)) == [
        ("msg_z1", "user", "Count the carts in @a.txt\n\n[image]"),
        ("msg_a2/prt_03", "assistant", "Looking."),
        ("msg_a2/prt_04", "tool", "bash: ls carts\nred\nblue"),
        ("msg_a2/prt_05", "tool", "read: /etc/shadow\ndenied"),
        ("msg_a2/prt_07", "assistant", "Two carts."),
        ("msg_b4/prt_09", "summary", "They counted two carts."),
        ("msg_b5/prt_10", "assistant", "I was stopp"),
        ("msg_b5/prt_11", "tool", "bash: sleep 9"),
        ("msg_b6/prt_12", "assistant", "Again."),
    ]
    assert skipped(records) == []
    assert abouts(records)["ses_shop01"] == About(
        "opencode",
        "ses_shop01",
        title="Counting carts",
        started="2026-11-03T08:00:00.000000Z",
        cwd="/home/ada/shop",
        model="claude-sonnet-4-5",
    )


def test_times() -> None:
    found = {turn.id: turn.at for turn in only(read("opencode", SHOP))}
    assert found["msg_z1"] == "2026-11-03T08:00:01.000000Z"
    assert found["msg_a2/prt_04"] == "2026-11-03T08:00:04.000000Z"
    assert found["msg_b4/prt_09"] == "2026-11-03T08:00:07.000000Z"


def test_a_subagent_in_files() -> None:
    records = read("opencode", STORAGE / "message" / "ses_till01")
    assert [turn.text for turn in only(records)] == ["Weigh the carts"]
    about = abouts(records)["ses_till01"]
    assert (about.parent, about.title) == ("ses_shop01", "Weigh the carts")


def test_a_session_is_found_by_the_file_that_names_it() -> None:
    named = STORAGE / "session" / "9a1b" / "ses_shop01.json"
    assert ids("opencode", named) == ids("opencode", SHOP) != set()


def test_a_file_that_is_torn(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    shutil.copytree(STORAGE, storage)
    for name in ("session/9a1b/ses_shop01.json", "message/ses_shop01/msg_b4.json"):
        (storage / name).write_text("{")
    (storage / "part/msg_a2/prt_03.json").write_text("")
    records = read("opencode", storage / "message" / "ses_shop01")
    assert roles(only(records)) == "u t t a a t a"
    assert skipped(records) == ["a message or a part that is no JSON object, torn or too long"] * 2
    about = abouts(records)["ses_shop01"]
    assert (about.cwd, about.started) == ("/home/ada/shop/src", "2026-11-03T08:00:01.000000Z")


def test_a_database(database: Path) -> None:
    """The sessions of which something was said, the oldest first."""
    records = read("opencode", database)
    assert {id: told(said) for id, said in turns(records).items()} == {
        "ses_early": [
            ("msg_9", "user", "Count the carts"),
            ("msg_2/prt_2", "assistant", "Looking."),
            ("msg_2/prt_3", "tool", "bash: ls carts\nred\nblue"),
            ("msg_2/prt_4", "assistant", "Two carts."),
        ],
        "ses_late": [("msg_3", "user", "Weigh them")],
    }
    assert skipped(records) == ["a message or a part that is no JSON object, torn or too long"] * 2
    late = abouts(records)["ses_late"]
    assert abouts(records)["ses_early"].title == "Counting carts"
    assert (late.parent, late.cwd, late.title) == ("ses_early", "/home/ada/shop/src", "Weigh them")
    assert late.started == "2026-11-03T08:00:10.000000Z"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_database_is_not_changed(database: Path) -> None:
    for mode in ("delete", "wal"):
        with closing(sqlite3.connect(database)) as connection:
            connection.execute(f"PRAGMA journal_mode = {mode}")
        before = digest(database)
        assert len(ids("opencode", database)) == 5
        assert digest(database) == before


WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
for statement in sys.argv[3:]:
    connection.execute(statement)
print("written", flush=True)
sys.stdin.read()
"""
SAID = """
INSERT INTO part VALUES
  ('prt_{0}', 'msg_3', 'ses_late', 0, 0, '{{"type": "text", "text": "{0}"}}')
"""


@pytest.fixture
def writer() -> Iterator[list[subprocess.Popen[str]]]:
    """End the programs that a test started, whatever became of it."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for program in started:
        program.communicate()


def writing(database: Path, mode: str, *statements: str) -> subprocess.Popen[str]:
    """Start another program that executes statements, and then holds what it has begun."""
    program = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(database), mode, *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout and program.stdout.readline() == "written\n"
    return program


def test_a_database_that_another_program_is_writing(
    database: Path, writer: list[subprocess.Popen[str]]
) -> None:
    """What it has committed stands in its log alone; what it has begun is not said yet."""
    writer.append(writing(database, "wal", SAID.format("one"), "BEGIN", SAID.format("two")))
    assert turns(read("opencode", database))["ses_late"][0].text == "Weigh them\n\none"


def test_a_database_that_is_locked(
    database: Path, writer: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "PATIENCE", 0.01)
    writer.append(writing(database, "delete", "BEGIN EXCLUSIVE"))
    with pytest.raises(Unreadable, match=r"opencode\.db' cannot be read: database is locked") as it:
        read("opencode", database)
    assert it.value.hint.startswith("another program is writing it")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_database_on_a_disk_that_cannot_be_written(tmp_path: Path, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
    tmp_path.chmod(0o500)
    try:
        assert len(ids("opencode", database)) == 5
    finally:
        tmp_path.chmod(0o700)


def test_a_database_that_is_broken(database: Path) -> None:
    """What comes before the break is imported; a break at the start is said instead."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DROP INDEX part_message_id_id_idx")
        connection.commit()
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        roots = {
            name: connection.execute(query, [name]).fetchone()[0] for name in ("part", "message")
        }
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = database.read_bytes()

    def without(table: str) -> bytes:
        start = (roots[table] - 1) * size
        return content[:start] + bytes(size) + content[start + size :]

    database.write_bytes(without("message"))
    with pytest.raises(Unreadable, match=r"opencode\.db' cannot be read: .*malformed"):
        read("opencode", database)
    database.write_bytes(without("part"))
    with pytest.raises(Unreadable, match="malformed"):
        read("opencode", database)


def test_what_breaks_off_keeps_what_was_read(database: Path) -> None:
    """Nor does the reader keep another program from writing while it is asked for nothing."""
    reader = importer("opencode").read(database)
    found = [next(reader), next(reader)]
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DROP TABLE part")
        connection.commit()
    found += list(reader)
    assert [turn.text for turn in only(found)] == ["Count the carts"]
    assert skipped(found) == ["the rest of a database that is broken or locked"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"SQLite format 3\0", "cannot be read: file is not a database"),
        (b"SQLite format 2\0" + bytes(500), "is no SQLite database"),
    ],
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=f"opencode.db' {says}"):
        read("opencode", path)


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cart (colour)")
    with pytest.raises(Unreadable, match="no such table: message"):
        read("opencode", path)


def test_a_folder_without_messages(tmp_path: Path) -> None:
    (tmp_path / "message" / "ses_1").mkdir(parents=True)
    with pytest.raises(Unreadable, match="ses_1' has no message of opencode"):
        read("opencode", tmp_path / "message" / "ses_1")


def test_places(tmp_path: Path) -> None:
    """The database of each channel, and the folders of older releases."""
    shop = tmp_path / "shop"
    for base in (".local/share", "data"):
        data = tmp_path / base / "opencode"
        for name in ("opencode.db", "opencode-dev.db", "storage/session/9a1b/ses_1.json"):
            written(data / name)
        for name in ("ses_1/msg_1", "ses_1/msg_2", "ses_2/msg_3"):
            written(data / "storage" / "message" / f"{name}.json")
        written(data / "storage" / "part" / "msg_1" / "prt_1.json")
    expected = [
        "opencode-dev.db",
        "opencode.db",
        "storage/message/ses_1",
        "storage/message/ses_2",
    ]
    home = at_home(tmp_path, shop)
    assert below("opencode", home) == [f".local/share/opencode/{name}" for name in expected]
    data = {"XDG_DATA_HOME": str(tmp_path / "data")}
    home = at_home(tmp_path, shop, environ=data)
    assert below("opencode", home) == [f"data/opencode/{name}" for name in expected]
    written(tmp_path / "mine.db")
    home = at_home(tmp_path, shop, environ={**data, "OPENCODE_DB": str(tmp_path / "mine.db")})
    assert below("opencode", home)[len(expected) :] == ["mine.db"]
    home = at_home(tmp_path, shop, environ={**data, "OPENCODE_DB": "opencode.db"})
    assert below("opencode", home) == [f"data/opencode/{name}" for name in expected]


def test_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of any name, a folder of messages, or one above it; a relative path too."""
    reader = importer("opencode")
    mine = written(tmp_path / "mine.db")
    assert list(reader.transcripts(mine)) == [mine]
    sessions = [SHOP, STORAGE / "message" / "ses_till01"]
    for above in (STORAGE, STORAGE / "message"):
        assert list(reader.transcripts(above)) == sessions
    monkeypatch.chdir(SHOP)
    assert list(reader.transcripts(Path())) == sessions[:1]


def test_ours(tmp_path: Path) -> None:
    home = at_home(tmp_path, tmp_path / "shop")
    for cwd, ours in [(str(tmp_path / "shop/src"), True), (str(tmp_path), False), ("", False)]:
        assert importer("opencode").ours(About("opencode", "s", cwd=cwd), home) == ours


@needs_samples
def test_collected_files() -> None:
    """Read by a person in the sample. Its parts are numbered anew in each message."""
    records = read("opencode", collected("opencode/gitai-storage/message/test-session-123"))
    assert told(only(records)) == [
        ("msg-user-001", "user", "Update the comment in index.ts to say 'Hello World'"),
        ("msg-assistant-001/prt-001", "assistant", "I'll update the comment in index.ts for you."),
        (
            "msg-assistant-001/prt-002",
            "tool",
            "edit: /Users/test/project/index.ts\nEdit applied successfully.",
        ),
        (
            "msg-assistant-001/prt-003",
            "assistant",
            "Done! I've updated the comment to 'Hello World'.",
        ),
    ]
    (about,) = abouts(records).values()
    assert (about.model, about.started) == (
        "claude-3-5-sonnet-20241022",
        "2024-01-28T16:37:10.000000Z",
    )


@needs_samples
def test_collected_database(tmp_path: Path) -> None:
    """Read by a person in the sample, which has no table of sessions."""
    path = made(tmp_path / "opencode.db", collected("opencode/gitai-sqlite-schema.sql"))
    records = read("opencode", path)
    assert [(role, said) for _, role, said in told(only(records))] == [
        ("user", "Please update index.ts using sqlite transcript data"),
        ("assistant", "I will make the edit from sqlite."),
        ("tool", "edit: /Users/test/project/index.ts\nEdit applied"),
        ("assistant", "Done from sqlite source."),
    ]
    (about,) = abouts(records).values()
    assert (about.id, about.cwd, about.model) == (
        "test-session-123",
        "/Users/test/project",
        "gpt-5",
    )
