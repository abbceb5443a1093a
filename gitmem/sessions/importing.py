"""The import of an agent's transcripts: found, read unless they are as they were, taken in."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import NotFound, Unreadable
from gitmem.journal.git.history import History
from gitmem.sessions.bookmarks import Bookmarks
from gitmem.sessions.importers.records import shown
from gitmem.sessions.intake import Growth, Intake
from gitmem.sessions.known import Known
from gitmem.sessions.model import About, Bookmark, Home, Importer, Record, Skipped, Turn
from gitmem.sessions.store import SessionStore

STATE = "imports.json"
RACY = 2.0
"""Seconds within which a file may change again without its time or size telling."""

Progress = Callable[[int, int], None]
"""Told after each transcript: how many are done, of how many."""


@dataclass(slots=True)
class ImportReport:
    """What an import did. `unread` has the reason for each file of which nothing could be read."""

    agent: str
    dry_run: bool = False
    transcripts: int = 0
    unchanged: int = 0
    elsewhere: int = 0
    sessions: list[Growth] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    secrets: Counter[str] = field(default_factory=Counter)
    unread: dict[str, str] = field(default_factory=dict)

    @property
    def new(self) -> int:
        """How many rounds are new."""
        return sum(growth.new for growth in self.sessions)

    @property
    def changed(self) -> int:
        """How many rounds read otherwise than when they were imported; those are kept."""
        return sum(growth.changed for growth in self.sessions)


class Signature(NamedTuple):
    """What tells that a file was written to."""

    mtime: int
    size: int
    inode: int


class Seen:
    """The transcripts read so far, as they were; void when the conversations have gone."""

    def __init__(self, folder: Path, store: SessionStore) -> None:
        self._file = folder / STATE
        self._store = store
        self._files, marks = self._load()
        self.bookmarks = Bookmarks(marks)

    def has(self, agent: str, path: Path, signature: Signature) -> bool:
        """Whether a transcript is as it was when it was read."""
        return self._files.get(name_of(agent, path)) == list(signature)

    def note(self, agent: str, path: Path, signature: Signature) -> None:
        """Note that a transcript was read as it is."""
        self._files[name_of(agent, path)] = list(signature)

    def save(self) -> None:
        """Write it down, beside what it is about; lost, transcripts are read again."""
        state = {
            "tip": self._store.tip(),
            "files": self._files,
            "bookmarks": self.bookmarks.saved(),
        }
        beside = self._file.with_name(f"{STATE}.{os.getpid()}.new")
        with suppress(OSError):
            beside.write_text(json.dumps(state))
            beside.replace(self._file)

    def _load(self) -> tuple[dict[str, list[int]], object]:
        try:
            state = json.loads(self._file.read_bytes())
            saved, files = state["tip"], dict(state["files"])
        except (OSError, ValueError, LookupError, TypeError):
            return {}, {}
        tip = self._store.tip()
        if saved == tip or (tip and saved and self._held(saved, tip)):
            return files, state.get("bookmarks")
        return {}, {}

    def _held(self, saved: str, tip: str) -> bool:
        return History(self._store.git.layout).is_ancestor(saved, tip)


class Importing:
    """One import, into one repository's conversations."""

    def __init__(
        self,
        store: SessionStore,
        seen: Seen,
        known: Known,
        home: Home,
        now: str,
        since: float | None = None,
    ) -> None:
        """`now` is an event time; `since` leaves out transcripts not written to since then."""
        self._store = store
        self._seen = seen
        self._known = known
        self._home = home
        self._now = now
        self._since = since

    def run(
        self,
        importer: Importer,
        place: Path | None,
        commit: Callable[[Intake, str], object] | None,
        now: float,
        progress: Progress = lambda done, all: None,
    ) -> ImportReport:
        """Import what is at `place`, or about this repository where the agent keeps things.

        `commit` is called at the end, also when ^C ends it early; None for a dry run.

        Raises:
            NotFound: there is nothing at `place`.
        """
        report = ImportReport(importer.agent, dry_run=commit is None)
        found = list(dict.fromkeys(self._found(importer, place)))
        read: list[tuple[Path, Signature]] = []
        with Intake(self._store, self._now, commit is None, self._known) as intake:
            try:
                for done, path in enumerate(found):
                    progress(done, len(found))
                    signature = self._signature(path)
                    if signature and self._old(importer.agent, path, signature, report):
                        continue
                    whole = self._read(importer, path, place is None, intake, report)
                    if whole and signature and signature.mtime / 1e9 < now - RACY:
                        read.append((path, signature))
                progress(len(found), len(found))
            finally:
                report.sessions = [one for one in intake.growth.values() if one.new or one.changed]
                if commit:
                    commit(intake, _message(report))
                    for path, signature in read:
                        self._seen.note(importer.agent, path, signature)
                    self._seen.save()
        return report

    def _found(self, importer: Importer, place: Path | None) -> Iterator[Path]:
        if place is not None:
            if not os.path.lexists(place):
                raise NotFound(f"there is no '{shown(place)}'", "name a file or a folder")
            yield from importer.transcripts(place)
            return
        for usual in importer.places(self._home):
            yield from importer.transcripts(usual)

    def _old(self, agent: str, path: Path, signature: Signature, report: ImportReport) -> bool:
        if self._since is not None and signature.mtime / 1e9 < self._since:
            return True
        unchanged = self._seen.has(agent, path, signature)
        report.unchanged += unchanged
        return unchanged

    def _read(
        self, importer: Importer, path: Path, only_ours: bool, intake: Intake, report: ImportReport
    ) -> bool:
        """Take in one transcript, and return whether it was read to its end."""
        home = self._home if only_ours else None
        reading = _Reading(importer, home, intake, report)
        try:
            reading.take(self._records(importer, path), shown(path))
        except Unreadable as error:
            report.unread[shown(path)] = error.message
            return False
        finally:
            intake.settle()
        report.transcripts += 1
        if reading.bookmark and not reading.apart:
            name = name_of(importer.agent, path)
            self._seen.bookmarks.note(name, path, reading.bookmark)
        return True

    def _records(self, importer: Importer, path: Path) -> Iterator[Record | Bookmark]:
        """Yield what is new in a transcript that was read before, else all of it."""
        resume: Callable[..., Iterator[Record | Bookmark]] | None
        if resume := getattr(importer, "resume", None):
            bookmark = self._seen.bookmarks.of(name_of(importer.agent, path), path)
            try:
                yield from resume(path, bookmark)
                return
            except ValueError:  # of another release
                pass
        yield from importer.read(path)

    def _signature(self, path: Path) -> Signature | None:
        """Return how a transcript looks; None where that tells nothing: a folder's parts change."""
        try:
            found = path.stat()
            # What SQLite has not yet put into a database stands beside it.
            beside = path.with_name(f"{path.name}-wal")
            more = beside.stat() if beside.exists() else None
        except (OSError, ValueError):  # reading it says why
            return None
        if stat.S_ISDIR(found.st_mode):
            return None
        written = max(found.st_mtime_ns, more.st_mtime_ns if more else 0)
        return Signature(written, found.st_size + (more.st_size if more else 0), found.st_ino)


