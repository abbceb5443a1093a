"""The SDK's own client, in process and over the pipes of a real server."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult, Implementation

from gitmem.agents.mcp.opened import Opened
from gitmem.agents.mcp.server import build

Result = TypeVar("Result")
ERAS = ("legacy", "auto")
"""The handshake of the protocol up to 2025-11-25, and the one of 2026-07-28."""


def within(
    repo: Path,
    said: Callable[[Client], Awaitable[Result]],
    *,
    name: str = "a-client",
    era: str = "auto",
    aliases: bool = False,
) -> Result:
    """Return what a client in this process gets to hear."""

    async def run() -> Result:
        memory = Opened(repo)
        about = Implementation(name=name, version="1")
        try:
            async with Client(build(memory, aliases), mode=era, client_info=about) as client:
                return await said(client)
        finally:
            memory.close()

    return anyio.run(run)


def over_pipes(
    repo: Path, said: Callable[[Client], Awaitable[Result]], *, era: str = "auto"
) -> Result:
    """Return what a client of ``gitmem mcp`` gets to hear."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "gitmem", "mcp"], cwd=repo, env=_environment()
    )

    async def run() -> Result:
        async with Client(stdio_client(server), mode=era) as client:
            return await said(client)

    return anyio.run(run)


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the data that a tool answers with; it does not fail."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Return what a model is told of a call that fails."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error and result.structured_content is None
    said = text(result)
    assert "Traceback" not in said and 'File "' not in said
    return said


def text(result: CallToolResult) -> str:
    """Return the text of a result."""
    (part,) = result.content
    assert part.type == "text"
    return part.text
