"""A work tree to be searched: files put there, and what is found of them."""

from __future__ import annotations

from pathlib import Path

from gitmem.journal.git.opening import open_repository
from gitmem.search.workspace.files import Files, Found
from gitmem.text.query import parse


def opened(repo: Path) -> Files:
    """Return the index of a repository's files, caught up."""
    layout = open_repository(repo).layout
    made = Files(layout, layout.git_dir / "gitmem" / "files.sqlite")
    made.catch_up()
    return made


def add(folder: Path, path: str, content: str | bytes) -> Path:
    """Write a file, and the folders that it is in."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def ask(files: Files, query: str, limit: int = 10) -> list[Found]:
    """Search what is indexed."""
    return files.search(parse(query), limit)


def paths(files: Files, query: str) -> list[str]:
    """Return the paths of what is found, best first."""
    return [found.path for found in ask(files, query)]


def found(repo: Path, query: str) -> set[str]:
    """Return the paths of what a search finds now."""
    index = opened(repo)
    try:
        return set(paths(index, query))
    finally:
        index.close()
