"""Codex CLI: speaks as Claude Code does, and takes no key that it does not know."""

from __future__ import annotations

from gitmem.agents.hooks.claude_code import ClaudeCode
from gitmem.agents.hooks.dialect import Dialect, Said, text


class Codex(Dialect):
    """Codex CLI 0.169 and later."""

    agent = "codex"
    events = ClaudeCode.events

    def speaks(self, said: Said, environ: dict[str, str]) -> bool:
        """Whether a rollout is named, or a turn by its id."""
        known = said.get("hook_event_name") in self.events.values()
        rollout = "/rollout-" in text(said, "transcript_path")
        return known and (rollout or ("model" in said and "turn_id" in said))


DIALECT = Codex()
