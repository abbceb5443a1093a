"""The cached session-start answers: what `sync --start` prints while nothing has changed, and what
`hook session-start` gives each agent.

This is the one path that runs in every agent session, so it costs an interpreter and a few stats:
no git, no SQLite, no click. The answer is kept with a *stamp* of all it depends on: HEAD and its
commit, the other branches, the tips of the journals, the settings (git's files, the environment,
`.gitmem.yml`), whom one trusts, the Markdown files, which are an inbox, and the program. A stamp
that differs, or anything unusual (a ``GIT_DIR``, a reftable), and the long way is taken. An answer
that could be stale is never given.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping

from gitmem import __version__

NAME = "start.json"
HOOKS = "hooks"
"""The folder of what hooks keep: an answer an agent, when each was last here, and the log."""

FORMAT = 1
_ENVIRONMENT = ("GITMEM_", "GIT_", "XDG_")
_HOMES = ("HOME", "USER", "EMAIL")

RACY = 0.05
"""Seconds within which a file system may give two versions of a file the same time."""


class Unusual(Exception):
    """Something this short way does not handle."""


def locate(start: str) -> tuple[str, str, str]:
    """Return (worktree, git dir, common dir) of the repository around `start`.

    Raises:
        Unusual: there is none, or only git can tell.
    """
    if any(name in os.environ for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE")):
        raise Unusual
    top = os.path.abspath(start)
    while not os.path.lexists(os.path.join(top, ".git")):
        top, below = os.path.dirname(top), top
        if top == below:
            raise Unusual
    git_dir = os.path.join(top, ".git")
    if os.path.isfile(git_dir):  # a linked worktree or a submodule
        pointer = _read(git_dir)
        if not pointer.startswith("gitdir: "):
            raise Unusual
        git_dir = os.path.normpath(os.path.join(top, pointer[8:]))
    common = _read(os.path.join(git_dir, "commondir"))
    common_dir = os.path.normpath(os.path.join(git_dir, common)) if common else git_dir
    return top, git_dir, common_dir


def stamp(
    start: str, config_files: list[str], user_dir: str, environ: Mapping[str, str] = os.environ
) -> list[object]:
    """Return all that the answer depends on, as plain values.

    `config_files` are the files git read its settings from, `user_dir` is the user's journal.

    Raises:
        Unusual: it cannot be told without git.
    """
    top, git_dir, common_dir = locate(start)
    if os.path.exists(os.path.join(common_dir, "reftable")) or os.path.islink(f"{git_dir}/HEAD"):
        raise Unusual
    head = _read(os.path.join(git_dir, "HEAD"))
    private = os.path.join(common_dir, "gitmem", "private.git")
    files = [
        *config_files,
        *_standard_config(git_dir, common_dir),
        os.path.join(top, ".gitmem.yml"),
        os.path.join(common_dir, "gitmem", "init.json"),
        os.path.join(common_dir, "gitmem", "trust.json"),
        *_markdown(top),
    ]
    environment = sorted(
        (name, value)
        for name, value in environ.items()
        if name.startswith(_ENVIRONMENT) or name in _HOMES
    )
    return [
        FORMAT,
        __version__,
        top,
        head,
        _ref(common_dir, head[5:]) if head.startswith("ref: ") else "",
        *_journal(common_dir, "shared"),
        *_journal(private, "private"),
        *_journal(user_dir, "user"),
        [_stat(path) for path in _branches(common_dir)],
        [_stat(path) for path in files],
        [list(pair) for pair in environment],
    ]


def name_for(agent: str) -> str:
    """Return under which name the answer to an agent is kept."""
    return os.path.join(HOOKS, f"start-{agent}.json")


def load(start: str, name: str = NAME) -> dict[str, object] | None:
    """Return the kept answer (``markdown`` and ``compact``; ``context``) if it still holds."""
    try:
        _, git_dir, _ = locate(start)
        path = os.path.join(git_dir, "gitmem", name)
        if os.stat(path).st_uid != os.geteuid():
            return None
        kept = json.loads(_read(path) or "{}")
        if not kept["made"] <= time.time() < (kept["expires"] or float("inf")):
            return None
        fresh = stamp(start, kept["config_files"], kept["user_dir"])
        answer: dict[str, object] = kept["answer"]
        return answer if kept["stamp"] == repr(fresh) else None
    except (Unusual, OSError, ValueError, LookupError, TypeError):
        return None  # no answer kept, or a damaged one: the long way makes it anew


def save(
    start: str,
    stamped: list[object],
    config_files: list[str],
    user_dir: str,
    answer: dict[str, object],
    expires: float | None,
    name: str = NAME,
) -> None:
    """Keep an answer beside the stamp taken before it was made; it matters little if that fails."""
    made = time.time()
    if any(newest > made - RACY for newest in _times(stamped)):
        return
    kept = {
        "made": made,
        "stamp": repr(stamped),
        "config_files": config_files,
        "user_dir": user_dir,
        "answer": answer,
        "expires": expires,
    }
    try:
        _, git_dir, _ = locate(start)
        place = os.path.join(git_dir, "gitmem", name)
        temporary = f"{place}.{os.getpid()}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(kept, file)
        os.replace(temporary, place)
    except (Unusual, OSError):
        return


def _standard_config(git_dir: str, common_dir: str) -> list[str]:
    """Where a settings file could appear that was not there when the answer was made."""
    home = os.path.expanduser("~")
    config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [
        os.path.join(common_dir, "config"),
        os.path.join(git_dir, "config.worktree"),
        os.path.join(home, ".gitconfig"),
        os.path.join(config_home, "git", "config"),
        "/etc/gitconfig",
    ]


def _branches(common_dir: str) -> Iterator[str]:
    """Yield what changes whenever a branch or a tracking ref does: HEAD's sight depends on them.

    Git writes a ref beside itself and renames it, so the folder's time tells of all refs in it.
    """
    yield os.path.join(common_dir, "packed-refs")
    yield os.path.join(common_dir, "shallow")
    kinds = ("heads", "remotes", "gitmem/remotes")
    folders = [os.path.join(common_dir, "refs", kind) for kind in kinds]
    while folders:
        yield (folder := folders.pop())
        try:
            with os.scandir(folder) as entries:
                folders += sorted(entry.path for entry in entries if entry.is_dir())
        except OSError:  # no remote yet, or deleted meanwhile
            continue


def _markdown(top: str) -> list[str]:
    folder = os.path.join(top, "memory")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    daily = [os.path.join(folder, name) for name in names if name.endswith(".md")]
    return [os.path.join(top, "MEMORY.md"), folder, *daily]


def _journal(repository: str, name: str) -> list[list[object]]:
    return [_ref(repository, f"refs/{kind}/{name}") for kind in ("notes/gitmem", "gitmem/kept")]


def _ref(repository: str, name: str) -> list[object]:
    """Return a ref's loose value, or where its packed one would be."""
    loose = _read(os.path.join(repository, name))
    if loose.startswith("ref:"):
        raise Unusual
    return [loose] if loose else _stat(os.path.join(repository, "packed-refs"))


def _stat(path: str) -> list[object]:
    """Return a path and what changes with it or what it links to, as `~/.gitconfig` often does."""
    stamped: list[object] = [path]
    for look in (os.lstat, os.stat) if os.path.islink(path) else (os.lstat,):
        try:
            found = look(path)
        except OSError:
            continue
        stamped += [found.st_mtime_ns, found.st_size, found.st_ino]
    return stamped


def _times(stamped: Iterable[object]) -> Iterator[float]:
    """Yield when the files of a stamp were modified, in seconds since 1970."""
    for entry in stamped:
        if isinstance(entry, list):
            if len(entry) > 3 and isinstance(entry[1], int):
                yield entry[1] / 1e9
            else:
                yield from _times(entry)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""
