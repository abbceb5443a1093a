"""The verbs that read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.api.core import Core
from gitmem.errors import AmbiguousId, NotFound, UsageError
from gitmem.journal import clock
from gitmem.journal.codec import Event
from gitmem.model import Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter
from gitmem.verbs import content

if TYPE_CHECKING:  # each is loaded by the verbs that need it: a write does without, and 10 ms less
    from gitmem.search.naming import EntityCount, EntityPage
    from gitmem.verbs.branches import BranchDiff, BranchInfo, Life


class Reading(Core):
    """What is known, by id, by field, by topic, by words and by branch."""

    def show(self, id: str, *, branch: str | None = None, at: str | None = None) -> Memory:
        """Return the memory whose id begins with `id`, forgotten or not.

        `branch`: as seen from it, without switching; `at`: as it was known at that commit.

        Raises:
            NotFound: there is none. AmbiguousId: there are several.
        """
        with self._elsewhere(branch, at) as catalog:
            return self._marked(catalog, [self._find(catalog, id)])[0]

    def _find(self, catalog: Catalog, id: str) -> Memory:
        prefix = id.strip().lower()
        if len(prefix) < 4 or set(prefix) - set("0123456789abcdef"):
            raise NotFound(
                f"'{id[:80]}' is no memory id", "an id is 4 or more hex digits; see 'gitmem list'"
            )
        found = catalog.with_prefix(prefix)
        if len(found) > 1:
            shown = tuple(self.short(other) for other in found)
            raise AmbiguousId(f"'{id}' is ambiguous", "it could be " + ", ".join(shown), shown)
        memory = catalog.memory(found[0]) if found else None
        if memory is None and found and catalog is self._catalog:  # of a branch not seen from here
            memory = catalog.hidden(found[0])
        if memory is None:
            raise NotFound(f"no memory has the id '{id[:80]}'", "'gitmem list' shows them all")
        return memory

    def _alive(self, id: str) -> Memory:
        memory = self.show(id)
        if memory.forgotten:
            short = self.short(memory.id)
            raise UsageError(f"'{short}' is forgotten", f"bring it back: gitmem restore {short}")
        return memory

    def history(self, id: str) -> Sequence[Life]:
        """Return the life of a memory, newest event first: where each stands, and if it is seen."""
        from gitmem.verbs import branches

        return branches.life(self._catalog, self.show(id).id)

    def branches(self) -> Sequence[BranchInfo]:
        """Return what each branch knows, the current one first."""
        from gitmem.verbs import branches

        self._fresh()
        return branches.overview(self._catalog, self._sight)

    def diff(self, span: str) -> BranchDiff:
        """Compare what two branches know: ``main..feature``."""
        from gitmem.verbs import branches

        self._fresh()
        now = clock.format_at(self._now())
        return branches.compare(self._catalog, self._sight, span, now)

    def log(self, id: str | None = None, *, limit: int | None = None) -> list[Event]:
        """Return events, newest first: the life of one memory, or everything."""
        if id is not None:
            return list(self._catalog.events(self.show(id).id))[:limit]
        self._fresh()
        return [event for event, _ in zip(self._catalog.events(), _count(limit), strict=False)]

    def list(
        self,
        *,
        kind: str | None = None,
        tags: Sequence[str] = (),
        importance: str | None = None,
        author: str | None = None,
        scope: str | None = None,
        private: bool | None = None,
        since: str | None = None,
        until: str | None = None,
        forgotten: bool = False,
        contested: bool = False,
        held: bool | None = None,
        stale: bool = False,
        limit: int | None = None,
        branch: str | None = None,
        at: str | None = None,
    ) -> Sequence[Memory]:
        """Return memories, newest first; `since` and `until` are dates or ages such as ``7d``.

        `held`: only those that nobody trusted wrote, or only the others; `stale`: only those whose
        files are not as they were; `branch`: as seen from it, without
        switching; `at`: what was known at that commit.
        """
        now = self._now()
        with self._elsewhere(branch, at) as catalog:
            found = catalog.select(
                Filter(
                    kind=content.kind(kind),
                    tags=content.tags(tags),
                    importance=content.importance(importance),
                    author=author,
                    scope=content.scope(scope, False, "") if scope else None,
                    private=private,
                    since=content.moment(since, now, ahead=False) if since else None,
                    until=content.moment(until, now, ahead=False) if until else None,
                    forgotten=forgotten,
                    contested=contested,
                    held=held,
                    now=clock.format_at(now),
                    limit=None if stale else limit,
                )
            )
            marked = self._marked(catalog, found)
        return [memory for memory in marked if memory.stale][:limit] if stale else marked

    def topic(self, name: str) -> Sequence[Memory]:
        """Return the memories tagged `name` or ``topic:NAME``, else those that name such an entity.

        Raises:
            NotFound: there is neither.
        """
        from gitmem.verbs.briefing import TOPIC

        self._fresh()
        alive = self._alive_filter()
        for tag in (TOPIC + name, name):
            tagged = self._catalog.select(Filter(tags=(tag,), now=alive.now))
            if tagged:
                return self._marked(self._catalog, tagged)
        from gitmem.search import naming

        return self._marked(self._catalog, naming.entity(self._catalog, name, alive).memories)

    def tags(self) -> dict[str, int]:
        """Return {tag: memories}, most used first."""
        self._fresh()
        return self._catalog.tag_counts(self._alive_filter())

    def entities(self) -> Sequence[EntityCount]:
        """Return what the memories name (technologies, paths, people…), most named first."""
        from gitmem.search import naming

        self._fresh()
        return naming.entities(self._catalog, self._alive_filter())

    def entity(self, name: str) -> EntityPage:
        """Return the memories that name an entity, by any of its names, and what is beside it."""
        from gitmem.search import naming

        self._fresh()
        page = naming.entity(self._catalog, name, self._alive_filter())
        return replace(page, memories=self._marked(self._catalog, page.memories))


def _count(limit: int | None) -> Iterator[int]:
    count = 0
    while limit is None or count < limit:
        yield count
        count += 1
