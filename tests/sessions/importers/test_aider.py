from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from gitmem.errors import Unreadable
from gitmem.sessions.importers import aider, importer
from gitmem.sessions.model import About
from tests.sessions.importers.transcripts import (
    abouts,
    at_home,
    below,
    ids,
    read,
    roles,
    skipped,
    told,
    turns,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

HISTORY = OWN / "aider" / ".aider.chat.history.md"


def chats(history: Path) -> list[list[tuple[str, str]]]:
    return [
        [(role, said) for _, role, said in told(found)]
        for found in turns(read("aider", history)).values()
    ]


def test_a_history() -> None:
    """What aider says before anybody else is no part of a chat, nor is a chat of that alone.

    A quote, a headline and a comment in an answer are part of it.
    """
    first, second = chats(HISTORY)
    assert first == [
        ("user", "Count the carts:\n\n- full ones\n- empty ones"),
        (
            "assistant",
            "#### Two steps\n\nFirst the counting:\n\n> A cart is full when it holds three things."
            "\n\nsrc/carts.py\n```python\n"
            "# aider comments are not headers\ndef full(cart): ...\n```",
        ),
        (
            "tool",
            "Tokens: 5.2k sent, 604 received. Cost: $0.02 message, $0.02 session.\n\n"
            "Applied edit to src/carts.py\n\nCommit fd43cd4 feat: Count full carts",
        ),
        ("user", "/test"),
        ("user", "naïve?"),
        ("tool", "^C KeyboardInterrupt"),
    ]
    assert second == [("user", "hi"), ("assistant", "Hello.")]
    assert skipped(read("aider", HISTORY)) == []


def test_what_is_known_of_a_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start is local time; two of one second are told apart by their order."""
    try:
        monkeypatch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        found = list(abouts(read("aider", HISTORY)).values())
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
    assert [re.sub(r"-[0-9a-f]{8}", "-FILE", about.id) for about in found] == [
        "2026-11-03-08-05-00-FILE",
        "2026-11-03-08-05-00-FILE-2",
    ]
    assert [about.started for about in found] == ["2026-11-03T07:05:00.000000Z"] * 2
    assert [about.model for about in found] == ["claude-4-sonnet", "gpt-4o-mini"]
    assert [about.title for about in found] == ["Count the carts: - full ones - empty ones", "hi"]
    assert {about.cwd for about in found} == {str(HISTORY.parent.resolve())}


def test_a_chat_is_known_by_its_start_and_file(tmp_path: Path) -> None:
    """However its file is reached; a copy elsewhere is another."""
    here, there = tmp_path / "here.md", tmp_path / "there.md"
    here.write_bytes(HISTORY.read_bytes())
    there.symlink_to(here)
    assert ids("aider", here) == ids("aider", there)
    assert not ids("aider", here) & ids("aider", HISTORY)
    assert abouts(read("aider", here)).keys() == abouts(read("aider", there)).keys()


def test_ids_stay_while_the_file_grows(tmp_path: Path) -> None:
    """Of a turn that may yet grow, its beginning is enough to know it."""
    path = tmp_path / HISTORY.name
    content = HISTORY.read_bytes()
    path.write_bytes(content)
    whole = ids("aider", path)
    assert len(whole) == 8
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        assert ids("aider", path) <= whole


def test_a_history_without_the_spaces_that_aider_writes(tmp_path: Path) -> None:
    path = tmp_path / "history.md"
    path.write_text(re.sub(r" +$", "", HISTORY.read_text(), flags=re.MULTILINE))
    assert [" ".join(role[0] for role, _ in chat) for chat in chats(path)] == [
        "u u a t a t u u t",
        "u a",
    ]


def test_a_message_without_end_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aider.reading, "LONGEST", 100)
    path = tmp_path / "history.md"
    path.write_text(
        "# aider chat started at 2026-11-03 08:05:00\n\n#### hi  \n\n"
        + "more\n" * 50
        + "> Tokens: 1  \n"
    )
    records = read("aider", path)
    (found,) = turns(records).values()
    assert roles(found) == "u t"
    assert skipped(records) == ["a message longer than 0 MB"]


@pytest.mark.parametrize("content", ["# A readme\n\nof no chat\n", "# aider chat started at 20"])
def test_a_file_without_a_chat(tmp_path: Path, content: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(content)
    with pytest.raises(Unreadable, match=r"README\.md' has no chat of aider"):
        read("aider", path)


def test_a_start_that_is_no_time(tmp_path: Path) -> None:
    path = tmp_path / "history.md"
    path.write_text("# aider chat started at 2026-13-41 08:05:00\n#### hi  \n")
    (about,) = abouts(read("aider", path)).values()
    assert about.started == "" and about.id.startswith("2026-13-41-08-05-00-")


def test_places(tmp_path: Path) -> None:
    shop, linked = tmp_path / "shop", tmp_path / "linked"
    for folder in (shop, linked, tmp_path):
        written(folder / ".aider.chat.history.md")
        written(folder / "chats" / "aider.chat.history.md")
    own = ["shop/.aider.chat.history.md", "linked/.aider.chat.history.md"]
    assert below("aider", at_home(tmp_path, shop, linked)) == own
    named = {"AIDER_CHAT_HISTORY_FILE": "chats/aider.chat.history.md"}
    assert below("aider", at_home(tmp_path, shop, environ=named)) == [
        own[0],
        "shop/chats/aider.chat.history.md",
    ]
    elsewhere = {"AIDER_CHAT_HISTORY_FILE": str(tmp_path / ".aider.chat.history.md")}
    assert below("aider", at_home(tmp_path, shop, environ=elsewhere)) == own[:1]
    assert importer("aider").ours(About("aider", "s"), at_home(tmp_path, shop))


# Read by a person in the samples: roles, and how some begin.
COLLECTED = {
    "a": {
        "2024-08-05-19-33-32": (
            "u a t u u",
            {0: "Use the Spinner", 1: "Certainly! I'll modify the `run_install`", 4: "/ex"},
        ),
        "2024-08-05-20-39-59": (
            "u a t u t",
            {0: "hi", 2: "Tokens: 12,566 sent", 3: "hi", 4: "^C KeyboardInterrupt"},
        ),
    },
    "c": {
        "2024-08-06-10-53-39": (
            "u a t u a t u a t u t u t u t u t u",
            {0: "handle Keys.BracketedPaste and print", 10: "Removed: 82474a0", 17: "/ex"},
        ),
    },
    "d": {
        "2024-08-06-11-13-10": (
            "u a t u a t u u t",
            {3: "no, i mean for processing", 6: "/diff", 8: "Removed: 4f6c917 feat: Set"},
        ),
    },
}


@needs_samples
@pytest.mark.parametrize("name", COLLECTED)
def test_collected(name: str) -> None:
    found = turns(read("aider", collected(f"aider/aider-chat-history-{name}.md")))
    assert [id.rpartition("-")[0] for id in found] == list(COLLECTED[name])
    for said, (expected, begin) in zip(found.values(), COLLECTED[name].values(), strict=True):
        assert roles(said) == expected
        for place, text in begin.items():
            assert said[place].text.startswith(text)
