"""Import: other tools' memories become events, and importing again adds only what is new.

First all is read and compared with what was imported before; then it is written, in one commit for
each journal. So a trial run says exactly what the real one would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.errors import Unreadable, UsageError
from gitmem.imports.model import Opener, Origin
from gitmem.search.catalog.catalog import Catalog
from gitmem.sessions.model import Skipped
from gitmem.verbs.foreign import Fitting, Later, Tailor
from gitmem.verbs.imported import SETS, Imported, fate, imported

TWICE = "a memory that was there already"
SAME_KEY = "another memory with the key of one before it"


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What an import found, and did; of an export that is read back, events and not memories.

    `conflicts` are the ids of memories that changed at their source and here, and stay as they are
    here. `skipped` counts what was left out by reason, `remarks` what was not kept as it was.
    """

    found: int = 0
    new: int = 0
    revised: int = 0
    unchanged: int = 0
    conflicts: Sequence[str] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written of one memory; `before` is what was imported of it, if anything was."""

    fitting: Fitting
    before: Imported | None
    fields: Mapping[str, Any]
    tags: Sequence[str]
    later: Sequence[Later]
    links: Sequence[tuple[str, str]]

    def __bool__(self) -> bool:
        return bool(self.fields or self.tags or self.later or self.links)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import is going to write, and what it will have done then.

    `ids` has {the tool's key: id} of the memories that are here already.
    """

    tool: str
    changes: Sequence[Change]
    ids: Mapping[str, str]
    report: MemoryReport


def plan(
    catalog: Catalog, origin: Origin, places: Sequence[Path], repository: Opener, now: datetime
) -> Plan:
    """Read the memories in some places, and compare them with what is here.

    Raises:
        Unreadable: nothing can be read in any of them.
    """
    skipped: Counter[str] = Counter()
    fitted: dict[str, Fitting] = {}
    for fitting in _read(origin, places, repository, Tailor(origin.name, now), skipped):
        there = fitted.setdefault(fitting.key, fitting)
        if there is not fitting:
            skipped[TWICE if there.fields == fitting.fields else SAME_KEY] += 1
    known = imported(catalog, origin.name)
    ids = {key: memory.root.id for key, memory in known.items()}
    ids |= {fit.name: ids[fit.key] for fit in fitted.values() if fit.key in ids}
    compared = [_compare(fit, known.get(fit.key), ids) for fit in fitted.values()]
    changes, report = _settled(catalog, origin.name, compared)
    return Plan(origin.name, changes, ids, replace(report, skipped=dict(skipped)))


def _read(
    origin: Origin,
    places: Sequence[Path],
    repository: Opener,
    tailor: Tailor,
    skipped: Counter[str],
) -> Iterator[Fitting]:
    """Yield the memories that can be kept, and count all else."""
    errors: list[Unreadable] = []
    for place in places:
        try:
            for found in origin.read(place, repository):
                if isinstance(found, Skipped):
                    skipped[found.reason] += 1
                    continue
                try:
                    yield tailor.fit(found)
                except UsageError as error:
                    skipped[f"a memory that cannot be kept: {error.message}"] += 1
        except Unreadable as error:
            errors.append(error)
            skipped[error.message] += 1
    if errors and len(errors) == len(places):
        raise errors[0]


def _compare(fit: Fitting, before: Imported | None, ids: Mapping[str, str]) -> Change:
    """Return what a tool says that it has not said before."""
    if before is None:
        return Change(fit, None, fit.fields, fit.tags, fit.later, fit.links)
    fields = {name: value for name in SETS if (value := fit.fields.get(name))}
    fields = {name: value for name, value in fields.items() if value != before.fields.get(name)}
    if before.fields.get("importance", "normal") != "normal" and "importance" not in fit.fields:
        fields["importance"] = "normal"
    return Change(
        fit,
        before,
        fields,
        [tag for tag in fit.tags if tag not in before.tags],
        [later for later in fit.later if not before.has(later.branch, later.fields)],
        [(rel, to) for rel, to in fit.links if (rel, ids.get(to, to)) not in before.links],
    )


def _settled(
    catalog: Catalog, tool: str, compared: Sequence[Change]
) -> tuple[list[Change], MemoryReport]:
    """Return the changes that can be made without undoing what was done here."""
    changes: list[Change] = []
    conflicts: list[str] = []
    remarks: Counter[str] = Counter()
    unchanged = revised = 0
    for change in compared:
        mine = change
        if change.before and change:
            mine = _beside(change, fate(catalog, change.before, tool))
            if mine is not change:
                conflicts.append(change.before.root.id)
            else:
                revised += 1
        elif change.before:
            unchanged += 1
        if mine:
            changes.append(mine)
            remarks.update(mine.fitting.remarks)
    new = sum(change.before is None for change in compared)
    found = len(compared)
    return changes, MemoryReport(found, new, revised, unchanged, conflicts, {}, dict(remarks))


def _beside(change: Change, done: str) -> Change:
    """Return what of a change does not contradict what was done with the memory here."""
    if done == "forgotten":
        return replace(change, fields={}, tags=(), later=(), links=())
    notes = [later for later in change.later if "reason" in later.fields]
    if done == "kept" or not (change.fields or len(notes) < len(change.later)):
        return change
    return replace(change, fields={}, later=notes)
