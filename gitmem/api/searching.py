"""The verbs that search: on purpose, and in passing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.api.conversations import Conversations
from gitmem.errors import UsageError
from gitmem.model import SOURCES, Hit
from gitmem.verbs import content

if TYPE_CHECKING:  # loaded by the verbs that need it
    from gitmem.search.conditions.condition import Condition
    from gitmem.search.question import Question, SearchResult


class Searching(Conversations):
    """What fits a question, of memories, conversations and files."""

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        within: Sequence[str] = SOURCES,
        kind: str | None = None,
        tags: Sequence[str] = (),
        session: str | None = None,
        where: str | None = None,
        branch: str | None = None,
        held: bool | None = None,
    ) -> SearchResult:
        """Find by words and by meaning, best first.

        `within` are the places to look in: ``memories``, ``sessions``, ``files``. `session` is an
        id whose rounds alone are wanted, `where` a condition such as
        ``kind = decision AND created_at > 2026-01-01``. `branch`: memories as seen from it.
        `held`: memories that nobody trusted wrote, or only the others.

        Raises:
            UsageError: `within` or `where` says nothing that can be looked for.
            NotFound: there is no such session or branch.
        """
        question = self._question(query, limit, within, kind, tags, session, where, held)
        with self._elsewhere(branch) as catalog:
            if catalog is not self._catalog:
                return self._engine.over(catalog).search(question)
            return self._engine.search(replace(question, branch=self._git.head().branch))

    def recall(
        self, prompt: str, *, session: str = "", limit: int = 3, threshold: float | None = None
    ) -> Sequence[Hit]:
        """Return what an agent should know before it answers: nothing where nothing fits.

        In haste: what is not indexed yet is left out where it is much, and Chroma is not asked.
        Nothing is returned twice in a session until some prompts have passed; `threshold` is the
        least score.
        """
        from gitmem.search import recall

        if not recall.asks(prompt[: recall.LONGEST]):
            return []
        self._fresh()
        strangers = self._catalog.count(replace(self._alive_filter(), held=True))
        held = False if strangers else None  # else nothing is left out, and fewer are looked at
        question = self._question(prompt[: recall.LONGEST], limit, recall.WITHIN, held=held)
        found = self._engine.search(replace(question, limit=recall.ROOM, haste=True))
        least = recall.THRESHOLD if "semantic" in found.searched else recall.BY_WORDS
        least = least if threshold is None else threshold
        near = [hit for hit in found.hits if hit.score >= least]
        return recall.fresh(self._derived, session, near, limit)

    def catch_up(self) -> int:
        """Index what is new, so that the next recall need not; returns how many documents that was.

        Vectors are made of many at once: of the last few, the next search makes them.

        Raises:
            IndexUnusable: an index can be neither used nor made.
        """
        self._fresh()
        return self._engine.keep_pace()

    def _question(
        self,
        query: str,
        limit: int,
        within: Sequence[str],
        kind: str | None = None,
        tags: Sequence[str] = (),
        session: str | None = None,
        where: str | None = None,
        held: bool | None = None,
    ) -> Question:
        from gitmem.search.question import Question

        if unknown := [name for name in within if name not in SOURCES]:
            raise UsageError(
                f"there is no '{unknown[0]}' to look in", f"one of {', '.join(SOURCES)}"
            )
        now = self._now()
        about = self.session(session).session.about if session else None
        return Question(
            query,
            now.date(),
            limit,
            tuple(within),
            replace(
                self._alive_filter(),
                kind=content.kind(kind),
                tags=tuple(content.tags(tags)),
                held=held,
            ),
            _condition(where, now) if where is not None else None,
            f"{about.agent}/{about.id}" if about else None,
        )


def _condition(where: str, now: datetime) -> Condition:
    from gitmem.search.conditions.where import parse

    return parse(where, now)
