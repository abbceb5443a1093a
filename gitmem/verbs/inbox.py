"""Between the mirror and the journal: hand edits become events, memories become Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import UsageError
from gitmem.journal.git.port import Git
from gitmem.mirror.contents import day_of
from gitmem.mirror.mirror import Mirror
from gitmem.model import JournalName, Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.events import Mark
from gitmem.search.catalog.rows import LONG_TERM, OLDEST, Filter
from gitmem.verbs import content
from gitmem.verbs.briefing import WORKING_KINDS
from gitmem.verbs.draft import Draft
from gitmem.verbs.record import Recorder

if TYPE_CHECKING:  # at run time only where a file was edited
    from gitmem.mirror.edits import Add, Edit, Revise

MESSAGE = "edit: by hand in Markdown"


class CatalogView:
    """What the mirror shows, read from the catalog; `everything` includes what is never pushed."""

    def __init__(
        self,
        catalog: Catalog,
        git: Git,
        now: str,
        everything: bool,
        context: Callable[[], Memory | None],
    ) -> None:
        self._catalog = catalog
        self._git = git
        self._now = now
        self._shown = Filter(now=now, private=None if everything else False, held=False)
        self._context = context
        self._everything = everything
        self._shorts: Mapping[str, str] = {}
        self._entities: Mapping[str, Sequence[tuple[str, str]]] = {}

    def long_term(self, limit: int) -> tuple[list[Memory], int]:
        """Return the most important memories, at most `limit`, and how many there are in all."""
        filter = replace(self._shown, without_kinds=WORKING_KINDS, order=LONG_TERM)
        return self._shown_at_once(filter, limit), self._catalog.count(filter)

    def state(self) -> list[Any]:
        """Return what changes when `long_term` does, in a form that JSON can hold.

        At the end, when the next of the memories expires: of all else the catalog counts changes.
        """
        found = self._catalog.entities_mark()
        until = self._catalog.next_expiry(self._now)
        return [*self._catalog.mark(), [*found] if found else [], self._everything, until]

    def is_same(self, state: Any) -> bool:
        """Whether `long_term` returns what it did when `state` was so."""
        return bool(state == self.state())

    def day(self, date: str, limit: int) -> tuple[list[Memory], int]:
        """Return the memories made on a day, oldest first, and how many there are in all."""
        filter = replace(
            self._shown,
            without_kinds=("context",),
            order=OLDEST,
            since=f"{date}T",
            until=f"{date}U",
        )
        return self._shown_at_once(filter, limit), self._catalog.count(filter)

    def _shown_at_once(self, filter: Filter, limit: int) -> list[Memory]:
        """Return the memories of a file, having asked for all that is shown with them.

        Asked for one by one, 10,000 memories took 20,000 queries: a tenth of a first pull.
        """
        memories = self._catalog.select(replace(filter, limit=limit))
        ids = [memory.id for memory in memories]
        self._shorts = self._catalog.shorts(ids)
        self._entities = self._catalog.entities_of_each(ids)
        return memories

    def short(self, id: str) -> str:
        """Return the shortest unique prefix of an id."""
        return self._shorts.get(id) or self._catalog.shorts([id])[id]

    def context(self) -> Memory | None:
        """Return the working memory; it is private, and no committed file shows it."""
        return self._context() if self._everything else None

    def resolve(self, prefix: str) -> Memory | None:
        """Return the one memory whose id begins with `prefix`."""
        ids = self._catalog.with_prefix(prefix, 2)
        return self._catalog.memory(ids[0]) if len(ids) == 1 else None

    def entities(self, id: str) -> Sequence[str]:
        """Return the technologies a memory names, as far as they have been found."""
        found = self._entities.get(id, ()) if id in self._shorts else self._catalog.entities_of(id)
        return [name for name, type in found if type == "technology"]

    def committed(self, path: str) -> bytes | None:
        """Return the content of a path at HEAD."""
        oid = self._git.blob_at_head(path)
        return self._git.blob(oid) if oid else None


class Inbox:
    """Takes in what people and agents wrote into the Markdown files, and renders them.

    `take_in` and `render` belong inside `locked`, with what is written between them.
    """

    def __init__(self, mirror: Mirror, catalog: Catalog, recorder: Recorder) -> None:
        self._mirror = mirror
        self._catalog = catalog
        self._recorder = recorder
        self.held: Sequence[str] = ()

    @property
    def warnings(self) -> list[str]:
        """What could not be read or written, a line each."""
        return self._mirror.warnings

    def locked(self) -> AbstractContextManager[bool]:
        """Keep other processes from the files; yields False if one kept us waiting too long."""
        return self._mirror.locked()

    def take_in(self, view: CatalogView, accept: bool = False) -> list[str]:
        """Record the edits of the files and return the ids of the memories they touch."""
        found = self._mirror.edits(view, accept=accept)
        unusable: list[str] = []
        drafts: list[Draft] = []
        for file, edit in found.edits:
            try:
                drafts += self._drafts(file, edit, view)
            except UsageError as error:
                self._mirror.hold(file, error.message)
                unusable.append(f"'{file}' could not be recorded: {error.message}")
        self.held = (*found.held, *unusable)
        events = self._recorder.record(drafts, MESSAGE) if drafts else []
        if events:  # an edit that stayed in its file would be read again
            self._mirror.settle(view)
        return list(dict.fromkeys(event.memory for event in events if event.memory))

    def render(self, view: CatalogView) -> list[str]:
        """Write the files whose memories changed, and return their paths."""
        mark, seen = self._catalog.mark(), self._seen()
        days = self._catalog.days_since(seen)
        if seen and seen.epoch != mark.epoch:  # after a purge a day may have no memory left
            days |= {day for path, _ in self._mirror.signature() if (day := day_of(path))}
        shown = self._mirror.recall("long term")
        written = self._mirror.render(view, days=days, same=view.is_same(shown))
        self._mirror.remember("mark", [mark.epoch, mark.changed])
        self._mirror.remember("long term", view.state())
        return written

    def remove(self) -> list[str]:
        """Take gitmem's text out of the files, and return their paths."""
        return self._mirror.remove()

    def _seen(self) -> Mark | None:
        mark = self._mirror.recall("mark")
        return Mark(*mark) if isinstance(mark, list) and len(mark) == 2 else None

    def _drafts(self, file: str, edit: Edit, view: CatalogView) -> list[Draft]:
        from gitmem.mirror.edits import Add, Forget, Revise

        match edit:
            case Add():
                # The event names the edit it came from: who was killed after recording it and
                # before rendering finds the same text again, and must not remember it twice.
                typed = self._mirror.fingerprint(file, edit.text)
                return [] if self._catalog.has_source(typed) else [_addition(file, edit, typed)]
            case Forget():
                memory = view.resolve(edit.id)
                if memory is None or memory.forgotten:
                    return []
                return [Draft("forget", memory, {"reason": f"deleted in {file}"}, base=edit.seen)]
            case Revise():
                memory = view.resolve(edit.id)
                return _revision(memory, edit) if memory else [_lost_revision(file, edit)]
        return []


