"""The skill, copied into an agent's folder of skills."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gitmem.agents.install.parts import Copy

NAME = "gitmem"


def copies(folder: Path) -> list[Copy]:
    """Return the skill's files as they go below an agent's folder of skills."""
    return [Copy(folder / NAME / name, text) for name, text in _files().items()]


@cache
def _files() -> dict[str, str]:
    source = _source()
    found = sorted(path for path in source.rglob("*") if path.is_file())
    return {
        path.relative_to(source).as_posix(): path.read_text(encoding="utf-8")
        for path in found
        if "__pycache__" not in path.parts
    }


def _source() -> Path:
    """Return the skill's folder: the one in the package, or the checkout's."""
    package = Path(__file__).parents[2]
    return next(
        folder
        for folder in (package / "skills" / NAME, package.parent / "skills" / NAME)
        if folder.is_dir()
    )
