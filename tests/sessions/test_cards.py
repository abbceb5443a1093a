"""Cards: rounds distilled into a memory that cites them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.errors import NotFound, UsageError


@pytest.fixture
def gm(repo: Path) -> Iterator[Gitmem]:
    """Return a memory that has a conversation of five rounds."""
    with gitmem.open(repo) as opened:
        opened.import_session([{"text": f"round {n}"} for n in range(1, 6)], session="pools")
        yield opened


def cite(indexes: str = "2-3", session: str = "pools") -> dict[str, Any]:
    return {"summary": "Five connections", "rounds": [{"session": session, "indexes": indexes}]}


def test_a_card_cites_its_rounds(gm: Gitmem) -> None:
    memory = gm.card({**cite("2-3,5"), "kind": "decision", "tags": ["db"], "importance": "high"})
    assert (memory.body, memory.kind, memory.tags) == ("Five connections", "decision", ("db",))
    assert [(link.rel, link.target) for link in memory.links] == [
        ("cites", "session:api/pools#2-3,5")
    ]
    (cited,) = gm.cited(memory)
    assert [round.turn.text for round in cited.rounds] == ["round 2", "round 3", "round 5"]
    assert [event.what for event in gm.session_log("pools")] == [
        f"cited by {memory.id[:8]}: Five connections",
        "imported: 5 rounds",
    ]


def test_a_card_of_several_conversations(gm: Gitmem) -> None:
    gm.import_session([{"text": "more"}], session="other")
    memory = gm.card({"summary": "s", "rounds": [*cite()["rounds"], *cite("1", "other")["rounds"]]})
    assert {view.session.about.id for view in gm.cited(memory)} == {"pools", "other"}


def test_what_a_card_cites_may_be_missing_here(gm: Gitmem, repo: Path) -> None:
    memory = gm.card(cite())
    private = repo / ".git" / "gitmem" / "private.git"
    private.rename(private.with_name("away.git"))
    with gitmem.open(repo) as other:
        assert other.cited(other.show(memory.id)) == []


def test_a_private_card(gm: Gitmem) -> None:
    assert gm.card(cite(), private=True).private


def test_the_life_of_a_conversation(gm: Gitmem) -> None:
    gm.import_session([{"text": f"round {n}"} for n in range(1, 8)], session="pools")
    gm.tag_session("pools", "db", "release")
    gm.untag_session("pools", "db")
    with pytest.raises(NotFound):
        gm.untag_session("pools", "db")
    assert [event.what for event in gm.session_log("pools")] == [
        "tagged: #db taken off",
        "tagged: #db added, #release added",
        "grown by 2 to 7 rounds",
        "imported: 5 rounds",
    ]
    assert [one.about.id for one in gm.sessions(tag="release")] == ["pools"]
    assert gm.sessions(tag="db") == [] and gm.sessions(agent="codex") == []


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"summary": " ", "rounds": [{"session": "pools", "indexes": "1"}]},
        {"summary": "s"},
        {"summary": "s", "rounds": []},
        {"summary": "s", "rounds": ["pools"]},
        {"summary": "s", "rounds": [{"indexes": "1"}]},
        cite("0-2"),
        cite("3-2"),
        cite("2-6"),
        cite(""),
        cite("two"),
        {**cite(), "summary": "word " * 2_000},
    ],
)
def test_a_wrong_card_is_refused(gm: Gitmem, card: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        gm.card(card)
    assert gm.list() == []


def test_a_card_of_a_conversation_that_is_not_there(gm: Gitmem) -> None:
    with pytest.raises(NotFound):
        gm.card(cite(session="nowhere"))


@pytest.mark.parametrize("indexes", ["4", "1-2,4", "1 - 2"])
def test_rounds_by_their_indexes(gm: Gitmem, indexes: str) -> None:
    found = [round.index for round in gm.session("pools", indexes).rounds]
    assert found == {"4": [4], "1-2,4": [1, 2, 4], "1 - 2": [1, 2]}[indexes]
    with pytest.raises(NotFound):
        gm.session("pools", "6")
    with pytest.raises(UsageError):
        gm.session("pools", "x")
