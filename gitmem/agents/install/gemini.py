"""Gemini CLI: hooks and the MCP server in one file of settings, with comments; and the skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.agents.install.agent import Agent
from gitmem.agents.install.hooks import Hooks, command
from gitmem.agents.install.parts import JsonServer, Part
from gitmem.agents.install.place import Place
from gitmem.agents.install.skill import copies

NAME = "gemini"


def _groups(python: str) -> dict[str, dict[str, object]]:
    """Return the hooks by event; times are in milliseconds.

    None has a matcher: it would be compared as a whole, and a session has several ways to start.
    PreCompress is not among them: Gemini CLI 0.61 calls it before every prompt, whether it will
    compress or not, and waits (3.6 s); what it compresses stays in the transcript.
    """

    def group(event: str, timeout: int) -> dict[str, object]:
        line = command(python, event, NAME)
        hook = {"type": "command", "name": "gitmem", "command": line, "timeout": timeout}
        return {"hooks": [hook]}

    return {
        "SessionStart": group("session-start", 10_000),
        "BeforeAgent": group("prompt", 5_000),
        "AfterAgent": group("stop", 60_000),
        "SessionEnd": group("session-end", 3_000),
    }


def _parts(place: Place) -> Mapping[str, Sequence[Part]]:
    folder = place.folder(".gemini", "GEMINI_CLI_HOME", ".gemini")
    # Ten minutes unless it is said: that long Gemini CLI would wait for a server that hangs.
    server = {
        "command": place.python,
        "args": ["-P", "-m", "gitmem", "mcp"],
        "timeout": 30_000,
    }
    settings = folder / "settings.json"
    return {
        "hooks": [Hooks(settings, NAME, _groups(place.python), comments=True)],
        "skill": copies(folder / "skills"),
        "mcp": [JsonServer(settings, server)],
    }


def _after(place: Place) -> list[str]:
    what = "MCP servers" if place.scope == "user" else "a project's hooks and MCP servers"
    return [f"Gemini CLI starts {what} only in folders that you trust"]


AGENT = Agent(_parts, _after)
