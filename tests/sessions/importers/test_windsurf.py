from __future__ import annotations

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
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

ID = "3d5f0000-0000-4000-8000-000000000001"
SESSION = OWN / "windsurf" / f"{ID}.jsonl"


def test_a_session() -> None:
    """What was written into a file is in git; what Cascade was reminded of was not said."""
    records = read("windsurf", SESSION)
    found = only(records)
    assert [(role, said) for _, role, said in told(found)] == [
        ("user", "Count the carts in @[carts.txt]"),
        ("assistant", "Looking."),
        ("tool", "view_file: /home/ada/my shop/src/carts.txt\nred\nblue"),
        ("tool", "code_action: /home/ada/my shop/total.txt"),
        ("tool", "run_command: git commit -am total\n[main fd43cd4] total"),
        ("tool", "find: *.txt\n/home/ada/my shop/a.txt"),
        ("tool", 'list_resources: {"server_name": "memory"}'),
        ("assistant", "Two carts."),
        ("user", "Thanks"),
        ("user", "Thanks"),
    ]
    assert len({turn.id for turn in found}) == len(found)
    assert skipped(records) == []
    assert abouts(records) == {
        ID: About("windsurf", ID, title="Count the carts in @[carts.txt]", cwd="/home/ada/my shop")
    }


@pytest.mark.parametrize(
    ("kind", "path", "cwd"),
    [
        ("view_file", "file:///home/ada/shop/a.txt", "/home/ada/shop"),
        ("list_directory", "file:///home/ada/shop", "/home/ada/shop"),
        ("list_directory", 7, ""),
    ],
)
def test_where_it_was_held_if_nothing_was_run(
    tmp_path: Path, kind: str, path: object, cwd: str
) -> None:
    said = {"type": "user_input", "user_input": {"user_response": "Hi"}}
    later = {"type": "view_file", "view_file": {"path": "file:///etc/shadow"}}
    steps = [said, {"type": kind, kind: {"path": path}}, *([later] if cwd else [])]
    assert abouts(read("windsurf", written(tmp_path / "s.jsonl", *steps)))["s"].cwd == cwd


def test_places_and_ours(tmp_path: Path) -> None:
    written(tmp_path / ".windsurf" / "transcripts" / "s.jsonl")
    shop = tmp_path / "shop"
    assert below("windsurf", at_home(tmp_path, shop)) == [".windsurf/transcripts/s.jsonl"]
    for cwd, ours in [(str(shop), True), (str(tmp_path), False), ("", False)]:
        about = About("windsurf", "s", cwd=cwd)
        assert importer("windsurf").ours(about, at_home(tmp_path, shop)) == ours


@needs_samples
def test_collected() -> None:
    """Read by a person in the sample: roles, and how some begin."""
    records = read("windsurf", collected("windsurf/gitai-windsurf-session-simple.jsonl"))
    found = only(records)
    assert roles(found) == "u a t t a t t t u a u t a t t t t u t t t t t t t t a"
    for place, text in {
        0: "Write a song in @[xyz.md]",
        2: "view_file: /Users/dev/Desktop/testing-gitflows-git-ai/xyz.md\n<file name=",
        5: 'run_command: git commit -a\n#   (use "git push"',
        6: "run_command: clear",
        8: "Eraase rewrite you cand o bettter",
        10: "@[xyz.md]",
        11: "code_action: /Users/dev/Desktop/testing-gitflows-git-ai/xyz.md",
        19: "find: *.md\n/Users/dev/Desktop/testing-gitflows-git-ai/Readme.md",
        21: "grep_search: song",
        26: "Called several tools to explore your workspace:",
    }.items():
        assert found[place].text.startswith(text)
    assert found[11].text.count("\n") == 0
    (about,) = abouts(records).values()
    assert about.cwd == "/Users/dev/Desktop/testing-gitflows-git-ai"
