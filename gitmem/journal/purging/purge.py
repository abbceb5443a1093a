"""Purge: make a memory never have been, here and in whoever meets the journal afterwards.

The history is written anew without the memory's lines (`rewrite`), a `purge` that holds no
content is appended, the refs move by compare and swap, and what the old tips alone reached is
deleted (`sweep`). What is to be deleted is written down before the refs move: who is killed
leaves the old state, or the new one and a note, and the next purge ends the work.

For the merge of what was fetched (`sharing.merging`): `meets` says whether the remote's journal and
ours differ by a purge. Then histories must not be merged, for either would carry the text back:
`adopt_purge` takes the remote's journal, without what is purged here, and appends our own lines.

A purge that the journal does not heed, for want of trust, is a line like any other here: it drops
nothing and is merged; the fold shows it as proposed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem.errors import RefMoved, Refused
from gitmem.journal import clock
from gitmem.journal.codec import Event, decode, encode, event_id, printable_name
from gitmem.journal.git.history import History
from gitmem.journal.git.objects import decode as decode_text
from gitmem.journal.git.port import RefUpdate
from gitmem.journal.git.raw import RawObjects
from gitmem.journal.git.reflogs import Reflogs
from gitmem.journal.journals import Journal
from gitmem.journal.notes import Race, split
from gitmem.journal.purged import About, anchor
from gitmem.journal.purging.rewrite import Rewriter
from gitmem.journal.purging.sweep import closure, remains, sweep
from gitmem.journal.purging.unfinished import Unfinished, alone, load, now, save
from gitmem.journal.tracking import TRACKING
from gitmem.model import ID_LENGTH, JournalName


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did to one journal.

    `commits` had brought what was purged, `objects` were deleted; `lines_gone` are the purged
    lines, for whoever looks for their text elsewhere. `kept_by` is what still reaches some of them.
    """

    journal: JournalName
    commits: int = 0
    objects: int = 0
    lines_gone: tuple[bytes, ...] = ()
    kept_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Meeting:
    """How a fetched journal and ours differ by purges.

    `unseen` are the purges that it has and ours lacks; `stale` says that its history, new to us,
    has lines that are purged here.
    """

    unseen: tuple[Event, ...]
    stale: bool

    def foreign(self, me: str) -> list[Event]:
        """Return the unseen purges by others than `me` (``Name <email>``), which ask first."""
        own = printable_name(me).rpartition("<")[2].casefold()
        return [event for event in self.unseen if event.by.rpartition("<")[2].casefold() != own]


# -- purging --------------------------------------------------------------------------------------


def purge(journal: Journal, memories: Collection[str], author: str, at: str) -> Purged | None:
    """Take memories out of a journal and its history; None if it never held any of them.

    `at` is the time of the events. Call `finish` when what is derived is clean too; until then the
    same call, and any other purge, does what is left of this one.

    Raises:
        Refused: a `git notes merge` into the journal is under way.
        Unavailable: it cannot be done now; the refs have moved, or not; the same call ends it.
    """
    with alone(folder(journal)), RawObjects(journal.git.layout) as raw:
        record = load(folder(journal))
        about = About({*memories, *record.memories})
        rewriter = Rewriter(raw, about)
        here, race = bool(record.memories), Race()
        while tip := _settled(journal, author, at):
            try:
                here = _rewrite(journal, raw, rewriter, record, tip, author, at) or here
                break
            except RefMoved as lost:
                race.lost(tip, lost)
        return _sweep(journal, raw, rewriter, record) if here else None


def folder(journal: Journal) -> Path:
    """Return where a journal's repository keeps the record of a purge under way."""
    return journal.git.layout.common_dir / "gitmem"


def unfinished(journal: Journal) -> Sequence[str]:
    """Return the memories whose purge was begun and is not `finish`ed."""
    return load(folder(journal)).memories


def finish(journal: Journal) -> None:
    """Forget about a purge: nothing is left to do."""
    save(folder(journal), Unfinished())


def _settled(journal: Journal, author: str, at: str) -> str | None:
    """Return the tip, with everything in it that the kept tip has."""
    for worktree in (journal.git.layout.common_dir, *_worktrees(journal)):
        with suppress(OSError):
            merging = (worktree / "NOTES_MERGE_REF").read_text().strip()
            if merging == f"ref: {journal.notes.name}":
                raise Refused(
                    f"a merge into '{journal.notes.name}' is under way",
                    "end it with 'git notes merge --commit' or '--abort', and try again",
                )
    journal.settle(author, _seconds(at))
    return journal.notes.tip()


