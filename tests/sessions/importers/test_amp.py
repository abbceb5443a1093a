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

ID = "T-0a3f0000-0000-7000-8000-000000000001"
THREAD = OWN / "amp" / f"{ID}.json"
SUBAGENT = OWN / "amp" / "T-0a3f0000-0000-7000-8000-000000000002.json"


def test_a_thread() -> None:
    """What a person ran counts, unless hidden from Amp; what Amp notes for itself does not.

    An answer that is being written waits.
    """
    records = read("amp", THREAD)
    assert told(only(records)) == [
        ("0", "user", "Count the carts\n\n[image]"),
        ("1", "assistant", "Looking."),
        ("toolu_1", "tool", "Bash: ls carts\nred\nblue"),
        ("toolu_2", "tool", "Grep: cart\na.txt:1: cart\nb.txt:4: cart"),
        ("toolu_3", "tool", "Read: /etc/shadow\nrejected by the user"),
        ("toolu_4", "tool", 'mcp__till__weigh: {"cart": 7}\nno scale'),
        ("3", "tool", "Bash: git status\nclean"),
        ("6", "assistant", "Two carts."),
        ("9", "summary", "They counted two carts."),
        ("10", "user", "And now?"),
    ]
    assert skipped(records) == []
    assert abouts(records)[ID] == About(
        "amp",
        ID,
        title="Count the carts",
        started="2026-11-03T08:00:00.000000Z",
        cwd="/home/ada/my shop",
        branch="carts",
        model="claude-opus-4-6",
    )


def test_times() -> None:
    found = {turn.id: turn.at for turn in only(read("amp", THREAD))}
    assert found["0"] == "2026-11-03T08:00:01.000000Z"
    assert found["toolu_1"] == found["1"] == "2026-11-03T08:00:02.000000Z"
    assert found["9"] == ""


def test_a_subagent_whose_tool_is_running() -> None:
    records = read("amp", SUBAGENT)
    assert [turn.text for turn in only(records)] == ["Weigh the carts"]
    assert [about.parent for about in abouts(records).values()] == [ID]


def test_a_thread_while_it_grows(tmp_path: Path) -> None:
    whole = ids("amp", THREAD)
    thread: dict[str, Any] = json.loads(THREAD.read_text())
    for count in range(len(thread["messages"])):
        part = {**thread, "messages": thread["messages"][:count]}
        assert ids("amp", written(tmp_path / THREAD.name, part)) <= whole


@pytest.mark.parametrize("content", [[], {}, {"id": "T-1", "messages": {}}])
def test_a_document_that_is_no_thread(tmp_path: Path, content: object) -> None:
    with pytest.raises(Unreadable, match=r"T-1\.json' is no thread of Amp"):
        read("amp", written(tmp_path / "T-1.json", content))


def test_places_and_ours(tmp_path: Path) -> None:
    for base in (".local/share", "data"):
        written(tmp_path / base / "amp" / "threads" / "T-1.json")
        written(tmp_path / base / "amp" / "session.json")
    shop = tmp_path / "shop"
    assert below("amp", at_home(tmp_path, shop)) == [".local/share/amp/threads/T-1.json"]
    home = at_home(tmp_path, shop, environ={"XDG_DATA_HOME": str(tmp_path / "data")})
    assert below("amp", home) == ["data/amp/threads/T-1.json"]
    for cwd, ours in [(str(shop), True), (str(tmp_path), False), ("", False)]:
        assert importer("amp").ours(About("amp", "T-1", cwd=cwd), home) == ours


@needs_samples
def test_collected() -> None:
    """Read by a person in the sample: roles, and how some begin."""
    name = "gitai-T-019ca1f6-7f21-77b5-a308-65416ebbdf48.json"
    records = read("amp", collected(f"amp/{name}"))
    found = only(records)
    assert roles(found) == "u t t a"
    assert found[0].text == "Read jokes.csv and append one new joke row"
    assert found[1].text.startswith(
        "Read: /Users/dev/projects/testing-git-amp/jokes.csv\n1: id,setup,punchline\n2: 1,Why do"
    )
    assert found[2].text.startswith(
        "edit_file: /Users/dev/projects/testing-git-amp/jokes.csv\n```diff\nIndex: /Users/dev"
    )
    assert found[3].text.startswith('Appended joke #14: *"Why do programmers hate nature?')
    (about,) = abouts(records).values()
    assert (about.title, about.branch) == ("Read jokes CSV and append new row", "master")
