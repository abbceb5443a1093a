"""`init --hooks`: four git hooks that call gitmem, beside whatever runs there already.

A hook that a shell runs gets gitmem's two lines below its first one. There an `exec` or `exit`
further down does not skip them, its ``$0`` stays what it was, which husky needs, and pre-commit
still takes the file for its own. A hook of another kind is kept beside ours, which runs it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from gitmem.journal.git.port import Git
from gitmem.mirror.render import template
from gitmem.verbs.setup import (
    Initialised,
    Keep,
    add_lines,
    read_record,
    reported,
    shown,
    write,
    write_record,
)

EVENTS = ("post-commit", "post-merge", "post-checkout", "post-rewrite")
KEPT = "gitmem-kept"
"""The folder, beside the hooks, of those that ours run."""

MOVED = ".legacy"
"""What `pre-commit install` adds to the name of a hook that it finds, ours too."""

_SHELLS = {"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"}
_BLOCK = re.compile(r"^# gitmem: .*\n.* -m gitmem hook git .*\n", re.MULTILINE)


class Step(NamedTuple):
    """One hook as it will be, None if there will be none, and what is said of it.

    `how` it came to call gitmem: "made", "added" to, or "kept" beside ours.
    """

    path: Path
    how: str
    text: str | None
    said: str


@reported()
def install(git: Git, folder: Path) -> list[str]:
    """Let git call gitmem after a commit, merge, switch and rewrite; say every change.

    Raises:
        Unavailable: a file cannot be written.
    """
    record = read_record(folder) or Initialised()
    place = _place(git)
    steps, said = plan(git, folder)
    if place.exists() and not place.is_dir():
        return said
    place.mkdir(parents=True, exist_ok=True)

    def keep() -> None:
        write_record(folder, record)

    said += [_take(git, step, record, keep) for step in steps]
    return said + _exclude(git, place, record, keep)


def plan(git: Git, folder: Path) -> tuple[list[Step], list[str]]:
    """Return what `install` would do, and why not where it would not; nothing is written."""
    record = read_record(folder) or Initialised()
    place = _place(git)
    if place.exists() and not place.is_dir():
        return [], [f"core.hooksPath is '{place}': git runs no hook here, and none was installed"]
    found = [_step(git, place / event, record) for event in EVENTS]
    steps = [step for step in found if isinstance(step, Step)]
    return steps, [why for why in found if isinstance(why, str)]


@reported()
def remove(git: Git, folder: Path) -> list[str]:
    """Take gitmem out of the hooks, and put back what was there; returns a line for each."""
    steps = removal(folder)
    for step in steps:
        if step.how == "kept":
            _put_back(step.path, theirs(step.path))
        elif step.text is None:
            step.path.unlink()
        else:
            write(step.path, step.text)
    return [f"{shown(git, step.path)}: {step.said}" for step in steps]


def removal(folder: Path) -> list[Step]:
    """Return what `remove` would do; nothing is written."""
    record = read_record(folder)
    found = [
        _leave(Path(name + moved), how)
        for name, how in (record.hooks if record else {}).items()
        for moved in ("", MOVED)
    ]
    return [step for step in found if step]


def _place(git: Git) -> Path:
    """Return the folder that git looks for hooks in."""
    top = git.layout.workdir or git.layout.git_dir
    configured = git.config().get("core.hookspath", [""])[-1]
    return top / Path(configured).expanduser() if configured else git.layout.common_dir / "hooks"


def _step(git: Git, path: Path, record: Initialised) -> Step | str | None:
    """Return how a hook comes to call gitmem, or why it cannot; None if it does already."""
    fresh = _fresh(path.name)
    block = fresh.partition("\n")[2]
    if not os.path.lexists(path):
        return Step(path, "made", fresh, "written")
    text = "" if path.is_symlink() or not path.is_file() else _text(path)
    if block in text:
        return None
    if _BLOCK.search(text):  # of another interpreter
        how = record.hooks.get(str(path), "added")
        return Step(path, how, _BLOCK.sub(lambda _: block, text), "renewed")
    if why := _untouchable(git, path):
        return f"{shown(git, path)} {why} and is left alone; it may call: {block.splitlines()[1]}"
    if _is_shell(text):
        first, _, rest = text.partition("\n")
        said = "added two lines, which run first"
        return Step(path, "added", f"{first}\n{block}{rest}", said)
    said = f"written; what was there is in {KEPT} and runs after it"
    return Step(path, "kept", fresh + _run_theirs(path), said)


def _fresh(event: str) -> str:
    """Return a hook that does nothing but call gitmem."""
    return template(f"hooks/{event}").replace("{python}", shlex.quote(sys.executable))


def _untouchable(git: Git, path: Path) -> str:
    """Return why a hook cannot be changed, if so."""
    top = git.layout.workdir
    if top and path.is_relative_to(top) and git.tracked(path.relative_to(top).as_posix()):
        return "is committed"  # the next commit would have the paths of this machine
    if path.is_dir() or not os.access(path, os.X_OK):
        return "is not executable, so that git does not run it,"
    return ""


def _is_shell(text: str) -> bool:
    words = text.partition("\n")[0].removeprefix("#!").split() if text.startswith("#!") else []
    names = [os.path.basename(word) for word in words if not word.startswith("-")]
    names = names[1:] if names[:1] == ["env"] else names
    return names[:1] != [] and names[0] in _SHELLS


def _take(git: Git, step: Step, record: Initialised, keep: Keep) -> str:
    """Record how a hook came to call gitmem, then write it."""
    path = step.path
    existed = path.exists()
    if step.how == "kept" and not (existed and _BLOCK.search(_text(path))):
        _keep_theirs(path)
    record.hooks[str(path)] = step.how
    keep()
    write(path, step.text or "")
    if not existed or step.how == "kept":
        path.chmod(0o755)
    top = git.layout.workdir
    inside = any(root and path.is_relative_to(root) for root in (top, git.layout.common_dir))
    return f"{shown(git, path) if inside else path}: {step.said}"


def _exclude(git: Git, place: Path, record: Initialised, keep: Keep) -> list[str]:
    """Keep hooks that stand in the working tree from being committed."""
    top = git.layout.workdir
    if top is None or not place.is_relative_to(top) or place.is_relative_to(git.layout.common_dir):
        return []
    mine = [place / event for event in EVENTS if str(place / event) in record.hooks]
    mine += [place / KEPT] if (place / KEPT).is_dir() else []
    patterns = [f"/{path.relative_to(top).as_posix()}" for path in mine]
    exclude = git.layout.common_dir / "info" / "exclude"
    added = add_lines(exclude, patterns, record, keep)
    return [f"{shown(git, exclude)}: added {' '.join(added)}"] if added else []


# -- hooks of another kind ------------------------------------------------------------------------


def theirs(path: Path) -> Path:
    """Return where the hook is kept that ours, at `path` or moved from there, runs."""
    return path.parent / KEPT / path.name.removesuffix(MOVED)


def _run_theirs(path: Path) -> str:
    return f'exec "${{0%/*}}/{KEPT}/{theirs(path).name}" "$@"\n'


def _keep_theirs(path: Path) -> None:
    """Copy a hook to where ours runs it: under its own name, which some go by."""
    kept = theirs(path)
    kept.parent.mkdir(exist_ok=True)
    kept.unlink(missing_ok=True)
    if path.is_symlink():
        target = os.readlink(path)
        kept.symlink_to(target if os.path.isabs(target) else os.path.join("..", target))
    else:
        shutil.copy2(path, kept)


def _put_back(hook: Path, kept: Path) -> None:
    if kept.is_symlink():
        hook.unlink()
        hook.symlink_to(os.readlink(kept).removeprefix("../"))
        kept.unlink()
    else:
        kept.replace(hook)
    if not any(kept.parent.iterdir()):
        kept.parent.rmdir()


def _leave(hook: Path, how: str) -> Step | None:
    """Return how gitmem comes out of one hook; None if it is not in it."""
    text = "" if hook.is_symlink() or not hook.is_file() else _text(hook)
    left = _BLOCK.sub("", text, count=1)
    if left == text:
        return None
    untouched = left == "#!/bin/sh\n" + (_run_theirs(hook) if how == "kept" else "")
    if how == "kept" and untouched and os.path.lexists(theirs(hook)):
        return Step(hook, "kept", None, "put back what was there")
    if untouched and how != "added":
        return Step(hook, "made", None, "removed")
    return Step(hook, "added", left, "removed gitmem's two lines")


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")
