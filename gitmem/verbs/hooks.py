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

from gitmem.journal.git import Git
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


@reported()
def install(git: Git, folder: Path) -> list[str]:
    """Let git call gitmem after a commit, merge, switch and rewrite; say every change.

    Raises:
        Unavailable: a file cannot be written.
    """
    record = read_record(folder) or Initialised()
    place = _place(git)
    if place.exists() and not place.is_dir():
        return [f"core.hooksPath is '{place}': git runs no hook here, and none was installed"]
    place.mkdir(parents=True, exist_ok=True)

    def keep() -> None:
        write_record(folder, record)

    said = [_install(git, place / event, record, keep) for event in EVENTS]
    return [line for line in said if line] + _exclude(git, place, record, keep)


@reported()
def remove(git: Git, folder: Path) -> list[str]:
    """Take gitmem out of the hooks, and put back what was there; returns a line for each."""
    record = read_record(folder)
    said = []
    for name, how in record.hooks.items() if record else ():
        path = Path(name)
        for hook in (path, path.with_name(path.name + MOVED)):
            if line := _remove(hook, path, how):
                said.append(f"{shown(git, hook)}: {line}")
    return said


def _place(git: Git) -> Path:
    """Return the folder that git looks for hooks in."""
    top = git.layout.workdir or git.layout.git_dir
    configured = git.config().get("core.hookspath", [""])[-1]
    return top / Path(configured).expanduser() if configured else git.layout.common_dir / "hooks"


def _install(git: Git, path: Path, record: Initialised, keep: Keep) -> str | None:
    fresh = _fresh(path.name)
    block = fresh.partition("\n")[2]
    if not os.path.lexists(path):
        return _write(git, path, "made", fresh, record, keep, "written")
    text = "" if path.is_symlink() or not path.is_file() else _text(path)
    if block in text:
        return None
    if _BLOCK.search(text):  # of another interpreter
        how = record.hooks.get(str(path), "added")
        return _write(git, path, how, _BLOCK.sub(lambda _: block, text), record, keep, "renewed")
    if why := _untouchable(git, path):
        return f"{shown(git, path)} {why} and is left alone; it may call: {block.splitlines()[1]}"
    if _is_shell(text):
        first, _, rest = text.partition("\n")
        added = f"{first}\n{block}{rest}"
        return _write(git, path, "added", added, record, keep, "added two lines, which run first")
    _keep_theirs(path)
    said = f"written; what was there is in {KEPT} and runs after it"
    return _write(git, path, "kept", fresh + _run_theirs(path), record, keep, said)


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


def _write(
    git: Git, path: Path, how: str, text: str, record: Initialised, keep: Keep, said: str
) -> str:
    """Record how a hook came to call gitmem, then write it."""
    record.hooks[str(path)] = how
    keep()
    existed = path.exists()
    write(path, text)
    if not existed or how == "kept":
        path.chmod(0o755)
    top = git.layout.workdir
    inside = any(root and path.is_relative_to(root) for root in (top, git.layout.common_dir))
    return f"{shown(git, path) if inside else path}: {said}"


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


def _run_theirs(path: Path) -> str:
    return f'exec "${{0%/*}}/{KEPT}/{path.name}" "$@"\n'


def _keep_theirs(path: Path) -> None:
    """Copy a hook to where ours runs it: under its own name, which some go by."""
    kept = path.parent / KEPT / path.name
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


def _remove(hook: Path, path: Path, how: str) -> str:
    """Take gitmem out of one hook and return what was done; nothing if it is not in it."""
    text = "" if hook.is_symlink() or not hook.is_file() else _text(hook)
    left = _BLOCK.sub("", text, count=1)
    if left == text:
        return ""
    untouched = left == "#!/bin/sh\n" + (_run_theirs(path) if how == "kept" else "")
    kept = path.parent / KEPT / path.name
    if how == "kept" and untouched and os.path.lexists(kept):
        _put_back(hook, kept)
        return "put back what was there"
    if untouched and how != "added":
        hook.unlink()
        return "removed"
    write(hook, left)
    return "removed gitmem's two lines"


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")
