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
    roles,
    skipped,
    told,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

FOLDER = OWN / "droid" / "-home-ada-shop"
ID = "d0d00000-0000-4000-8000-000000000001"
SUBAGENT = "d0d00000-0000-4000-8000-000000000002"


def test_a_session() -> None:
    """Reminders, hooks, expanded files and what only the model is shown: nobody said them."""
    records = read("droid", FOLDER / f"{ID}.jsonl")
    assert told(only(records)) == [
        ("m1", "user", "Count the carts in @carts.txt\n\n[image]"),
        ("m2", "assistant", "Let me look."),
        ("call_1", "tool", "Execute: wc -l carts.txt\n2 carts.txt"),
        ("call_2", "tool", "ApplyPatch: /home/ada/shop/total.txt\nno such file"),
        ("m5", "assistant", "Two carts."),
        ("c1", "summary", "They counted two carts."),
        ("m6", "user", "Thanks"),
    ]
    assert skipped(records) == []
    assert abouts(records)[ID] == About(
        "droid",
        ID,
        title="Count the carts",
        started="2026-11-03T08:00:00.000000Z",
        cwd="/home/ada/shop",
        model="claude-opus-4-6",
    )


def test_a_subagent() -> None:
    about = abouts(read("droid", FOLDER / f"{SUBAGENT}.jsonl"))[SUBAGENT]
    assert (about.parent, about.title, about.model) == (ID, "Weighing", "")


def test_a_session_without_its_first_line_is_named_by_its_file(tmp_path: Path) -> None:
    said = {"type": "message", "id": "m", "message": {"role": "user", "content": "Hi"}}
    path = written(tmp_path / "abc.jsonl", said)
    assert list(abouts(read("droid", path))) == ["abc"]
    own = written(tmp_path / "own.jsonl", {"type": "session_start", "id": "x"}, said)
    assert abouts(read("droid", own))["x"].parent == ""


def test_places_and_ours(tmp_path: Path) -> None:
    for base in (".factory", "else/.factory"):
        written(tmp_path / base / "sessions" / "-home-ada-shop" / "s.jsonl")
        written(tmp_path / base / "sessions" / "-home-ada-shop" / "s.settings.json")
    shop = tmp_path / "shop"
    name = ".factory/sessions/-home-ada-shop/s.jsonl"
    assert below("droid", at_home(tmp_path, shop)) == [name]
    environ = {"FACTORY_HOME_OVERRIDE": str(tmp_path / "else")}
    assert below("droid", at_home(tmp_path, shop, environ=environ)) == [f"else/{name}"]
    for cwd, ours in [(str(shop / "src"), True), (str(tmp_path), False), ("", False)]:
        about = About("droid", "s", cwd=cwd)
        assert importer("droid").ours(about, at_home(tmp_path, shop)) == ours


@needs_samples
def test_collected() -> None:
    """Read by a person in the sample: roles, and how some begin."""
    records = read("droid", collected("droid/gitai-droid-session.jsonl"))
    found = only(records)
    assert roles(found) == "u t t t t t a"
    assert [turn.text.split("\n")[0] for turn in found] == [
        'Update the first comment in @index.ts to "DROID3"',
        "Read: /Users/dev/projects/testing-git/index.ts",
        r'TodoWrite: {"todos": "1. [in_progress] Update first comment in index.ts to \"DROID3\""}',
        "ApplyPatch: /Users/dev/projects/testing-git/index.ts",
        "Read: /Users/dev/projects/testing-git/index.ts",
        r'TodoWrite: {"todos": "1. [completed] Update first comment in index.ts to \"DROID3\""}',
        "# Update complete",
    ]
    (about,) = abouts(records).values()
    assert about.model == "custom:BYOK-GPT-5-MINI-0"
    assert about.cwd == "/Users/dev/projects/testing-git"
