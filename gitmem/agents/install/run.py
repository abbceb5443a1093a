"""`install` and `uninstall` of one agent in one place: which parts, and what is said of them."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitmem.agents.install.agent import Agent, load
from gitmem.agents.install.change import Change, Install
from gitmem.agents.install.parts import Copy, Lines, Part
from gitmem.agents.install.place import Place

PROGRAM = "gitmem"
SET_UP = "in each repository that should remember: gitmem init"


@dataclass(frozen=True, slots=True)
class Done:
    """What was done, a line each, or would be: then `diff` shows it; and what is left to do."""

    changes: list[str]
    left: list[str] = field(default_factory=list)
    next: Sequence[str] = ()
    diff: str = ""


def install(name: str, place: Place, without: Collection[str], dry_run: bool) -> Done:
    """Put an agent's parts in, but those kinds that it should be `without`: they are taken out.

    Raises:
        UsageError: a file of settings is not what it should be; no file was changed.
        Refused: a file must not be changed.
        Unavailable: a file cannot be read or written.
    """
    agent = load(name)
    kinds = agent.parts(place)
    wanted = [part for kind, parts in kinds.items() if kind not in without for part in parts]
    unwanted = [part for kind, parts in kinds.items() if kind in without for part in parts]
    excluded = _excluded(name, place, wanted)
    done = _run(name, place, [*wanted, *excluded], unwanted, dry_run)
    return replace(done, next=[*agent.after(place), *_needs(place)]) if done.changes else done


def uninstall(name: str, place: Place, dry_run: bool) -> Done:
    """Take all that is gitmem's out of an agent's settings.

    Raises:
        as `install`.
    """
    agent: Agent = load(name)
    parts = [part for kind in agent.parts(place).values() for part in kind]
    return _run(name, place, [], [*parts, *_excluded(name, place, parts)], dry_run)


def _needs(place: Place) -> list[str]:
    """Return what the skill needs and is not there, and where hooks do something."""
    found = shutil.which(PROGRAM, path=place.environ.get("PATH", ""))
    here = Path(place.python).with_name(PROGRAM)
    link = f"ln -s {shlex.quote(str(here))} ~/.local/bin/"
    missing = f"put gitmem on the path, where the skill expects it, for example: {link}"
    return [*([] if found else [missing]), *([SET_UP] if place.scope == "user" else [])]


def _run(
    name: str, place: Place, wanted: Sequence[Part], unwanted: Sequence[Part], dry_run: bool
) -> Done:
    installing = Install(place, name)
    work = installing.plan if dry_run else installing.perform
    changes = work(wanted, unwanted)
    diff = "\n".join(line for change in changes for line in change.diff(_shown(place, change)))
    said = [f"{_shown(place, change)}: {_verb(change, dry_run)}" for change in changes]
    return Done(said, installing.left, diff=diff if dry_run else "")


def _shown(place: Place, change: Change) -> str:
    return place.shown(change.path)


def _verb(change: Change, dry_run: bool) -> str:
    return f"would be {change.did}" if dry_run else change.did


def _excluded(name: str, place: Place, parts: Sequence[Part]) -> list[Part]:
    """Return what keeps an agent's files in a working tree from being committed by accident."""
    if place.git is None:
        return []
    files = {part.path for part in parts if part.local}
    copies = [part.path for part in parts if isinstance(part, Copy)]
    patterns = [f"/{_inside(place, path)}" for path in sorted(files)]
    if copies:
        folder = Path(os.path.commonpath([path.parent for path in copies]))
        patterns.append(f"/{_inside(place, folder)}/")
    if not patterns:
        return []
    header = f"# gitmem: settings of {name} on this machine ('gitmem uninstall' removes this)"
    exclude = place.git.layout.common_dir / "info" / "exclude"
    return [Lines(exclude, (header, *patterns))]


def _inside(place: Place, path: Path) -> str:
    return path.relative_to(place.base).as_posix()
