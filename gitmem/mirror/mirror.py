"""The mirror: ``MEMORY.md`` and ``memory/`` show the journal, and what is typed there is read.

A verb calls `Mirror.edits`, turns what it returns into events and calls `Mirror.render`, all in
one `Mirror.locked`: else two commands could both take an edit in, or the one that read the
journal first could render last. A file is rewritten only if it holds no edit, or the one that
was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from gitmem.mirror import document as documents
from gitmem.mirror import files
from gitmem.mirror.contents import (
    CONTEXT,
    FOLDER,
    LONG_TERM,
    View,
    belongs,
    contents,
    daily,
    is_template,
    template,
)
from gitmem.mirror.document import Document
from gitmem.mirror.edits import Edit
from gitmem.mirror.files import Folder, Snapshot, Stamp, Untouchable
from gitmem.mirror.reading import Reader, Reading, agreed
from gitmem.mirror.state import State, Versions

__all__ = ["CONTEXT", "FOLDER", "LONG_TERM", "Edits", "Mirror", "View"]


@dataclass(frozen=True, slots=True)
class Edits:
    """What the files say and the journal does not, as (path, edit).

    `held` has one line for each file whose edit waits for `sync --accept` or for its owner.
    """

    edits: Sequence[tuple[str, Edit]] = ()
    held: Sequence[str] = ()
    warnings: Sequence[str] = ()


class Mirror:
    """The Markdown files of one working tree, `mirrored` of `LONG_TERM` and `FOLDER`.

    `state` is a folder under the git directory. `warnings` has a line for each file that could not
    be read or written.
    """

    def __init__(
        self, workdir: Path, state: Path, mirrored: Collection[str] = (LONG_TERM, FOLDER)
    ) -> None:
        self._folder = Folder(workdir, state)
        self._versions = Versions(state / "versions")
        self._state = State(state / "state.json")
        self._lock = state / "lock"
        self._locked: bool | None = None
        self._mirrored = mirrored
        self._readings: dict[str, Reading] = {}
        self.warnings: list[str] = []

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Keep other processes from taking edits in and rendering; may be nested.

        Yields False when another process held the lock for 5 s: then nothing is read or rendered,
        and the next command does it. Bring what the view shows up to date inside.
        """
        if self._locked is not None:
            yield self._locked
            return
        with files.locked(self._lock) as self._locked:
            self._state.reload()
            try:
                yield self._locked
            finally:
                self._locked = None

    def recall(self, name: str) -> Any:
        """Return a value that `remember` kept; None if it is lost, as all of the state may be."""
        return self._state.value(name)

    def remember(self, name: str, value: Any) -> None:
        """Keep a value that JSON can hold beside the mirror's state."""
        with self.locked():
            self._state.set_value(name, value)
            self._state.save()

    def signature(self) -> list[tuple[str, Stamp]]:
        """Return what changes when any file of the mirror does; it costs one `stat` a file."""
        return sorted(self._stamps().items())

    def edits(self, view: View, *, accept: bool = False) -> Edits:
        """Read what was typed since the files were rendered; nothing is written.

        `accept` takes what would be held: an edit that forgets much, or that somebody committed.
        """
        self._readings = {}
        if self._locked is not False:
            reader = Reader(self._versions, view)
            for path, stamp in self._stamps().items():
                if belongs(path) and not self._state.in_step(path, stamp):
                    self._read(path, reader, accept)
        held = [f"'{path}' {read.held}" for path, read in self._readings.items() if read.held]
        free = {path: read for path, read in self._readings.items() if not read.held}
        found = [(path, edit) for path, read in free.items() for edit in read.outcome.edits]
        arrived = frozenset(id for read in free.values() for id in read.outcome.arrived)
        return Edits(agreed(found, arrived), held, tuple(self.warnings))

    def fingerprint(self, path: str, text: str) -> str:
        """Return what tells this edit from all others: the file as it was read, and the text."""
        reading = self._readings.get(path)
        content = reading.snapshot.content if reading else b""
        return sha256(content + b"\0" + text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def hold(self, path: str, why: str) -> None:
        """Leave a file as it is until its next change is read: its edit could not be recorded."""
        if path in self._readings:
            self._readings[path] = replace(self._readings[path], held=why)

    def render(self, view: View, *, days: Collection[str]) -> list[str]:
        """Write the files whose content changed and return their paths.

        A file waits for the next time when it holds an edit that is held or was not read.
        """
        with self.locked() as mine:
            late = set(self._state.value("late") or ())
            wanted = {LONG_TERM, CONTEXT, *map(daily, days), *late, *self._readings}
            paths = [path for path in sorted(wanted) if path.split("/")[0] in self._mirrored]
            done = {path: self._render(path, view) for path in paths} if mine else {}
            self._state.set_value("late", [path for path in paths if done.get(path) is None])
            self._state.save()
            self._readings = {}
            return [path for path, written in done.items() if written]

    def remove(self) -> list[str]:
        """Take gitmem's text out of the files and return their paths.

        What was the user's stays, byte for byte. A file that held nothing else is deleted, and one
        with an edit that was not read is left.
        """
        with self.locked():
            paths = [path for path in self._stamps() if belongs(path) and self._remove(path)]
            self._folder.remove_folder(FOLDER)
            return paths

    def _stamps(self) -> dict[str, Stamp]:
        """Return the stamps of `MEMORY.md` and of all that is in the folder, in order."""
        found: dict[str, Stamp] = {}
        if LONG_TERM in self._mirrored and (stamp := self._folder.stamp(LONG_TERM)):
            found[LONG_TERM] = stamp
        if FOLDER in self._mirrored:
            try:
                found |= sorted(self._folder.stamps(FOLDER).items())
            except Untouchable as error:
                self._warn(error)
        return found

    def _read(self, path: str, reader: Reader, accept: bool) -> None:
        try:
            snapshot = self._folder.read(path)
        except Untouchable as error:
            self._warn(error)
            return
        if snapshot is None:  # deleted this moment
            return
        self._readings[path] = reading = reader.read(path, snapshot, accept)
        if reading.moved and not reading.held:
            self._warn(f"'{path}' has text in gitmem's block that is no memory; it moves below it")

    def _render(self, path: str, view: View) -> bool | None:
        """Write one file: True if it was, False if there was no need, None if it must wait."""
        try:
            before = self._folder.read(path)
            document = documents.read(before.content) if before else None
            if document and not self._may_write(path, document):
                return None
            return self._write(path, before, document, view)
        except Untouchable as error:
            self._warn(error)
        except OSError as error:  # the version could not be kept, so the file was not written
            self._warn(f"'{path}' was not written: {str(error.strerror).lower()}")
        return None

    def _write(
        self, path: str, before: Snapshot | None, document: Document | None, view: View
    ) -> bool | None:
        rendering = contents(path, view)
        if before and document:
            moved = self._readings[path].moved if document.edited else ""
            content = document.replace(rendering.block, moved)
        elif rendering.text or path == LONG_TERM:
            content = template(path).replace("{block}", rendering.block).encode()
        else:
            return False
        stamp = before.stamp if before else None
        if before is None or content != before.content:
            # the version first: a crash in between leaves a file whose base is known
            self._versions.put(path, rendering.text, rendering.ids)
            durable = document is not None and not is_template(path, document)
            stamp = self._folder.write(path, content, before, durable)
        self._state.set_in_step(path, stamp)
        return (before is None or content != before.content) if stamp else None

    def _remove(self, path: str) -> bool:
        try:
            before = self._folder.read(path)
            document = documents.read(before.content) if before else None
            if before is None or document is None or not document.regions:
                return False
            if not self._may_write(path, document):
                self._warn(f"'{path}' holds an edit that was not read, and is left as it is")
                return False
            if is_template(path, document):
                return self._folder.remove(path, before)
            return bool(self._folder.write(path, document.without_block(), before, durable=True))
        except Untouchable as error:
            self._warn(error)
            return False

    def _may_write(self, path: str, document: Document) -> bool:
        """Whether a file, as it stands, holds no edit, or one that was read and is not held."""
        reading = self._readings.get(path)
        if document.problem or (reading and reading.held):
            return False
        read = reading is not None and reading.snapshot.content == document.raw
        return read or not document.edited

    def _warn(self, warning: Untouchable | str) -> None:
        if str(warning) not in self.warnings:
            self.warnings.append(str(warning))
