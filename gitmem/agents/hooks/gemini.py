"""Gemini CLI: other names, and its prompts come with what hooks put in front of them."""

from __future__ import annotations

import re

from gitmem.agents.hooks.dialect import Dialect, Said, text

_INJECTED = re.compile(r"\A\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)


class Gemini(Dialect):
    """Gemini CLI 0.61 and later."""

    agent = "gemini"
    events = {
        "session-start": "SessionStart",
        "prompt": "BeforeAgent",
        "post-tool": "AfterTool",
        "stop": "AfterAgent",
        "pre-compact": "PreCompress",
        "session-end": "SessionEnd",
    }

    def speaks(self, said: Said, environ: dict[str, str]) -> bool:
        """Whether the project's folder is named as Gemini CLI does, or its transcript stands."""
        known = said.get("hook_event_name") in self.events.values()
        place = text(said, "transcript_path")
        return known and ("GEMINI_PROJECT_DIR" in environ or "/.gemini/" in place)

    def prompt(self, said: Said) -> str:
        """Return the prompt, without what hooks said before it."""
        return _INJECTED.sub("", text(said, "prompt"))


DIALECT = Gemini()
