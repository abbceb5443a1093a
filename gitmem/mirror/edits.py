"""What people type into the mirror, as values: the events it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Revise:
    """A memory was changed; None leaves a field as it is.

    `seen` are the latest events its editor saw: as the ``base`` of the new event they make a
    revision that came meanwhile contested, not overwritten. Empty when it is not known.
    """

    id: str
    text: str | None = None
    data: Mapping[str, Any] | None = None
    kind: str | None = None
    importance: str | None = None
    tags_added: tuple[str, ...] = ()
    tags_removed: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Add:
    """A memory was typed; None is the default."""

    text: str
    kind: str | None = None
    importance: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forget:
    """A memory's line was deleted; `seen` as in `Revise`."""

    id: str
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unattributed:
    """Text in a block that is no memory; the mirror moves it below the block as it stands."""

    text: str


Edit = Revise | Add | Forget | Unattributed
