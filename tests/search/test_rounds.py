"""Rounds as rows: they follow the conversations, and what reads them misses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem.search.base import Document, Removed
from gitmem.search.rounds import PREFIX, Rounds
from tests.support import git

TURNS = [
    {
        "id": "1",
        "role": "user",
        "speaker": "ada",
        "text": "which cache?",
        "at": "2026-11-01T10:00:00Z",
    },
    {"id": "2", "role": "assistant", "text": "redis"},
    {"id": "3", "role": "tool", "text": "Bash: ls\nREADME.md"},
]


@pytest.fixture
def gm(repo: Path) -> Iterator[gitmem.Gitmem]:
    with gitmem.open(repo) as opened:
        opened.import_session(TURNS, session="s1", agent="demo", title="caches")
        yield opened


@pytest.fixture
def rounds(gm: gitmem.Gitmem, tmp_path: Path) -> Rounds:
    found = Rounds(tmp_path / "rounds.sqlite", gm._conversations().git)
    found.catch_up()
    return found


def documents(rounds: Rounds, since: str = "") -> dict[str, Document]:
    return {change.id: change for change in rounds.changes(since) if isinstance(change, Document)}


def test_a_round_is_a_document_of_its_conversation(rounds: Rounds) -> None:
    first, second, third = documents(rounds).values()
    assert first.id == f"{PREFIX}demo/s1#1"
    assert (first.text, first.author, first.kind) == ("which cache?", "ada", "user")
    assert (first.group, first.position) == ("demo/s1", 1)
    assert first.at == "2026-11-01T10:00:00.000000Z"
    assert first.embedded == "ada: which cache?" and second.embedded == "redis"
    assert third.text.startswith("Bash: ls") and third.embedded == ""
    assert all(one.private for one in (first, second, third))


def test_what_is_said_is_shown_by_its_id(rounds: Rounds) -> None:
    found = rounds.said([f"{PREFIX}demo/s1#2", f"{PREFIX}demo/s1#9"])
    [said] = found.values()
    assert (said.session, said.index, said.role, said.title) == (
        "demo/s1",
        2,
        "assistant",
        "caches",
    )


def test_only_what_is_new_is_told(gm: gitmem.Gitmem, rounds: Rounds) -> None:
    mark = rounds.mark()
    assert documents(rounds, mark) == {}
    gm.import_session(
        [*TURNS, {"id": "4", "role": "user", "text": "why?"}], session="s1", agent="demo"
    )
    gm.import_session(TURNS[:1], session="s2", agent="demo")
    rounds.catch_up()
    assert list(documents(rounds, mark)) == [f"{PREFIX}demo/s1#4", f"{PREFIX}demo/s2#1"]


def test_tags_are_told_of_every_round(gm: gitmem.Gitmem, rounds: Rounds) -> None:
    mark = rounds.mark()
    gm.tag_session("s1", "ops")
    rounds.catch_up()
    assert [one.tags for one in documents(rounds, mark).values()] == [("ops",)] * 3


def test_a_mark_of_another_file_means_everything(rounds: Rounds) -> None:
    assert len(documents(rounds, "other:7")) == len(documents(rounds, "nonsense")) == 3


def test_a_session_that_is_gone_is_told(gm: gitmem.Gitmem, rounds: Rounds, repo: Path) -> None:
    mark = rounds.mark()
    private = repo / ".git" / "gitmem" / "private.git"
    git(private, "update-ref", "-d", "refs/gitmem/sessions")
    rounds.catch_up()
    gone = [change for change in rounds.changes(mark) if isinstance(change, Removed)]
    assert [change.id for change in gone] == [f"{PREFIX}demo/s1#{n}" for n in (1, 2, 3)]
    assert rounds.said([f"{PREFIX}demo/s1#1"]) == {}


def test_ids_with_marks_of_their_own(gm: gitmem.Gitmem, rounds: Rounds) -> None:
    gm.import_session(TURNS[:2], session="a/b#c%", agent="demo")
    rounds.catch_up()
    found = rounds.said([f"{PREFIX}demo/a/b#c%#2"])
    assert [said.text for said in found.values()] == ["redis"]


@pytest.mark.parametrize("damage", [b"", b"garbage" * 500])
def test_a_damaged_file_is_made_anew(gm: gitmem.Gitmem, rounds: Rounds, damage: bytes) -> None:
    path = Path(rounds._db._path or "")
    mark = rounds.mark()
    rounds.close()
    for file in path.parent.glob("rounds.sqlite*"):
        file.unlink()
    path.write_bytes(damage)
    again = Rounds(path, gm._conversations().git)
    again.catch_up()
    assert len(documents(again, mark)) == 3


def test_nothing_was_ever_imported(repo: Path, tmp_path: Path) -> None:
    with gitmem.open(repo) as gm:
        rounds = Rounds(tmp_path / "rounds.sqlite", gm._git)
        rounds.catch_up()
        assert documents(rounds) == {} and rounds.said(["x"]) == {}
