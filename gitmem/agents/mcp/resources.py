"""What a person can attach or start with: the index, single memories, and two prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import Field

from gitmem.agents.mcp import asking, rows, wording
from gitmem.agents.mcp.opened import Opened
from gitmem.api import Gitmem
from gitmem.errors import GitmemError, NotFound, UsageError
from gitmem.text.fence import fenced

LISTED = 200
"""Memories that the index names."""

MARKDOWN = "text/markdown"

SUMMARY = """\
Sum this session up for whoever works in this repository next, and store it in its memory.

1. Call memory_search for what the session was about, so that nothing is stored twice.
2. For each decision with its reason, correction, preference and lesson of this session that is not
   there yet: memory_add, one thing each. Change with memory_update what is there and holds no more.
3. Then memory_add with kind "episode": two or three sentences on what was done and what is open.

Leave out what the code or its history says, and every password, key and token."""


def add_resources(server: MCPServer, memory: Opened) -> None:
    """Add the index and single memories as resources."""

    async def read(work: Callable[[Gitmem], str]) -> str:
        try:
            return await memory.ask(work)
        except NotFound as error:
            raise ResourceNotFoundError(wording.told(error)) from error
        except GitmemError as error:
            raise ResourceError(wording.told(error)) from error

    @server.resource("gitmem://index", title="Memory index", mime_type=MARKDOWN)
    async def index() -> str:
        """What this repository's memory has, one line a memory, what matters most first."""
        return await read(_index)

    @server.resource("gitmem://memory/{id}", name="memory", title="Memory", mime_type=MARKDOWN)
    async def one_memory(id: str) -> str:
        """One memory whole, by its id."""
        return await read(lambda gm: asking.get(gm, [id]).text)


def add_prompts(server: MCPServer, memory: Opened) -> None:
    """Add the prompts."""

    @server.prompt("recall", title="Recall what is known")
    async def recall(topic: Annotated[str, Field(description="What it is about.")]) -> str:
        """Begin with what this repository's memory has on a topic."""
        try:
            found = await memory.ask(lambda gm: _recalled(gm, topic))
        except GitmemError as error:
            raise MCPError(INVALID_PARAMS, wording.told(error)) from error
        return f"What do we know about this: {topic}\n\n{found}"

    @server.prompt("session-summary", title="Sum up this session")
    def session_summary() -> str:
        """Keep what this session decided and learned."""
        return SUMMARY


def _index(gm: Gitmem) -> str:
    memories = sorted(gm.list(), key=lambda memory: memory.importance.rank)
    lines = [wording.found(rows.found(gm, memory, memory.summary)) for memory in memories[:LISTED]]
    left = len(memories) - LISTED
    lines += [f"{left:,} more: memory_search finds them"] if left > 0 else []
    return fenced("\n".join(lines) or "no memory yet", wording.FACTS)


def _recalled(gm: Gitmem, topic: str) -> str:
    if not topic.strip():
        raise UsageError("the topic is empty", "give a few words")
    return asking.search(gm, topic, "", [], "", 10).text
