"""The verb that makes a memory never have been."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from gitmem.api.searching import Searching
from gitmem.errors import GitmemError, NotFound, RefMoved, Refused, Unavailable
from gitmem.journal import clock
from gitmem.journal.git.port import RefUpdate
from gitmem.journal.tracking import remotes, tracking
from gitmem.model import JournalName

if TYPE_CHECKING:  # loaded by the verb that needs it
    from gitmem.journal.codec import Event
    from gitmem.journal.purging.purge import Purged
    from gitmem.journal.sharing.transfer import Remote
    from gitmem.verbs.purge import Purge, Trace

TRIES = 5
"""Times that a forced push is tried again because others pushed meanwhile."""


OTHER_REPOSITORIES = (
    "other repositories keep it in their indexes and Markdown files until gitmem runs there, and"
    " in old renderings under .git/gitmem/mirror"
)
"""What a purge of one's own memories cannot reach: nobody keeps a list of repositories."""


class Purging(Searching):
    """A memory taken out of history."""

    def purge(
        self, id: str, *, push: bool = False, remote: str | None = None, terminal: bool = False
    ) -> Purge:
        """Take a memory out of the journal's whole history, and out of all that is derived of it.

        With `push` the rewritten journal is forced onto `remote`, if nobody pushed meanwhile; git
        may ask on a `terminal`. The same call again ends what was interrupted, also by the id of
        what is purged already.

        Raises:
            NotFound: there is no such memory, nor was there. NoIdentity: git knows no author.
            Refused: somebody else's purge at the remote waits to be taken over, or the remote takes
                no forced push. Unavailable: it cannot be done now; what was done stays done.
        """
        from gitmem.verbs.purge import Purge, left_elsewhere

        author = self._git.identity()
        self._fresh()
        full = self._purgeable(id)
        where = self._remote_to_force(remote, terminal) if push else None
        theirs = self._take_theirs(where, author, full) if where else None
        done, left = self._rewriting(lambda: self._purge_journals(full, author), [full], True)
        shared = any(each.journal is JournalName.SHARED for each in done)
        forced = where and shared and self._force(where, theirs, author, full)
        pushed = where.name if where and forced else None
        if any(each.journal is JournalName.USER for each in done):
            left.append(OTHER_REPOSITORIES)
        if shared or pushed:
            left += left_elsewhere(full, remotes(self._git.config()), pushed)
        return Purge(
            full,
            [each.journal.value for each in done],
            sum(len(each.lines_gone) for each in done),
            sum(each.commits for each in done),
            sum(each.objects for each in done),
            pushed,
            left,
        )

    def adopt_purge(self, theirs: str) -> Sequence[str]:
        """Take over the fetched journal tip `theirs`, where `journal.purging.purge.meets` says so.

        Returns a line for each place where purged text is left.

        Raises:
            Unavailable: it cannot be done now.
        """
        from gitmem.journal.purging.purge import adopt_purge

        author = self._git.identity()
        self._fresh()
        journal = self._journals.writable(JournalName.SHARED)
        known = journal.purged(theirs) | journal.purged(journal.notes.tip())

        def adopt() -> list[Purged]:
            done = adopt_purge(journal, theirs, author, self._next_at())
            return [done] if done else []

        return self._rewriting(adopt, [*known])[1]

    # -- here -----------------------------------------------------------------------------------

    def _purgeable(self, id: str) -> str:
        """Return the full id of a memory, also of one that is purged or being purged."""
        from gitmem.journal.purging.purge import unfinished

        try:
            return self.show(id).id
        except NotFound:
            gone = {*self._catalog.purged()}
            gone |= {memory for journal in self._journals for memory in unfinished(journal)}
            known = [memory for memory in gone if memory.startswith(id.strip().lower())]
            if len(id.strip()) < 4 or len(known) != 1:
                raise
            return known[0]

    def _rewriting(
        self, rewrite: Callable[[], list[Purged]], ids: Sequence[str], always: bool = False
    ) -> tuple[list[Purged], list[str]]:
        """Rewrite journals and derive everything anew; returns what was done, and what is left.

        Where nothing was done, nothing is derived anew unless `always`.
        """
        from gitmem.journal.purging.purge import finish, unfinished
        from gitmem.verbs.purge import Trace, left_here

        with ExitStack() as stack:
            others = [stack.enter_context(other) for other in self._other_worktrees()]
            every: Sequence[Purging] = [self, *others]
            for one in every:
                one._take_edits()
            done = rewrite()
            if not (done or always):
                return [], []
            begun = [memory for journal in self._journals for memory in unfinished(journal)]
            trace = Trace({*ids, *begun}, done)
            for one in every:
                one._scrub(trace)
            self._scrub_rest(every, trace)
            tops = [top for one in every if (top := one._git.layout.workdir)]
            left = [*left_here(self._git, self._journals, tops, trace), *_kept(done)]
        for journal in self._journals:
            finish(journal)
        return done, left

    def _next_at(self) -> str:
        horizon = clock.horizon(self._now())
        return clock.next_at(self._now(), self._catalog.latest_at(horizon))

    def _purge_journals(self, id: str, author: str) -> list[Purged]:
        from gitmem.journal.purging.purge import purge

        at = self._next_at()
        done = [purge(journal, [id], author, at) for journal in self._journals]
        return [each for each in done if each]

    def _take_edits(self) -> None:
        """Read hand edits now: later their base is gone, and what it showed would seem typed."""
        self._fresh()
        with self._session.around():
            pass

    def _scrub(self, trace: Trace) -> None:
        """Derive everything of this worktree anew, without what was purged."""
        from gitmem.search.base import IndexUnusable
        from gitmem.verbs.purge import scrub, scrub_versions

        self._catalog.rebuild()
        try:
            self._engine.clear()
        except IndexUnusable as error:
            self._warnings.append(f"{error.message}: it may hold what was purged")
        self._engine.close()
        del self._engine
        scrub(self._derived, trace, keep=("catalog.sqlite", "lexical"))
        with self._session.around(always=True):
            pass
        scrub_versions(self._derived, self._git.layout.workdir, trace)
        self._catalog.scrub()

    def _scrub_rest(self, every: Sequence[Purging], trace: Trace) -> None:
        """Delete what is derived for worktrees that cannot be opened."""
        from gitmem.verbs.purge import folders, scrub, scrub_versions

        mine = [one._derived for one in every]
        for folder in folders(self._git):
            if folder not in mine:
                scrub(folder, trace)
                scrub_versions(folder, None, trace)

    def _other_worktrees(self) -> Iterator[Self]:
        from gitmem.journal.purging.purge import worktrees

        shared = self._journals.get(JournalName.SHARED)
        here = self._git.layout.workdir
        for top in worktrees(shared) if shared else ():
            if here is None or top.resolve() != here.resolve():
                try:
                    yield type(self)(top, self._backend, self._environ, self._now)
                except GitmemError as error:  # moved, or another user's: its files are deleted
                    self._warnings.append(f"'{top}': {error.message}")

    # -- elsewhere ------------------------------------------------------------------------------

    def _look_at(self, lines: Sequence[bytes]) -> None:
        """Look at lines that are about to leave.

        Raises:
            Refused: one holds what looks like a secret, or would bring back what was purged.
        """
        from gitmem.verbs.sharing import stop_secrets

        stop_secrets(lines, self._events_of)
        self._stop_return(lines)

    def _stop_return(self, lines: Sequence[bytes]) -> None:
        from gitmem.journal.purged import About, purged
        from gitmem.verbs.sharing import stop_return

        notes = self._journals.shared.notes
        gone = purged(notes, notes.tip())
        about = About(gone)
        if returning := [line for line in lines if about(line)] if gone else []:
            self._fresh()
            stop_return(returning, gone, self._catalog.hidden)

    def _events_of(self, memory: str) -> Iterable[Event]:
        self._fresh()
        return self._catalog.events(memory)

    def _remote_to_force(self, name: str | None, terminal: bool) -> Remote:
        from gitmem.journal.sharing.transfer import Remote
        from gitmem.verbs.sharing import choose

        chosen = choose(self._git.config(), self._settings, name)
        return Remote(self._git.layout, chosen, self._environ, terminal=terminal)

    def _take_theirs(self, remote: Remote, author: str, id: str) -> str | None:
        """Fetch what the remote has and take it in, and return its tip.

        Raises:
            Refused: what would be pushed besides the purge of `id` may not leave, or a purge by
                somebody else is there.
        """
        from gitmem.journal.purged import About
        from gitmem.journal.purging.purge import adopt_purge
        from gitmem.journal.sharing import exchange as sharing
        from gitmem.journal.sharing import merging

        journal, at = self._journals.writable(JournalName.SHARED), self._next_at()
        theirs, about = sharing.fetch(journal, remote), About([id])
        added = journal.notes.added(theirs, journal.notes.tip())
        lacking = [line for _, line in added if not about(line)]
        self._look_at(lacking)
        if theirs is None:
            return None
        seconds = int(self._now().timestamp())
        met = merging.merge(journal, theirs, remote.name, author, seconds)
        if isinstance(met, merging.Merged):
            self._catalog.catch_up()
            self._stop_return(lacking)
            return theirs
        if foreign := met.foreign(author):
            raise Refused(
                f"{foreign[0].by} has purged {len(foreign)} memories at '{remote.name}'",
                f"take that over first: gitmem pull {remote.name}",
            )
        adopt_purge(journal, theirs, author, at)
        self._catalog.catch_up()
        return theirs

    def _force(self, remote: Remote, expected: str | None, author: str, id: str) -> bool:
        """Force the journal onto a remote, taking in what others push meanwhile."""
        from gitmem.journal.purging.purge import finish

        journal = self._journals.writable(JournalName.SHARED)
        for _ in range(TRIES):
            mine = journal.notes.tip()
            if mine is None:
                return False
            try:
                remote.force(journal.notes.name, mine, expected)
            except RefMoved:
                expected = self._take_theirs(remote, author, id)
                continue
            ref = tracking(remote.name)
            self._git.update_refs([RefUpdate(ref, mine, self._git.ref(ref))], "gitmem: push")
            finish(journal)
            return True
        raise Unavailable(
            f"it is purged here, but others kept pushing to '{remote.name}'",
            "run the same command again",
        )


def _kept(done: Sequence[Purged]) -> Iterator[str]:
    for each in done:
        for name in each.kept_by:
            yield f"{name} still has it: that is not gitmem's, and was left alone"
