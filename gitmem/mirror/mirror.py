"""The mirror: ``MEMORY.md`` and ``memory/`` show the journal, and what is typed there is read.

A verb calls `Mirror.edits`, turns what it returns into events and calls `Mirror.render`, all in
one `Mirror.locked`: else two commands could both take an edit in, or the one that read the
journal first could render last. A file is rewritten only if it holds no edit, or the one that
was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
    read_file,
    template,
)
from gitmem.mirror.files import Folder, Snapshot, Stamp, Untouchable
from gitmem.mirror.state import State
from gitmem.mirror.versions import Versions

if TYPE_CHECKING:  # at run time only where a file was edited: 15 ms that most commands save
    from gitmem.mirror.edits import Edit
    from gitmem.mirror.reading import Reader, Reading

__all__ = ["CONTEXT", "FOLDER", "LONG_TERM", "Edits", "Mirror", "View"]


class Edits(NamedTuple):
    """What the files say and the journal does not, as (path, edit).

    `held` has one line for each file whose edit waits for `sync --accept` or for its owner.
    """

    edits: Sequence[tuple[str, Edit]]
    held: Sequence[str]
    warnings: Sequence[str]


class Mirror:
    """The Markdown files of one working tree, `mirrored` of `LONG_TERM` and `FOLDER`.

    `state` is a folder under the git directory. `warnings` has a line for each file that could not
    be read or written.
    """

    def __init__(
        self, workdir: Path, state: Path, mirrored: Collection[str] = (LONG_TERM, FOLDER)
    ) -> None:
        self._folder = Folder(workdir, state)
        self._versions = Versions(state / "renderings")
        self._state = State(state / "state.json")
        self._lock = state / "lock"
        self._locked: bool | None = None
        self._mirrored = mirrored
        self._readings: dict[str, Reading] = {}
        self.warnings: list[str] = []

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Keep other processes from taking edits in and rendering; may be nested.

        Yields False when another process held the lock for 5 s: then nothing is read, rendered or
        remembered, and the next command does it. Bring what the view shows up to date inside.
        """
        if self._locked is not None:
            yield self._locked
            return
        with files.locked(self._lock) as self._locked:
            self._state.reload()
            try:
                yield self._locked
            finally:
                if self._locked:
                    self._state.save()
                self._locked = None

    def recall(self, name: str) -> Any:
        """Return a value that `remember` kept; None if it is lost, as all of the state may be."""
        return self._state.value(name)

    def remember(self, name: str, value: Any) -> None:
        """Keep a value that JSON can hold beside the mirror's state; without the lock, nothing."""
        with self.locked() as mine:
            if mine:
                self._state.set_value(name, value)

    def signature(self) -> list[tuple[str, Stamp]]:
        """Return what changes when any file of the mirror does; it costs one `stat` a file."""
        return sorted(self._stamps().items())

    def edits(self, view: View, *, accept: bool = False) -> Edits:
        """Read what was typed since the files were rendered; no file is written.

        `accept` takes what would be held: an edit that forgets much, or that somebody committed.
        """
        self._readings = {}
        changed = self._changed() if self._locked is not False else []
        if not changed:
            return Edits([], [], tuple(self.warnings))
        from gitmem.mirror.reading import Reader, agreed

        reader = Reader(self._versions, view)
        for path in changed:
            self._read(path, reader, accept)
        held = [f"'{path}' {read.held}" for path, read in self._readings.items() if read.held]
        free = {path: read for path, read in self._readings.items() if not read.held}
        found = [(path, edit) for path, read in free.items() for edit in read.outcome.edits]
        arrived = frozenset(id for read in free.values() for id in read.outcome.arrived)
        return Edits(agreed(found, arrived), held, tuple(self.warnings))

    def fingerprint(self, path: str, text: str) -> str:
        """Return what tells a text typed into a file from the same text typed again later.

        It stays the same until the file is rendered: an edit that was recorded by a command that
        died before rendering is known by it.
        """
        typed = "\0".join([path, self._state.last_step(path), text])
        return hashlib.sha256(typed.encode()).hexdigest()[:16]

    def hold(self, path: str, why: str) -> None:
        """Leave a file as it is until its next change is read: its edit could not be recorded."""
        if path in self._readings:
            self._readings[path] = self._readings[path]._replace(held=why)

    def render(self, view: View, *, days: Collection[str], same: bool = False) -> list[str]:
        """Write the files whose content changed and return their paths.

        `same` says that `LONG_TERM` shows what it did: it is looked at only if somebody touched it.
        A file waits for the next time when it holds an edit that is held or was not read.
        """
        late = self._state.value("late") or ()
        wanted = {CONTEXT, *map(daily, days), *late}
        stamp = self._folder.stamp(LONG_TERM) if same else None
        if stamp is None or not self._state.in_step(LONG_TERM, stamp):
            wanted.add(LONG_TERM)
        return self._render_all(view, wanted)

    def settle(self, view: View) -> list[str]:
        """Write the files whose edits were read, and no others; return their paths.

        For callers that do not `render` after recording edits, as long as the files are tracked:
        an edit that stays in its file would be read again.
        """
        return self._render_all(view, set())

    def remove(self) -> list[str]:
        """Take gitmem's text out of the files and return their paths; call `edits` before.

        What was the user's stays, byte for byte. A file that held nothing else is deleted, and one
        with an edit that was not read is left.
        """
        with self.locked():
            paths = [path for path in self._stamps() if belongs(path) and self._remove(path)]
            self._folder.remove_folder(FOLDER)
            return paths

    def _render_all(self, view: View, wanted: Collection[str]) -> list[str]:
        with self.locked() as mine:
            if not mine:
                return []
            every = sorted({*wanted, *self._readings})
            paths = [path for path in every if path.split("/")[0] in self._mirrored]
            done = {path: self._render(path, view) for path in paths}
            for path, reading in self._readings.items():
                if done[path] is None and not reading.held:  # recorded, but it cannot be written
                    self._state.set_in_step(path, reading.snapshot.stamp, reading.moved)
            late = {*(self._state.value("late") or ()), *paths}
            self._state.set_value("late", sorted(p for p in late if done.get(p) is None))
            self._readings = {}
            return [path for path, written in done.items() if written]

    def _changed(self) -> list[str]:
        """Return the files that are not as they were when they held no unread edit."""
        stamps = self._stamps().items()
        return [path for path, at in stamps if belongs(path) and not self._state.in_step(path, at)]

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
        if self._locked and not reading.held and not reading.outcome.edits:
            self._state.set_in_step(path, snapshot.stamp)

    def _render(self, path: str, view: View) -> bool | None:
        """Write one file: True if it was, False if there was no need, None if it must wait."""
        try:
            before = self._folder.read(path)
            moved = self._moved(path, before) if before else ""
            return None if moved is None else self._write(path, before, moved, view)
        except Untouchable as error:
            self._warn(error)
        except OSError as error:  # the version could not be kept, so the file was not written
            self._warn(f"'{path}' was not written: {str(error.strerror).lower()}")
        return None

    def _moved(self, path: str, before: Snapshot) -> str | None:
        """Return the text to move below a file's block; None where the file must wait."""
        document = read_file(path, before.content)
        reading = self._readings.get(path)
        if document.problem or (reading and reading.held):
            return None
        if not document.edited:
            return ""
        if reading and reading.snapshot.content == before.content:
            return reading.moved
        # what was recorded and could not be rendered then
        return self._state.moved(path) if self._state.in_step(path, before.stamp) else None

    def _write(self, path: str, before: Snapshot | None, moved: str, view: View) -> bool | None:
        rendering = contents(path, view)
        document = read_file(path, before.content) if before else None
        if document:
            content = document.replace(rendering.block, moved)
        elif rendering.text or path == LONG_TERM:
            content = template(path).replace("{block}", rendering.block).encode()
        else:
            return False
        if before and content == before.content:
            self._state.set_in_step(path, before.stamp)
            return False
        # the version first: a crash in between leaves a file whose base is known
        self._versions.put(path, rendering.text, rendering.ids)
        durable = document is not None and not is_template(path, document)
        stamp = self._folder.write(path, content, before, durable)
        self._state.set_in_step(path, stamp)
        return True if stamp else None

    def _remove(self, path: str) -> bool:
        try:
            before = self._folder.read(path)
            document = documents.read(before.content) if before else None
            if before is None or document is None or not document.regions:
                return False
            moved = self._moved(path, before)
            if moved is None:
                self._warn(f"'{path}' holds an edit that was not read, and is left as it is")
                return False
            if is_template(path, document) and not moved:
                return self._folder.remove(path, before)
            content = document.without_block() + (f"\n{moved}\n".encode() if moved else b"")
            return bool(self._folder.write(path, content, before, durable=True))
        except Untouchable as error:
            self._warn(error)
            return False

    def _warn(self, warning: Untouchable | str) -> None:
        if str(warning) not in self.warnings:
            self.warnings.append(str(warning))
