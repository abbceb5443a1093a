"""git-notes-memory: one JSON object a branch, in ``refs/notes/mem-<branch>`` on the root commit.

The ref's name has ``-`` for ``/`` and may stand for several branches; a memory's ``b`` names the
one it was made on. A branch starts with a copy of the trunk's memories, and merging copies too, so
one memory stands in several refs: what its own branch has is the memory, what another has instead
holds there alone. Times are local and without a zone; the notes' commits tell which it was.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitmem.imports.model import Addition, Foreign, Opener
from gitmem.imports.notes import firsts, notes, opened
from gitmem.journal.clock import format_at
from gitmem.journal.git.port import Commit, Git
from gitmem.sessions.model import Home, Skipped

PREFIX = "refs/notes/mem-"
_BRANCHES = ("refs/heads/", "refs/remotes/")
_KINDS = {"learning": "lesson", "info": "note"}
_DETACHED = "main"
"""What the tool writes for a detached HEAD, whatever the trunk is called."""

_ZONE = timedelta(minutes=15)
"""What offsets from UTC are multiples of."""

_TOOK = timedelta(seconds=5)
"""How long after a memory's time its commit may be for the two to tell the zone."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A memory as one ref has it; `made` are the commits that added each part of the ref."""

    ref: str
    branch: str
    entry: Mapping[str, Any]
    made: Mapping[str, Commit]


class GitNotesMemory:
    """Reads the refs of one repository."""

    name = "git-notes-memory"
    shared = True

    def places(self, home: Home) -> Iterable[Path]:
        """Yield this repository."""
        return home.worktrees[:1]

    def read(self, place: Path, repository: Opener) -> Iterator[Foreign | Skipped]:
        """Yield every memory once, whatever the number of refs that have it."""
        git, refs = opened(place, repository, PREFIX)
        branches = _branches(git)
        versions: dict[tuple[str, str], list[_Version]] = defaultdict(list)
        for ref, tip in refs.items():
            entries: dict[str, Mapping[str, Any]] = {}
            for found in _entries(git, tip):
                if isinstance(found, Skipped):
                    yield found
                else:
                    _unite(entries, *found)
            made = {part: commit for (_, part), commit in firsts(git, tip, _parts).items()}
            shown = _shown(ref, entries.values(), branches)
            for id, entry in entries.items():
                origin = str(entry.get("b") or shown)
                versions[origin, id].append(_Version(ref, shown, entry, made))
        for (origin, id), each in sorted(versions.items()):
            branch = "" if origin == _DETACHED and origin not in branches else origin
            yield _memory(id, origin, branch, each)


ORIGINS = {GitNotesMemory.name: GitNotesMemory()}


def _branches(git: Git) -> set[str]:
    """Return the names of all branches, those of remotes without the remote's."""
    local, remote = (git.refs(prefix) for prefix in _BRANCHES)
    names = {ref.removeprefix(_BRANCHES[0]) for ref in local}
    return names | {ref.removeprefix(_BRANCHES[1]).partition("/")[2] for ref in remote}


def _entries(git: Git, tip: str) -> Iterator[tuple[str, Mapping[str, Any]] | Skipped]:
    for text in notes(git, tip).values():
        for id, entry in _read(text):
            if not isinstance(entry, dict):
                yield Skipped(entry)
            elif entry.get("d") in (None, "", [], {}):
                yield Skipped("a memory without content")
            else:
                yield id, entry


def _read(text: str) -> Iterator[tuple[str, Any]]:
    """Yield (id, entry), or why there is none; a ``cat_sort_uniq`` merge leaves several lines."""
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield "", "a note that is no JSON"
            continue
        if not isinstance(value, dict):
            yield "", "a note that is no JSON object"
            continue
        for id, entry in value.items():
            yield id, entry if isinstance(entry, dict) else "a memory that is no JSON object"


def _parts(text: str) -> list[str]:
    """Name a memory ``ID 0``, and its notes ``ID 1`` and on."""
    return [
        f"{id} {number}"
        for id, entry in _read(text)
        if isinstance(entry, dict)
        for number in range(1 + len(_evolved(entry)))
    ]


def _unite(entries: dict[str, Mapping[str, Any]], id: str, entry: Mapping[str, Any]) -> None:
    """Take the later of two versions of one memory in one ref, as the tool does."""
    there = entries.get(id)
    if there is None or str(entry.get("u")) > str(there.get("u")):
        entries[id] = entry


def _shown(ref: str, entries: Iterable[Mapping[str, Any]], branches: set[str]) -> str:
    """Return the branch that a ref stands for: one there is, else one that a memory names."""
    named = {str(entry.get("b")) for entry in entries}
    fit = [name for name in sorted(branches) + sorted(named) if name.replace("/", "-") == ref]
    return fit[0] if fit else ref


def _memory(id: str, origin: str, branch: str, versions: list[_Version]) -> Foreign:
    own = [version for version in versions if version.ref == origin.replace("/", "-")]
    first = (own or sorted(versions, key=lambda version: str(version.entry.get("u"))))[-1]
    entry, born = first.entry, first.made.get(f"{id} 0")
    text, data = _content(entry["d"])
    others = [version for version in versions if version is not first]
    kind = str(entry.get("t") or "")
    return Foreign(
        key=f"{origin}/{id}",
        text=text,
        data=data,
        kind=_KINDS.get(kind, kind),
        importance=str(entry.get("i") or ""),
        tags=tuple(map(str, tags)) if isinstance(tags := entry.get("g"), list) else (),
        at=_moment(entry.get("c"), born),
        updated=_moment(entry.get("u"), None),
        by=born.author if born else "",
        branch=branch,
        known=tuple(dict.fromkeys(version.branch for version in versions)),
        additions=(*_notes(id, first), *_elsewhere(id, first, others)),
    )


def _content(value: Any) -> tuple[str, Mapping[str, Any] | None]:
    if isinstance(value, dict):
        return "", value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), None


def _notes(id: str, version: _Version, skip: int = 0, branch: str = "") -> Iterator[Addition]:
    for number, note in enumerate(_evolved(version.entry), 1):
        made = version.made.get(f"{id} {number}")
        if number > skip:
            at = _moment(note.get("t"), made)
            yield Addition(str(note.get("n")), at, made.author if made else "", branch)


def _elsewhere(id: str, first: _Version, others: Iterable[_Version]) -> Iterator[Addition]:
    """Yield what other branches have instead, or besides."""
    shared = _evolved(first.entry)
    for other in others:
        if other.entry["d"] != first.entry["d"]:
            text, data = _content(other.entry["d"])
            at = _moment(other.entry.get("u"), None)
            yield Addition("", at, "", other.branch, text if data is None else data)
        same = [
            note for note, ours in zip(_evolved(other.entry), shared, strict=False) if note == ours
        ]
        yield from _notes(id, other, len(same), other.branch)


def _evolved(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = entry.get("ev")
    return [note for note in found if isinstance(note, dict)] if isinstance(found, list) else []


def _moment(value: object, commit: Commit | None) -> str:
    """Return a local time as UTC: its commit, made at once, tells the zone; else it is UTC."""
    try:
        local = datetime.fromisoformat(str(value).replace("_", "T"))
    except ValueError:
        return ""
    if local.tzinfo:
        return format_at(local)
    at = local.replace(tzinfo=UTC)
    if commit:
        off = datetime.fromtimestamp(commit.time, UTC) - at
        zone = round(off / _ZONE) * _ZONE
        if abs(off - zone) <= _TOOK and abs(zone) <= timedelta(hours=14):
            at += zone
    return format_at(at)
