"""Looking after the memory: status, stats, and the doctor who finds and mends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gitmem.errors import NoIdentity
from gitmem.journal import clock
from gitmem.journal.git.port import Git
from gitmem.journal.journals import Journal, Journals
from gitmem.journal.purged import About
from gitmem.model import ID_LENGTH
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Status:
    """How things stand here, in plain values.

    `waiting` counts memories of branches that the trunk does not see yet, `orphaned` those of
    branches that are gone. `held` are hand edits that wait, `held_memories` counts those by authors
    who are not trusted. `unpushed` counts memories of which `remote` lacks something, as far as
    is known here; None where there is no remote to push to.
    """

    branch: str | None
    initialised: bool
    mirrored: Sequence[str]
    memories: int
    forgotten: int
    contested: int
    expired: int
    journals: Mapping[str, int]
    held: Sequence[str]
    indexed: bool
    waiting: Mapping[str, int]
    orphaned: Mapping[str, int]
    held_memories: int = 0
    remote: str | None = None
    unpushed: int | None = None


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of living memories by their fields, and of the events behind them."""

    memories: int
    events: int
    by_kind: Mapping[str, int]
    by_importance: Mapping[str, int]
    by_author: Mapping[str, int]
    by_branch: Mapping[str, int]
    by_month: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the doctor found: how bad, what, and what to do."""

    level: Level
    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What the doctor found, and what was mended on request."""

    findings: Sequence[Finding]
    repaired: Sequence[str]

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong; what is merely worth knowing does not count."""
        return all(finding.level == "info" for finding in self.findings)


def stats(catalog: Catalog, now: str) -> Stats:
    """Count the living memories."""
    alive = Filter(now=now)
    names = ("critical", "high", "normal", "low")
    ranks = catalog.counts("importance", alive)
    return Stats(
        memories=catalog.count(alive),
        events=catalog.event_count(),
        by_kind=catalog.counts("kind", alive),
        by_importance={name: ranks.get(str(rank), 0) for rank, name in enumerate(names)},
        by_author=catalog.counts("author", alive),
        by_branch=catalog.counts("coalesce(branch, '(none)')", alive),
        by_month=dict(sorted(catalog.counts("substr(created, 1, 7)", alive).items())),
    )


def examine(git: Git, journals: Journals, catalog: Catalog, now: datetime) -> Iterator[Finding]:
    """Yield what is wrong, or worth knowing, about the journals and what is derived from them."""
    from gitmem.journal.purging.purge import (
        unfinished,  # not for `status`, which needs this module too
    )

    anomalies = catalog.anomalies(clock.horizon(now))
    for name, (level, message, hint) in _ANOMALIES.items():
        if anomalies[name]:
            yield Finding(level, name, message.format(n=anomalies[name]), hint)
    for journal in journals:
        yield from _locks(journal, now)
        for id in unfinished(journal):
            yield Finding(
                "warning", "purging", f"the purge of '{id[:ID_LENGTH]}' was interrupted",
                f"gitmem purge {id[:ID_LENGTH]} --yes",
            )  # fmt: skip
        if not journal.whole:
            yield Finding(
                "error", "gone", f"the commit that '{journal.notes.name}' stands at is not here",
                f"'git reflog {journal.notes.name}' tells of older ones to set it back to",
            )  # fmt: skip
        elif not journal.settled:
            yield Finding(
                "warning", "vanished", f"'{journal.notes.name}' moved without gitmem",
                "'gitmem doctor --repair' brings back lines that it lost",
            )  # fmt: skip
    for id in catalog.returned():
        yield Finding(
            "warning", "returned", f"'{id[:ID_LENGTH]}' was purged, and lines of it are here",
            f"somebody merged an old journal: gitmem purge {id[:ID_LENGTH]} --push",
        )  # fmt: skip
    yield from _held(catalog)
    if trouble := catalog.check():
        yield Finding("error", "catalog", f"the catalog is damaged: {trouble}", "gitmem reindex")
    yield from _settings(git)


def _held(catalog: Catalog) -> Iterator[Finding]:
    """Tell of what others wrote whom one does not trust: no fault, and for the user to judge."""
    if held := catalog.count(Filter(held=True)):
        yield Finding(
            "info", "untrusted", f"{held} memories are held: nobody trusted wrote them",
            "'gitmem trust --list' shows who did",
        )  # fmt: skip
    for id in catalog.proposed():
        yield Finding(
            "info", "proposed", f"a change of '{id[:ID_LENGTH]}' is proposed",
            f"gitmem show {id[:ID_LENGTH]}",
        )  # fmt: skip


_ANOMALIES: Mapping[str, tuple[Level, str, str]] = {
    "broken": ("warning", "{n} lines in the notes are no events; they are kept and skipped",
               "somebody edited a note by hand? 'git log -p' of the notes ref shows it"),
    "later": ("info", "{n} lines were written by a later gitmem; they are kept and skipped",
              "upgrade gitmem to read them"),
    "orphaned": ("warning", "events of {n} memories are here without the memory itself",
                 "'gitmem doctor --repair' looks for it in the history of the journal"),
    "incredible": ("warning", "{n} events are dated more than a day ahead",
                   "somebody's clock was wrong; they do not advance ours"),
}  # fmt: skip


def _locks(journal: Journal, now: datetime) -> Iterator[Finding]:
    """Find locks that no git still holds: it never removes one by itself, nor do we.

    A suspended process that wakes up without its lock would rename somebody else's into place.
    """
    for path in journal.locks():
        try:
            minutes = int(now.timestamp() - path.stat().st_mtime) // 60
        except FileNotFoundError:  # released meanwhile
            continue
        if minutes:
            yield Finding(
                "error", "locked", f"'{path}' has stopped all writing for {minutes} minutes",
                "if no git command is running here, it was killed: remove the file",
            )  # fmt: skip


def _settings(git: Git) -> Iterator[Finding]:
    try:
        git.identity()
    except NoIdentity as error:
        yield Finding("warning", error.code, error.message, error.hint)
    mode = git.config().get("notes.rewritemode", ["concatenate"])[-1]
    if mode not in ("concatenate", "cat_sort_uniq"):
        yield Finding(
            "warning", "rewrite-mode", f"notes.rewriteMode is '{mode}': an amend may drop notes",
            "git config --unset notes.rewriteMode",
        )  # fmt: skip


def repair(journals: Journals, author: str, now: datetime) -> list[str]:
    """Bring back every line that the history of a journal holds and its tip lacks; say how many."""
    at = int(now.timestamp())
    said = []
    for journal in journals:
        restored = journal.settle(author, at) + _restore(journal, author, at)
        if restored:
            said.append(f"brought {restored} vanished lines back into '{journal.notes.name}'")
    return said


def _restore(journal: Journal, author: str, at: int) -> int:
    tip = journal.notes.tip()
    if tip is None:
        return 0
    present = set(journal.notes.read(tip))
    lost: dict[str, dict[bytes, None]] = {}
    gone = About(journal.purged(tip))
    for anchor, line in journal.notes.history(tip):
        if (anchor, line) not in present and not gone(line):
            lost.setdefault(anchor, {})[line] = None
    if not lost:
        return 0
    additions = {anchor: list(lines) for anchor, lines in lost.items()}
    done = journal.append(additions, "restore lines that had vanished", author, at)
    return len(done.lines) if done else 0
