"""The memory as a server for agents."""

from __future__ import annotations

from pathlib import Path

import click

from gitmem.cli.verb import Verb, current


@click.command(
    "mcp",
    cls=Verb,
    examples=("gitmem mcp", "gitmem mcp -C ~/work/project", "claude mcp add gitmem -- gitmem mcp"),
)
@click.option("--aliases", is_flag=True, help="Add memory_recall and memory_store.")
def mcp(aliases: bool) -> None:
    """Serve the memory to an agent, as an MCP server.

    It speaks the protocol on standard input and output. The agent starts it, and it ends with it;
    'gitmem install' puts it into the agent's settings.
    """
    from gitmem.agents.mcp.server import serve

    serve(Path(current().repo), aliases)
