"""Claude Code: hooks in its settings, and the skill."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitmem.agents.install.agent import Agent
from gitmem.agents.install.hooks import Hooks, command
from gitmem.agents.install.parts import Part
from gitmem.agents.install.place import Place
from gitmem.agents.install.skill import copies

NAME = "claude-code"
OCCASIONS = "startup|resume|clear|compact"


def groups(python: str) -> dict[str, dict[str, object]]:
    """Return the hooks by event; times are in seconds.

    The capture runs beside the agent (`async`). All hooks at a session's end have 1.5 s together,
    unless one asks for more.
    """

    def group(event: str, timeout: int, **more: object) -> dict[str, object]:
        line = command(python, event, NAME)
        return {"hooks": [{"type": "command", "command": line, "timeout": timeout, **more}]}

    return {
        "SessionStart": {
            "matcher": OCCASIONS,
            **group("session-start", 10, statusMessage="Loading memory"),
        },
        "UserPromptSubmit": group("prompt", 5),
        "Stop": group("stop", 120, **{"async": True}),
        "PreCompact": group("pre-compact", 20),
        "SessionEnd": group("session-end", 3),
    }


def _folder(place: Place) -> Path:
    return place.folder(".claude", "CLAUDE_CONFIG_DIR")


def _parts(place: Place) -> Mapping[str, Sequence[Part]]:
    # What a team shares is in settings.json, what is this machine's beside it.
    name = "settings.json" if place.scope == "user" else "settings.local.json"
    folder = _folder(place)
    return {
        "hooks": [Hooks(folder / name, NAME, groups(place.python))],
        "skill": copies(folder / "skills"),
    }


def _after(place: Place) -> list[str]:
    server = f"{shlex.quote(place.python)} -P -m gitmem mcp"
    scope = "user" if place.scope == "user" else "local"
    return [
        "sessions that are open go on without it: start a new one",
        "the MCP server, if you want its tools besides: "
        f"claude mcp add --scope {scope} gitmem -- {server}",
    ]


AGENT = Agent(_parts, _after)
