"""The rules of branches written down naively: what the library's answers are compared with.

Nothing here is clever or fast, and nothing is shared with `gitmem.journal`: facts are read with
stock git (branches, configuration, reflogs, notes, `git merge-tree`), and the rules are applied as
``docs/branches.md`` states them, by trying everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.branches.facts import Entry, Facts, Said

TRUNK = "main"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

_MADE = re.compile(
    r"commit( \(.*\))?: |cherry-pick: |revert: |am: "
    r"|(merge|pull)\b.*: Merge made by"
)
_PICKED = re.compile(r"rebase \((pick|squash|fixup|reword|edit|continue)\): ")
_MOVED = re.compile(r"checkout: moving from (\S+) to (\S+)")
_RENAMED = re.compile(r"Branch: renamed refs/heads/(\S+) to refs/heads/(\S+)")

Pair = tuple[str, str]
"""A carry of one event: (event id, the commit it is carried to)."""


@dataclass(frozen=True)
class Gone:
    """A branch that is no more: its names, and from when until when it had them, in seconds."""

    names: set[str]
    since: int
    until: int


class Truth(Facts):
    """What holds in a repository at one moment, by the rules."""

    # -- own commits --------------------------------------------------------------------------

    @cached_property
    def _picked(self) -> dict[str, set[str]]:
        """Return {tip: the commits that a rebase made before it finished there}."""
        finished: dict[str, set[str]] = {}
        seen: set[str] = set()
        picks: set[str] = set()
        for entry in self.reflog("HEAD"):
            if entry.message.startswith("rebase (start)"):
                picks = set()
            elif entry.message.startswith("rebase (finish)"):
                finished.setdefault(entry.new, set()).update(picks)
            elif _PICKED.match(entry.message) and entry.new not in seen:
                picks.add(entry.new)
            seen |= {entry.old, entry.new}
        return finished

    def made_on(self, branch: str) -> set[str]:
        """Return the commits that the reflog of an existing branch says were made on it."""
        made: set[str] = set()
        for entry in self.reflog(f"refs/heads/{branch}"):
            if entry.message.startswith("rebase (finish)"):
                made |= self._picked.get(entry.new, set())
            elif _MADE.match(entry.message):
                made.add(entry.new)
        return made

    def made_once(self, gone: Gone) -> set[str]:
        """Return the commits made on a branch that is gone."""
        return {entry.new for entry in self._of_once(self._replayed[0], gone)}

    def last_tip(self, gone: Gone) -> str | None:
        """Return where a branch that is gone stood when HEAD last left it."""
        left = self._of_once(self._replayed[1], gone)
        return max(left, key=lambda entry: entry.time).old if left else None

    def _of_once(self, replayed: dict[str, list[Entry]], gone: Gone) -> list[Entry]:
        entries = [entry for name in sorted(gone.names) for entry in replayed.get(name, ())]
        return [entry for entry in entries if gone.since <= entry.time < gone.until]

    @cached_property
    def _replayed(self) -> tuple[dict[str, list[Entry]], dict[str, list[Entry]]]:
        """HEAD's reflog, replayed: (what was made, where HEAD left) for each branch name."""
        made: dict[str, list[Entry]] = {}
        left: dict[str, list[Entry]] = {}
        entries = self.reflog("HEAD")
        moves = [move for move in (_MOVED.match(entry.message) for entry in entries) if move]
        here = moves[0][1] if moves else self.here or ""
        for entry in entries:
            if move := _MOVED.match(entry.message):
                left.setdefault(move[1], []).append(entry)
                here = move[2]
            elif renamed := _RENAMED.match(entry.message):
                # An older branch of the first name may be meant: what it made stays there, too.
                made[renamed[2]] = list(made.get(renamed[1], ()))
                left[renamed[2]] = list(left.get(renamed[1], ()))
                here = renamed[2]
            elif _PICKED.match(entry.message) or _MADE.match(entry.message):
                made.setdefault(here, []).append(entry)
        return made, left

    @cached_property
    def lines(self) -> set[str | None]:
        """Every line that events belong to."""
        said = {e.line for e in self.events.values() if not e.repo and e.fields["op"] != "carry"}
        return said

    def branch_of(self, line: str | None) -> str | None:
        """Return the branch that a line is now."""
        if line == TRUNK:
            return TRUNK
        return next((n for n, id in self.ids.items() if id == line and n in self.branches), None)

    def gone(self, line: str) -> Gone:
        """Return what a line's branch was called, and when that name was not another's."""
        spans: dict[str, list[Said]] = {}
        for event in self.events.values():
            spans.setdefault(event.fields.get("line", ""), []).append(event)
        said = sorted(spans.pop(line), key=lambda event: event.seconds)
        name, since, until = said[-1].fields["branch"], 0, 1 << 62
        for id, others in spans.items():
            if id and any(other.fields.get("branch") == name for other in others):
                times = [other.seconds for other in others]
                if min(times) >= said[-1].seconds:
                    until = min(until, *times)
                elif max(times) <= said[0].seconds:
                    since = max(since, *times)
        names = self._later_names(name)
        for other in names & self.branches.keys():
            until = min(until, self.reflog(f"refs/heads/{other}")[0].time)
        return Gone(names, since, until)

    def _later_names(self, name: str) -> set[str]:
        """Return a branch name and what branches of that name became."""
        names = {name}
        for entry in self.reflog("HEAD"):
            if (renamed := _RENAMED.match(entry.message)) and renamed[1] in names:
                names.add(renamed[2])
        return names

    def own(self, line: str | None, commit: str) -> bool:
        branch = self.branch_of(line)
        if branch and commit in self.made_on(branch):
            return True
        if line and not branch and commit in self.made_once(self.gone(line)):
            return True
        others = [tip for other, tip in self.branches.items() if other != branch]
        return commit not in self.ancestors(*others)

    def tip(self, line: str | None) -> str | None:
        """Return the tip of a line; of a deleted branch, where HEAD last left it."""
        if branch := self.branch_of(line):
            return self.branches.get(branch)
        return self.last_tip(self.gone(line)) if line else None

    # -- the rules ----------------------------------------------------------------------------

    def shown(self, commit: str | None, carried: Iterable[Pair] = ()) -> set[str]:
        """Rules 1, 3 and 4: what a bare commit shows, with carries that are not written yet."""
        reached = self.ancestors(commit) | {EMPTY_TREE}
        seen = {
            event.id
            for event in self.events.values()
            if event.repo or (not event.pending and event.anchors & reached)
        }
        return self._carry(seen | {id for id, anchor in carried if anchor in reached})

    def _carry(self, seen: set[str]) -> set[str]:
        while more := {id for id, carry in self.carries if carry in seen} - seen:
            seen |= more
        return seen

    def visible(self, branch: str | None, commit: str | None, carried: Iterable[Pair]) -> set[str]:
        """The four rules, from a branch or, where it is None, a detached HEAD."""
        id = self.ids.get(branch or "")
        mine = {
            event.id
            for event in self.events.values()
            if event.fields["op"] != "carry"
            and (
                (branch is None and event.pending and event.line is None)
                or (branch == TRUNK and event.fields.get("branch") == TRUNK)
                or (branch not in (None, TRUNK) and id and event.fields.get("line") == id)
            )
        }
        return self._carry(mine | self.shown(commit, carried))

    def carried(self) -> set[Pair]:
        """Return every carry that the history calls for, written or not."""
        pairs: set[Pair] = set()
        while new := (set(self._home(pairs)) | set(self._landed(pairs))) - pairs:
            pairs |= new
        return pairs

    def _home(self, pairs: set[Pair]) -> Iterator[Pair]:
        for line in self.lines:
            tip = self.tip(line)
            if tip is None:
                continue
            shown = self.shown(tip, pairs)
            find = self._trunk_home if line == TRUNK else self._branch_home
            for event in self._of(line):
                if event.id not in shown and (to := find(event, tip)):
                    yield event.id, to

    def _of(self, line: str | None) -> list[Said]:
        return [
            event
            for event in self.events.values()
            if event.line == line and not event.repo and event.fields["op"] != "carry"
        ]

    def _branch_home(self, event: Said, tip: str) -> str | None:
        """The oldest own commit that is neither its anchor nor an ancestor of it."""
        for commit in self._oldest_first(tip):
            if self.own(event.line, commit) and any(
                commit not in self.ancestors(anchor) for anchor in event.anchors
            ):
                return commit
        return None

    def _oldest_first(self, tip: str) -> list[str]:
        return self.git.lines("rev-list", "--topo-order", "--reverse", tip)

    def _trunk_home(self, event: Said, tip: str) -> str | None:
        if event.anchors & self.ancestors(*self.branches.values()):
            return None
        later = (c for c in self.first_parents(tip) if self.commits[c].time >= event.seconds)
        return next(later, tip)

    def _landed(self, pairs: set[Pair]) -> Iterator[Pair]:
        tips = set(self.branches.values()) | ({self.head} if self.head else set())
        for line in self.lines:
            for work in self._candidates(line, pairs):
                brought = self.shown(work, pairs)
                before = self.ancestors(work) - {work}
                brought |= {e.id for e in self._of(line) if e.pending and e.anchors & before}
                for tip in tips:
                    if to := self._landing(work, tip):
                        for id in brought - self.shown(to, pairs):
                            yield id, to

    def _candidates(self, line: str | None, pairs: set[Pair]) -> set[str]:
        """The commits that stand for a line's work."""
        events = self._of(line)
        found = {self.tip(line)}
        found |= {anchor for event in events if not event.pending for anchor in event.anchors}
        mine = {event.id for event in events}
        found |= {anchor for id, anchor in pairs if id in mine}
        for id, carry in self.carries:
            if id in mine:
                found |= self.events[carry].anchors
        return {commit for commit in found if commit in self.commits and self.own(line, commit)}

    def _landing(self, work: str, tip: str) -> str | None:
        """Where work has landed in the history of a tip."""
        base = self.git.merge_base(tip, work)
        if base is None:
            return None
        past = self.ancestors(base)
        for commit in self.first_parents(tip):
            parents = self.commits[commit].parents
            if commit in past or not parents or self.commits[commit].time < self.commits[work].time:
                continue
            if not self._changes(commit, work) and self._changes(parents[0], work):
                return commit
        return None

    def _changes(self, into: str, work: str) -> bool:
        return self.git.merged(into, work) != self.commits[into].tree

    # -- memories -----------------------------------------------------------------------------

    def memories(self, visible: set[str]) -> dict[str, str]:
        """Return {memory id: text} of what is not forgotten."""
        found: dict[str, str] = {}
        for root in self.events.values():
            if root.fields["op"] != "remember":
                continue
            life = [event for event in self.events.values() if event.memory == root.id]
            seen = [event for event in life if event.id in visible]
            if all(event.fields["op"] == "forget" for event in seen) or self._forgotten(seen):
                continue
            texts = [e for e in (root, *seen) if e.fields["op"] in ("remember", "revise")]
            found[root.id] = max(texts, key=lambda event: event.fields["at"]).fields["text"]
        return found

    def _forgotten(self, seen: list[Said]) -> bool:
        """Whether a forget stands that no revision was written beside."""
        revisions = [event for event in seen if event.fields["op"] == "revise"]
        forgets = [event for event in seen if event.fields["op"] == "forget"]
        return any(not any(self._beside(f, r) for r in revisions) for f in forgets)

    def _beside(self, one: Said, other: Said) -> bool:
        return not self._saw(one, other) and not self._saw(other, one)

    def _saw(self, later: Said, earlier: Said) -> bool:
        if later.id == earlier.id:
            return True
        bases = [self.events[base] for base in later.fields.get("base", ()) if base in self.events]
        return any(self._saw(base, earlier) for base in bases)

    def heads(self, memory: str, visible: set[str]) -> set[str]:
        """Return the latest of a memory's events among the visible ones."""
        seen = [e for e in self.events.values() if e.memory == memory and e.id in visible]
        seen = [*seen, *([] if memory in visible else [self.events[memory]])]
        return {e.id for e in seen if not any(o.id != e.id and self._saw(o, e) for o in seen)}

    def stamp(self) -> dict[str, Any]:
        """Return what an event written now must carry; the line itself is made by the library."""
        on_trunk = self.here == TRUNK
        tip = self.branches.get(TRUNK)
        if on_trunk:
            pending = False
        elif self.here is None:
            pending = self.head in self.ancestors(*self.branches.values())
        elif self.head is None:
            pending = bool(self.branches)
        else:
            own = self._own_by_name(self.here, self.head)
            pending = self.head in self.ancestors(tip) or not own
        return {"branch": self.here, "pending": pending, "anchor": self.head or EMPTY_TREE}

    def _own_by_name(self, branch: str, commit: str) -> bool:
        others = [tip for other, tip in self.branches.items() if other != branch]
        return commit in self.made_on(branch) or commit not in self.ancestors(*others)
