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
    skipped,
    told,
    turns,
    written,
)
from tests.sessions.samples import OWN, collected, needs_samples

SHOP = OWN / "letta" / "shop.af"
OLDER = OWN / "letta" / "older.af"


def test_agents_of_today() -> None:
    """Instructions, logins and alerts are Letta's; an agent that said nothing is no session."""
    records = read("letta", SHOP)
    found = turns(records)
    assert list(found) == ["shop-agent-0"]
    assert [(role, said) for _, role, said in told(found["shop-agent-0"])] == [
        ("user", "Count the carts\n\n[image]"),
        ("assistant", "Looking."),
        ("tool", "run_code: ls carts\nred\nblue"),
        ("tool", "rm: carts\ndenied"),
        ("assistant", "Two carts."),
        (
            "summary",
            "Note: prior messages have been hidden from view due to conversation memory"
            " constraints.\nThe following is a summary of the previous 8 messages:\n"
            " They counted two carts.",
        ),
        ("summary", "They counted."),
        ("user", "Thanks"),
        ("user", '{"cart": "red"}'),
    ]
    assert skipped(records) == []
    assert abouts(records)["shop-agent-0"] == About(
        "letta",
        "shop-agent-0",
        title="Ada",
        started="2026-11-03T08:00:00.000000Z",
        model="claude-sonnet-4-5",
    )


def test_an_agent_of_the_older_form() -> None:
    """It thinks aloud, and speaks by calling a tool."""
    records = read("letta", OLDER)
    found = only(records)
    assert [(role, said) for _, role, said in told(found)] == [
        ("user", "Hi Sam"),
        ("assistant", "Hi Ada!"),
        ("tool", 'core_memory_append: {"label": "human", "content": "likes carts"}\nfull'),
    ]
    assert [turn.at for turn in found] == [
        "2025-04-01T08:00:01.000000Z",
        "2025-04-01T08:00:02.000000Z",
        "2025-04-01T08:00:06.000000Z",
    ]
    (about,) = abouts(records).values()
    assert (about.id, about.title, about.model) == ("older", "sam", "gpt-4o-mini")


def test_a_message_is_known_by_its_time_in_another_export(tmp_path: Path) -> None:
    """What no longer fits an agent's context is missing in a later one, whose ids count anew."""
    file: dict[str, Any] = json.loads(SHOP.read_text())
    agent = file["agents"][0]
    kept = agent["messages"][7:]
    for number, message in enumerate(kept):
        message["id"] = f"message-{number}"
    later = written(tmp_path / SHOP.name, {**file, "agents": [{**agent, "messages": kept}]})
    assert len(ids("letta", later)) == 5
    assert ids("letta", later) < ids("letta", SHOP)


def test_an_id_that_is_the_servers_own_is_kept(tmp_path: Path) -> None:
    message = {"id": "message-0c5e-uuid", "role": "user", "content": "Hi"}
    path = written(tmp_path / "a.af", {"agents": [{"id": "agent-0", "messages": [message]}]})
    assert ids("letta", path) == {("a-agent-0", "message-0c5e-uuid")}


@pytest.mark.parametrize("content", [[], {}, {"agents": []}, {"agents": [7]}, {"messages": 7}])
def test_a_document_without_an_agent(tmp_path: Path, content: object) -> None:
    with pytest.raises(Unreadable, match=r"a\.af' is no agent file of Letta"):
        read("letta", written(tmp_path / "a.af", content))


def test_there_is_no_default_place(tmp_path: Path) -> None:
    home = at_home(tmp_path, tmp_path)
    assert below("letta", home) == []
    assert [path.name for path in importer("letta").transcripts(OWN / "letta")] == [
        "older.af",
        "shop.af",
    ]
    assert importer("letta").ours(About("letta", "s"), home)


@needs_samples
@pytest.mark.parametrize("name", ["evie.af", "memgpt_agent_with_convo.af"])
def test_collected(name: str) -> None:
    """Read by a person: both hold instructions and, one, a login; nothing was said in either."""
    assert read("letta", collected(f"letta/{name}")) == []
