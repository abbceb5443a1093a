"""The union of two journals: every line of both, in one commit that has both as parents.

It is what ``git notes merge -s cat_sort_uniq`` does, without a working tree: no conflict is
possible. Lines are compared, so that who merges what, and in which order, makes no difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import RefMoved, Unavailable
from gitmem.journal.git.history import History
from gitmem.journal.git.port import RefUpdate
from gitmem.journal.journals import Journal
from gitmem.journal.notes import Race

if TYPE_CHECKING:  # what meets a purge is loaded where something came: 9 ms that most pulls save
    from gitmem.journal.purging.purge import Meeting

Pairs = Sequence[tuple[str, bytes]]
"""Lines, each with its anchor."""


class Merged(NamedTuple):
    """What a merge brought: the lines that were not here before, and how many came back."""

    lines: tuple[bytes, ...] = ()
    restored: int = 0


def merge(journal: Journal, theirs: str, source: str, author: str, at: int) -> Merged | Meeting:
    """Take the journal that stands at `theirs` into ours, and return what it brought.

    `source` names it in the history. What vanished comes back, also after a fast-forward: a
    colleague's ``git notes remove`` takes nothing from anybody. Nothing is done where the two
    differ by a purge, for either history would bring the text back: then that is returned.

    Raises:
        Unavailable: the ref cannot be moved, or an object of theirs is not here.
    """
    history = History(journal.git.layout)
    if not journal.git.has(theirs):
        raise Unavailable(f"'{theirs[:12]}' is not in this clone")
    restored, race = journal.settle(author, at), Race()
    while True:
        mine = journal.notes.tip()
        if mine and history.is_ancestor(theirs, mine):
            # `git notes merge -s ours` has it as a parent, and may have dropped its lines.
            return Merged((), restored + journal.settle(author, at, mine=theirs))
        from gitmem.journal.purging.purge import meets

        if meeting := meets(journal, theirs):
            return meeting
        new = journal.notes.added(mine, theirs)
        try:
            if mine is None or history.is_ancestor(mine, theirs):
                move = [RefUpdate(journal.notes.name, theirs, mine)]
                journal.git.update_refs(move, f"gitmem: fast-forward to {source}")
            else:
                _union(journal, mine, theirs, new, f"merge: memories from {source}", author, at)
        except RefMoved as moved:
            race.lost(mine, moved)
            continue
        lines = tuple(dict.fromkeys(line for _, line in new))
        return Merged(lines, restored + journal.settle(author, at))


def _union(
    journal: Journal, mine: str, theirs: str, new: Pairs, message: str, author: str, at: int
) -> None:
    """Write the merge of two tips onto whichever lacks less, and move the journal to it."""
    own = journal.notes.added(theirs, mine)
    base, lines = (theirs, own) if len(own) < len(new) else (mine, new)
    parents = (mine, theirs)
    done = journal.notes.write(base, _by_anchor(lines), message, author, at, parents)
    assert done is not None, "a commit with two parents is written whatever it adds"
    moves = [RefUpdate(journal.notes.name, done.new, mine)]
    if journal.git.ref(journal.notes.kept) == mine:
        moves.insert(0, RefUpdate(journal.notes.kept, done.new, mine))
    journal.git.update_refs(moves, f"gitmem: {message}")


def _by_anchor(lines: Iterable[tuple[str, bytes]]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for anchor, line in lines:
        found[anchor].append(line)
    return found