def _addition(file: str, edit: Add, typed: str) -> Draft:
    working = file.endswith("active-context.md")
    fields: dict[str, Any] = {
        **content.content(edit.text),
        "kind": "context" if working else edit.kind,
        "importance": edit.importance,
        "tags": content.tags(edit.tags),
        "source": {"file": file, "edit": typed},
    }
    return Draft("remember", None, fields, JournalName.PRIVATE if working else JournalName.SHARED)


def _revision(memory: Memory, edit: Revise) -> list[Draft]:
    fields = {
        "text": edit.text,
        "data": edit.data,
        "kind": edit.kind,
        "importance": edit.importance,
    }
    set_fields = {key: value for key, value in fields.items() if value is not None}
    drafts = [Draft("revise", memory, set_fields, base=edit.seen)] if set_fields else []
    drafts += [Draft("tag", memory, {"tag": content.tag(tag)}) for tag in edit.tags_added]
    drafts += [Draft("untag", memory, {"tag": tag}) for tag in edit.tags_removed]
    return drafts


def _lost_revision(file: str, edit: Revise) -> Draft:
    """A line edited whose memory is not here (purged, or of another clone): kept as a new one."""
    fields = {"text": edit.text or "", "kind": edit.kind, "source": {"file": file}}
    return Draft("remember", None, fields)
