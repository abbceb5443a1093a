"""What every verb stands on: one repository's git, journals, catalog and sight, wired together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gitmem.config import Settings
from gitmem.errors import Unavailable, UsageError
from gitmem.journal import clock
from gitmem.journal.branches.sight import Sight
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend
from gitmem.journal.journals import Journals
from gitmem.journal.tracking import Fetched
from gitmem.model import JournalName, Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter
from gitmem.verbs import setup
from gitmem.verbs.settings import load_settings, user_journal
from gitmem.verbs.staleness import Staleness
from gitmem.verbs.trust import Judge

if TYPE_CHECKING:  # each is loaded by the verbs that need it: a write does without, and 10 ms less
    from gitmem.search.engine import Engine
    from gitmem.search.indexes import Progress
    from gitmem.search.rounds import Rounds
    from gitmem.search.semantic.embedding import Embedder
    from gitmem.search.workspace.files import Files
    from gitmem.verbs.record import Recorder
    from gitmem.verbs.session import Session


class Core:
    """The parts of an open memory, and how it keeps up with what others write.

    Attributes:
        progress: told how long work goes on; what it raises ends the work.
    """

    def __init__(
        self,
        path: Path,
        backend: Backend,
        environ: Mapping[str, str],
        now: Callable[[], datetime],
    ) -> None:
        self._path = path
        self._now = now
        self._environ = environ
        self._backend: Backend = backend
        self._warnings: list[str] = []
        self.progress: Progress = lambda what, done, all: None
        self._remark = ""
        self._git = open_repository(path, backend)
        self._settings: Settings = load_settings(self._git, environ)
        self._folder = self._git.layout.common_dir / "gitmem"
        self._user_journal = user_journal(self._settings, environ)
        self._journals = Journals(self._git, self._user_journal, backend)
        # What is derived depends on where HEAD is, so each linked worktree has its own.
        self._derived = self._git.layout.git_dir / "gitmem"
        self._fetched = Fetched(self._git, self._folder)
        self._catalog = Catalog(self._derived / "catalog.sqlite", self._journals)
        record = setup.read_record(self._folder)
        self._sight = Sight(
            self._git, self._settings["gitmem.trunk"], record.branch if record else None,
            self._derived, self._catalog.facts_of,
        )  # fmt: skip
        self._judge = Judge(self._git, self._sight.lines, self._folder, self._trust_setting)
        self._sight.untrusted = self._judge.untrusted
        self._journals.shared.heeds = lambda event: self._judge.trusts(event.by)
        self._staleness = Staleness(self._git)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop git and close the catalog."""
        if "_engine" in vars(self):
            self._engine.close()
        self._catalog.close()
        self._sight.close()
        self._journals.close()

    @property
    def warnings(self) -> list[str]:
        """What went wrong without stopping the work, a line each, once each."""
        lines = [*self._settings.warnings, *self._catalog.warnings]
        if "_session" in vars(self):
            lines += self._session.warnings
        if "_engine" in vars(self):
            lines += [*self._engine.warnings, *self._engine.indexes.warnings]
        lines += self._fetched.waiting
        if "_recorder" in vars(self):
            for rule in self._recorder.redacted:
                lines.append(f"what looks like a secret was taken out ({rule}): see --allow-secret")
        return list(dict.fromkeys([*lines, *self._warnings]))

    @property
    def initialised(self) -> bool:
        """Whether the repository was set up with `init`."""
        return setup.read_record(self._folder) is not None

    @property
    def settings(self) -> Settings:
        """What is set here."""
        return self._settings

    def reload(self) -> Settings:
        """Read the settings again and return them: they may change while it is open for long."""
        self._settings = load_settings(self._git, self._environ)
        return self._settings

    @property
    def remark(self) -> str:
        """From where the memory written last is seen, if that is worth saying; else empty."""
        return self._remark

    def short(self, id: str) -> str:
        """Return the shortest unique prefix of a memory id, of at least 8 digits."""
        return self._catalog.shorts([id])[id]

    def _fresh(self) -> None:
        """See what others have written, and bring back what git has dropped."""
        self._remark = ""
        self._take_in_fetched()
        try:
            self._journals.settle(self._restorer(), self._now())
        except Unavailable:  # a read-only repository can still be read; `doctor` tells
            pass
        self._catalog.look = self._sight.look()
        self._catalog.catch_up()

    def _take_in_fetched(self) -> None:
        """Merge what a plain ``git fetch`` brought of a remote's journal."""
        for ref, (remote, tip) in self._fetched.new().items():
            from gitmem.verbs.sharing import take_in

            journal = self._journals.writable(JournalName.SHARED)
            try:
                if not self._git.has(tip):  # a ref to nothing: every `git fetch` would stop there
                    self._git.delete_ref(ref)
                why = take_in(journal, remote, tip, self._restorer(), self._now())
            except Unavailable as error:  # a read-only clone; or it is not all here, says a pull
                again = f"fetch them anew: gitmem pull {remote}"
                self._warnings.append(f"the memories of '{remote}' wait: {error.message} ({again})")
                continue
            self._fetched.note(ref, tip, why)

    @contextmanager
    def _elsewhere(self, branch: str | None, at: str | None = None) -> Iterator[Catalog]:
        """The catalog as seen from a branch, or as it was known at a commit; HEAD's by default."""
        if branch is not None and at is not None:
            raise UsageError("one looks from a branch or from a commit", "give one of the two")
        self._fresh()
        if branch is None and at is None:
            yield self._catalog
            return
        if at is not None:
            look = self._sight.look(self._sight.lines.at(at), then=True)
            there = self._catalog.copy(look)
        else:
            from gitmem.verbs import branches

            there = branches.from_elsewhere(self._catalog, self._sight, branch or "")
        try:
            yield there
        finally:
            there.close()

    def _marked(self, catalog: Catalog, memories: Sequence[Memory]) -> Sequence[Memory]:
        """Return memories with `Memory.stale`, by the commit one looks from."""
        return self._staleness.marked(memories, catalog.look.commit)

    def _restorer(self) -> str:
        try:
            return self._git.identity()
        except UsageError:  # reading needs no identity
            return "gitmem <gitmem.localhost>"

    def _trust_setting(self) -> str:
        setting: str = Settings(self._environ, self._git.config())["gitmem.trust"]
        return setting

    def _alive_filter(self) -> Filter:
        return Filter(now=clock.format_at(self._now()))

    @cached_property
    def _recorder(self) -> Recorder:
        from gitmem.verbs.record import Recorder

        return Recorder(
            self._git, self._journals, self._catalog, self._sight, self._staleness, self._now,
            self._judge.note_own,
        )  # fmt: skip

    @cached_property
    def _session(self) -> Session:
        from gitmem.verbs.session import Session

        return Session(
            self._path, self._git, self._settings, self._folder, self._user_journal, self._catalog,
            self._recorder, self._staleness, self._now, self.short, self._environ,
        )  # fmt: skip

    @cached_property
    def _engine(self) -> Engine:
        from gitmem.search.engine import Engine
        from gitmem.search.indexes import Indexes

        chroma = self._settings["gitmem.chroma.url"]
        brief = self._backend == "program"  # which is for one short command: see `open`
        indexes = Indexes(self._catalog, self._rounds, self._embedder, self._derived, chroma)
        indexes.progress = self._tell
        mark = partial(self._marked, self._catalog)
        return Engine(self._catalog, indexes, self._files, mark, brief)

    def _rounds(self) -> Rounds | None:
        """Return the rounds of conversations; None where nothing was ever imported."""
        journal = self._journals.get(JournalName.PRIVATE)
        if journal is None:
            return None
        from gitmem.search.rounds import Rounds
        from gitmem.sessions import REF

        git = journal.git
        return Rounds(self._derived / "rounds.sqlite", git) if git.ref(REF) else None

    def _embedder(self) -> Embedder | None:
        """Return the model, where it is installed."""
        from gitmem.search.semantic.pins import cache_folder, model_folder

        folder = model_folder(cache_folder(self._settings["gitmem.cacheDir"]))
        if not folder.exists():
            return None
        from gitmem.search.semantic.embedding import load

        return load(folder)

    def _files(self) -> Files | None:
        """Return the files of the workspace; None where there is no work tree."""
        if self._git.layout.workdir is None:
            return None
        from gitmem.search.workspace.files import Files

        path = self._derived / "files.sqlite"
        return Files(self._git.layout, path, partial(self._tell, "files"))

    def _tell(self, what: str, done: int, all: int) -> None:
        self.progress(what, done, all)
