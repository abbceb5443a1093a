"""Other tools' memories: one module a tool; each has an `Origin`, and loads when asked for."""

from __future__ import annotations

from importlib import import_module

from gitmem.errors import UsageError
from gitmem.imports.model import Origin

TOOLS = {
    "git-notes-memory": "git_notes_memory",
    "zircote-git-notes": "zircote",
    "claude-memory": "claude_memory",
    "basic-memory": "basic_memory",
    "mem0": "mem0",
    "openmemory": "mem0",
    "letta-memfs": "letta_memfs",
    "openclaw-memory": "openclaw_memory",
    "memsearch": "memsearch",
    "mcp-memory": "mcp_memory",
}
"""{name on the command line: module}."""


def origin(tool: str) -> Origin:
    """Return the reader of a tool's memories.

    Raises:
        UsageError: there is none of that name.
    """
    if tool not in TOOLS:
        raise UsageError(f"there is no importer '{tool}'", f"there are {', '.join(TOOLS)}")
    found: Origin = import_module(f"{__name__}.{TOOLS[tool]}").ORIGINS[tool]
    return found
