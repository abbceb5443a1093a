"""The journals of a repository: shared, private and the user's, read together.

A line that was in a journal stays in it. Stock git can lose lines without anybody's fault (``commit
--amend`` with ``notes.rewriteRef`` overwrites concurrent writers, ``notes remove`` and ``prune``
delete), so the last tip seen is kept as a ref, and what it has and the current tip lacks is
appended again. Content is compared, not ancestry: following ancestry still lost some.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import RefMoved, Unavailable
from gitmem.journal.codec import Event
from gitmem.journal.git.opening import open_bare
from gitmem.journal.git.port import Backend, Git, RefUpdate
from gitmem.journal.notes import Additions, Appended, NotesRef, Race
from gitmem.journal.purged import About, purged
from gitmem.model import JournalName

SHARED_REF = f"refs/notes/gitmem/{JournalName.SHARED}"


class Place(NamedTuple):
    """Where a line stands."""

    journal: JournalName
    anchor: str
    line: bytes


class Journal:
    """One journal: its notes ref, in its repository."""

    def __init__(self, name: JournalName, git: Git) -> None:
        self.name = name
        self.git = git
        self.notes = NotesRef(git, f"refs/notes/gitmem/{name}", f"refs/gitmem/kept/{name}")
        self.heeds: Callable[[Event], bool] = lambda _: True
        """Which purges are carried out. A line is all it takes to write one under any name: those
        by whom one does not trust drop nothing, and keep nothing from coming back."""

    def purged(self, tip: str | None) -> dict[str, Event]:
        """Return the purges at `tip` that are carried out, by the id of the memory."""
        return purged(self.notes, tip, self.heeds)

    def append(self, additions: Additions, message: str, author: str, at: int) -> Appended | None:
        """Add lines in one commit, and return when the kept ref holds them too.

        Raises:
            Unavailable: nothing was written.
        """
        if not self.settled:
            self.settle(author, at)
        done = self.notes.append(additions, message, author, at)
        try:
            if done and self.git.ref(self.notes.kept) != done.new:
                self.settle(author, at, mine=done.new)
        except Unavailable:  # it is written, and an error would make the caller write it again
            pass
        return done

    def settle(self, author: str, at: int, mine: str | None = None) -> int:
        """Bring vanished lines back, keep the tip, and return how many lines came back.

        Lines of the commit `mine`, just appended, must be there too.

        Raises:
            Unavailable: a ref is locked.
        """
        restored = 0
        race = Race()
        while True:
            kept, tip = self.git.ref(self.notes.kept), self.notes.tip()
            try:
                if kept and kept != tip and (tip is None or not self.git.has(tip)):
                    # Somebody deleted the notes ref, or a gc or a power cut what it stands at.
                    self.git.update_refs([RefUpdate(self.notes.name, kept, tip)], "gitmem: restore")
                    restored += len(self.notes.added(None, kept))
                elif done := self._restore(tip, self._lost(tip, kept, mine), author, at):
                    restored += len(done.lines)
                elif tip is None or tip == kept:
                    return restored
                else:  # exactly the tip that was compared: an amend may have come since
                    self.git.update_refs([RefUpdate(self.notes.kept, tip, kept)], "gitmem: keep")
                    return restored
            except RefMoved as moved:  # another process kept its own tip: it may hold more
                race.lost(kept, moved)

    def _restore(self, tip: str | None, lost: Additions, author: str, at: int) -> Appended | None:
        """Append lines to exactly `tip`; None if nothing had vanished from it."""
        if not lost:
            return None
        return self.notes.append_at(tip, lost, "restore lines that had vanished", author, at)

    def _lost(self, tip: str | None, *held: str | None) -> dict[str, list[bytes]]:
        """Return the lines that one of the commits `held` has and `tip` lacks, but for purged ones.

        Whoever read the kept ref a moment before a purge moved it would bring the text back.
        """
        lost: dict[str, list[bytes]] = defaultdict(list)
        for commit in dict.fromkeys(held):
            if commit and not self.git.has(commit):  # its objects are lost: what is left is the tip
                continue
            for anchor, line in self.notes.added(tip, commit):
                lost[anchor].append(line)
        about = About(self.purged(tip)) if lost and tip else None
        if about is None or not about.ids:
            return lost
        kept = {at: [line for line in lines if not about(line)] for at, lines in lost.items()}
        return {anchor: lines for anchor, lines in kept.items() if lines}

    def pack(self, at_least: int) -> bool:
        """Pack this journal's objects if `at_least` commits came since the last time.

        Each write to a commit with many memories leaves a whole new note behind: 5,000 of them were
        934 MB loose, and 3 MB packed.
        """
        tip, ref = self.notes.tip(), f"refs/gitmem/packed/{self.name}"
        packed = self.git.ref(ref)
        if tip is None or tip == packed:
            return False
        fresh = sum(1 for _ in self.git.walk(tip, hide=packed, limit=at_least))
        if fresh < at_least:
            return False
        self.git.pack(tip, packed)
        try:
            self.git.update_refs([RefUpdate(ref, tip, packed)], "gitmem: packed")
        except RefMoved:  # another process packed meanwhile: its mark is as good
            pass
        return True

    @property
    def settled(self) -> bool:
        """Whether the kept ref stands at the tip."""
        return self.git.ref(self.notes.kept) == self.notes.tip()

    @property
    def whole(self) -> bool:
        """Whether the commit that it stands at is here."""
        tip = self.notes.tip()
        return tip is None or self.git.has(tip)

    def locks(self) -> list[Path]:
        """Return the lock files on its refs: a running git's, or one's that was killed."""
        names = ("packed-refs", self.notes.name, self.notes.kept)
        paths = (self.git.layout.common_dir / f"{name}.lock" for name in names)
        return [path for path in paths if path.exists()]


class Journals:
    """The journals that exist here; the private and the user's are made when first written to."""

    def __init__(self, git: Git, user_path: Path, backend: Backend) -> None:
        self.git = git
        self._backend = backend
        self._paths = {
            JournalName.PRIVATE: git.layout.common_dir / "gitmem" / "private.git",
            JournalName.USER: user_path,
        }
        self._open = {JournalName.SHARED: Journal(JournalName.SHARED, git)}

    def __iter__(self) -> Iterator[Journal]:
        for name, path in self._paths.items():
            if name not in self._open and path.is_dir():  # another process may have made it
                self._open[name] = Journal(name, open_bare(path, self._backend))
        return iter(self._open.values())

    @property
    def shared(self) -> Journal:
        """The journal that is pushed and pulled."""
        return self._open[JournalName.SHARED]

    def get(self, name: JournalName) -> Journal | None:
        """Return a journal if it exists."""
        return next((journal for journal in self if journal.name is name), None)

    def writable(self, name: JournalName) -> Journal:
        """Return a journal, making its repository if need be."""
        if name not in self._open:
            path = self._paths[name]
            if not path.is_dir():
                self._make(path)
            self._open[name] = Journal(name, open_bare(path, self._backend))
        return self._open[name]

    def _make(self, path: Path) -> None:
        """Make a repository beside its place and rename it: who is killed leaves no half of one."""
        import shutil

        beside = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.git.init_bare(beside)
            beside.rename(path)
        except OSError as error:
            if not path.is_dir():  # else another process was first
                hint = "check its owner and permissions"
                raise Unavailable(f"'{path}' cannot be made: {error.strerror}", hint) from None
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def tips(self) -> dict[str, str]:
        """Return the tip of every journal that has one."""
        tips = {journal.name.value: journal.notes.tip() for journal in self}
        return {name: tip for name, tip in tips.items() if tip}

    def read(self, tips: Mapping[str, str]) -> Iterator[Place]:
        """Yield every line of every journal, as of `tips`."""
        for journal in self:
            if journal.name in tips:
                for anchor, line in journal.notes.read(tips[journal.name]):
                    yield Place(journal.name, anchor, line)

    def added(self, old: Mapping[str, str], new: Mapping[str, str]) -> list[Place]:
        """Return the lines that came between two sets of tips; KeyError if an old one is gone."""
        return [
            Place(journal.name, anchor, line)
            for journal in self
            for anchor, line in journal.notes.added(old.get(journal.name), new.get(journal.name))
        ]

    def settle(self, author: str, now: datetime) -> int:
        """Bring vanished lines back in every journal; return how many."""
        at = int(now.timestamp())
        return sum(journal.settle(author, at) for journal in self if not journal.settled)

    def close(self) -> None:
        """Stop the git processes of every journal."""
        for journal in self:
            journal.git.close()