def _rewrite(
    journal: Journal,
    raw: RawObjects,
    rewriter: Rewriter,
    record: Unfinished,
    tip: str,
    author: str,
    at: str,
) -> bool:
    """Move the journal to its rewritten history and purges; False if it never held the memories.

    Raises:
        RefMoved: somebody wrote meanwhile; nothing was changed.
    """
    base = rewriter.rewrite(tip)
    there = journal.purged(tip)
    dropped = {decode(line).memory or "" for line in rewriter.dropped}
    ids = sorted({*dropped, *record.memories, *rewriter.about.ids.intersection(there)})
    if base == tip and all(id in there for id in ids):
        return bool(ids)
    raw.flush()
    by = printable_name(author)
    new = [id for id in ids if id not in there]
    lines = [encode({"at": at, "by": by, "memory": id, "op": "purge"}).line for id in new]
    subject = f"purge: {', '.join(id[:ID_LENGTH] for id in new)}"
    additions = {anchor(journal.git.layout): lines} if new else {}
    done = journal.notes.write(base, additions, subject, author, _seconds(at))
    _move(journal, raw, rewriter, record, tip, done.new if done else base, ids)
    return True


def _move(
    journal: Journal,
    raw: RawObjects,
    rewriter: Rewriter,
    record: Unfinished,
    tip: str | None,
    new: str,
    ids: Collection[str],
) -> None:
    """Write down what goes, then move the journal and its kept ref from `tip` to `new`."""
    record.memories = sorted({*record.memories, *ids})
    old = {*_marks(journal).values(), *_logged(journal, raw), tip or ""} - {""}
    record.tips = sorted(old.union(record.tips))
    record.lines = sorted({*record.lines, *map(event_id, rewriter.dropped)})
    save(folder(journal), record)
    kept = journal.git.ref(journal.notes.kept)
    moves = [RefUpdate(journal.notes.kept, new, kept), RefUpdate(journal.notes.name, new, tip)]
    journal.git.update_refs(moves, "gitmem: purge")


def _sweep(journal: Journal, raw: RawObjects, rewriter: Rewriter, record: Unfinished) -> Purged:
    """Drop the refs and reflogs that still reach the old history, and delete it."""
    tip = journal.notes.tip()
    now_there = closure(raw, [tip] if tip else [])
    record.tips = sorted({*record.tips, *_logged(journal, raw)})
    for name, oid in _marks(journal).items():
        if oid not in now_there:
            record.tips.append(oid)
            journal.git.delete_ref(name)
    old = remains(raw, record.tips) - now_there
    record.objects = sorted(old.union(record.objects) - now_there)
    save(folder(journal), record)
    for name in (journal.notes.name, journal.notes.kept):
        if not raw.history.attempt("reflog", "exists", name).returncode:
            raw.run("reflog", "expire", "--expire=all", "--expire-unreachable=all", name)
    known = frozenset(record.lines)

    def is_purged(line: bytes, settled: bool) -> bool:
        return event_id(line) in known or (settled and rewriter.about(line))

    gone, stayed = sweep(raw, record.objects, is_purged, lambda: now(folder(journal)))
    _drop_dangling(journal)
    return Purged(
        journal.name,
        commits=len(rewriter.wrote),
        objects=gone,
        lines_gone=tuple(sorted(rewriter.dropped)),
        kept_by=(*_kept_by(raw, stayed, record.lines), *_borrowed(raw, record.objects)),
    )


def _marks(journal: Journal) -> dict[str, str]:
    """Return our other refs that may reach the journal: what was packed, what was fetched."""
    found = journal.git.refs(f"refs/gitmem/packed/{journal.name}")
    if journal.name is JournalName.SHARED:
        found |= journal.git.refs(TRACKING)
    return found


def _logged(journal: Journal, raw: RawObjects) -> set[str]:
    """Return every commit that the reflogs of the journal name."""
    reflogs = Reflogs(raw.history)
    names = (journal.notes.name, journal.notes.kept, *_marks(journal))
    moves = [move for name in names for move in reflogs.of(name)]
    return {oid for move in moves for oid in (move.old, move.new) if oid.strip("0")}


def _drop_dangling(journal: Journal) -> None:
    """Drop a tracking ref that a `git fetch` set, as we looked, to what was deleted."""
    for name, oid in _marks(journal).items():
        if not journal.git.has(oid):
            journal.git.delete_ref(name)


