"""From a verb to the journal: drafts become events, events one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from gitmem.errors import Unavailable
from gitmem.journal import clock
from gitmem.journal.branches.lines import Stamp
from gitmem.journal.branches.sight import Sight
from gitmem.journal.branches.visibility import Carry
from gitmem.journal.codec import Event, encode, printable_name
from gitmem.journal.git.port import Git
from gitmem.journal.journals import Journal, Journals, Place
from gitmem.model import JournalName, Scope, first_line
from gitmem.search.catalog.catalog import Catalog
from gitmem.verbs.briefing import WORKING_KINDS
from gitmem.verbs.draft import Draft
from gitmem.verbs.redaction import Redaction, allowed_by
from gitmem.verbs.staleness import Staleness

PACK_EVERY = 500

EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


class Recorder:
    """Writes drafts as events: stamps them, anchors them, appends them and tells the catalog.

    `redacted` are the rules that found secrets in what was written, which is without them.
    """

    def __init__(
        self,
        git: Git,
        journals: Journals,
        catalog: Catalog,
        sight: Sight,
        staleness: Staleness,
        now: Callable[[], datetime],
        note_own: Callable[[str], None],
    ) -> None:
        self._git = git
        self._sight = sight
        self._staleness = staleness
        self._journals = journals
        self._catalog = catalog
        self._now = now
        self._note_own = note_own
        self._latest: str | None = None
        self.redacted: list[str] = []
        self._rows = 0

    def record(self, drafts: Sequence[Draft], message: str) -> list[Event]:
        """Write drafts, one commit for each journal they go to, and return their events.

        Raises:
            NoIdentity: git knows no author; nothing was written.
        """
        author = self._git.identity()
        redaction = Redaction(self._let_pass)
        drafts = [redaction.draft(draft) for draft in drafts]
        message = redaction.message(message)
        self.redacted += redaction.found
        self._note_own(printable_name(author))
        stamp = self._sight.lines.stamp()
        if stamp.line:  # the branch may have got its identity this moment
            self._catalog.look = self._sight.look()
        self._latest = self._catalog.latest_at(clock.horizon(self._now()))
        self._rows = self._catalog.latest_row()
        events: list[Event] = []
        heads: dict[str, list[str]] = {}
        paths = self._staleness.named([_about_files(draft) for draft in drafts])
        for draft, known in zip(drafts, paths, strict=True):
            event = encode(self._fields(draft, author, stamp, heads, known))
            heads[event.memory or ""] = [event.id]
            events.append(event)
        for name in dict.fromkeys(draft.target for draft in drafts):
            pairs = zip(drafts, events, strict=True)
            mine = [event for draft, event in pairs if draft.target is name]
            self._append(self._journals.writable(name), mine, message, author)
        return events

    def _let_pass(self, memory: str) -> set[str]:
        """Return the rules whose findings a memory may hold."""
        return {rule for event in self._catalog.events(memory) for rule in allowed_by(event.fields)}

    def adopt(self, carry: Carry, message: str) -> None:
        """Write a carry made by hand: like any event, it stays on the branch it is written on."""
        stamp = self._sight.lines.stamp()
        if stamp.line:
            self._catalog.look = self._sight.look()
        self.carry([carry], message, {"line": stamp.line, "pending": stamp.pending or None})

    def carry(
        self,
        due: Sequence[Carry],
        message: str = "carry: memories of merged work",
        fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Write carries, each into the journals that hold what it names, with `fields` besides."""
        if not due:
            return
        author, at = self._git.identity(), int(self._now().timestamp())
        for name in self._catalog.journals():
            home = self._catalog.ids_in(name)
            additions: dict[str, list[bytes]] = {}
            for carry in due:
                if events := sorted(home.intersection(carry.events)):
                    line = encode({**_carried(carry, events), **fields}).line
                    additions.setdefault(carry.anchor, []).append(line)
            if additions:
                journal = self._journals.writable(JournalName(name))
                journal.append(additions, message, author, at)
        self._catalog.catch_up()

    def pack(self, now: bool = False) -> bool:
        """Pack the journals' loose objects: `now`, or when `PACK_EVERY` events have come."""
        rows = self._catalog.latest_row()
        if not now and rows // PACK_EVERY == self._rows // PACK_EVERY:
            return False
        self._rows = rows
        least = 1 if now else PACK_EVERY
        try:
            packed = [journal.pack(least) for journal in self._journals]
            return any(packed)
        except Unavailable:  # what was written is safe without it, and the next time may do
            return False

    def _fields(
        self,
        draft: Draft,
        author: str,
        stamp: Stamp,
        heads: Mapping[str, list[str]],
        paths: Mapping[str, str],
    ) -> dict[str, Any]:
        self._latest = clock.next_at(self._now(), self._latest)
        fields: dict[str, Any] = {
            "at": self._latest,
            "branch": stamp.branch,
            "by": printable_name(author),
            "line": stamp.line,
            "op": draft.op,
            "paths": paths,
            "pending": stamp.pending or None,
            **draft.fields,
        }
        if draft.memory:
            fields["memory"] = draft.memory.id
            fields["base"] = heads.get(draft.memory.id) or list(draft.base or draft.memory.heads)
            if draft.memory.scope is Scope.REPO:
                fields["scope"] = "repo"
        elif draft.op != "remember":
            fields["memory"], fields["base"] = list(heads.items())[-1]
        return fields

    def _append(self, journal: Journal, events: Sequence[Event], message: str, author: str) -> None:
        anchor = self._anchor(journal, events[0].at)
        old = self._catalog.tips()
        at = int(self._now().timestamp())
        done = journal.append({anchor: [e.line for e in events]}, _subject(message), author, at)
        if done is None:
            # Git failed after it had moved the ref, and the second try found all there.
            return self._catalog.catch_up()
        places = [Place(journal.name, anchor, line) for _, line in done.lines]
        others = {name: tip for name, tip in old.items() if name != journal.name}
        before = others | ({journal.name.value: done.old} if done.old else {})
        try:
            self._catalog.add(before, others | {journal.name.value: done.new}, places)
        except Unavailable:  # it is written: what else came is for the next command to take in
            pass

    def _anchor(self, journal: Journal, at: str) -> str:
        if journal.name is JournalName.USER:
            return journal.git.write_blob(f"gitmem {at[:7]}".encode())
        return self._git.head().commit or EMPTY_TREE[self._git.layout.object_format]


def _about_files(draft: Draft) -> str:
    """Return the text whose files are recorded.

    What was done in a session stays true; a memory of the user's is read in other repositories too.
    """
    apart = draft.target is JournalName.USER or draft.kind in WORKING_KINDS
    return "" if apart or "paths" in draft.fields else draft.text


def _carried(carry: Carry, events: Sequence[str]) -> dict[str, Any]:
    return {
        "at": carry.at,
        "branch": carry.branch,
        "by": carry.by,
        "events": list(events),
        "op": "carry",
    }


def _subject(message: str) -> str:
    line = first_line(message, 72)
    return "".join(char if char.isprintable() else " " for char in line)
