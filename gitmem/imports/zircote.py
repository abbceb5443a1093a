"""zircote's git-notes-memory: ``refs/notes/mem/<namespace>``, notes on the commits they are about.

A note holds one record or several, each a front matter (type, spec, timestamp, summary, phase,
tags, status, relates_to) and Markdown. A record's id, `namespace:commit:number`, is the tool's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from gitmem.imports.markdown import front_matter, headed, plain, words
from gitmem.imports.model import Foreign, Opener
from gitmem.imports.notes import firsts, notes, opened
from gitmem.journal.git.port import Commit
from gitmem.sessions.importers import records
from gitmem.sessions.model import Home, Skipped

PREFIX = "refs/notes/mem/"
_KINDS = {
    "blockers": "blocker", "decisions": "decision", "learnings": "lesson", "patterns": "pattern",
    "preferences": "preference", "reviews": "review",
}  # fmt: skip
_RULE = "---"


class Zircote:
    """Reads the refs of one repository."""

    name = "zircote-git-notes"
    shared = True

    def places(self, home: Home) -> Iterable[Path]:
        """Yield this repository."""
        return home.worktrees[:1]

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield the records of every namespace, in the order of their notes."""
        git, refs = opened(place, repository, PREFIX)
        for namespace, tip in refs.items():
            made = firsts(git, tip, _parts)
            for commit, text in notes(git, tip).items():
                found = _records(text)
                if not found:
                    yield Skipped("a note without any record that can be read")
                for number, record in enumerate(found):
                    author = made.get((commit, str(number)))
                    yield _memory(namespace, commit, number, record, author)


ORIGINS = {Zircote.name: Zircote()}


def _records(text: str) -> list[str]:
    """Return the records of a note; a rule in Markdown has no summary before the next rule."""
    lines = text.split("\n")
    rules = [number for number, line in enumerate(lines) if line.rstrip() == _RULE]
    starts: list[int] = []
    closed = -1
    for start, end in pairwise(rules):
        if start > closed and any(line.startswith("summary:") for line in lines[start:end]):
            starts.append(start)
            closed = end
    return ["\n".join(lines[start:end]) for start, end in pairwise([*starts, len(lines)])]


def _parts(text: str) -> list[str]:
    return [str(number) for number in range(len(_records(text)))]


def _memory(
    namespace: str, commit: str, number: int, record: str, made: Commit | None
) -> Foreign | Skipped:
    matter, body = front_matter(record)
    text = headed(plain(matter.get("summary")), body)
    status = plain(matter.get("status")).lower()
    if status == "tombstone":
        return Skipped("a record that was deleted")
    kind = plain(matter.get("type")) or namespace
    return Foreign(
        key=f"{namespace}:{commit}:{number}",
        text=text,
        kind=_KINDS.get(kind, kind),
        tags=_tags(matter, status),
        at=records.utc(plain(matter.get("timestamp"))),
        by=made.author if made else "",
        commit=commit,
        links=tuple(("relates", key) for key in words(matter.get("relates_to"))),
        source={"phase": phase} if (phase := plain(matter.get("phase"))) else {},
    )


def _tags(matter: Mapping[str, Any], status: str) -> tuple[str, ...]:
    spec = plain(matter.get("spec"))
    topic = (f"topic:{spec}",) if spec else ()
    return (
        *topic,
        *words(matter.get("tags")),
        *((status,) if status not in ("", "active") else ()),
    )
