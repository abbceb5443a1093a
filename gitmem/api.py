"""`Gitmem`: one repository's memory, one public method a verb. All is wired together here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gitmem.config import Settings
from gitmem.errors import AmbiguousId, NotFound, Unavailable, UsageError
from gitmem.journal import clock
from gitmem.journal.codec import Event, printable_name
from gitmem.journal.git import Backend, open_repository
from gitmem.journal.journals import Journals
from gitmem.journal.sight import HASTE, Sight
from gitmem.model import ID_LENGTH, JournalName, Memory, Scope
from gitmem.search.catalog import Catalog
from gitmem.search.rows import Filter
from gitmem.verbs import content, setup
from gitmem.verbs.briefing import TOPIC, Briefing
from gitmem.verbs.record import Draft, Recorder
from gitmem.verbs.session import Session, SyncEnd
from gitmem.verbs.settings import load_settings, user_journal
from gitmem.verbs.staleness import Staleness

if TYPE_CHECKING:  # each is loaded by the verbs that need it: a write does without, and 10 ms less
    from gitmem.search.engine import Engine, EntityCount, EntityPage, SearchResult
    from gitmem.verbs.branches import BranchDiff, BranchInfo, Life
    from gitmem.verbs.care import Report, Stats, Status
    from gitmem.verbs.undo import Undone

__all__ = ["Gitmem", "open"]

Content = str | Mapping[str, Any]


def open(
    path: str | Path = ".",
    *,
    backend: Backend = "auto",
    environ: Mapping[str, str] | None = None,
    now: Callable[[], datetime] | None = None,
) -> Gitmem:
    """Open the memory of the repository that `path` is in.

    `backend` is ``program`` for one short command, ``libgit2`` for a process that lives on; `now`
    is the clock, and `environ` stands for the process's environment.

    Raises:
        NotARepository: there is none, or git refuses to use it.
    """
    return Gitmem(Path(path), backend, os.environ if environ is None else environ, now or _now)


def _now() -> datetime:
    return datetime.now(UTC)


class Gitmem:
    """The memory of one repository. Use as a context manager, or `close` it."""

    def __init__(
        self,
        path: Path,
        backend: Backend,
        environ: Mapping[str, str],
        now: Callable[[], datetime],
    ) -> None:
        self._now = now
        self._warnings: list[str] = []
        self._remark = ""
        self._git = open_repository(path, backend)
        self._settings: Settings = load_settings(self._git, environ)
        self._folder = self._git.layout.common_dir / "gitmem"
        self._user_journal = user_journal(self._settings, environ)
        self._journals = Journals(self._git, self._user_journal, backend)
        # What is derived depends on where HEAD is, so each linked worktree has its own.
        self._derived = self._git.layout.git_dir / "gitmem"
        self._catalog = Catalog(self._derived / "catalog.sqlite", self._journals)
        record = setup.read_record(self._folder)
        self._sight = Sight(
            self._git, self._settings["gitmem.trunk"], record.branch if record else None,
            self._derived, self._catalog.facts_of,
        )  # fmt: skip
        self._staleness = Staleness(self._git)
        self._recorder = Recorder(
            self._git, self._journals, self._catalog, self._sight, self._staleness, now
        )
        self._session = Session(
            path, self._git, self._settings, self._folder, self._user_journal, self._catalog,
            self._recorder, self._staleness, now, self.short, environ,
        )  # fmt: skip

    def __enter__(self) -> Gitmem:
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
        self._catalog.close()
        self._sight.close()
        self._journals.close()

    @property
    def warnings(self) -> list[str]:
        """What went wrong without stopping the work, a line each, once each."""
        lines = [*self._settings.warnings, *self._catalog.warnings, *self._session.warnings]
        lines += self._engine.warnings if "_engine" in vars(self) else []
        return list(dict.fromkeys([*lines, *self._warnings]))

    @property
    def remark(self) -> str:
        """From where the memory written last is seen, if that is worth saying; else empty."""
        return self._remark

    # -- setting up ---------------------------------------------------------------------------

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
        with self._session.around(always=True):
            pass
        return said + [f"{path}: written" for path in self._session.written]

    def deinit(self) -> list[str]:
        """Undo what `init` changed; memories stay in git. Returns a line for each change."""
        self._fresh()
        removed = self._session.remove_mirror()
        from gitmem.verbs.hooks import remove

        said = remove(self._git, self._folder)
        said += setup.deinitialise(self._git, self._folder)
        return [f"{path}: removed" for path in removed] + said

    # -- writing ------------------------------------------------------------------------------

    def remember(
        self,
        text: Content,
        *,
        tags: Sequence[str] = (),
        importance: str | None = None,
        kind: str | None = None,
        scope: str | None = None,
        private: bool = False,
        supersedes: Sequence[str] = (),
        expires: str | None = None,
    ) -> Memory:
        """Store a memory and return it.

        `text` is Markdown or a JSON object; `expires` a date or an age such as ``30d``. Each memory
        in `supersedes` is linked to.

        Raises:
            UsageError: something cannot be stored; nothing was written.
            NoIdentity: git knows no author.
        """
        self._fresh()
        word = content.kind(kind or self._settings["gitmem.defaultKind"]) or "note"
        where = content.scope(scope, private, word)
        old = [self.show(id) for id in supersedes]
        fields = {
            **content.content(text),
            "kind": word,
            "importance": content.importance(importance),
            "tags": content.tags([*tags, *self._settings["gitmem.defaultTags"]]),
            "expires": content.expiry(expires, self._now()),
            "scope": "repo" if where is Scope.REPO else None,
        }
        journal = JournalName.PRIVATE if private else JournalName.SHARED
        journal = JournalName.USER if where is Scope.USER else journal
        drafts = [Draft("remember", None, fields, journal)]
        for other in old:
            link = {"rel": "supersedes", "target": other.id, "scope": fields["scope"]}
            drafts.append(Draft("link", None, link, journal))
        return self._write(drafts, "remember")

    def update(
        self,
        id: str,
        text: Content | None = None,
        *,
        importance: str | None = None,
        kind: str | None = None,
        tags: Sequence[str] | None = None,
        expires: str | None = None,
    ) -> Memory:
        """Change a memory's text, importance, kind, expiry (``never``: none) or set of tags."""
        memory = self._alive(id)
        fields = {
            **(content.content(text) if text is not None else {}),
            "importance": content.importance(importance),
            "kind": content.kind(kind),
            "expires": content.expiry(expires, self._now()),
        }
        fields = {key: value for key, value in fields.items() if value is not None}
        drafts = [Draft("revise", memory, fields)] if fields else []
        if tags is not None:
            wanted = content.tags(tags)
            drafts += _tagging("tag", memory, [tag for tag in wanted if tag not in memory.tags])
            drafts += _tagging("untag", memory, [tag for tag in memory.tags if tag not in wanted])
        elif not drafts:
            raise UsageError("there is nothing to change", "give a new text, or an option")
        return self._write(drafts, "update") if drafts else memory

    def evolve(self, id: str, note: str) -> Memory:
        """Add a note to a memory, beside its text."""
        memory = self._alive(id)
        return self._write(
            [Draft("revise", memory, {"reason": content.content(note)["text"]})], "evolve"
        )

    def forget(self, id: str, *, reason: str = "") -> Memory:
        """Take a memory out of sight; `restore` brings it back."""
        memory = self._alive(id)
        return self._write([Draft("forget", memory, {"reason": content.reason(reason)})], "forget")

    def restore(self, id: str) -> Memory:
        """Bring a forgotten memory back."""
        memory = self.show(id)
        if not memory.forgotten:
            raise UsageError(f"'{self.short(memory.id)}' is not forgotten")
        return self._write([Draft("restore", memory)], "restore")

    def undo(self) -> Undone:
        """Take back the last thing that this author wrote."""
        self._fresh()
        me = printable_name(self._git.identity())
        from gitmem.verbs import undo

        event = undo.last_of_ones_own(event for event in self._catalog.events() if event.by == me)
        memory = self._catalog.memory(event.memory or "")
        if memory is None:
            raise NotFound(f"the memory of '{event.id[:ID_LENGTH]}' is not here")
        draft = undo.take_back(event, memory, list(self._catalog.events(memory.id)))
        return undo.Undone(self._write([draft], f"undo {event.op}"), event.op, event.id)

    def tag(self, id: str, *tags: str) -> Memory:
        """Add tags to a memory."""
        memory = self._alive(id)
        new = [tag for tag in content.tags(tags) if tag not in memory.tags]
        return self._write(_tagging("tag", memory, new), "tag") if new else memory

    def untag(self, id: str, *tags: str) -> Memory:
        """Take tags off a memory."""
        memory = self._alive(id)
        wanted = content.tags(tags)
        if missing := [tag for tag in wanted if tag not in memory.tags]:
            raise NotFound(f"'{self.short(memory.id)}' has no tag '{missing[0]}'")
        return self._write(_tagging("untag", memory, wanted), "untag")

    def link(self, id: str, target: str, *, rel: str = "relates", comment: str = "") -> Memory:
        """Link a memory to another, a path, a commit, a URL or ``session:ID#11-15``."""
        memory = self._alive(id)
        fields = {
            "rel": content.kind(rel),
            "target": self._target(target),
            "reason": content.reason(comment),
        }
        return self._write([Draft("link", memory, fields)], "link")

    def unlink(self, id: str, target: str, *, rel: str = "relates") -> Memory:
        """Take a link away."""
        memory = self._alive(id)
        aim = self._target(target)
        if not any((link.rel, link.target) == (rel, aim) for link in memory.links):
            raise NotFound(f"'{self.short(memory.id)}' has no link '{rel}' to '{target}'")
        return self._write([Draft("unlink", memory, {"rel": rel, "target": aim})], "unlink")

    # -- reading ------------------------------------------------------------------------------

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

    def adopt(self, branch: str) -> Sequence[Memory]:
        """Carry a branch's memories to HEAD by hand, and return those that are seen now."""
        from gitmem.verbs import branches

        self._fresh()
        at = clock.next_at(self._now(), self._catalog.latest_at(clock.horizon(self._now())))
        by = printable_name(self._git.identity())
        carry = branches.adoption(self._catalog, self._sight, branch, at, by)
        if carry is None:
            return []
        with self._session.around():
            self._recorder.adopt(carry, f"carry: memories of {branch}")
        ids = dict.fromkeys(event.memory for event in map(self._catalog.event, carry.events))
        return [memory for id in ids if id and (memory := self._catalog.memory(id))]

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
        stale: bool = False,
        limit: int | None = None,
        branch: str | None = None,
        at: str | None = None,
    ) -> Sequence[Memory]:
        """Return memories, newest first; `since` and `until` are dates or ages such as ``7d``.

        `stale`: only those whose files are not as they were; `branch`: as seen from it, without
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
        self._fresh()
        alive = self._alive_filter()
        for tag in (TOPIC + name, name):
            tagged = self._catalog.select(Filter(tags=(tag,), now=alive.now))
            if tagged:
                return self._marked(self._catalog, tagged)
        return self._marked(self._catalog, self._engine.entity(name, alive).memories)

    def tags(self) -> dict[str, int]:
        """Return {tag: memories}, most used first."""
        self._fresh()
        return self._catalog.tag_counts(self._alive_filter())

    def entities(self) -> Sequence[EntityCount]:
        """Return what the memories name (technologies, paths, people…), most named first."""
        self._fresh()
        return self._engine.entities(self._alive_filter())

    def entity(self, name: str) -> EntityPage:
        """Return the memories that name an entity, by any of its names, and what is beside it."""
        self._fresh()
        page = self._engine.entity(name, self._alive_filter())
        return replace(page, memories=self._marked(self._catalog, page.memories))

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        kind: str | None = None,
        tags: Sequence[str] = (),
        branch: str | None = None,
    ) -> SearchResult:
        """Find memories by words, best first; `branch`: among those seen from it."""
        filter = Filter(
            kind=content.kind(kind), tags=content.tags(tags), now=self._alive_filter().now
        )
        with self._elsewhere(branch) as catalog:
            engine = self._engine if catalog is self._catalog else self._engine.over(catalog)
            result = engine.search(query, limit, filter)
            marked = self._marked(catalog, [hit.memory for hit in result.hits])
        hits = [replace(hit, memory=it) for hit, it in zip(result.hits, marked, strict=True)]
        return replace(result, hits=hits)

    def short(self, id: str) -> str:
        """Return the shortest unique prefix of a memory id, of at least 8 digits."""
        needed = ID_LENGTH
        for other in self._catalog.neighbours(id):
            while other.startswith(id[:needed]):
                needed += 1
        return id[:needed]

    # -- the session --------------------------------------------------------------------------

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
        return self._session.start(self._fresh)

    def sync_end(self, summary: str = "") -> SyncEnd:
        """End a session: keep its summary as an episode, catch indexes up, pack journals."""
        self._fresh()
        episode = self.remember(summary, kind="episode") if summary.strip() else None
        indexed, packed = 0, False
        try:
            with self._session.around(always=True):
                indexed = self._engine.catch_up()
                packed = self._recorder.pack(now=True)
        except Unavailable as error:  # the episode is kept; what is derived can be derived later
            self._warnings.append(error.message)
        return SyncEnd(episode, indexed, packed)

    def accept(self) -> Sequence[Memory]:
        """Apply the hand edits that are held, and return the memories they touch."""
        self._fresh()
        return [self.show(id) for id in self._session.accept()]

    def context(self) -> str:
        """Return the working memory of this branch; empty where there is none."""
        self._fresh()
        memory = self._session.context()
        return memory.body if memory else ""

    def set_context(self, text: str) -> str:
        """Set the working memory of this branch. It is private."""
        self._fresh()
        fields = content.content(text)
        memory = self._session.context()
        if memory:
            draft = Draft("revise", memory, fields)
        else:
            draft = Draft("remember", None, {**fields, "kind": "context"}, JournalName.PRIVATE)
        self._write([draft], "context")
        return text

    def clear_context(self) -> None:
        """Forget the working memory of this branch."""
        self._fresh()
        memory = self._session.context()
        if memory:
            self._write([Draft("forget", memory, {"reason": "cleared"})], "context")

    # -- care ---------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return how things stand here."""
        self._fresh()
        with self._session.around():
            pass
        alive = self._alive_filter()
        record = setup.read_record(self._folder)
        from gitmem.verbs import branches
        from gitmem.verbs.care import Status

        waiting = branches.waiting(self._catalog, self._sight)
        return Status(
            branch=self._git.head().branch,
            initialised=record is not None,
            mirrored=record.mirrored if record else (),
            memories=self._catalog.count(alive),
            forgotten=self._catalog.count(Filter(forgotten=True)),
            contested=self._catalog.count(Filter(contested=True)),
            expired=self._catalog.count(Filter()) - self._catalog.count(alive),
            journals=self._catalog.counts("journal", alive),
            held=self._session.held,
            indexed=self._engine.caught_up(),
            waiting=waiting.branches,
            orphaned=waiting.orphaned,
        )

    def stats(self) -> Stats:
        """Count the memories by kind, importance, author, branch and month."""
        self._fresh()
        from gitmem.verbs import care

        return care.stats(self._catalog, clock.format_at(self._now()))

    def doctor(self, *, repair: bool = False) -> Report:
        """Examine the journals and what is derived from them; mend what can be mended."""
        from gitmem.verbs import care

        repaired: Sequence[str] = []
        if repair:
            repaired = care.repair(self._journals, self._git.identity(), self._now())
        self._catalog.look = self._sight.look()
        self._catalog.catch_up()
        with self._session.around():
            pass
        findings = list(care.examine(self._git, self._journals, self._catalog, self._now()))
        findings += [
            care.Finding("warning", "held", line, "gitmem sync --accept")
            for line in self._session.held
        ]
        return care.Report(findings, repaired)

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

    @cached_property
    def _engine(self) -> Engine:
        from gitmem.search.engine import Engine

        return Engine(self._catalog, self._derived / "lexical")

    # -- inside -------------------------------------------------------------------------------

    def _fresh(self) -> None:
        """See what others have written, and bring back what git has dropped."""
        self._remark = ""
        try:
            self._journals.settle(self._restorer(), self._now())
        except Unavailable:  # a read-only repository can still be read; `doctor` tells
            pass
        self._catalog.look = self._sight.look()
        self._catalog.catch_up()

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
            return "gitmem <gitmem@localhost>"

    def _alive(self, id: str) -> Memory:
        memory = self.show(id)
        if memory.forgotten:
            short = self.short(memory.id)
            raise UsageError(f"'{short}' is forgotten", f"bring it back: gitmem restore {short}")
        return memory

    def _alive_filter(self) -> Filter:
        return Filter(now=clock.format_at(self._now()))

    def _target(self, target: str) -> str:
        """Return the full id where `target` is a memory's, else what was given."""
        try:
            return self.show(target).id
        except NotFound:
            if not target.strip():
                raise UsageError(
                    "the target of a link is empty", "a memory's id, a path, a commit or a URL"
                ) from None
            return content.reason(target)

    def _write(self, drafts: Sequence[Draft], verb: str) -> Memory:
        """Record drafts about one memory, after any hand edits, and show the result."""
        subject = drafts[0].memory
        hidden = subject is not None and self._catalog.memory(subject.id) is None
        self._recorder.carry(self._catalog.due())
        with self._session.around():
            events = self._recorder.record(drafts, f"{verb}: {drafts[0].subject}")
        self._recorder.pack()
        id = events[0].memory or ""
        # Not seen from here, or git failed between the writing and the looking.
        memory = self._catalog.memory(id) or self._catalog.hidden(id)
        if memory is None:
            raise Unavailable("it was written, but cannot be read back now", "see 'gitmem doctor'")
        self._remark = self._remark_on(memory, events[0], hidden)
        return memory

    def _remark_on(self, memory: Memory, event: Event, hidden: bool) -> str:
        if not (hidden or event.op == "forget" or event.fields.get("pending")):
            return ""
        from gitmem.verbs import branches

        try:
            return branches.remark(self._catalog, self._sight, memory, event, hidden)
        except Unavailable:  # the memory is written: what could be said of it besides is not
            return ""


def _tagging(op: str, memory: Memory, tags: Sequence[str]) -> Sequence[Draft]:
    return [Draft(op, memory, {"tag": tag}) for tag in tags]


def _count(limit: int | None) -> Iterator[int]:
    count = 0
    while limit is None or count < limit:
        yield count
        count += 1
