"""`install git`: the hooks of git's own, as `init --hooks` puts them in.

They are no agent's: `gitmem.verbs.hooks` writes them, beside whatever runs there already.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from gitmem.agents.install.run import Done
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Git
from gitmem.verbs import hooks, setup
from gitmem.verbs.hooks import Step


def install(start: str, dry_run: bool) -> Done:
    """Let git call gitmem; sets the repository up first, if that was not done."""
    git, folder = _open(start)
    fresh = setup.read_record(folder) is None
    if dry_run:
        steps, left = hooks.plan(git, folder)
        first = ["the repository would be set up first, as 'gitmem init' does"] if fresh else []
        return Done(first + _would(git, steps), left, diff=_diff(git, steps))
    if not fresh:
        return Done(hooks.install(git, folder))
    from gitmem.api import open as open_gitmem

    with open_gitmem(start, backend="program") as gm:
        return Done(gm.init(hooks=True))


def uninstall(start: str, dry_run: bool) -> Done:
    """Take gitmem out of git's hooks; the repository stays set up."""
    git, folder = _open(start)
    if dry_run:
        steps = hooks.removal(folder)
        return Done(_would(git, steps), diff=_diff(git, steps))
    said = hooks.remove(git, folder)
    if record := setup.read_record(folder):
        record.hooks.clear()
        with setup.reported():
            setup.write_record(folder, record)
    return Done(said)


def _open(start: str) -> tuple[Git, Path]:
    git = open_repository(Path(start), "program")
    return git, git.layout.common_dir / "gitmem"


def _would(git: Git, steps: list[Step]) -> list[str]:
    def word(step: Step) -> str:
        if not step.path.exists():
            return "written"
        return "removed" if step.text is None and step.how != "kept" else "changed"

    return [f"{setup.shown(git, step.path)}: would be {word(step)}" for step in steps]


def _diff(git: Git, steps: list[Step]) -> str:
    lines: list[str] = []
    for step in steps:
        name = setup.shown(git, step.path)
        before = _text(step.path) if step.path.exists() else ""
        back = step.text is None and step.how == "kept"
        after = _text(hooks.theirs(step.path)) if back else step.text or ""
        texts = before.splitlines(), after.splitlines()
        lines += difflib.unified_diff(*texts, name, name, lineterm="")
    return "\n".join(lines)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "backslashreplace")
