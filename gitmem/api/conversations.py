"""The verbs of conversations: imported, read, tagged, and distilled into cards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.api.imports import Imports
from gitmem.errors import NotFound
from gitmem.journal import clock
from gitmem.model import JournalName, Memory
from gitmem.search.catalog.rows import Filter
from gitmem.verbs import content
from gitmem.verbs.draft import Draft

if TYPE_CHECKING:  # loaded by the verbs that need it
    from gitmem.sessions.importing import ImportReport, Progress
    from gitmem.sessions.intake import Intake
    from gitmem.sessions.model import Session, Turn
    from gitmem.sessions.store import SessionStore
    from gitmem.verbs.conversations import SessionEvent, SessionView


class Conversations(Imports):
    """What agents and people said."""

    def import_transcripts(
        self,
        agent: str,
        *,
        path: str | Path | None = None,
        since: str | None = None,
        dry_run: bool = False,
        progress: Progress = lambda done, all: None,
    ) -> ImportReport:
        """Import the transcripts of an agent: those about this repository, or what is at `path`.

        `since` leaves out those not written to since that date or age. With `dry_run` nothing is
        written, and the report is the same.

        Raises:
            NotFound: there is no such agent, or nothing at `path`.
            NoIdentity: git knows no author.
        """
        from gitmem.sessions.importers import AGENTS, importer
        from gitmem.sessions.importing import Importing, Seen
        from gitmem.sessions.known import Known
        from gitmem.verbs.home import home

        if agent not in AGENTS:
            raise NotFound(f"no agent '{agent}'", f"one of {', '.join(AGENTS)}")
        author = None if dry_run else self._git.identity()
        now = self._now()
        begin = content.moment(since, now, ahead=False) if since else None
        store = self._conversations(make=not dry_run)
        importing = Importing(
            store,
            Seen(self._folder, store),
            Known(self._folder),
            home(self._git, self._environ),
            clock.format_at(now),
            clock.parse_at(begin).timestamp() if begin else None,
        )
        return importing.run(
            importer(agent),
            Path(path) if path is not None else None,
            self._commit(author) if author else None,
            now.timestamp(),
            progress,
        )

    def agents_here(self) -> Sequence[str]:
        """Return the agents that keep transcripts where they usually do."""
        from gitmem.sessions.importers import AGENTS, importer
        from gitmem.sessions.importing import existing
        from gitmem.verbs.home import home

        here = home(self._git, self._environ)
        return [agent for agent in AGENTS if existing(importer(agent), here)]

    def import_session(
        self,
        turns: Iterable[Mapping[str, Any] | Turn],
        *,
        session: str,
        agent: str = "api",
        title: str = "",
    ) -> ImportReport:
        """Keep a conversation, or what is new in one.

        A turn is ``{"role", "text"}`` with ``id``, ``at`` and ``speaker`` where they are known.

        Raises:
            UsageError: a turn cannot be kept; nothing was written.
        """
        from gitmem.sessions.importing import Given, ImportReport
        from gitmem.sessions.intake import Intake
        from gitmem.sessions.model import About
        from gitmem.verbs import conversations

        author, report = self._git.identity(), ImportReport(agent)
        with Intake(self._conversations(make=True), clock.format_at(self._now())) as intake:
            given = Given(About(agent, session, title=title), conversations.turns(turns))
            given.take(intake, report)
            self._commit(author)(intake, f"import {agent}: {report.new} rounds")
        return report

    def sessions(
        self,
        *,
        agent: str | None = None,
        tag: str | None = None,
        since: str | None = None,
        limit: int | None = None,
    ) -> Sequence[Session]:
        """Return conversations, the one that ended last first."""
        begin = content.moment(since, self._now(), ahead=False) if since else ""
        found = [
            one
            for one in self._conversations().sessions()
            if (agent is None or one.about.agent == agent)
            and (tag is None or tag in one.tags)
            and (not begin or max(one.ended, one.about.started) >= begin)
        ]
        return found[:limit]

    def session(self, id: str, rounds: str | None = None) -> SessionView:
        """Return a conversation and its rounds, or those that ``11-15,20`` names.

        Raises:
            NotFound: there is no such session or round. AmbiguousId: there are several.
        """
        from gitmem.verbs.conversations import SessionView, chosen

        store = self._conversations()
        session, entry = store.find(id)
        every = store.rounds(entry)
        return SessionView(session, chosen(every, rounds, session.rounds) if rounds else [*every])

    def session_log(self, id: str) -> Sequence[SessionEvent]:
        """Return the life of a conversation, newest first: imported, grown, tagged, cited."""
        from gitmem.verbs import cards
        from gitmem.verbs.conversations import life

        store = self._conversations()
        session, entry = store.find(id)
        self._fresh()
        citing = (memory for memory in self._catalog.select(Filter()) if memory.links)
        return life(store.steps(entry), [one for one in citing if cards.cites(one, session)])

    def tag_session(self, id: str, *tags: str) -> Session:
        """Add tags to a conversation."""
        wanted = content.tags(tags)
        return self._retag(id, lambda had: [*had, *wanted], f"tag {' '.join(wanted)}")

    def untag_session(self, id: str, *tags: str) -> Session:
        """Take tags off a conversation.

        Raises:
            NotFound: it has no such tag.
        """
        unwanted = content.tags(tags)

        def left(had: Sequence[str]) -> list[str]:
            if missing := [tag for tag in unwanted if tag not in had]:
                raise NotFound(f"'{id}' has no tag '{missing[0]}'")
            return [tag for tag in had if tag not in unwanted]

        return self._retag(id, left, f"untag {' '.join(unwanted)}")

    def card(
        self,
        card: Mapping[str, Any],
        *,
        kind: str | None = None,
        tags: Sequence[str] = (),
        importance: str | None = None,
        private: bool = False,
    ) -> Memory:
        """Distil rounds into a memory: ``{"summary", "rounds": [{"session", "indexes"}]}``.

        The memory cites them; its ``kind``, ``tags`` and ``importance`` may stand in the card.

        Raises:
            UsageError: the summary is too long, or rounds do not exist. NotFound: no such session.
        """
        from gitmem.verbs import cards

        store = self._conversations()
        summary, citations = cards.read(card, lambda id: store.find(id)[0])
        self._fresh()
        word = content.kind(kind or card.get("kind")) or "note"
        fields = {
            **content.content(summary),
            "kind": word,
            "importance": content.importance(importance or card.get("importance")),
            "tags": content.tags([*tags, *card.get("tags", ())]),
            "source": {"card": [citation.target for citation in citations]},
        }
        journal = JournalName.PRIVATE if private else JournalName.SHARED
        drafts = [Draft("remember", None, fields, journal)]
        drafts += [
            Draft("link", None, {"rel": cards.CITES, "target": citation.target}, journal)
            for citation in citations
        ]
        return self._write(drafts, "card")

    def cited(self, memory: Memory) -> Sequence[SessionView]:
        """Return the rounds that a memory cites, as far as they are here."""
        from gitmem.verbs.cards import citation_of

        found = []
        for link in memory.links:
            if citation := citation_of(link.target):
                try:
                    found.append(self.session(*citation))
                except NotFound:  # imported by a colleague: conversations are never pushed
                    continue
        return found

    # -- inside -------------------------------------------------------------------------------

    def _conversations(self, make: bool = False) -> SessionStore:
        """Return the conversations; where there are none yet, an empty place to look into."""
        from gitmem.sessions.store import SessionStore

        if make:
            return SessionStore(self._journals.writable(JournalName.PRIVATE).git)
        journal = self._journals.get(JournalName.PRIVATE)
        return SessionStore(journal.git if journal else self._git)

    def _commit(self, author: str) -> Callable[[Intake, str], object]:
        now: datetime = self._now()
        return lambda intake, message: intake.commit(author, int(now.timestamp()), message)

    def _retag(
        self, id: str, change: Callable[[Sequence[str]], Sequence[str]], message: str
    ) -> Session:
        from gitmem.sessions.store import retag

        author, store = self._git.identity(), self._conversations()
        at = int(self._now().timestamp())
        return retag(store, id, change, author, at, f"session {message}")
