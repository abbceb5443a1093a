"""One call of a hook."""

from __future__ import annotations

import os

from gitmem.agents.hooks.dialect import MOST, Dialect, Said, text

LINE = 1_000
"""Characters of one line of an answer."""


class Call:
    """Who calls, what for, where, and the way to answer.

    `start` is where the session is, `folder` where hooks keep their things.
    """

    def __init__(self, event: str, speaker: Dialect, said: Said, start: str, folder: str) -> None:
        self.event = event
        self.dialect = speaker
        self.said = said
        self.start = start
        self.folder = folder
        self.agent = speaker.agent
        self.role = text(said, "agent_type")
        self.outcome = ""

    @property
    def session(self) -> str:
        """The agent's own id of the session."""
        return text(self.said, "session_id")

    def answer(self, context: str) -> None:
        """Give the agent something for its model, at most once; nothing is as good."""
        lines = [one if len(one) <= LINE else f"{one[: LINE - 1]}…" for one in context.split("\n")]
        while len(printed := self.dialect.answer(self.event, "\n".join(lines))) > MOST:
            del lines[-2]  # the last one closes the fence
        self.outcome += f" {len(printed)} characters" if printed else ""
        left = printed.encode("utf-8", "replace")
        while left:
            left = left[os.write(1, left) :]
