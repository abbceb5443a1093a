from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.sessions.importers.conversation import Calls
from gitmem.sessions.importers.folders import folder, within
from gitmem.sessions.importers.parts import called, derived, said, title
from tests.sessions.importers.transcripts import at_home, told


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Bash", {"command": "ls -a", "description": "List"}, "Bash: ls -a"),
        ("Bash", {"command": "cat <<X\n  one\nX\n"}, "Bash: cat <<X one X"),
        ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "shell: ls | wc"),
        ("shell", {"command": ["git", "log"]}, "shell: git log"),
        ("Grep", {"path": "src", "pattern": "uv"}, "Grep: uv"),
        ("search", '{"query": "uv \\ud83d"}', "search: uv \ufffd"),
        ("search", "{not json", "search: {not json"),
        ("close", {"issue": 7, "why": ["é"]}, 'close: {"issue": 7, "why": ["é"]}'),
        ("apply_patch", "*** Begin Patch\n*** Delete File: a b.py\n*** End", "apply_patch: a b.py"),
        ("apply_patch", {"patch": "*** Update File: x\n*** Add File: y\n"}, "apply_patch: x, y"),
        ("Write", {"content": "…", "file_path": "/a"}, "Write: /a"),
        ("stop", {}, "stop"),
        ("stop", None, "stop"),
        ("", 3, "tool"),
    ],
)
def test_a_call_is_one_line(name: str, arguments: object, line: str) -> None:
    assert called(name, arguments) == line


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("as it is ", "as it is "),
        (["a", {"type": "text", "text": "b"}, {"text": "c"}], "a\n\nb\n\nc"),
        ([{"type": "input_text", "text": "a"}, {"type": "input_image"}], "a\n\n[image]"),
        ({"type": "text", "text": "alone"}, "alone"),
        ([{"type": "thinking", "thinking": "x"}, {"text": "y", "thought": True}, {"text": 1}], ""),
        ([{"inlineData": {"data": "aGk="}}], "[image]"),
        (None, ""),
        (7, ""),
    ],
)
def test_what_a_content_says(content: object, text: str) -> None:
    assert said(content) == text


def test_a_derived_id_tells_ordinals_roles_and_texts_apart() -> None:
    found = {derived(*said) for said in [(1, "user", "a"), (2, "user", "a"), (1, "tool", "a")]}
    assert len(found) == 3
    assert derived(17, "user", "a").startswith("17-") and len(derived(17, "user", "a")) == 11


def test_a_title_is_one_short_line() -> None:
    assert title(" a\n b ") == "a b"
    assert title("word " * 100) == ("word " * 23 + "word…")
    assert len(title("x" * 500)) == 120


def test_calls_wait_for_their_answers() -> None:
    calls = Calls()
    for id in ("a", "b", ""):
        calls.open(id, f"Bash: {id}", "then")
    calls.went_on("m1")
    calls.open("c", "Bash: c")
    calls.went_on("m1")
    assert list(calls.answer("x", "out")) == [] == list(calls.answer("", "out"))
    reminded = "\n  out\n<system-reminder>now</system-reminder>\n"
    assert told(calls.answer("a", reminded)) == [("a", "tool", "Bash: a\n  out")]
    assert list(calls.answer("a", "again")) == []
    assert [call.id for call in calls.unanswered()] == ["b"], "c is of the response that goes on"
    assert [call.text for call in calls.answer("c", " \n")] == ["Bash: c"]


def test_folders(tmp_path: Path) -> None:
    for named, expected in [("", ".x"), ("  ", ".x"), ("~/y", "y"), (str(tmp_path / "z"), "z")]:
        assert folder(at_home(tmp_path, environ={"X": named}), "X", ".x") == tmp_path / expected
    assert not within("/", at_home(tmp_path))
