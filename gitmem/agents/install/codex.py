"""Codex CLI: hooks in a file of their own, the MCP server in config.toml, and the skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.agents.install.agent import Agent
from gitmem.agents.install.hooks import Hooks, command
from gitmem.agents.install.parts import Part, TomlServer
from gitmem.agents.install.place import Place
from gitmem.agents.install.skill import copies

NAME = "codex"
OCCASIONS = "startup|resume|clear|compact"


def _groups(python: str) -> dict[str, dict[str, object]]:
    """Return the hooks by event; times are in seconds, 3 at most at a session's end."""

    def group(event: str, timeout: int, **more: object) -> dict[str, object]:
        line = command(python, event, NAME)
        return {"hooks": [{"type": "command", "command": line, "timeout": timeout, **more}]}

    start = group("session-start", 10, statusMessage="Loading memory", additionalContextLimit=4000)
    return {
        "SessionStart": {"matcher": OCCASIONS, **start},
        "UserPromptSubmit": group("prompt", 5),
        "Stop": group("stop", 120),
        "PreCompact": group("pre-compact", 20),
        "SessionEnd": group("session-end", 3),
    }


def _parts(place: Place) -> Mapping[str, Sequence[Part]]:
    folder = place.folder(".codex", "CODEX_HOME")
    skills = folder / "skills" if place.scope == "user" else place.base / ".agents" / "skills"
    server: dict[str, str | int | list[str]] = {
        "command": place.python,
        "args": ["-P", "-m", "gitmem", "mcp"],
        "startup_timeout_sec": 20,
    }
    return {
        "hooks": [Hooks(folder / "hooks.json", NAME, _groups(place.python))],
        "skill": copies(skills),
        "mcp": [TomlServer(folder / "config.toml", server)],
    }


def _after(place: Place) -> list[str]:
    review = "run /hooks in Codex and approve gitmem's: until then Codex skips them silently"
    trust = "Codex reads a project's settings only if you trust the project"
    return [review, trust] if place.scope == "project" else [review]


AGENT = Agent(_parts, _after)
