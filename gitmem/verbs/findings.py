"""What the doctor finds around the journals: on which commits they stand, what was fetched and is
not merged, whether the index can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from gitmem.journal import clock
from gitmem.journal.branches.visibility import EMPTY_TREES
from gitmem.journal.git.history import History
from gitmem.journal.git.port import Git
from gitmem.journal.journals import Journal
from gitmem.journal.tracking import tracked
from gitmem.search.base import Index, IndexUnusable
from gitmem.search.catalog.catalog import Catalog
from gitmem.verbs.care import Finding

AHEAD = timedelta(minutes=5)
"""How far clocks may differ that nobody cares to set."""


def of_anchors(catalog: Catalog, git: Git, gone: Mapping[str, int]) -> Iterator[Finding]:
    """Find memories that are seen from nowhere: `gone` counts those of branches that are gone."""
    for branch, count in gone.items():
        yield Finding(
            "info", "gone-branch", f"{_memories(count)} of '{branch}', a branch that is gone",
            f"if its work was taken over: gitmem adopt {branch}",
        )  # fmt: skip
    rows = catalog.facts("AND op = 'remember' AND NOT repo AND events.journal = 'shared'")
    standing = [fact for fact in rows if EMPTY_TREES.isdisjoint(fact.anchors)]
    here = History(git.layout).known({anchor for fact in standing for anchor in fact.anchors})
    if away := sum(here.isdisjoint(fact.anchors) for fact in standing):
        yield Finding(
            "info", "away", f"{_memories(away)} were written on commits that are not here",
            "they are seen where the commits are; in a shallow clone: git fetch --unshallow",
        )  # fmt: skip


def of_clocks(catalog: Catalog, now: datetime) -> Iterator[Finding]:
    """Find events dated ahead of this machine's clock, though not so far that they do not count."""
    ahead = catalog.anomalies(clock.format_at(now + AHEAD))["incredible"]
    if count := ahead - catalog.anomalies(clock.horizon(now))["incredible"]:
        yield Finding(
            "info", "ahead", f"{count} events are dated ahead of this machine's clock",
            "the clock here is slow, or somebody's is fast: compare with 'date -u'",
        )  # fmt: skip


def of_fetched(journal: Journal) -> Iterator[Finding]:
    """Find what was fetched of remotes' journals and is not merged."""
    git, history, mine = journal.git, History(journal.git.layout), journal.notes.tip()
    for ref, remote in tracked(git.config()).items():
        tip = git.ref(ref)
        if tip is None or tip == mine:
            continue
        if not git.has(tip):
            what = f"'{ref}' stands at nothing that is here"
            yield Finding("warning", "tracking", what, f"gitmem pull {remote}")
        elif mine is None or not history.is_ancestor(tip, mine):
            what = f"memories fetched from '{remote}' are not merged"
            yield Finding("info", "unmerged", what, f"gitmem pull {remote}")


def of_index(index: Index) -> Iterator[Finding]:
    """Find damage of the search index, if there is one."""
    try:
        index.search("memory", 1)
    except IndexUnusable as error:
        hint = error.hint or "it is made again at the next search"
        yield Finding("warning", "index", error.message, f"{hint}, or now: gitmem doctor --repair")


def _memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"
