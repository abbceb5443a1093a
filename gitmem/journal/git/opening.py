"""Which implementation of the port opens a repository: each is imported only where it is picked."""

from __future__ import annotations

from pathlib import Path

from gitmem.journal.git.port import Backend, Git, Layout


def open_repository(path: Path, backend: Backend = "auto") -> Git:
    """Open the repository that `path` is in.

    Git itself finds it, so ``GIT_DIR``, ``safe.directory`` and the ceiling directories count.
    ``auto`` takes libgit2 where it can open the repository, else the git program.

    Raises:
        errors.NotARepository: there is none, or git refuses to use it (owned by another user).
    """
    from gitmem.journal.git.discovery import discover

    return _open(discover(path), backend)


def open_bare(path: Path, backend: Backend = "auto") -> Git:
    """Open the bare repository at exactly `path`, even where ``GIT_DIR`` names another.

    In a git hook it does, and `open_repository` would then return the repository of the hook.

    Raises:
        errors.NotARepository: there is none.
    """
    from gitmem.journal.git.discovery import bare_layout

    return _open(bare_layout(path.absolute()), backend)


def _open(layout: Layout, backend: Backend) -> Git:
    if backend == "program" or layout.object_format != "sha1":
        from gitmem.journal.git.program import GitProgram

        return GitProgram(layout)
    from gitmem.journal.git.libgit2 import open_layout

    return open_layout(layout, strict=backend == "libgit2")
