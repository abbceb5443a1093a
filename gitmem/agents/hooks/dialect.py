"""How agents speak to a hook and want to be answered: what most of them do alike.

On the short way of every session: nothing is imported here that costs a millisecond.
"""

from __future__ import annotations

import json
from importlib import import_module

Said = dict[str, object]
"""What an agent says on standard input, one JSON object."""

AGENTS = {"gemini": "gemini", "codex": "codex", "claude-code": "claude_code"}
"""{name on the command line: module}; where no agent is named, they are asked in this order."""

MOST = 8_000
"""Characters of an answer: agents cut what is longer, put it into a file, or drop it."""


class Dialect:
    """One agent: `events` are its names of the events, by gitmem's."""

    agent = ""
    events: dict[str, str] = {}
    listens = ("session-start", "prompt")
    """The events whose answer the agent shows its model."""

    def speaks(self, said: Said, environ: dict[str, str]) -> bool:
        """Whether it is this agent that speaks."""
        raise NotImplementedError

    def prompt(self, said: Said) -> str:
        """Return what was asked of the agent; empty where nobody asked."""
        return text(said, "prompt")

    def by_person(self, said: Said) -> bool:
        """Whether a person typed the prompt, not a timer or a program."""
        return True

    def transcripts(self, said: Said) -> list[str]:
        """Return where what is said in this session is written, perhaps not yet."""
        place = text(said, "transcript_path")
        return [place] if place else []

    def answer(self, event: str, context: str) -> str:
        """Return what makes the agent show `context` to its model; empty if there is nothing.

        The shape of Claude Code, which others took over. Codex discards the whole answer for one
        key that it does not know, so that there is none besides.
        """
        if event not in self.listens or not context:
            return ""
        specific = {"hookEventName": self.events[event], "additionalContext": context}
        return json.dumps({"hookSpecificOutput": specific}, ensure_ascii=False)


def text(said: Said, key: str) -> str:
    """Return a text that the agent says, without what no text holds; empty for anything else."""
    value = said.get(key)
    return (
        value.replace("\0", "").encode(errors="replace").decode() if isinstance(value, str) else ""
    )


def dialect(agent: str, said: Said, environ: dict[str, str]) -> Dialect | None:
    """Return the dialect of an agent, or of whoever speaks if none is named; None if unknown."""
    if agent:
        return _load(agent) if agent in AGENTS else None
    # Other agents run hooks that were made for Claude Code, and say so in the environment only.
    if environ.get("CURSOR_VERSION") or environ.get("COPILOT_CLI"):
        return None
    return next((one for one in map(_load, AGENTS) if one.speaks(said, environ)), None)


def _load(agent: str) -> Dialect:
    found: Dialect = import_module(f"gitmem.agents.hooks.{AGENTS[agent]}").DIALECT
    return found
