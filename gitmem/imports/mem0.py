"""mem0's ``get_all``, as JSON, and the ``memories.jsonl`` of an OpenMemory backup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable
from gitmem.imports.markdown import plain, words
from gitmem.imports.model import Foreign, Opener
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped

_OWNERS = ("user_id", "agent_id", "run_id", "app_id", "actor_id", "app")


class Mem0:
    """Reads a file with the answer of ``get_all``: a list, or an object with ``results``."""

    name = "mem0"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield nothing: mem0 keeps its memories in a database, which it exports when asked."""
        return ()

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory a result."""
        found = records.document(place)
        if isinstance(found, dict):
            found = next((found[name] for name in ("results", "memories") if name in found), None)
        if not isinstance(found, list):
            raise Unreadable(
                f"'{place}' has no list of memories", 'mem0 writes {"results": [{"id", "memory"}]}'
            )
        for number, record in enumerate(found):
            yield _memory(record, "memory", str(number))


class OpenMemory:
    """Reads ``memories.jsonl``; memories that are not active are left out."""

    name = "openmemory"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield nothing: OpenMemory's backup is downloaded where one likes."""
        return ()

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory a line."""
        for number, record in enumerate(records.records(place)):
            if isinstance(record, Skipped):
                yield record
            elif record.get("state") not in (None, "active"):
                yield Skipped(f"a memory that is {plain(record['state'])[:20] or 'not active'}")
            else:
                yield _memory(record, "content", str(number))


ORIGINS: dict[str, Mem0 | OpenMemory] = {Mem0.name: Mem0(), OpenMemory.name: OpenMemory()}


def _memory(record: Any, text: str, number: str) -> Foreign | Skipped:
    if not isinstance(record, dict):
        return Skipped("a memory that is no JSON object")
    said = record.get(text) or record.get("memory") or record.get("content")
    if not isinstance(said, str) or not said.strip():
        return Skipped("a memory without text")
    given = record.get("metadata")
    metadata: Mapping[str, Any] = given if isinstance(given, dict) else {}
    return Foreign(
        key=plain(record.get("id")) or plain(record.get("hash")) or number,
        text=said,
        tags=(*words(record.get("categories")), *words(metadata.get("category"))),
        at=records.utc(record.get("created_at")),
        updated=records.utc(record.get("updated_at")),
        source={
            **({"metadata": metadata} if metadata else {}),
            **{name: owner for name in _OWNERS if (owner := plain(record.get(name)))},
        },
    )