class Given:
    """A conversation that a program gives, turn by turn."""

    def __init__(self, about: About, turns: Iterable[Turn]) -> None:
        self._about = about
        self._turns = turns

    def take(self, intake: Intake, report: ImportReport) -> None:
        """Take it in; nothing is committed yet."""
        intake.session(self._about)
        for turn in self._turns:
            report.secrets.update(intake.add(self._about, turn))
        report.sessions = [*intake.growth.values()]


class _Reading:
    """One transcript on its way in: turns wait until it is known whose they are."""

    def __init__(
        self, importer: Importer, home: Home | None, intake: Intake, report: ImportReport
    ) -> None:
        self._importer = importer
        self._home = home
        self._intake = intake
        self._report = report
        self._about: About | None = None
        self.apart: set[str] = set()
        self.bookmark: Bookmark | None = None

    def take(self, records: Iterable[Record | Bookmark], source: str) -> None:
        for record in records:
            if isinstance(record, Bookmark):
                self.bookmark = record
            elif isinstance(record, Skipped):
                self._report.skipped[record.reason] += 1
            elif isinstance(record, About):
                self._of(record, source)
            elif self._about is None:
                self._report.skipped["a turn of no session"] += 1
            else:
                self._add(self._about, record)

    def _of(self, about: About, source: str) -> None:
        self._about = about
        if self._home and not self._importer.ours(about, self._home):
            self._report.elsewhere += about.id not in self.apart
            self.apart.add(about.id)
            return
        self.apart.discard(about.id)
        self._intake.session(about, source)

    def _add(self, about: About, turn: Turn) -> None:
        if about.id not in self.apart:
            self._report.secrets.update(self._intake.add(about, turn))


def existing(importer: Importer, home: Home) -> bool:
    """Whether an agent keeps anything here."""
    return any(place.exists() for place in importer.places(home))


def _message(report: ImportReport) -> str:
    sessions = sum(1 for one in report.sessions if one.new)
    return f"import {report.agent}: {_count(report.new, 'round')} in {_count(sessions, 'session')}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def name_of(agent: str, path: Path) -> str:
    """Return what a transcript is known by."""
    return f"{agent}:{os.fsencode(path.absolute()).hex()}"
