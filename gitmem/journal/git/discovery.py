"""Where the repository is: git finds it, so its rules on ownership and ceilings count."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gitmem.errors import NotARepository, UsageError
from gitmem.journal.git.configuration import parse
from gitmem.journal.git.port import Layout
from gitmem.journal.git.spawn import QUIET, Arg, environment, first_line, run

_QUESTIONS = (
    "--is-bare-repository",
    "--show-object-format",
    "--path-format=absolute",
    "--git-dir",
    "--git-common-dir",
    "--show-toplevel",
)


def discover(path: Path) -> Layout:
    """Ask git which repository `path` is in.

    Raises:
        NotARepository: there is none, or git refuses to use it; the message says why.
        UsageError: `path` is no directory.
        Unavailable: git is not installed.
    """
    if not os.path.isdir(path):  # pathlib raises where a name is too long
        raise UsageError(f"'{path}' is not a directory", "give a directory inside a repository")
    done = run(["git", "rev-parse", *_QUESTIONS], path, {**os.environ, **QUIET})
    lines = os.fsdecode(done.stdout).split("\n")[:-1]
    if len(lines) < 4:
        raise _refused(path, done.stderr)
    bare, object_format, git_dir, common_dir, *top = lines
    # In a bare repository, and inside a `.git`, git has no top level and says so after the rest.
    # With GIT_DIR set, as in a hook, it takes the working directory for one, even inside `.git`.
    inside = bool(top) and Path(top[0]).is_relative_to(git_dir)
    workdir = Path(top[0]) if top and bare == "false" and not inside else None
    return Layout(Path(git_dir), Path(common_dir), workdir, object_format)


def bare_layout(git_dir: Path) -> Layout:
    """Return the layout of the bare repository at exactly `git_dir`, whatever ``GIT_DIR`` says.

    Raises:
        NotARepository: there is none.
    """
    try:
        config = (git_dir / "config").read_bytes()
    except OSError as error:
        raise NotARepository(f"git finds no repository at '{git_dir}'") from error
    object_format = "sha1"
    if b"objectformat" in config.lower():  # git reads it from this file alone, includes aside
        here = b"--git-dir=" + os.fsencode(git_dir)
        asked: list[Arg] = ["git", here, "rev-parse", "--show-object-format"]
        done = run(asked, git_dir, environment(os.environ))
        if done.returncode:
            raise _refused(git_dir, done.stderr)
        object_format = done.stdout.decode().strip()
    return Layout(git_dir, git_dir, None, object_format)


def config_outside() -> dict[str, list[str]]:
    """Return the user's and the system's configuration, as git reads it in no repository."""
    root = Path(os.sep)
    done = run(["git", "config", "--list", "--show-origin", "-z"], root, environment(os.environ))
    return parse(done.stdout, root)[0]


def _refused(path: Path, stderr: bytes) -> NotARepository:
    # The key is the one word of git's answer that no release may change.
    allow = re.search(r"safe\.directory (.+)", os.fsdecode(stderr))
    if allow:
        return NotARepository(
            f"git refuses '{path}': another user owns it",
            f"to allow it, run `git config --global --add {allow[0]}`",
        )
    return NotARepository(
        f"git finds no repository at '{path}': {first_line(stderr)}",
        "go to a repository, or make one with `git init`",
    )
