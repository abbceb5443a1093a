"""A plan of import becomes events: each where its memory belongs, with its own time and author."""

from __future__ import annotations

import fcntl
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.journal import clock
from gitmem.journal.branches.sight import Sight
from gitmem.journal.codec import Event, encode, printable_name
from gitmem.journal.git.port import Git
from gitmem.journal.journals import Journals
from gitmem.model import JournalName
from gitmem.search.catalog.catalog import Catalog
from gitmem.verbs.imported import Imported
from gitmem.verbs.imports import Change, Plan
from gitmem.verbs.whereabouts import Spot, Whereabouts

_PLACED = ("branch", "line", "pending", "scope")

Lines = Mapping[JournalName, Mapping[str, Sequence[bytes]]]
"""{journal: {anchor: lines}}."""


class Importer:
    """Writes plans into the journals of one repository."""

    def __init__(
        self,
        git: Git,
        journals: Journals,
        catalog: Catalog,
        sight: Sight,
        now: Callable[[], datetime],
    ) -> None:
        self._git = git
        self._journals = journals
        self._catalog = catalog
        self._sight = sight
        self._now = now

    def write(self, plan: Plan, journal: JournalName) -> None:
        """Write what is new into `journal`, and what changed where its memory is.

        Raises:
            NoIdentity: git knows no author; nothing was written.
        """
        author = self._git.identity()
        commits = [change.fitting.site.commit for change in plan.changes]
        whereabouts = Whereabouts(self._git, self._sight, filter(None, commits))
        latest = self._catalog.latest_at(clock.horizon(self._now()))
        work = _Work(plan, whereabouts, self._catalog, printable_name(author), self._now(), latest)
        count = len(plan.changes)
        message = f"import {plan.tool}: {count} {'memory' if count == 1 else 'memories'}"
        self.append(work.events(journal), message)

    def append(self, lines: Lines, message: str) -> None:
        """Add lines to journals, in one commit each."""
        author, at = self._git.identity(), int(self._now().timestamp())
        for name, additions in lines.items():
            self._journals.writable(name).append(additions, message, author, at)
        self._catalog.look = self._sight.look()  # branches may have got their lines
        self._catalog.catch_up()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other imports waiting: of two at once, each would add what the other has just added."""
    try:
        folder.mkdir(exist_ok=True)
        file = (folder / "import.lock").open("w")
    except OSError:  # nothing can be written here, as the journal will say
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Work:
    """One plan on its way: memories first, then what names them."""

    def __init__(
        self,
        plan: Plan,
        whereabouts: Whereabouts,
        catalog: Catalog,
        author: str,
        now: datetime,
        latest: str | None,
    ) -> None:
        self._plan = plan
        self._whereabouts = whereabouts
        self._catalog = catalog
        self._author = author
        self._now = now
        self._latest = latest
        self._ids = dict(plan.ids)
        self._heads: dict[tuple[str, str], list[str]] = {}
        self._lines: dict[JournalName, dict[str, list[bytes]]] = {}

    def events(self, journal: JournalName) -> Lines:
        """Return the lines to add to each journal, by anchor."""
        roots = [self._root(change, journal) for change in self._plan.changes]
        for change, root in zip(self._plan.changes, roots, strict=True):
            self._rest(change, root)
        return self._lines

    def _root(self, change: Change, journal: JournalName) -> Imported:
        """Return a memory as it is here, remembering it if it is not."""
        if change.before:
            folded = self._catalog.hidden(change.before.root.id)
            self._heads[change.before.root.id, ""] = list(folded.heads) if folded else []
            return change.before
        fit = change.fitting
        at = fit.at or fit.updated or self._next_at()
        spot = self._whereabouts.of(fit.site, at)
        branch = printable_name(fit.site.branch)
        told = {
            "branch": branch if branch != spot.fields.get("branch", "") else "",
            "updated": fit.updated if fit.updated > at else "",
        }
        event = encode({
            "at": at,
            "by": fit.by or self._author,
            "op": "remember",
            "tags": change.tags,
            "source": _said({**fit.source, **told}),
            **change.fields,
            **spot.fields,
        })  # fmt: skip
        self._add(journal, spot, event)
        self._ids[fit.name] = event.id
        self._heads[event.id, ""] = [event.id]
        return Imported(event, journal, spot.anchor)

    def _rest(self, change: Change, root: Imported) -> None:
        """Write what is said of a memory besides: its own place holds unless a branch is named."""
        fit, fields = change.fitting, root.root.fields
        own = Spot(root.anchor, {key: fields[key] for key in _PLACED if key in fields})
        at, by = self._changed_at(change, root), fit.by
        if change.before and change.fields:
            self._revise(change, root, own, at, by, {"op": "revise", **change.fields})
        for tag in change.tags if change.before else ():
            self._revise(change, root, own, at, by, {"op": "tag", "tag": tag})
        for later in change.later:
            when = later.at or at
            apart = bool(later.branch) and "scope" not in own.fields
            spot = self._whereabouts.on(later.branch, when) if apart else own
            said = {"op": "revise", **later.fields}
            self._revise(change, root, spot, when, later.by or by, said, later.branch)
        for rel, target in change.links:
            aim = {"op": "link", "rel": rel, "target": self._ids.get(target, target)}
            self._revise(change, root, own, at, by, aim)

    def _revise(
        self,
        change: Change,
        root: Imported,
        spot: Spot,
        at: str,
        by: str,
        said: Mapping[str, Any],
        branch: str = "",
    ) -> None:
        id = root.root.id
        source = {
            "import": self._plan.tool,
            "key": change.fitting.key,
            "on": printable_name(branch),
        }
        event = encode({
            "at": at,
            "base": self._heads.get((id, branch)) or self._heads[id, ""],
            "by": by or self._author,
            "memory": id,
            "source": _said(source),
            **said,
            **spot.fields,
        })  # fmt: skip
        self._heads[id, branch] = [event.id]
        self._add(root.journal, spot, event)

    def _changed_at(self, change: Change, root: Imported) -> str:
        """Return when a tool said what is new: not before the memory itself, else now."""
        fit = change.fitting
        if not change.before:
            return root.root.at
        at = max(fit.at, fit.updated)
        return at if at > root.root.at else self._next_at()

    def _next_at(self) -> str:
        at = self._latest = clock.next_at(self._now, self._latest)
        return at

    def _add(self, journal: JournalName, spot: Spot, event: Event) -> None:
        anchors = self._lines.setdefault(journal, defaultdict(list))
        anchors[spot.anchor].append(event.line)


def _said(source: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in source.items() if value not in (None, "")}
