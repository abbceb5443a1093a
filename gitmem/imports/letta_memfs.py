"""Letta: the memory folder of an agent, a git repository, or the blocks of an ``.af`` file.

A file is one memory, said when it came into the repository and by whom. What is under ``system/``
is always before the agent's eyes, and so of high importance; blocks are too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from gitmem.errors import NotARepository, Unreadable
from gitmem.imports.markdown import Page, front_matter, headed, pages, plain, wiki_links
from gitmem.imports.model import Foreign, Opener
from gitmem.imports.notes import OLDEST, committed
from gitmem.journal.git.port import Commit
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped

_ALWAYS = "system/"
_SKILLS = "skills/"


class _Life(NamedTuple):
    """The commits that added and that last changed a file."""

    first: Commit
    last: Commit


class LettaMemfs:
    """Reads an agent's memory folder, or an ``.af`` file."""

    name = "letta-memfs"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the memory folders of the agents on this machine."""
        return sorted((home.home / ".letta" / "agents").glob("*/memory"))

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory a file, or a block."""
        if place.suffix == ".af":
            yield from _blocks(place)
            return
        lives = _lives(place, repository)
        for page in pages(place, records.files(place, "*.md")):
            if isinstance(page, Skipped):
                yield page
            elif not page.name.startswith(_SKILLS):
                yield _memory(page, lives.get(page.name))


ORIGINS = {LettaMemfs.name: LettaMemfs()}


def _lives(place: Path, repository: Opener) -> dict[str, _Life]:
    """Return {path: its commits}; nothing where the folder is not a repository of its own."""
    try:
        git = repository(place)
    except NotARepository:
        return {}
    tip, root = git.head().commit, git.layout.workdir
    if tip is None or root is None or root.resolve() != place.resolve():
        return {}
    found: dict[str, _Life] = {}
    commits = list(git.walk(tip, limit=OLDEST))
    trees = {commit.oid: commit.tree for commit in commits}
    for commit in commits:
        before = trees.get(commit.parents[0]) if commit.parents else None
        for change in git.diff(before, commit.tree):
            last = found[change.path].last if change.path in found else commit
            found[change.path] = _Life(commit, last)
    return found


def _memory(page: Page, life: _Life | None) -> Foreign:
    matter, body = front_matter(page.text)
    here = PurePosixPath(page.name)
    return Foreign(
        key=page.name,
        text=headed(plain(matter.get("description")), body),
        importance="high" if page.name.startswith(_ALWAYS) else "",
        at=committed(life.first) if life else page.changed,
        updated=committed(life.last) if life else "",
        by=life.first.author if life else "",
        links=tuple(
            ("relates", name if name.endswith(".md") else f"{name}.md")
            for name in wiki_links(body)
            if PurePosixPath(name) != here
        ),
    )


def _blocks(place: Path) -> Iterator[Foreign | Skipped]:
    """Yield the memory blocks of an agent file, also of the form with one agent at the top."""
    found = records.document(place)
    blocks = (
        next((found[k] for k in ("blocks", "core_memory") if k in found), None)
        if isinstance(found, dict)
        else None
    )
    if not isinstance(blocks, list):
        raise Unreadable(f"'{place}' has no memory blocks", "an .af file has a list of 'blocks'")
    owners = dict(reversed(list(_owners(found))))  # of a shared block the first
    for block in blocks:
        label = plain(block.get("label")) if isinstance(block, dict) else ""
        value = block.get("value") if label else None
        if not isinstance(value, str) or not value.strip():
            yield Skipped("a memory block without label or text")
            continue
        owner = owners.get(plain(block.get("id"))) or plain(found.get("name"))
        yield Foreign(
            key=f"{owner}/{label}",
            text=headed(label, value),
            importance="high",
            at=records.utc(found.get("created_at")),
            source={"agent": owner} if owner else {},
        )


def _owners(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (block id, name of the agent that has it)."""
    agents = found.get("agents")
    for agent in agents if isinstance(agents, list) else ():
        ids = agent.get("block_ids") if isinstance(agent, dict) else None
        yield from ((str(id), plain(agent.get("name"))) for id in ids or ())
