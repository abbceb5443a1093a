"""Where agents keep their things, as seen from one repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gitmem.journal.git.port import Git
from gitmem.sessions.model import Home


def home(git: Git, environ: Mapping[str, str]) -> Home:
    """Return the home directory, the worktrees of a repository, its own first, and the rest."""
    roots = tuple(dict.fromkeys(_worktrees(git)))
    return Home(Path(environ.get("HOME") or Path.home()), roots, dict(environ))


def _worktrees(git: Git) -> Iterator[Path]:
    layout = git.layout
    if layout.workdir:
        yield layout.workdir
    if layout.common_dir.name == ".git":
        yield layout.common_dir.parent
    for pointer in sorted(layout.common_dir.glob("worktrees/*/gitdir")):
        try:
            yield Path(pointer.read_text().strip()).parent
        except (OSError, ValueError):  # being made or removed at this moment
            continue
