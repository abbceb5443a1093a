"""The SDK's own client, in process and over the pipes of a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult, Implementation

from gitmem.agents.mcp.opened import Opened
from gitmem.agents.mcp.server import build

Result = TypeVar("Result")
ERAS = ("legacy", "auto")
"""The handshake of the protocol up to 2025-11-25, and the one of 2026-07-28."""

COMMAND = ["-m", "gitmem", "mcp"]


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
        command=sys.executable, args=COMMAND, cwd=repo, env={**os.environ}
    )

    async def run() -> Result:
        async with Client(stdio_client(server), mode=era) as client:
            return await said(client)

    return anyio.run(run)


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


class Pipes:
    """A server in a process group of its own, and what is written to it, line by line."""

    def __init__(self, cwd: Path, *arguments: str, code: str = "") -> None:
        how = ["-c", code] if code else [*COMMAND, *arguments]
        self.process = subprocess.Popen(
            [sys.executable, *how], cwd=cwd, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._number = 0
        about = {"name": "raw", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
        self.hello = self.ask("initialize", **hello)
        self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self.process:  # closes the pipes, and waits
            if kind is not None:
                self.process.kill()

    def write(self, line: bytes) -> None:
        """Write a line, whatever it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer to a request; every line up to it is a message of the protocol."""
        self._number += 1
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.write(json.dumps(asked).encode())
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said: dict[str, Any] = json.loads(line)
            assert said["jsonrpc"] == "2.0"
            if said.get("id") == self._number:
                return said
        assert self.process.stderr is not None
        raise AssertionError(f"no answer: {self.process.stderr.read().decode()[-2000:]}")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool."""
        result: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result


def alive(group: int) -> int:
    """Return how many processes of a group there are; the dead whom nobody buried do not count."""
    listed = subprocess.run(
        ["ps", "-axo", "pgid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return sum(int(row[0]) == group and not row[1].startswith("Z") for row in rows)
