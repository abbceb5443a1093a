"""The verb that takes in what other tools remembered, and exports of gitmem itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.api.writing import Writing
from gitmem.errors import NotFound, UsageError
from gitmem.journal.codec import printable_name
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Git
from gitmem.model import JournalName

if TYPE_CHECKING:  # each is loaded by the verbs that need it: a write does without, and 10 ms less
    from gitmem.imports.model import Origin
    from gitmem.verbs.importer import Importer
    from gitmem.verbs.imports import MemoryReport

OWN = "gitmem"
"""What an export of gitmem itself is imported as."""


class Imports(Writing):
    """Memories from elsewhere."""

    def import_memories(
        self,
        tool: str,
        path: str | Path | None = None,
        *,
        shared: bool | None = None,
        dry_run: bool = False,
    ) -> MemoryReport:
        """Take in the memories of another tool, or an export of gitmem (``gitmem``).

        `path`: a file or folder of that tool, or a repository; by default where the tool keeps
        them. `shared`: whether they can be pushed; by default only those of tools that share them.
        With `dry_run` nothing is written, and the report is the same.

        Raises:
            NotFound: there is nothing at `path`, or where the tool keeps its memories.
            Unreadable: nothing of what is there can be read.
            NoIdentity: git knows no author; nothing was written.
        """
        from gitmem.verbs.importer import alone

        place = None if path is None else Path(path)
        if place is not None and not place.exists():
            raise NotFound(f"there is no '{place}'", "name a file or a folder of the tool's")
        with nullcontext() if dry_run else alone(self._folder):
            self._fresh()
            if tool == OWN:
                return self._read_back(place, dry_run)
            return self._take_in(tool, place, shared, dry_run)

    def _take_in(
        self, tool: str, place: Path | None, shared: bool | None, dry_run: bool
    ) -> MemoryReport:
        from gitmem.imports import origin
        from gitmem.verbs.imports import plan

        source = origin(tool)
        places = [place] if place else self._places(source)
        found = plan(self._catalog, source, places, self._opened, self._now())
        if found.changes and not dry_run:
            wanted = source.shared if shared is None else shared
            with self._session.around():
                self._importer().write(found, JournalName.SHARED if wanted else JournalName.PRIVATE)
            self._recorder.pack()
        return found.report

    def _read_back(self, place: Path | None, dry_run: bool) -> MemoryReport:
        from gitmem.verbs.readback import addition

        if place is None:
            raise UsageError("an export may be anywhere", "name its file: --from FILE")
        me = self._restorer() if dry_run else self._git.identity()
        found = addition(place, self._catalog, self._journals, printable_name(me))
        if found.lines and not dry_run:
            with self._session.around():
                self._importer().append(found.lines, f"import {OWN}: {found.report.new} events")
            self._recorder.pack()
        return found.report

    def _importer(self) -> Importer:
        from gitmem.verbs.importer import Importer

        return Importer(self._git, self._journals, self._catalog, self._sight, self._now)

    def _places(self, source: Origin) -> Sequence[Path]:
        from gitmem.verbs.home import home

        usual = source.places(home(self._git, self._environ))
        if there := [place for place in usual if place.exists()]:
            return there
        raise NotFound(
            f"{source.name} has no memories where it usually keeps them",
            "name the file or folder: --from PATH",
        )

    def _opened(self, path: Path) -> Git:
        return open_repository(path, self._backend)
