"""The verbs around memories: setting up, the session's bracket, and care."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.api.trust import Trusting
from gitmem.errors import Unavailable
from gitmem.journal import clock
from gitmem.journal.branches.sight import HASTE
from gitmem.model import Memory
from gitmem.search.catalog.rows import Filter
from gitmem.verbs import setup

if TYPE_CHECKING:  # each is loaded by the verbs that need it: a write does without, and 10 ms less
    from gitmem.verbs.briefing import Briefing
    from gitmem.verbs.care import Finding, Report, Stats, Status
    from gitmem.verbs.session import SyncEnd


class Care(Trusting):
    """A repository set up, a session begun and ended, and how things stand."""

    def init(
        self,
        *,
        track: bool = False,
        trunk: str = "",
        show_notes: bool = False,
        hooks: bool = False,
    ) -> list[str]:
        """Set the repository up and show its memories; returns a line for each change.

        `trunk` is the branch that others fork from, where git does not say; `show_notes` lets
        ``git log`` show memories beside commits; `hooks` lets git call gitmem as it moves HEAD.
        """
        said = setup.initialise(self._git, self._folder, track, trunk, show_notes)
        if hooks:
            from gitmem.verbs.hooks import install

            said += install(self._git, self._folder)
        if trunk:
            self._sight.lines.set_trunk(trunk)
        self._fresh()
        self._session.open_mirror()
        said += self._bring()
        with self._session.around(always=True):
            pass
        if held := self._catalog.count(replace(self._alive_filter(), held=True)):
            said.append(f"{held} held, by others: see 'gitmem trust --list'")
        return said + [f"{path}: written" for path in self._session.written]

    def deinit(self) -> list[str]:
        """Undo what `init` changed; memories stay in git. Returns a line for each change."""
        self._fresh()
        removed = self._session.remove_mirror()
        from gitmem.verbs.hooks import remove

        said = remove(self._git, self._folder)
        said += setup.deinitialise(self._git, self._folder)
        return [f"{path}: removed" for path in removed] + said

    def settle(self) -> None:
        """Do after a git command what the next verb would do first, in haste: for git's hooks."""
        self._sight.budget = HASTE
        self._session.settle(self._fresh)

    def sync_start(self, *, branch: str | None = None) -> Briefing:
        """Begin a session: take hand edits in, show what HEAD sees, brief the reader.

        `branch`: only brief, with what is seen from there.
        """
        if branch is not None:
            with self._elsewhere(branch) as catalog:
                return self._session.brief(catalog, branch)
        self._pull_in_passing()
        return self._session.start(self._fresh)

    def greet(self, agent: str) -> str:
        """Brief an agent such as ``claude-code``: who said what, what changed since it was here.

        The text is fenced, and empty where nothing is known.
        """
        self._pull_in_passing()
        return self._session.greet(self._fresh, agent)

    def leave(self, agent: str) -> None:
        """Note that an agent knows what there is now: it is no news when it comes again."""
        self._fresh()
        self._session.leave(agent)

    def sync_end(self, summary: str = "") -> SyncEnd:
        """End a session: keep its summary and its working memory, catch indexes up, pack journals.

        The summary is an episode; so is the working memory, a private one, and that of the next
        session begins empty.
        """
        from gitmem.verbs.session import SyncEnd

        self._fresh()
        archived = self._archive_context()
        episode = self.remember(summary, kind="episode") if summary.strip() else None
        indexed, packed = 0, False
        try:
            with self._session.around(always=True):
                indexed = self._engine.catch_up()
                packed = self._recorder.pack(now=True)
        except Unavailable as error:  # the episode is kept; what is derived can be derived later
            self._warnings.append(error.message)
        return SyncEnd(episode, archived, indexed, packed, self._push_in_passing())

    def accept(self) -> Sequence[Memory]:
        """Apply the hand edits that are held, and return the memories they touch."""
        self._fresh()
        return [self.show(id) for id in self._session.accept()]

    def status(self) -> Status:
        """Return how things stand here."""
        self._fresh()
        with self._session.around():
            pass
        alive = self._alive_filter()
        record = setup.read_record(self._folder)
        from gitmem.verbs import branches, sharing
        from gitmem.verbs.care import Status

        remote = self._default_remote()
        waiting = branches.waiting(self._catalog, self._sight)
        return Status(
            branch=self._git.head().branch,
            initialised=record is not None,
            mirrored=record.mirrored if record else (),
            memories=self._catalog.count(alive),
            forgotten=self._catalog.count(Filter(forgotten=True)),
            contested=self._catalog.count(Filter(contested=True)),
            held_memories=self._catalog.count(replace(alive, held=True)),
            expired=self._catalog.count(Filter()) - self._catalog.count(alive),
            journals=self._catalog.counts("journal", alive),
            held=self._session.held,
            indexed=self._engine.caught_up(),
            waiting=waiting.branches,
            orphaned=waiting.orphaned,
            remote=remote,
            unpushed=len(sharing.unpushed(self._shared, remote)) if remote else None,
        )

    def stats(self) -> Stats:
        """Count the memories by kind, importance, author, branch and month."""
        self._fresh()
        from gitmem.verbs import care

        return care.stats(self._catalog, clock.format_at(self._now()))

    def doctor(self, *, repair: bool = False) -> Report:
        """Examine the journals and what is derived from them; mend what can be mended."""
        from gitmem.verbs import care

        repaired = self._repair() if repair else []
        self._catalog.look = self._sight.look()
        self._catalog.catch_up()
        with self._session.around():
            pass
        findings = list(care.examine(self._git, self._journals, self._catalog, self._now()))
        findings += self._findings_around()
        findings += [
            care.Finding("warning", "held", line, "gitmem sync --accept")
            for line in self._session.held
        ]
        return care.Report(findings, repaired)

    def _repair(self) -> list[str]:
        from gitmem.verbs import care, findings

        self._take_in_fetched()
        said = care.repair(self._journals, self._git.identity(), self._now())
        if trouble := self._catalog.check():
            self._catalog.rebuild()
            said.append(f"built the catalog anew: {trouble}")
        for damage in findings.of_index(self._engine.indexes.lexical):
            self._engine.clear()
            said.append(f"indexed {self._engine.catch_up()} documents anew: {damage.message}")
        return said

    def _findings_around(self) -> Iterator[Finding]:
        from gitmem.verbs import branches, findings

        gone = branches.waiting(self._catalog, self._sight).orphaned
        yield from findings.of_anchors(self._catalog, self._git, gone)
        yield from findings.of_clocks(self._catalog, self._now())
        yield from findings.of_fetched(self._journals.shared)
        yield from findings.of_index(self._engine.indexes.lexical)

    def reindex(self) -> int:
        """Rebuild everything derived from the journals; returns the number of memories indexed."""
        self._catalog.look = self._sight.look()
        self._catalog.rebuild()
        self._engine.clear()
        return self._engine.catch_up()

    def export(self, format: str = "jsonl") -> Iterator[str]:
        """Yield the lines of an export, ``jsonl`` or ``markdown``."""
        self._fresh()
        from gitmem.verbs.export import export

        return export(self._catalog, format, self.short)
