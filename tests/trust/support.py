"""What others write, put into a journal as a merge or a fetch would."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitmem.journal.branches.visibility import EMPTY_TREES
from gitmem.journal.clock import format_at
from gitmem.journal.codec import Event, encode
from tests.support import git

EVE = "Eve <eve@example.com>"
BOB = "Bob <bob@example.com>"
SHARED = "gitmem/shared"
EMPTY_TREE = next(oid for oid in EMPTY_TREES if len(oid) == 40)

_seconds = itertools.count()


def event(op: str, by: str = EVE, at: str = "", **fields: Any) -> Event:
    """Return an event by somebody, a little later than the one before."""
    when = datetime.now(UTC) + timedelta(seconds=next(_seconds))
    return encode({"at": at or format_at(when), "by": by, "op": op, **fields})


def put(repo: Path, *events: Event | bytes, at: str = "HEAD") -> None:
    """Put lines into the shared journal with stock git, on the note of a commit."""
    lines = [one if isinstance(one, bytes) else one.line for one in events]
    if at == EMPTY_TREE:
        git(repo, "hash-object", "-t", "tree", "-w", "/dev/null")
    _append(repo, lines, at)


def _append(repo: Path, lines: Iterable[bytes], at: str) -> None:
    old = git(repo, "notes", f"--ref={SHARED}", "show", at, check=False)
    new = b"".join(line + b"\n" for line in [*filter(None, [old.encode()]), *lines])
    blob = repo / ".git" / "note"
    blob.write_bytes(new)
    oid = git(repo, "hash-object", "-w", str(blob))
    git(repo, "notes", f"--ref={SHARED}", "add", "-f", "-C", oid, at)


def foreign(repo: Path, text: str, by: str = EVE, **fields: Any) -> str:
    """Let somebody remember a text that is seen from every branch, and return its id."""
    made = event("remember", by, text=text, scope="repo", **fields)
    put(repo, made)
    return made.id
