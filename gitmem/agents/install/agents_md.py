"""AGENTS.md: a block for agents without hooks, which many of them read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gitmem.agents import managed
from gitmem.agents.install.agent import Agent
from gitmem.agents.install.parts import Part
from gitmem.agents.install.place import Place
from gitmem.mirror.render import template


@dataclass(frozen=True, slots=True)
class Block:
    """The managed block of a Markdown file."""

    local: ClassVar[bool] = False
    path: Path
    body: str

    def holds(self, text: str | None) -> bool:
        """Whether the block is there and says what it should."""
        return text is not None and managed.put(text, self.body) == text

    def put(self, text: str | None) -> str | None:
        """Add the block, or renew it."""
        return managed.put(text, self.body)

    def take(self, text: str | None) -> str | None:
        """Take the block out."""
        return managed.take(text)


def _parts(place: Place) -> Mapping[str, Sequence[Part]]:
    return {"block": [Block(place.base / "AGENTS.md", template("AGENTS.md"))]}


def _after(_: Place) -> list[str]:
    return ["commit AGENTS.md; for Claude Code, let CLAUDE.md say @AGENTS.md"]


AGENT = Agent(_parts, _after)
