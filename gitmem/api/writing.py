"""The verbs that write: each makes events, and returns the memory as it is then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.api.reading import Reading
from gitmem.errors import NotFound, Unavailable, UsageError
from gitmem.journal import clock
from gitmem.journal.codec import Event, printable_name
from gitmem.model import ID_LENGTH, JournalName, Memory, Scope
from gitmem.verbs import content
from gitmem.verbs.draft import Draft

if TYPE_CHECKING:  # each is loaded by the verbs that need it: a write does without, and 10 ms less
    from gitmem.verbs.undo import Undone

Content = str | Mapping[str, Any]


class Writing(Reading):
    """Memories made and changed."""

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
        allow_secret: bool = False,
        source: Mapping[str, str] | None = None,
    ) -> Memory:
        """Store a memory and return it.

        `text` is Markdown or a JSON object; `expires` a date or an age such as ``30d``. Each memory
        in `supersedes` is linked to. What looks like a secret is redacted, with a warning, unless
        `allow_secret`; what stands in ``<private>`` spans is left out. `source` says where it comes
        from, such as a session.

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
            "source": dict(source) if source else None,
        }
        journal = JournalName.PRIVATE if private else JournalName.SHARED
        journal = JournalName.USER if where is Scope.USER else journal
        drafts = [Draft("remember", None, fields, journal, allow_secrets=allow_secret)]
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
        allow_secret: bool = False,
    ) -> Memory:
        """Change a memory's text, importance, kind, expiry (``never``: none) or set of tags.

        `allow_secret`: see `remember`.
        """
        memory = self._alive(id)
        fields = {
            **(content.content(text) if text is not None else {}),
            "importance": content.importance(importance),
            "kind": content.kind(kind),
            "expires": content.expiry(expires, self._now()),
        }
        fields = {key: value for key, value in fields.items() if value is not None}
        revise = Draft("revise", memory, fields, allow_secrets=allow_secret)
        drafts = [revise] if fields else []
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
        """Bring a forgotten memory back, or keep it as it is against what others propose."""
        memory = self.show(id)
        if not memory.forgotten and not memory.proposed:
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
        life, trusted = list(self._catalog.events(memory.id)), self._catalog.trusted(memory.id)
        draft = undo.take_back(event, memory, life, trusted)
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

    def _archive_context(self) -> Memory | None:
        """Make the working memory of this branch one of today's episodes."""
        with self._session.around():  # what was typed into its file is part of it
            pass
        memory = self._session.context()
        if memory is None or not memory.body.strip():
            return None
        episode = {"text": memory.body, "kind": "episode"}
        return self._write(
            [
                Draft("remember", None, episode, JournalName.PRIVATE),
                Draft("forget", memory, {"reason": "archived"}),
            ],
            "archive",
        )

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