def _kept_by(raw: RawObjects, stayed: Collection[str], lines: Collection[str]) -> list[str]:
    """Say by what purged text is still reached: it is the user's, and not ours to delete."""
    wanted = set(lines)
    held = {
        oid for oid, kind, content in raw.each(stayed)
        if kind == "blob" and not wanted.isdisjoint(map(event_id, split(content)))
    }  # fmt: skip
    if not held:
        return []
    said = []
    listed = raw.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/notes").decode()
    for oid, name in (line.split(" ", 1) for line in listed.split("\n") if line):
        reached = closure(raw, [oid])
        if not held.isdisjoint(reached):
            said.append(name)
            held -= reached
    return [*said, *(f"object {oid[:12]}" for oid in sorted(held)[:3])]


def _borrowed(raw: RawObjects, oids: Sequence[str]) -> list[str]:
    """Return the object stores that this repository borrows purged objects from."""
    objects = raw.layout.common_dir / "objects"
    with suppress(OSError):
        stores = (objects / "info" / "alternates").read_text().split("\n")
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        found = raw.run("cat-file", "--batch-check=%(objectname)", input=asked).split(b"\n")
        if any(line and not line.endswith(b" missing") for line in found):
            return [f"'{objects / store}', which this repository borrows from," for store in stores
                    if store]  # fmt: skip
    return []


def worktrees(journal: Journal) -> list[Path]:
    """Return the working trees of a journal's repository that are there."""
    listed = History(journal.git.layout).attempt("worktree", "list", "--porcelain").stdout
    records = (record.split("\n") for record in decode_text(listed).split("\n\n") if record)
    tops = [Path(first.removeprefix("worktree ")) for first, *rest in records if "bare" not in rest]
    return [top for top in tops if (top / ".git").exists()]


# -- meeting a purge ------------------------------------------------------------------------------


def meets(journal: Journal, theirs: str) -> Meeting | None:
    """Return how the fetched tip `theirs` and ours differ by a purge; None if they do not.

    None means that the histories may be merged as ever. Else call `adopt_purge`, after asking
    where `Meeting.foreign` is not empty; and if the meeting is `stale`, the remote still has, or
    has again, what is purged here: only ``gitmem purge ID --push`` changes that.
    """
    mine = journal.notes.tip()
    if mine is None or mine == theirs:
        return None
    here, there = journal.purged(mine), journal.purged(theirs)
    unseen = {id: event for id, event in there.items() if id not in here}
    with RawObjects(journal.git.layout) as raw:
        if unseen and Rewriter(raw, About(unseen)).rewrite(mine, hide=theirs) == mine:
            unseen = {}  # we never had what they purged: nothing of ours carries it back
        stale = bool(here) and Rewriter(raw, About(here)).rewrite(theirs, hide=mine) != theirs
    return Meeting(tuple(unseen.values()), stale) if unseen or stale else None


def adopt_purge(journal: Journal, theirs: str, author: str, at: str) -> Purged | None:
    """Take over a remote's journal that was purged, or lacks a purge of ours.

    The journal becomes `theirs`, rewritten without anything purged on either side, with our own
    lines appended that it lacks; what the old one alone reached is deleted, as is what the fetch
    brought of purged text. None if there is nothing to do. `finish` it, as a purge.

    Raises:
        Unavailable: it cannot be done now.
    """
    with alone(folder(journal)), RawObjects(journal.git.layout) as raw:
        record = load(folder(journal))
        race = Race()
        while True:
            tip = _settled(journal, author, at)
            here, there = journal.purged(tip), journal.purged(theirs)
            about = About({**here, **there, **dict.fromkeys(record.memories)})
            rewriter = Rewriter(raw, about)
            base = rewriter.rewrite(theirs)
            raw.flush()
            if tip and raw.history.is_ancestor(base, tip):
                if base == theirs:
                    return None
                record.memories = sorted({*record.memories, *about.ids})  # the fetch brought it
                record.tips.append(theirs)
                record.lines = sorted({*record.lines, *map(event_id, rewriter.dropped)})
                break
            own: dict[str, list[bytes]] = {}
            for anchored, line in journal.notes.added(base, tip):
                if not about(line):
                    own.setdefault(anchored, []).append(line)
                else:
                    rewriter.dropped.add(line)
            done = journal.notes.write(base, own, "merge: own memories", author, _seconds(at))
            try:
                new = done.new if done else base
                _move(journal, raw, rewriter, record, tip, new, [*here, *there])
                break
            except RefMoved as lost:
                race.lost(tip, lost)
        return _sweep(journal, raw, rewriter, record)


def _seconds(at: str) -> int:
    return int(clock.parse_at(at).timestamp())


def _worktrees(journal: Journal) -> list[Path]:
    return [*(journal.git.layout.common_dir / "worktrees").glob("*")]
