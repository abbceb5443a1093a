"""One module an agent; each has an ``IMPORTER``, and loads when it is asked for."""

from __future__ import annotations

from importlib import import_module

from gitmem.sessions.model import Importer

AGENTS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
    "openclaw": "openclaw",
    "cursor": "cursor",
    "copilot": "copilot",
    "aider": "aider",
    "opencode": "opencode",
    "droid": "droid",
    "amp": "amp",
    "continue": "continue_cli",
    "windsurf": "windsurf",
    "letta": "letta",
    "jsonl": "jsonl",
}
"""{name on the command line: module}."""


def importer(agent: str) -> Importer:
    """Return the importer of an agent."""
    found: Importer = import_module(f"{__name__}.{AGENTS[agent]}").IMPORTER
    return found
