"""basic-memory: a folder of Markdown notes with observations and relations.

A note is one memory, whole: its observations are what it says. Their categories and hashtags, and
its relations, become kind, tags and links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gitmem.imports.markdown import Page, front_matter, headed, pages, plain, wiki_links, words
from gitmem.imports.model import Foreign, Opener
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped

_OBSERVATION = re.compile(r"^[ \t]*[-*+][ \t]+\[([^\[\]()\n]{2,})\][ \t]+(\S.*)$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*[-*+][ \t]+(.*#\w.*)$", re.MULTILINE)
_RELATION = re.compile(
    r"^[ \t]*[-*+][ \t]+(?:\"([^\"\n]+)\"|([^\s\[\]\"]+))[ \t]+\[\[([^\[\]\n]+)\]\]", re.MULTILINE
)
_TAG = re.compile(r"(?<!\S)#([^\s#,()]+)")
_NO_CATEGORY = re.compile(r"\W|[\d:.,-]+|x", re.IGNORECASE)
"""A box to tick, or a time code."""


class BasicMemory:
    """Reads a project's folder, or one note."""

    name = "basic-memory"
    shared = False

    def places(self, home: Home) -> Iterable[Path]:
        """Yield the default project's folder."""
        yield Path(home.environ.get("BASIC_MEMORY_HOME") or home.home / "basic-memory")

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield a memory a note."""
        notes: list[Page] = []
        for page in pages(place, records.files(place, "*.md")):
            if isinstance(page, Skipped):
                yield page
            else:
                notes.append(page)
        keys = _keys(notes)
        for page in notes:
            yield _memory(page, keys)


ORIGINS = {BasicMemory.name: BasicMemory()}


def _keys(notes: Iterable[Page]) -> dict[str, str]:
    """Return {what a link may call it, in lower case: key}: title, permalink and file name."""
    keys: dict[str, str] = {}
    for page in notes:
        matter, _ = front_matter(page.text)
        names = (plain(matter.get("title")), plain(matter.get("permalink")), Path(page.name).stem)
        for name in names:
            keys.setdefault(name.casefold(), _key(page))
    return keys


def _key(page: Page) -> str:
    return plain(front_matter(page.text)[0].get("permalink")) or page.name.removesuffix(".md")


def _memory(page: Page, keys: Mapping[str, str]) -> Foreign:
    matter, body = front_matter(page.text)
    title, kind = plain(matter.get("title")), plain(matter.get("type"))
    categories = {
        found[1].strip().lower()
        for found in _OBSERVATION.finditer(body)
        if not _NO_CATEGORY.fullmatch(found[1].strip())
    }
    if kind in ("", "note") and len(categories) == 1:
        kind = categories.pop()
    observed = [found[1] for found in _BULLET.finditer(body)]
    modified = records.utc(plain(matter.get("modified"))) or page.changed
    return Foreign(
        key=_key(page),
        text=headed(title and f"# {title}", body),
        kind=kind,
        tags=tuple(dict.fromkeys((*words(matter.get("tags")), *_TAG.findall("\n".join(observed))))),
        at=records.utc(plain(matter.get("created"))) or modified,
        updated=modified,
        links=tuple(_links(body, keys, _key(page))),
        source={"status": status} if (status := plain(matter.get("status"))) else {},
    )


def _links(body: str, keys: Mapping[str, str], own: str) -> Iterator[tuple[str, str]]:
    """Yield its relations, and what it mentions besides; a note that is not there by its name."""
    named = [(quoted or bare, target.strip()) for quoted, bare, target in _RELATION.findall(body)]
    related = {target for _, target in named}
    mentioned = [("relates", name) for name in wiki_links(body) if name not in related]
    for relation, target in [*named, *mentioned]:
        key = keys.get(target.casefold(), target)
        if key != own:
            yield relation, key
