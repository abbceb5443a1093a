"""Claude Code: hooks in its settings, and the skill."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from gitmem.agents.install.agent import Agent
from gitmem.agents.install.hooks import Hooks, command
from gitmem.agents.install.parts import Part
from gitmem.agents.install.place import Place
from gitmem.agents.install.skill import copies

NAME = "claude-code"
OCCASIONS = "startup|resume|clear|compact"


def groups(line: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Return the hooks by event; `line` gives an event's command line, times are in seconds.

    The capture runs beside the agent (`async`). All hooks at a session's end have 1.5 s together,
    unless one asks for more.
    """

    def group(event: str, timeout: int, **more: object) -> dict[str, object]:
        hook = {"type": "command", "command": line(event), "timeout": timeout, **more}
        return {"hooks": [hook]}

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


def _parts(place: Place) -> Mapping[str, Sequence[Part]]:
    # What a team shares is in settings.json, what is this machine's beside it.
    name = "settings.json" if place.scope == "user" else "settings.local.json"
    folder = place.folder(".claude", "CLAUDE_CONFIG_DIR")

    def line(event: str) -> str:
        return command(place.python, event, NAME)

    return {
        "hooks": [Hooks(folder / name, NAME, groups(line))],
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
