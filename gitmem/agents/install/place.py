"""Where agents keep their settings: in the user's home directory, or in a repository."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitmem.errors import NotARepository, Refused, Unavailable, UsageError
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Git
from gitmem.verbs.settings import data_folder

Scope = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Place:
    """One scope: `base` is HOME or the top of the working tree, `state` is for gitmem's own notes.

    `python` is the interpreter that gitmem is installed for.
    """

    scope: Scope
    base: Path
    state: Path
    python: str
    environ: Mapping[str, str]
    git: Git | None = None

    def folder(self, name: str, variable: str = "", below: str = "") -> Path:
        """Return an agent's folder: `name` in a repository or at home, or where a variable says."""
        named = self.environ.get(variable, "").strip() if self.scope == "user" else ""
        return Path(named).absolute() / below if named else self.base / name

    def shown(self, path: Path) -> str:
        """Return a path as it is spoken of: from HOME, or from the top of the working tree."""
        if not path.is_relative_to(self.base):
            return str(path)
        inside = path.relative_to(self.base).as_posix()
        return f"~/{inside}" if self.scope == "user" else inside

    def real(self, path: Path) -> Path:
        """Return the file that a path leads to, whatever links are on the way.

        Dotfiles are often links, and stay such. A repository, though, is anybody's: its links end
        inside it.

        Raises:
            Refused: it leads to where nothing of the user's is.
            Unavailable: it leads nowhere.
        """
        real = Path(os.path.realpath(path))
        if self.git is not None:
            inside = [self.base.resolve(), self.git.layout.common_dir.resolve()]
            if not any(real.is_relative_to(folder) for folder in inside):
                said = f"'{self.shown(path)}' is a link out of the repository, to '{real}'"
                raise Refused(said, "put a file in its place, or use --user")
        elif path.is_symlink() and not real.exists():
            said = f"'{self.shown(path)}' is a link to '{real}', which is not there"
            raise Unavailable(said, "make it, for example as {}, or remove the link")
        elif real != path and not _owned(real):
            said = f"'{self.shown(path)}' leads to '{real}', which belongs to another user"
            raise Refused(said, "put a file of your own in its place")
        return real

    def refuse_tracked(self, path: Path) -> None:
        """Let nothing of this machine into a file that goes to everybody with the next commit.

        Raises:
            Refused: git has the file.
        """
        if self.git is None or not path.is_relative_to(top := self.base.resolve()):
            return
        name = path.relative_to(top).as_posix()
        if self.git.tracked(name):
            said = f"'{name}' is committed, and would carry paths of this machine to everybody"
            raise Refused(said, "use --user: hooks do nothing where 'gitmem init' was not run")


def of_user(environ: Mapping[str, str], python: str) -> Place:
    """Return the user's place.

    Raises:
        UsageError: there is no home directory, or the path of Python is none to write down.
    """
    home = Path(environ.get("HOME", ""))
    if not home.is_absolute() or not home.is_dir():
        said = f"HOME is '{home}', which is no directory" if home.name else "HOME is not set"
        raise UsageError(said, "set it, or use --project inside a repository")
    state = data_folder(environ) / "gitmem" / "install"
    return Place("user", home, state, _named(python), environ)


def of_project(start: str, environ: Mapping[str, str], python: str) -> Place:
    """Return the place of the repository that `start` is in.

    Raises:
        NotARepository: there is none, or it has no working tree.
    """
    git = open_repository(Path(start), "program")
    if git.layout.workdir is None:
        raise NotARepository("a bare repository has no place for an agent's settings", "use --user")
    state = git.layout.common_dir / "gitmem" / "install"
    return Place("project", git.layout.workdir, state, _named(python), environ, git)


def _named(python: str) -> str:
    """Return the interpreter's path, if settings can name it: they are UTF-8 text."""
    if not python or not python.isprintable():  # an embedded Python; bytes that are no UTF-8
        said = f"the path of Python, {ascii(python)}, cannot be written into settings"
        raise UsageError(said, "run gitmem by an interpreter with a plain path")
    return python


def _owned(path: Path) -> bool:
    """Whether a file, or the nearest folder where it would be, is the user's."""
    while not path.exists():
        path = path.parent
    return path.stat().st_uid == os.geteuid()
