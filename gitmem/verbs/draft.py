"""What a verb is about to write: a draft becomes an event when it is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitmem.model import JournalName, Memory, render_data


@dataclass(frozen=True, slots=True)
class Draft:
    """An event to be: its op, the memory it is about (None: a new one) and its own fields.

    One that remembers nothing and has no memory is about the one remembered just before it.
    `base` are the latest events its writer saw, where they are not the memory's heads as of now:
    who edits a file saw what the file showed.
    """

    op: str
    memory: Memory | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    journal: JournalName = JournalName.SHARED
    base: Sequence[str] = ()

    @property
    def text(self) -> str:
        """What it says, as text; empty if it leaves that as it is."""
        if "data" in self.fields:
            return render_data(self.fields["data"])
        return str(self.fields.get("text") or "")

    @property
    def subject(self) -> str:
        """What it says, or what the memory says that it is about."""
        return self.text or (self.memory.summary if self.memory else "")

    @property
    def kind(self) -> str | None:
        """The kind it sets, or the memory's."""
        return self.fields.get("kind") or (self.memory.kind if self.memory else None)

    @property
    def target(self) -> JournalName:
        """The journal it goes to: the memory's own, where there is one."""
        return self.memory.journal if self.memory else self.journal
