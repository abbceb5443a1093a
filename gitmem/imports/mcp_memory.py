"""The MCP reference memory server: entities with observations, and relations, a JSON object a line.

The file has no times. An entity is one memory; its observations are the lines of its text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.imports.markdown import plain
from gitmem.imports.model import Foreign, Opener
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped


class McpMemory:
    """Reads a server's ``memory.jsonl``."""

    name = "mcp-memory"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the file that ``MEMORY_FILE_PATH`` names: else it is in the server's package."""
        named = home.environ.get("MEMORY_FILE_PATH", "")
        return (Path(named),) if named else ()

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory an entity, in the file's order."""
        entities: dict[str, Mapping[str, Any]] = {}
        relations: list[Mapping[str, Any]] = []
        for record in records.records(place):
            if isinstance(record, Skipped):
                yield record
            elif record.get("type") == "relation":
                relations.append(record)
            elif record.get("type") == "entity" and plain(record.get("name")):
                entities[plain(record["name"])] = record
            else:
                yield Skipped("a record that is no entity and no relation")
        links: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for relation in relations:
            start, end = plain(relation.get("from")), plain(relation.get("to"))
            if start in entities and end:
                links[start].append((plain(relation.get("relationType")), end))
            else:
                yield Skipped("a relation of an entity that is not there")
        for name, entity in entities.items():
            yield _memory(name, entity, tuple(links[name]))


ORIGINS = {McpMemory.name: McpMemory()}


def _memory(name: str, entity: Mapping[str, Any], links: tuple[tuple[str, str], ...]) -> Foreign:
    kind = plain(entity.get("entityType"))
    observed = entity.get("observations")
    observations = [plain(each) for each in observed] if isinstance(observed, list) else []
    title = f"{name} ({kind})" if kind else name
    lines = [f"- {line}" for line in observations if line]
    text = f"{title}: {observations[0]}" if len(lines) == 1 else "\n".join([title, *lines])
    return Foreign(key=name, text=text, kind="fact", tags=(kind,) if kind else (), links=links)
