"""Whom the server serves, what it offers a person, and how it behaves while it works."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import gitmem
from gitmem.agents.mcp import asking
from gitmem.api import Gitmem
from gitmem.sessions.cleaning import clean
from gitmem.sessions.model import Turn
from tests.agents.mcp.clients import ERAS, call, refused, within
from tests.search.embedders import HashEmbedder
from tests.support import git


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("glob", "name"),
    [("codex", "codex-mcp-client"), ("gemini", "gemini-cli-mcp-client"), ("acme-*", "acme-agent")],
)
def test_an_excluded_agent_is_neither_served_nor_heard(
    kept: Path, glob: str, name: str, era: str
) -> None:
    async def said(client: Client) -> None:
        await call(client, "memory_status")
        git(kept, "config", "gitmem.excludeAgents", f"other,{glob}")
        for tool, given in (("memory_search", {"query": "x"}), ("memory_add", {"text": "Mine"})):
            assert "gitmem.excludeAgents" in await refused(client, tool, **given)
        for uri in ("gitmem://index", "gitmem://memory/abcd"):
            with pytest.raises(MCPError, match=r"excludeAgents"):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match=r"excludeAgents"):
            await client.get_prompt("recall", {"topic": "database"})
        git(kept, "config", "--unset", "gitmem.excludeAgents")
        await call(client, "memory_status")

    within(kept, said, era=era, name=name)
    with gitmem.open(kept) as gm:
        assert len(gm.list()) == 3


def test_another_agent_is_served_beside_an_excluded_one(kept: Path) -> None:
    git(kept, "config", "gitmem.excludeAgents", "codex")

    async def said(client: Client) -> None:
        await call(client, "memory_status")

    within(kept, said, name="codexical")
    within(kept, said, name="claude-code")


@pytest.mark.parametrize("name", ["", "a\nb\u202e", "x" * 500])
def test_a_client_of_any_name_leaves_a_name_that_can_be_shown(kept: Path, name: str) -> None:
    async def said(client: Client) -> str:
        return str((await call(client, "memory_add", text="From whom"))["id"])

    id = within(kept, said, name=name)
    with gitmem.open(kept) as gm:
        agent = gm.show(id).source["agent"]
    assert 0 < len(agent) <= 80 and agent.isprintable()


def test_resources_and_prompts(kept: Path) -> None:
    async def said(client: Client) -> None:
        (index,) = (await client.list_resources()).resources
        assert (index.uri, index.mime_type) == ("gitmem://index", "text/markdown")
        told = (await client.read_resource("gitmem://index")).contents[0].text
        lines = told.splitlines()
        assert lines[0] == "<gitmem-memory>" and len(lines) == 3 + 3
        assert "Never deploy on Friday" in lines[2] and "critical; Ada" in lines[2]
        id = lines[2].split()[1]
        whole = (await client.read_resource(f"gitmem://memory/{id}")).contents[0].text
        assert "## " in whole and "Never deploy on Friday" in whole
        for id in ("abcdef12", "zz", "%2e%2e%2fx", "x%00"):
            with pytest.raises(MCPError):
                await client.read_resource(f"gitmem://memory/{id}")
        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert set(prompts) == {"recall", "session-summary"}
        recalled = (await client.get_prompt("recall", {"topic": "database"})).messages
        assert "PostgreSQL" in recalled[0].content.text
        summary = (await client.get_prompt("session-summary")).messages[0].content.text
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {word for word in tools if word in summary} >= {"memory_search", "memory_add"}
        with pytest.raises(MCPError):
            await client.get_prompt("recall", {"topic": " "})

    within(kept, said)


def test_a_bug_is_told_and_the_next_call_begins_anew(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    ask, init = asking.search, Gitmem.__init__

    def broken(*given: Any) -> Any:
        monkeypatch.setattr(asking, "search", ask)
        raise RuntimeError("no such thing")

    def counted(self: Gitmem, *given: Any) -> None:
        opened.append(self)
        init(self, *given)

    monkeypatch.setattr(asking, "search", broken)
    monkeypatch.setattr(Gitmem, "__init__", counted)

    async def said(client: Client) -> None:
        told = await refused(client, "memory_search", query="database")
        assert "a bug in gitmem: RuntimeError: no such thing" in told
        assert len((await call(client, "memory_search", query="database"))["hits"]) == 1
        await call(client, "memory_status")

    within(kept, said)
    assert len(opened) == 2


def test_a_long_search_keeps_nobody_from_being_heard(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended, ask = threading.Event(), threading.Event(), asking.search

    def long(*given: Any) -> Any:
        begun.set()
        assert ended.wait(60)
        return ask(*given)

    monkeypatch.setattr(asking, "search", long)

    async def said(client: Client) -> None:
        found: list[Any] = []

        async def search() -> None:
            found.append(await call(client, "memory_search", query="database"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search)
            await anyio.to_thread.run_sync(begun.wait)
            assert (await client.list_prompts()).prompts and not found
            ended.set()
        assert len(found[0]["hits"]) == 1

    within(kept, said)


def test_the_model_is_loaded_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: Iterator[int] = iter(range(100))

    def embedder(self: Gitmem) -> HashEmbedder:
        next(loaded)
        return HashEmbedder()

    monkeypatch.setattr(Gitmem, "_embedder", embedder)

    async def said(client: Client) -> None:
        await client.list_tools()  # makes search ready
        for query in ("database", "login", "friday"):
            found = await call(client, "memory_search", query=query)
            assert "semantic" in found["searched"] and "vectors" in found["searched"]

    within(kept, said)
    assert next(loaded) == 1


@pytest.mark.parametrize(
    "prefix", ["mcp__gitmem__", "mcp__plugin_gitmem_gitmem__", "mcp_gitmem_", "gitmem__"]
)
def test_what_its_tools_say_is_never_imported(prefix: str) -> None:
    said = Turn("1", "tool", f"{prefix}memory_search: database\nUse PostgreSQL")
    assert clean(said) == (None, ())
