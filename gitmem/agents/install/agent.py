"""What an agent is to `install`: parts for its settings, and what its user must still do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from gitmem.agents.install.parts import Part
from gitmem.agents.install.place import Place

AGENTS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
    "agents-md": "agents_md",
}
"""{name on the command line: module}; `git` is no agent, and has a way of its own."""

KINDS = ("hooks", "skill", "mcp")
"""What `install` puts in, unless told to leave one out."""


class Agent(NamedTuple):
    """One agent: `parts` are by kind, `after` are sentences for the user once they are in."""

    parts: Callable[[Place], Mapping[str, Sequence[Part]]]
    after: Callable[[Place], Sequence[str]]


def load(name: str) -> Agent:
    """Return an agent of `AGENTS`."""
    found: Agent = import_module(f"gitmem.agents.install.{AGENTS[name]}").AGENT
    return found
