"""From parts to files: all that would change is worked out first, then each file is replaced whole.

An agent may write its settings while gitmem does: a file that changed in between is read again.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gitmem.agents.install.ledger import Entry, Ledger
from gitmem.agents.install.parts import Copy, Part
from gitmem.agents.install.place import Place
from gitmem.errors import Unavailable, UsageError
from gitmem.mirror.files import Folder, Snapshot, Untouchable, locked

_TRIES = 5


class Change(NamedTuple):
    """A file as it is and as it will be; `base` is how it would be without gitmem."""

    path: Path
    snapshot: Snapshot | None
    before: str | None
    after: str | None
    base: str | None

    def diff(self, shown: str) -> Iterator[str]:
        """Yield the lines of a unified diff."""
        was, will = (shown if text is not None else "/dev/null" for text in self[2:4])
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        return difflib.unified_diff(before, after, was, will, lineterm="")

    @property
    def did(self) -> str:
        """What is done to the file, in a word."""
        if self.before is None:
            return "written"
        return "removed" if self.after is None else "changed"


class Install:
    """Puts an agent's parts in their files, or takes them out; `left` are files left alone."""

    def __init__(self, place: Place, agent: str) -> None:
        self._place = place
        self._agent = agent
        self._made: set[str] = set()
        self.left: list[str] = []

    def plan(self, wanted: Sequence[Part], unwanted: Sequence[Part]) -> list[Change]:
        """Work out what would change; nothing is written.

        Raises:
            UsageError: a file is not what it should be.
            Refused: a file must not be changed.
            Unavailable: a file cannot be read or written.
        """
        self.left = []
        ledger = Ledger(self._place.state, self._agent)
        by_file: dict[Path, list[tuple[Part, bool]]] = {}
        for put, parts in ((True, wanted), (False, unwanted)):
            for part in parts:
                by_file.setdefault(self._place.real(part.path), []).append((part, put))
        by_file |= {path: [] for path in _gone(by_file, ledger)}
        changes = [self._change(path, parts, ledger) for path, parts in by_file.items()]
        return [change for change in changes if change.before != change.after]

    def perform(self, wanted: Sequence[Part], unwanted: Sequence[Part]) -> list[Change]:
        """Do what `plan` says, one `install` at a time; return what changed.

        Raises:
            as `plan`; a file is replaced whole or not at all.
        """
        done: list[Change] = []
        with self._alone():
            for _ in range(_TRIES):
                changes = self.plan(wanted, unwanted)
                ledger = Ledger(self._place.state, self._agent)
                written = [change for change in changes if self._write(change, ledger)]
                done += written
                if len(written) == len(changes):
                    for folder in sorted(self._made, key=len, reverse=True):
                        _remove_empty(folder)
                    return done
        shown = self._place.shown(changes[0].path)
        raise Unavailable(f"'{shown}' changes again and again", "close the agent, then try again")

    def _change(self, path: Path, parts: list[tuple[Part, bool]], ledger: Ledger) -> Change:
        snapshot, before = self._read(path)
        try:
            base, after = self._texts(path, before, parts, ledger)
        except ValueError as error:
            said = str(error)[:1].lower() + str(error)[1:]
            hint = "nothing was changed; mend it, then run this again"
            raise UsageError(f"'{self._place.shown(path)}' is left alone: {said}", hint) from None
        if after != before:
            if any(put and part.local for part, put in parts):
                self._place.refuse_tracked(path)
            self._check_writable(path, snapshot)
        elif not all(part.holds(before) for part, put in parts if put):
            self.left.append(f"{self._place.shown(path)}: yours, and left alone")
        return Change(path, snapshot, before, after, base)

    def _texts(
        self, path: Path, text: str | None, parts: list[tuple[Part, bool]], ledger: Ledger
    ) -> tuple[str | None, str | None]:
        """Return the text of a file without gitmem, and as it should be."""
        entry = ledger.find(path, text)
        if entry and text is not None:
            base = entry.undo(text)
        else:
            base = text
            for part, _ in parts:
                base = part.take(base)
            known = ledger.known(path)
            if known and known.old is None and (base or "").strip() in ("", "{}"):
                base = None  # the file was made by `install`, and nobody put anything in
        if parts and all(
            part.holds(text) if put else part.take(text) == text for part, put in parts
        ):
            return base, text
        after = base if entry else text
        for part, put in parts:
            after = part.put(after) if put else part.take(after)
        return base, after if any(put for _, put in parts) else base

    def _read(self, path: Path) -> tuple[Snapshot | None, str | None]:
        with self._reported(path):
            snapshot = self._folder(path).read(_below(path))
        if snapshot is None:
            return None, None
        try:
            return snapshot, snapshot.content.decode("utf-8")
        except UnicodeDecodeError:
            said = f"'{self._place.shown(path)}' is not UTF-8 text"
            raise UsageError(said, "nothing was changed; convert it first") from None

    def _check_writable(self, path: Path, snapshot: Snapshot | None) -> None:
        """Refuse early: of several files, none is written if one cannot be."""
        for place in (path, _above(path)) if snapshot else (_above(path),):
            if not os.access(place, os.W_OK) or (snapshot and not snapshot.mode & 0o222):
                said = f"'{self._place.shown(place)}' is read-only"
                raise Unavailable(said, "nothing was changed; make it writable, or use --dry-run")

    def _write(self, change: Change, ledger: Ledger) -> bool:
        """Write or remove one file; false if it changed since it was read."""
        folder, name = self._folder(change.path), _below(change.path)
        with self._reported(change.path):
            if change.after is None:
                assert change.snapshot
                done = folder.remove(name, change.snapshot)
            else:
                if change.after != change.base:
                    ledger.note(change.path, self._entry(change, ledger))
                content = change.after.encode("utf-8")
                done = folder.write(name, content, change.snapshot, durable=True) is not None
        if done and change.after == change.base:
            known = ledger.known(change.path)
            ledger.note(change.path, None)
            self._made.update(known.folders if known and change.after is None else ())
        return done

    def _entry(self, change: Change, ledger: Ledger) -> Entry:
        assert change.after is not None
        known = ledger.known(change.path)
        parents = [folder for folder in change.path.parents if not folder.exists()]
        folders = [str(folder) for folder in reversed(parents)] or (known.folders if known else [])
        return Entry.of(change.base, change.after, folders)

    def _folder(self, path: Path) -> Folder:
        return Folder(_above(path), self._place.state)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one process at a time change settings here."""
        with locked(self._place.state / "lock") as mine:
            if not mine:
                said = "another 'gitmem install' is at work"
                raise Unavailable(said, "wait until it is done, then run this again")
            yield

    @contextmanager
    def _reported(self, path: Path) -> Iterator[None]:
        try:
            yield
        except Untouchable as error:
            said = f"'{self._place.shown(path)}' {error.reason}"
            raise Unavailable(said, "nothing was changed") from None


def _gone(by_file: Mapping[Path, list[tuple[Part, bool]]], ledger: Ledger) -> list[Path]:
    """Return the files of an earlier release that what is copied has no more."""
    copies = [path.parent for path, parts in by_file.items() if isinstance(parts[0][0], Copy)]
    top = Path(os.path.commonpath(copies)) if copies else None
    return [
        path for path in ledger.paths if top and path.is_relative_to(top) and path not in by_file
    ]


def _above(path: Path) -> Path:
    """Return the nearest folder above a path that is there."""
    return next(folder for folder in path.parents if folder.is_dir())


def _below(path: Path) -> str:
    return path.relative_to(_above(path)).as_posix()


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:  # somebody uses it
        pass
