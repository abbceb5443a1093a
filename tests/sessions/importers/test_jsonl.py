from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.errors import Unreadable
from gitmem.sessions.importers import importer
from gitmem.sessions.model import About, Turn
from tests.sessions.importers.transcripts import (
    abouts,
    at_home,
    below,
    ids,
    only,
    read,
    skipped,
    told,
    turns,
    written,
)
from tests.sessions.samples import OWN

TALKS = OWN / "jsonl" / "talks.jsonl"


def test_several_sessions_in_one_file() -> None:
    records = read("jsonl", TALKS)
    found = turns(records)
    assert found["carts"][0] == Turn(
        "r1", "user", "Count the carts", at="2026-11-03T08:00:00.000000Z", speaker="Ada"
    )
    assert [(role, said) for _, role, said in told(found["carts"])] == [
        ("user", "Count the carts"),
        ("assistant", "Two."),
        ("tool", "Bash: ls\na.txt"),
        ("tool", "Bash: ls\na.txt"),
        ("summary", "They counted two carts."),
    ]
    assert [(turn.role, turn.text, turn.speaker) for turn in found["till"]] == [
        ("user", "Open the till", ""),
        ("user", "Look:\n\n[image]", "Bob"),
    ]
    assert [turn.text for turn in found["talks"]] == ["Of no session"]
    assert len(ids("jsonl", TALKS)) == 8
    assert ("till", "1") in ids("jsonl", TALKS)


def test_what_is_known_of_the_sessions() -> None:
    """What is said first counts; a session began, if nothing says when, with what has a time."""
    assert abouts(read("jsonl", TALKS)) == {
        "carts": About(
            "jsonl",
            "carts",
            title="Counting carts",
            started="2026-11-03T07:59:00.000000Z",
            cwd="/home/ada/shop",
        ),
        "till": About(
            "jsonl",
            "till",
            title="Open the till",
            started="2026-11-03T08:00:00.000000Z",
            model="m",
            parent="carts",
        ),
        "talks": About("jsonl", "talks", title="Of no session"),
    }


def test_what_is_wrong_is_counted() -> None:
    assert skipped(read("jsonl", TALKS)) == [
        "an 'at' that is no time (ISO 8601, or seconds since 1970)",
        "a line of instructions (role 'system' or 'developer')",
        "a line without 'text'",
        "a line that is no JSON",
    ]


@pytest.mark.parametrize(
    ("role", "expected", "speaker"),
    [
        ("user", "user", ""),
        ("HUMAN", "user", ""),
        ("assistant", "assistant", ""),
        ("ai", "assistant", ""),
        ("Model", "assistant", ""),
        ("function", "tool", ""),
        ("summary", "summary", ""),
        ("Caroline", "user", "Caroline"),
        ("", "user", ""),
        (None, "user", ""),
        (7, "user", ""),
    ],
)
def test_roles(tmp_path: Path, role: object, expected: str, speaker: str) -> None:
    """One that is not known is a person's name: nothing that was said is lost for its role."""
    (turn,) = only(read("jsonl", written(tmp_path / "a.jsonl", {"role": role, "text": "Hi"})))
    assert (turn.role, turn.speaker) == (expected, speaker)
    named = {"role": role, "speaker": "Ada", "text": "Hi"}
    (turn,) = only(read("jsonl", written(tmp_path / "a.jsonl", named)))
    assert turn.speaker == "Ada"


@pytest.mark.parametrize("value", ["", "  ", None, 7, {}, [{"type": "thinking", "text": "Hm"}]])
def test_a_line_without_text(tmp_path: Path, value: object) -> None:
    path = written(tmp_path / "a.jsonl", {"text": "Hi"}, {"session": "s", "text": value})
    records = read("jsonl", path)
    assert [turn.text for turn in only(records)] == ["Hi"]
    assert skipped(records) == ["a line without 'text'"]


def test_derived_ids_count_the_lines_of_a_session(tmp_path: Path) -> None:
    """Lines of another session between them change nothing."""
    mine = [{"session": "a", "text": "Hi"}, {"session": "a", "text": "Hi"}]
    other = {"session": "b", "text": "Hi"}
    path = tmp_path / "talks.jsonl"
    alone = ids("jsonl", written(path, *mine))
    assert len(alone) == 2
    assert ids("jsonl", written(path, mine[0], other, mine[1])) >= alone


def test_a_session_is_not_its_own_parent(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"session": "a", "parent": "a", "text": "Hi"})
    assert abouts(read("jsonl", path))["a"].parent == ""


def test_an_array_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('[{"text": "Hi"},\n {"text": "Ho"}]\n')
    with pytest.raises(Unreadable, match=r"a\.jsonl' has no line that is a JSON object"):
        read("jsonl", path)


def test_there_is_no_default_place(tmp_path: Path) -> None:
    home = at_home(tmp_path, tmp_path)
    assert below("jsonl", home) == []
    written(tmp_path / "talks" / "a.ndjson")
    written(tmp_path / "talks" / "b.jsonl")
    written(tmp_path / "talks" / "c.json")
    found = importer("jsonl").transcripts(tmp_path / "talks")
    assert [path.name for path in found] == ["a.ndjson", "b.jsonl"]
    assert importer("jsonl").ours(About("jsonl", "s"), home)
