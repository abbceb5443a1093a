from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitmem.errors import Unreadable
from gitmem.sessions.importers import importer
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
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

ID = "c0470000-0000-4000-8000-000000000001"
COMPACTED = "c0470000-0000-4000-8000-000000000002"
FOLDER = OWN / "continue" / "sessions"
SESSION = FOLDER / f"{ID}.json"


def test_a_session() -> None:
    """Instructions, thinking and context are left out; a call that is running waits."""
    records = read("continue", SESSION)
    assert [(role, said) for _, role, said in told(only(records))] == [
        ("user", "Count the carts"),
        ("assistant", "Looking."),
        ("tool", "Bash: ls carts\nred\nblue"),
        ("tool", "Read: /home/ada/shop/a.txt"),
        ("tool", "Search: cart\na.txt: cart"),
        ("assistant", "Two carts."),
        ("user", "Like these?\n\n[image]"),
        ("assistant", "Yes."),
    ]
    assert skipped(records) == []
    assert abouts(records)[ID] == About(
        "continue",
        ID,
        title="Counting Carts",
        started="2026-11-03T08:00:00.000000Z",
        cwd="/home/ada/shop",
    )


def test_a_compacted_session() -> None:
    """The second summary stands beside the message that it was written at."""
    records = read("continue", FOLDER / f"{COMPACTED}.json")
    assert [(role, said) for _, role, said in told(only(records))] == [
        ("summary", "They counted two carts."),
        ("user", "continue"),
        ("summary", "Then they were done."),
        ("assistant", "Done."),
    ]
    about = abouts(records)[COMPACTED]
    assert (about.cwd, about.title) == ("/home/ada/my shop", "continue")
    assert about.started == "2026-11-03T09:00:00.000000Z"


def test_ids_stay_as_a_session_grows(tmp_path: Path) -> None:
    session: dict[str, Any] = json.loads(SESSION.read_text())
    whole = ids("continue", SESSION)
    for count in range(len(session["history"])):
        part = {**session, "history": session["history"][:count]}
        assert ids("continue", written(tmp_path / SESSION.name, part)) <= whole


def test_what_is_said_again_after_a_compaction_is_said_again(tmp_path: Path) -> None:
    """The history begins anew with the summary: its places are not those of before."""

    def item(role: str, content: str, **fields: object) -> object:
        return {"message": {"role": role, "content": content}, **fields}

    before = {"sessionId": "s", "history": [item("user", "Hi"), item("user", "continue")]}
    summary = item("assistant", "They said hi.", conversationSummary="They said hi.")
    after = {"sessionId": "s", "history": [summary, item("user", "continue")]}
    path = tmp_path / "s.json"
    assert not ids("continue", written(path, before)) & ids("continue", written(path, after))


@pytest.mark.parametrize("content", [[], {}, {"history": "x"}])
def test_a_document_that_is_no_session(tmp_path: Path, content: object) -> None:
    with pytest.raises(Unreadable, match=r"s\.json' is no session of Continue"):
        read("continue", written(tmp_path / "s.json", content))


def test_places_and_ours(tmp_path: Path) -> None:
    for base in (".continue", "global"):
        written(tmp_path / base / "sessions" / "s.json")
        written(tmp_path / base / "sessions" / "sessions.json")
    shop = tmp_path / "shop"
    assert below("continue", at_home(tmp_path, shop)) == [".continue/sessions/s.json"]
    home = at_home(tmp_path, shop, environ={"CONTINUE_GLOBAL_DIR": str(tmp_path / "global")})
    assert below("continue", home) == ["global/sessions/s.json"]
    for cwd, ours in [(str(shop), True), (str(tmp_path), False), ("", False)]:
        assert importer("continue").ours(About("continue", "s", cwd=cwd), home) == ours


@needs_samples
def test_collected() -> None:
    """Read by a person in the sample: roles, and how some begin."""
    records = read("continue", collected("continue/gitai-continue-cli-session-simple.json"))
    found = only(records)
    assert roles(found) == "u a t t a"
    for turn, text in zip(
        found,
        [
            "Add another hello world line to @index.ts",
            "I'll read the file first to see its current contents",
            "Read: /Users/dev/projects/testing-git/index.ts\nContent of /Users/dev/projects/",
            "MultiEdit: /Users/dev/projects/testing-git/index.ts\nSuccessfully edited /Users/dev/",
            "Done! I've added another `console.log('hello world');` line",
        ],
        strict=True,
    ):
        assert turn.text.startswith(text)
    (about,) = abouts(records).values()
    assert (about.title, about.started) == ("File Reading and Appending", "")
