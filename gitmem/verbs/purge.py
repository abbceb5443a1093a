"""Purge beyond the journal: what is derived from it, and what cannot be reached."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem.journal.git.history import History
from gitmem.journal.git.port import Git
from gitmem.journal.journals import Journals
from gitmem.journal.purging.purge import Purged
from gitmem.journal.purging.rewrite import telling
from gitmem.mirror.mirror import FOLDER, LONG_TERM
from gitmem.mirror.versions import Versions
from gitmem.model import ID_LENGTH, JournalName
from gitmem.sessions import REF as SESSIONS
from gitmem.verbs.setup import DERIVED

TEXTLESS = ("ancestry.json", "landing.1.sqlite", "lines.lock", "import.lock", "purging.lock")
"""What is derived and holds ids alone."""

MANY = 20
"""Passages, the longest, that are looked for in history."""

_SPECIAL = re.compile(rb"[][\\.^$*+?(){}|]")
_BEGIN = re.compile(rb"<!-- gitmem:begin ([0-9a-f]{12}) -->")

SHORTEST = 6
"""Characters from which on a line of a memory is looked for where it may have been copied to."""


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge did, and what it could not reach.

    `events`, `commits` and `objects` count what was taken out of the journals, rewritten, and
    deleted; `pushed` is the remote that was forced; `left` says, a line each, where the text is or
    may be still.
    """

    id: str
    journals: Sequence[str]
    events: int
    commits: int
    objects: int
    pushed: str | None
    left: Sequence[str]


class Trace:
    """What tells that a file holds purged memories: their ids, and passages of their text."""

    def __init__(self, ids: Collection[str], done: Iterable[Purged]) -> None:
        lines = {line for each in done for line in each.lines_gone}
        passages = {part for line in lines for part in telling(line, SHORTEST)}
        self.passages = sorted(passages, key=lambda part: (-len(part), part))
        self._ids = [id[:ID_LENGTH].encode() for id in ids]

    def told(self, content: bytes) -> bool:
        """Whether a text has a passage of theirs."""
        return any(passage in content for passage in self.passages)

    def named(self, content: bytes) -> bool:
        """Whether a text names or quotes one."""
        return any(id in content for id in self._ids) or self.told(content)


# -- what is derived ------------------------------------------------------------------------------


def folders(git: Git) -> list[Path]:
    """Return where gitmem keeps what it derives: for the repository, and for each worktree."""
    common = git.layout.common_dir
    return [common / "gitmem", *(path / "gitmem" for path in common.glob("worktrees/*"))]


def scrub(folder: Path, trace: Trace, keep: Collection[str] = ()) -> None:
    """Delete what of a folder may hold the text; `keep` are those in use that were made anew."""
    for name in DERIVED:
        if not name.startswith((*TEXTLESS, *keep)):  # the log of an open database is part of it
            for path in folder.glob(f"{name}*"):
                _delete(path)
    for log in folder.glob("*.log"):
        if trace.named(_content(log)):
            log.unlink(missing_ok=True)


def scrub_versions(folder: Path, top: Path | None, trace: Trace) -> None:
    """Delete the kept renderings that show it, but those of files that wait with an edit.

    What such a file showed is told from what was typed by that rendering alone.
    """
    showing = shown(top, trace) if top else []
    spared = {_BEGIN.search(_content(path)) for path in showing}
    digests = {found[1].decode() for found in spared if found}
    Versions(folder / "mirror" / "renderings").drop(
        lambda digest, content: digest not in digests and trace.named(content)
    )


def shown(top: Path, trace: Trace) -> list[Path]:
    """Return the Markdown files of a worktree that name or quote it."""
    files = (top / LONG_TERM, *sorted((top / FOLDER).glob("*.md")))
    return [path for path in files if not path.is_symlink() and trace.named(_content(path))]


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _content(path: Path) -> bytes:
    with suppress(OSError):  # gone meanwhile, or no file
        return path.read_bytes()
    return b""


# -- what is out of reach -------------------------------------------------------------------------


def left_here(
    git: Git, journals: Journals, workdirs: Iterable[Path], trace: Trace
) -> Iterator[str]:
    """Say where in this clone the text still is, and why it was not gitmem's to delete there."""
    for top in workdirs:
        for path in shown(top, trace):
            yield (
                f"'{path}' has it, in what you wrote there or in an edit that waits:"
                " change that, then purge again"
            )
    if trace.passages:
        yield from _committed(git, trace)
        yield from _said(journals, trace)


def _committed(git: Git, trace: Trace) -> Iterator[str]:
    """Look for commits of the user's that hold the Markdown files with the text in them."""
    mirror = (LONG_TERM, FOLDER)
    if any(git.tracked(path) for path in mirror):
        any_of = b"|".join(_SPECIAL.sub(rb"\\\g<0>", part) for part in trace.passages[:MANY])
        options = ("--all", "--format=%h", "--max-count=1", "--pickaxe-regex", b"-S" + any_of)
        found = History(git.layout).attempt("log", *options, "--", *mirror).stdout.split()
        if found:
            yield (
                f"commit {found[0].decode()} of yours, and others perhaps, hold it in the Markdown"
                " files: gitmem rewrites no commit of yours"
            )


def _said(journals: Journals, trace: Trace) -> Iterator[str]:
    journal = journals.get(JournalName.PRIVATE)
    if journal is None or journal.git.ref(SESSIONS) is None:
        return
    wanted = [part for passage in trace.passages[:MANY] for part in (b"-e", passage)]
    found = History(journal.git.layout).attempt("grep", "-l", "-F", *wanted, SESSIONS, "--")
    if names := found.stdout.splitlines():
        yield f"{len(names)} files of imported conversations have the text: those are not purged"


def left_elsewhere(id: str, remotes: Sequence[str], pushed: str | None) -> Iterator[str]:
    """Say what lies out of this clone's reach once the shared journal was purged."""
    short = id[:ID_LENGTH]
    for remote in remotes:
        if remote != pushed:
            yield f"'{remote}' may have it: gitmem purge {short} --push {remote}"
    if pushed:
        yield (
            f"'{pushed}' keeps the old objects until its garbage is collected, and a host may keep"
            " them in caches and forks: ask it"
        )
    if remotes:
        yield (
            "other clones keep it until they next sync; one that merges notes with stock git and"
            " pushes brings it back: then purge again"
        )
