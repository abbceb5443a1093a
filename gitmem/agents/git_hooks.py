"""`gitmem hook git EVENT`: does now what the next command would do first.

A hook never stands in git's way: it says nothing, and ends well whatever happens. A commit waits
for it, so an ordinary one costs an interpreter and a glance: only the commit that a branch's
memories wait for, or one that may bring others', loads the rest. What a hook leaves out is left to
the next command: the look for work that landed is short here, and none is made after a commit
which does not say that it is a squash or a pick.
"""

from __future__ import annotations

import os

RUNNING = "_GITMEM_HOOK"
"""Set for whatever a hook starts, so that none comes back here."""

SQUASHED = "squashed"
"""The file by which `post-merge` tells the commit that follows a ``git merge --squash``."""

ORDINARY = ("commit: ", "commit (initial): ", "commit (amend): ")
"""What git notes of commits that bring nobody's memories; an amend calls `post-rewrite` besides."""

_TAIL = 4096


def run(arguments: list[str]) -> None:
    """Run a hook with what git gave it: the event's name, then the hook's own arguments."""
    if RUNNING in os.environ:
        return
    os.environ[RUNNING] = "1"
    try:
        if _matters(arguments[0], arguments[1:]):
            _settle()
    except Exception:  # whatever it is, the next command meets it too and says so; git goes on
        return


def _matters(event: str, arguments: list[str]) -> bool:
    """Whether there may be something to do; asks files alone."""
    git_dir, common_dir = _locate()
    if not os.path.exists(os.path.join(common_dir, "gitmem", "init.json")):
        return False
    mark = os.path.join(git_dir, "gitmem", SQUASHED)
    if event == "post-rewrite":
        return True
    if any(os.path.exists(os.path.join(git_dir, f"rebase-{by}")) for by in ("merge", "apply")):
        return False  # HEAD is on its way: `post-rewrite` comes at the end
    if event == "post-merge" and arguments[:1] == ["1"]:
        open(mark, "w").close()
        return False
    return event != "post-commit" or _brings(git_dir, mark)


def _locate() -> tuple[str, str]:
    """Return (git dir, common dir). Git starts a hook at the top of the working tree."""
    git_dir = os.environ.get("GIT_DIR", ".git")
    if os.path.isfile(git_dir):  # a linked worktree or a submodule
        git_dir = _read(git_dir).removeprefix("gitdir: ")
    try:
        return git_dir, os.path.join(git_dir, _read(os.path.join(git_dir, "commondir")))
    except OSError:
        return git_dir, git_dir


def _brings(git_dir: str, mark: str) -> bool:
    """Whether the commit just made may bring memories, or is one that they wait for."""
    if os.path.exists(mark):
        os.unlink(mark)
        return True
    head = _read(os.path.join(git_dir, "HEAD"))
    if not head.startswith("ref: refs/heads/"):  # detached: no branch's memories wait for this
        return False
    if not _last_step(git_dir).startswith(ORDINARY):
        return True
    from gitmem.search.catalog.glance import waits

    catalog = os.path.join(git_dir, "gitmem", "catalog.sqlite")
    return waits(catalog, head.removeprefix("ref: refs/heads/"))


def _last_step(git_dir: str) -> str:
    """Return what git noted of HEAD's last step; where it takes no notes, an ordinary one."""
    try:
        with open(os.path.join(git_dir, "logs", "HEAD"), "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL))
            last = log.read().rstrip(b"\n").rpartition(b"\n")[2]
    except OSError:
        return ORDINARY[0]
    return last.partition(b"\t")[2].decode("utf-8", "replace") or ORDINARY[0]


def _settle() -> None:
    # Git gives its hooks the commit's author, who may be anybody: `git commit --author`.
    for part in ("NAME", "EMAIL", "DATE"):
        os.environ.pop(f"GIT_AUTHOR_{part}", None)
        if committer := os.environ.get(f"GIT_COMMITTER_{part}"):
            os.environ[f"GIT_AUTHOR_{part}"] = committer
    from gitmem.api import open as open_gitmem

    with open_gitmem(".", backend="program") as gm:
        gm.settle()


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().rstrip("\n")
