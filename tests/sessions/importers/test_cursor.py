from __future__ import annotations

from pathlib import Path

import pytest

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
    turns,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

ID = "c0520000-0000-4000-8000-000000000001"
FOLDER = OWN / "cursor" / "projects" / "home-ada-shop" / "agent-transcripts" / ID
SESSION = FOLDER / f"{ID}.jsonl"


def test_a_session() -> None:
    """Calls stand without their outputs, for none are kept; what is redacted says nothing."""
    records = read("cursor", SESSION)
    assert [(role, said) for _, role, said in told(only(records))] == [
        ("user", "Count the carts"),
        ("assistant", "Counting."),
        ("tool", "Shell: ls carts"),
        ("tool", "Read: carts/1.txt"),
        ("tool", "Shell: ls carts"),
        ("assistant", "There are two."),
        ("user", "Thanks"),
        ("user", "Thanks"),
    ]
    assert skipped(records) == []
    assert abouts(records) == {ID: About("cursor", ID, title="Count the carts")}


def test_ids_tell_apart_what_says_the_same_and_stay_as_the_file_grows(tmp_path: Path) -> None:
    found = only(read("cursor", SESSION))
    assert len({turn.id for turn in found}) == len(found)
    lines = SESSION.read_text().splitlines(keepends=True)
    path = tmp_path / SESSION.name
    for count in range(1, len(lines)):
        path.write_text("".join(lines[:count]))
        assert ids("cursor", path) <= ids("cursor", SESSION)


def test_a_subagent() -> None:
    records = read("cursor", FOLDER / "subagents" / "ab12.jsonl")
    id = f"{ID}/agent-ab12"
    assert {id: roles(said) for id, said in turns(records).items()} == {id: "u a"}
    assert abouts(records)[id].parent == ID


@pytest.mark.parametrize(
    "slug", ["home-ada-my-shop-2", "home-ada-my.shop_2", "home-ada-my-shop--2"]
)
def test_places_are_the_worktrees_own(tmp_path: Path, slug: str) -> None:
    """Nothing in a transcript says where it was held: the folder's name must."""
    for project in (slug, "home-ada-my-shop-20", "home-ada"):
        written(tmp_path / ".cursor/projects" / project / "agent-transcripts/s/s.jsonl")
    root = Path("/home/ada/my.shop_2" if "--" not in slug else "/home/ada/my.shop._2")
    assert below("cursor", at_home(tmp_path, root)) == [
        f".cursor/projects/{slug}/agent-transcripts/s/s.jsonl"
    ]
    assert importer("cursor").ours(About("cursor", "s"), at_home(tmp_path, root))


# Read by a person in the samples: roles, and how some begin.
COLLECTED = {
    "claude-mem-cursor-session": ("u a u t a", {0: "please list the files", 3: "Shell: ls src/"}),
    "gitai-cursor-session-simple": (
        "u a t t t t t t t t a t t a",
        {0: "Generate a file with all", 3: "WebSearch: HBO original", 11: "Write: /Users/dev/De"},
    ),
}


@needs_samples
@pytest.mark.parametrize("name", COLLECTED)
def test_collected(name: str) -> None:
    expected, begin = COLLECTED[name]
    found = only(read("cursor", collected(f"cursor/{name}.jsonl")))
    assert roles(found) == expected
    assert not any("REDACTED" in turn.text or "user_query" in turn.text for turn in found)
    for place, text in begin.items():
        assert found[place].text.startswith(text)
