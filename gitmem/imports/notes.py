"""Notes refs of other tools: what they hold, and who added which part of it first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from gitmem.errors import Unreadable
from gitmem.imports.model import Opener
from gitmem.journal.clock import format_at
from gitmem.journal.git.port import Commit, Git
from gitmem.sessions.importers import records

OLDEST = 5_000
"""Commits of one ref's history that are asked for authors; each holds a whole note."""

LONGEST = records.LONGEST

Parts = Callable[[str], Collection[str]]
"""Returns the names of the parts of a note."""


def opened(place: Path, repository: Opener, prefix: str) -> tuple[Git, Mapping[str, str]]:
    """Return the repository at `place` and its refs under `prefix`, {rest of the name: tip}.

    Raises:
        Unreadable: it has none.
    """
    git = repository(place)
    refs = {name.removeprefix(prefix): tip for name, tip in git.refs(prefix).items()}
    if not refs:
        raise Unreadable(
            f"'{place}' has no refs '{prefix}*'",
            f"they may be in the remote still: git fetch origin '{prefix}*:{prefix}*'",
        )
    return git, dict(sorted(refs.items()))


def notes(git: Git, tip: str) -> dict[str, str]:
    """Return {object: text} of the notes at the tip of a ref, whatever its fan-out."""
    blobs = {oid: path.replace("/", "") for path, oid in git.files(git.commit(tip).tree)}
    found: dict[str, str] = {}
    for oid, content in git.blobs(list(blobs)):
        text = content[:LONGEST].decode("utf-8", "replace")
        found[blobs[oid]] = found.get(blobs[oid], "") + text
    return {name: found[name] for name in sorted(found)}


def firsts(git: Git, tip: str, parts: Parts) -> dict[tuple[str, str], Commit]:
    """Return {(object, part of its note): the commit that added it}, as far as history tells."""
    found: dict[tuple[str, str], Commit] = {}
    commits = list(git.walk(tip, limit=OLDEST))
    trees = {commit.oid: commit.tree for commit in commits}
    for commit in commits:  # the newest first: an older one that has the part takes its place
        before = trees.get(commit.parents[0]) if commit.parents else None
        changes = {change.new: change.path for change in git.diff(before, commit.tree)}
        for oid, content in git.blobs([oid for oid in changes if oid]):
            text = content[:LONGEST].decode("utf-8", "replace")
            for part in parts(text):
                found[changes[oid].replace("/", ""), part] = commit
    return found


def committed(commit: Commit) -> str:
    """Return when a commit was made, as an event's time."""
    return format_at(datetime.fromtimestamp(commit.time, UTC))
