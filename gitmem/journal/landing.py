"""What should be carried: memories whose commits were rewritten, squashed or picked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.journal.ancestry import Ancestry
from gitmem.journal.git import Git
from gitmem.journal.history import History
from gitmem.journal.lines import Lines
from gitmem.journal.visibility import Fact


@dataclass(frozen=True, slots=True, order=True)
class Carry:
    """A carry to be: the events it names, the commit it stands on, and what it says of itself."""

    anchor: str
    events: tuple[str, ...]
    at: str
    by: str
    branch: str | None


@dataclass(frozen=True, slots=True)
class Carries:
    """What should be carried and is not yet; `skipped` counts what could not be decided here."""

    carries: tuple[Carry, ...]
    complete: bool = True
    skipped: int = 0


class Landing:
    """Looks for what should be carried."""

    def __init__(
        self, git: Git, history: History, lines: Lines, ancestry: Ancestry, folder: Path | None
    ) -> None:
        self._git = git

    def carries(self, facts: Sequence[Fact], budget_seconds: float | None = None) -> Carries:
        """Return what should be carried and is not yet, looking for at most `budget_seconds`."""
        return Carries(())

    def close(self) -> None:
        """Stop what was started."""
