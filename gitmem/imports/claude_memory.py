"""Claude Code's auto-memory: a folder of Markdown files, and ``MEMORY.md`` as their index.

Three generations: today's front matter has ``type``, ``originSessionId`` and ``modified`` under
``metadata``, an older one has them at the top, and the oldest files have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.imports.markdown import (
    Page,
    front_matter,
    headed,
    pages,
    pieces,
    plain,
    wiki_links,
)
from gitmem.imports.model import Foreign, Opener
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped

INDEX = "MEMORY.md"
_KINDS = {"user": "preference", "feedback": "preference", "project": "fact", "reference": "fact"}
_ENTRY = re.compile(r"^[ \t]*[-*+][ \t]+\[[^\]\n]*\]\(([^)\n]+\.md)\).*$", re.MULTILINE)
_AGENTS = ("agent-memory", "agent-memory-local")
_LONGEST_SLUG = 200
"""Characters after which Claude Code cuts a project's folder name, and adds a hash of its own."""


class ClaudeMemory:
    """Reads a memory folder, or one file of it."""

    name = "claude-memory"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the folders of this repository's worktrees, and those of subagents in them."""
        config = Path(home.environ.get("CLAUDE_CONFIG_DIR") or home.home / ".claude")
        for root in home.worktrees:
            slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
            if len(slug) <= _LONGEST_SLUG:
                yield config / "projects" / slug / "memory"
            yield from (root / ".claude" / name for name in _AGENTS)

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory a file, and what an index says that is in no file."""
        files: dict[str, Page] = {}
        for page in pages(place, records.files(place, "*.md")):
            if isinstance(page, Skipped):
                yield page
            else:
                files[page.name] = page
        names = _names(files)
        for name, page in files.items():
            if Path(name).name == INDEX:
                yield from _index(page, files)
            else:
                yield _memory(page, names, place.name in _AGENTS)


ORIGINS = {ClaudeMemory.name: ClaudeMemory()}


def _names(files: Mapping[str, Page]) -> dict[str, str]:
    """Return {what other files call it: key}: its stem, with and without type, and its name."""
    names = {Path(name).stem: name for name in files}
    for name, page in files.items():
        own = plain(front_matter(page.text)[0].get("name"))
        for called in (Path(name).stem.partition("_")[2], own, own.replace(" ", "-").lower()):
            names.setdefault(called, name)
    return names


def _memory(page: Page, names: Mapping[str, str], agents: bool) -> Foreign:
    matter, body = front_matter(page.text)
    nested = matter.get("metadata")
    matter = {**matter, **nested} if isinstance(nested, dict) else matter
    at = records.utc(plain(matter.get("modified"))) or page.changed
    kind = plain(matter.get("type"))
    session = plain(matter.get("originSessionId"))
    agent = page.name.partition("/")[0] if agents and "/" in page.name else ""
    return Foreign(
        key=page.name,
        text=headed(plain(matter.get("description")), body),
        kind=_KINDS.get(kind, kind),
        tags=(f"agent:{agent}",) if agent else (),
        at=at,
        links=_links(body, names, page.name),
        source={"agent": "claude-code", "session": session} if session else {},
    )


def _links(body: str, names: Mapping[str, str], own: str) -> tuple[tuple[str, str], ...]:
    targets = (names.get(name) for name in wiki_links(body))
    return tuple(("relates", key) for key in targets if key and key != own)


def _index(page: Page, files: Mapping[str, Any]) -> Iterator[Foreign]:
    """Yield what stands in an index itself: the first versions had no other files."""
    folder = Path(page.name).parent
    _, text = front_matter(page.text)
    rest = _ENTRY.sub(
        lambda match: "" if (folder / match[1]).as_posix() in files else match[0], text
    )
    for piece in pieces(rest):
        yield Foreign(
            key=f"{page.name}#{piece.key}",
            text=piece.said,
            at=page.changed,
        )
