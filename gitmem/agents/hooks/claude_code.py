"""Claude Code: the dialect that others took over."""

from __future__ import annotations

from gitmem.agents.hooks.dialect import Dialect, Said, text


class ClaudeCode(Dialect):
    """Claude Code, and the Agent SDK."""

    agent = "claude-code"
    events = {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "post-tool": "PostToolUse",
        "stop": "Stop",
        "pre-compact": "PreCompact",
        "session-end": "SessionEnd",
    }

    def speaks(self, said: Said, environ: dict[str, str]) -> bool:
        """Whether the project's folder is named as Claude Code does, or its transcript stands."""
        known = said.get("hook_event_name") in self.events.values()
        place = text(said, "transcript_path")
        return known and ("CLAUDE_PROJECT_DIR" in environ or "/projects/" in place)

    def by_person(self, said: Said) -> bool:
        """Whether the prompt is a person's: later releases say who asks."""
        return said.get("source", "user") in ("user", "sdk")

    def transcripts(self, said: Said) -> list[str]:
        """Return the session's file, and the folder that holds its subagents'."""
        found = super().transcripts(said)
        beside = [place.removesuffix(".jsonl") + "/subagents" for place in found]
        return found + beside


DIALECT = ClaudeCode()
