"""Which anchors a commit reaches: asked of git once, and afterwards only for what has changed.

One walk answers for any number of anchors. The answer is kept, and moves with HEAD: what the old
and the new commit do not share is what can have changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.journal.branches.visibility import EMPTY_TREES, Fact
from gitmem.journal.git.history import History

KEPT = 4
"""Commits whose answers stay on disk: HEAD's, and those one switches between."""

MOST = 64
"""Commits whose answers stay in memory."""

_VERSION = 1


class _Answer:
    """What is known from one commit: anchors it reaches, and anchors it does not."""

    __slots__ = ("reached", "unreached")

    def __init__(self, reached: Iterable[str] = (), unreached: Iterable[str] = ()) -> None:
        self.reached = set(reached)
        self.unreached = set(unreached)

    def lacks(self, anchors: Collection[str]) -> set[str]:
        return set(anchors) - self.reached - self.unreached


class Reached(NamedTuple):
    """The anchors seen from a commit; `beyond` counts events whose anchor a shallow clone lacks."""

    anchors: set[str]
    beyond: int = 0


class Ancestry:
    """Answers by commit, in memory and, given a folder, on disk. Disposable at any time."""

    def __init__(self, history: History, folder: Path | None = None) -> None:
        self._history = history
        self._file = folder / "ancestry.json" if folder else None
        self._answers: dict[str, _Answer] | None = None
        self._read_at: list[object] = []

    @property
    def shallow(self) -> bool:
        """Whether history was cut off when the repository was cloned."""
        return self._history.shallow

    def reaches(self, commit: str | None, anchors: Collection[str]) -> set[str]:
        """Return which of `anchors` are reachable from `commit`."""
        wanted = set(anchors)
        if commit is None:
            return wanted & EMPTY_TREES
        answer = self._answer(commit)
        if unknown := answer.lacks(wanted - EMPTY_TREES):
            self._ask(commit, unknown, answer)
            self._save()
        return wanted & (answer.reached | EMPTY_TREES)

    def seen(self, commit: str | None, facts: Iterable[Fact], trunk: str | None) -> Reached:
        """Return the anchors of `facts` that count as reachable from `commit`.

        In a shallow clone an absent anchor counts if an event of the trunk stands on it: a clone
        of depth 1, as in continuous integration, would otherwise know nothing. Such an event has
        no line; the trunk's name need not be known, as in the clone of another single branch.
        """
        judged = [fact for fact in facts if not fact.repo]
        wanted = {anchor for fact in judged for anchor in fact.anchors}
        anchors = self.reaches(commit, wanted)
        if not self.shallow or not (absent := self.missing(wanted - anchors)):
            return Reached(anchors)
        plain = [fact for fact in judged if not fact.pending]
        anchors |= {
            anchor
            for fact in plain
            if fact.branch is not None and (fact.branch == trunk or fact.line is None)
            for anchor in fact.anchors
            if anchor in absent
        }
        return Reached(anchors, sum(absent.issuperset(fact.anchors) for fact in plain
                                    if not anchors.intersection(fact.anchors)))  # fmt: skip

    def missing(self, anchors: Collection[str]) -> set[str]:
        """Return the anchors that are no commit of this clone."""
        wanted = set(anchors) - EMPTY_TREES
        return wanted - self._history.known(wanted)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` reaches `old`; it reaches itself."""
        return old == new or old in self.reaches(new, [old])

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the best common ancestor of two commits."""
        return self._history.merge_base(one, other)

    def _answer(self, commit: str) -> _Answer:
        answers = self._load()
        if commit in answers:
            answers[commit] = answers.pop(commit)  # the last asked for is the last to go
        else:
            answers[commit] = self._moved(commit) or _Answer()
            for oldest in list(answers)[:-MOST]:
                del answers[oldest]
        return answers[commit]

    def _moved(self, commit: str) -> _Answer | None:
        """Derive the answer from the last one's: only what the two do not share is looked at."""
        answers = self._load()
        if not answers:
            return None
        old, answer = next(reversed(answers.items()))
        if len(answer.reached) + len(answer.unreached) < 2:
            return None  # not worth a spawn
        sides = self._history.difference(old, commit)
        if sides is None:
            return None
        gone, came = sides
        came &= answer.unreached
        gone &= answer.reached
        return _Answer(answer.reached - gone | came, answer.unreached - came | gone)

    def _ask(self, commit: str, unknown: set[str], answer: _Answer) -> None:
        if commit in unknown:  # what was just written, most often: nothing to ask
            answer.reached.add(commit)
            unknown = unknown - {commit}
        if not unknown:
            return
        here = self._history.known(unknown)
        unreached = self._history.unreached(here, [commit])
        answer.reached |= here - unreached
        answer.unreached |= unknown - answer.reached

    # -- disk ---------------------------------------------------------------------------------

    def _load(self) -> dict[str, _Answer]:
        state = self._state()
        if self._answers is None or self._read_at != state:
            self._answers, self._read_at = {}, state
            try:
                kept = json.loads(self._file.read_bytes()) if self._file else {}
                if kept and kept["state"] == state:
                    self._answers = {
                        commit: _Answer(reached.split(), unreached.split())
                        for commit, reached, unreached in kept["answers"]
                    }
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                pass  # missing or damaged: it is derived
        return self._answers

    def _save(self) -> None:
        if self._file is None or not self._answers or not self._file.parent.is_dir():
            return
        kept = list(self._answers.items())[-KEPT:]
        rows = [[oid, " ".join(a.reached), " ".join(a.unreached)] for oid, a in kept]
        beside = self._file.with_name(f"{self._file.name}.{os.getpid()}.new")
        try:
            beside.write_text(json.dumps({"state": self._state(), "answers": rows}))
            beside.replace(self._file)
        except OSError:  # a read-only file system, a full disk: asked again the next time
            with suppress(OSError):
                beside.unlink()

    def _state(self) -> list[object]:
        """What makes answers wrong when it changes: where a shallow history is cut off."""
        return [_VERSION, self._history.cut]
