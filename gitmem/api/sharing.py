"""The verbs that share memories: pushed to a remote, pulled from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitmem.api.purging import Purging
from gitmem.errors import GitmemError, NotFound, Refused, UsageError
from gitmem.journal.purged import About
from gitmem.journal.tracking import tracking
from gitmem.verbs import setup
from gitmem.verbs.draft import Draft
from gitmem.verbs.redaction import ALLOWED

if TYPE_CHECKING:  # loaded by the verbs that need it
    from gitmem.journal.journals import Journal
    from gitmem.journal.sharing.transfer import Progress, Remote
    from gitmem.verbs.sharing import Pulled, Pushed, RemoteState


START_LIMIT = 5.0
"""Seconds that a session's start waits for a remote."""

END_LIMIT = 20.0
"""Seconds that a session's end does."""


class Sharing(Purging):
    """Memories that others have too."""

    def push(
        self,
        remote: str | None = None,
        *,
        allow_secrets: Sequence[str] = (),
        terminal: bool = False,
        limit: float | None = None,
        progress: Progress | None = None,
    ) -> Pushed:
        """Push the shared memories, and return what the remote then says it has.

        `allow_secrets` are memories that may leave although they hold what looks like a secret;
        that is recorded. `terminal`: git may ask there; `limit`: seconds a transfer may take.

        Raises:
            NotFound, UsageError: there is no such remote, or nothing says which.
            Refused: a memory holds what looks like a secret, or a purge waits to be taken over.
            Unavailable: the remote cannot be reached, or does not take it; all is kept here.
        """
        from gitmem.journal.sharing import exchange as sharing
        from gitmem.verbs.sharing import Pushed, memories

        there = self._remote_named(remote, terminal, limit, progress)
        if self._initialised:  # hand edits are pushed too
            self._show()
        else:
            self._journals.settle(self._restorer(), self._now())
        self._allow_secrets(allow_secrets)
        received: dict[str, None] = {}

        def take_in(tip: str) -> None:
            lines = self._merge_fetched(there.name, tip, pushing=True)
            received.update(dict.fromkeys(memories(lines)))

        receipt = sharing.push(
            self._shared,
            there,
            self._look_at,
            take_in,
        )
        if received and self._initialised:
            self._show()
        return Pushed(
            there.name,
            receipt.tip,
            memories(receipt.arrived),
            len(receipt.arrived),
            receipt.tries,
            [*received],
        )

    def pull(
        self,
        remote: str | None = None,
        *,
        accept_purge: bool = False,
        terminal: bool = False,
        limit: float | None = None,
        progress: Progress | None = None,
    ) -> Pulled:
        """Fetch the memories of a remote and merge them with those here.

        `accept_purge`: what somebody else has purged there is purged here, too.

        Raises:
            NotFound, UsageError: there is no such remote, or nothing says which.
            Refused: a purge by somebody else waits for `accept_purge`.
            Unavailable: the remote cannot be reached.
        """
        from gitmem.journal.sharing import exchange as sharing
        from gitmem.verbs.sharing import Pulled, memories

        there = self._remote_named(remote, terminal, limit, progress)
        tip = sharing.fetch(self._shared, there)
        lines = self._merge_fetched(there.name, tip, accept_purge=accept_purge) if tip else ()
        if self._initialised:  # else nothing is derived until somebody asks
            self._show()
        return Pulled(there.name, tip, memories(lines), len(lines))

    def _bring(self) -> list[str]:
        """Pull from a remote that was never asked, for a clone has no notes; say what came."""
        remote = self._default_remote()
        if remote is None or self._git.ref(tracking(remote)):
            return []
        try:
            pulled = self.pull(remote, limit=END_LIMIT)
        except GitmemError as error:
            self._warnings.append(f"no memories were fetched: {error.message}")
            return []
        count = len(pulled.memories)
        return [f"{count} {'memory' if count == 1 else 'memories'} fetched from '{remote}'"][:count]

    def _pull_in_passing(self) -> None:
        """Pull where the settings say so; a remote that fails is a warning."""
        if self._settings["gitmem.autoPull"] and self._initialised:
            try:
                self.pull(limit=START_LIMIT)
            except GitmemError as error:
                self._warnings.append(f"nothing was pulled: {error.message}")

    def _push_in_passing(self) -> Pushed | None:
        """Push where the settings say so; what is not pushed is a warning."""
        if self._settings["gitmem.autoPush"] and self._initialised:
            try:
                return self.push(limit=END_LIMIT)
            except GitmemError as error:
                hint = f" ({error.hint})" if error.hint else ""
                self._warnings.append(f"not pushed: {error.message}{hint}")
        return None

    def remotes(self) -> Sequence[RemoteState]:
        """Return every remote, and how it differed when it was last talked to."""
        from gitmem.verbs.sharing import states

        self._fresh()
        return states(self._git, self._shared, self._default_remote())

    def set_remote(self, name: str) -> None:
        """Share with the remote of that name unless another is named.

        Raises:
            NotFound: there is none.
        """
        from gitmem.verbs.sharing import choose

        self._git.config_set("gitmem.remote", choose(self._git.config(), self._settings, name))

    @property
    def _initialised(self) -> bool:
        return setup.read_record(self._folder) is not None

    def _show(self) -> None:
        """Take hand edits in and show what is here, as any verb does that changes something."""
        self._session.settle(self._fresh)

    @property
    def _shared(self) -> Journal:
        return self._journals.shared

    def _default_remote(self) -> str | None:
        from gitmem.verbs.sharing import choose

        try:
            return choose(self._git.config(), self._settings)
        except (NotFound, UsageError):
            return None

    def _remote_named(
        self, name: str | None, terminal: bool, limit: float | None, progress: Progress | None
    ) -> Remote:
        from gitmem.journal.sharing.transfer import Remote
        from gitmem.verbs.sharing import choose, pushed_to

        config = self._git.config()
        chosen = choose(config, self._settings, name)
        return Remote(
            self._git.layout, chosen, self._environ, pushed_to=pushed_to(config, chosen),
            terminal=terminal, limit=limit, progress=progress,
        )  # fmt: skip

    def _merge_fetched(
        self, remote: str, tip: str, *, accept_purge: bool = False, pushing: bool = False
    ) -> Sequence[bytes]:
        """Merge what was fetched, and return the lines that are new here.

        Raises:
            Refused: the journals differ by a purge, and that is for the user to decide.
        """
        from gitmem.journal.sharing.merging import Merged, merge
        from gitmem.verbs.sharing import met, unheeded

        journal, author = self._shared, self._restorer()
        found = merge(journal, tip, remote, author, int(self._now().timestamp()))
        if isinstance(found, Merged):
            self._fetched.note(tracking(remote), tip)
            self._warnings += unheeded(found.lines, journal.heeds, remote)
            return found.lines
        stuck = pushing and found.stale
        if stuck or (found.foreign(author) and not accept_purge):
            raise Refused(*met(found, remote, author, [*journal.purged(journal.notes.tip())]))
        new = [line for _, line in journal.notes.added(journal.notes.tip(), tip)]
        self._warnings += [*self.adopt_purge(tip), *unheeded(new, journal.heeds, remote)]
        self._fetched.note(tracking(remote), tip)
        gone = About(journal.purged(journal.notes.tip()))
        return [line for line in new if not gone(line)]

    def _allow_secrets(self, ids: Sequence[str]) -> None:
        """Record that memories may leave although they hold what looks like a secret."""
        from gitmem.verbs.sharing import held

        for memory in [self.show(id) for id in ids]:
            if rules := held(self._catalog.events(memory.id)):
                reason = "pushed on purpose, though it looks like a secret"
                self._write([Draft("revise", memory, {ALLOWED: rules, "reason": reason})], "allow")
