"""The rules of branches written down naively: what the library's answers are compared with.

Nothing here is clever or fast, and nothing is shared with `gitmem.journal`: facts are read with
stock git (branches, configuration, reflogs, notes, `git merge-tree`), and the rules are applied as
``docs/branches.md`` states them, by trying everything.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

TRUNK = "main"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

_MADE = re.compile(
    r"commit( \(.*\))?: |cherry-pick: |revert: |am: |(merge|pull)\b.*: Merge made by|rebase \(finish\)"
)
_PICKED = re.compile(r"rebase \((pick|squash|fixup|reword|edit|continue)\): ")
_MOVED = re.compile(r"checkout: moving from (\S+) to (\S+)")
_RENAMED = re.compile(r"Branch: renamed refs/heads/(\S+) to refs/heads/(\S+)")


@dataclass(frozen=True)
class Entry:
    """One entry of a reflog."""

    old: str
    new: str
    time: int
    message: str


@dataclass(frozen=True)
class Commit:
    """What git says of a commit."""

    tree: str
    parents: tuple[str, ...]
    time: int


@dataclass(frozen=True)
class Said:
    """An event: its fields, and the anchors its line stands on."""

    id: str
    fields: dict[str, Any]
    anchors: frozenset[str]

    @property
    def memory(self) -> str:
        return self.id if self.fields["op"] == "remember" else str(self.fields.get("memory"))

    @property
    def line(self) -> str | None:
        """The line it belongs to: an id, the trunk's name, or None where HEAD was detached."""
        return self.fields.get("line") or self.fields.get("branch")

    @property
    def pending(self) -> bool:
        return bool(self.fields.get("pending"))

    @property
    def repo(self) -> bool:
        return self.fields.get("scope") == "repo"


Pair = tuple[str, str]
"""A carry of one event: (event id, the commit it is carried to)."""


class Git:
    """A repository, asked by stock git; what cannot change is asked once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._blobs: dict[tuple[Path, str], list[bytes]] = {}
        self._merges: dict[Pair, str] = {}
        self._bases: dict[Pair, str | None] = {}

    def ask(self, *args: str, path: Path | None = None) -> tuple[int, str]:
        done = subprocess.run(
            ["git", *args], cwd=path or self.path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    def lines(self, *args: str, path: Path | None = None) -> list[str]:
        return self.ask(*args, path=path)[1].splitlines()

    def merged(self, ours: str, theirs: str) -> str:
        """Return the tree of a merge; empty where it cannot be made without a hand."""
        if (ours, theirs) not in self._merges:
            code, out = self.ask("merge-tree", "--write-tree", ours, theirs)
            self._merges[ours, theirs] = out.split("\n")[0] if code == 0 else ""
        return self._merges[ours, theirs]

    def merge_base(self, one: str, other: str) -> str | None:
        if (one, other) not in self._bases:
            found = self.lines("merge-base", one, other)
            self._bases[one, other] = found[0] if found else None
        return self._bases[one, other]

    def journal(self, path: Path, ref: str) -> Iterator[tuple[str, bytes]]:
        """Yield (anchor, line) of every line of a notes ref."""
        for row in self.lines("notes", f"--ref={ref}", "list", path=path):
            blob, anchor = row.split(" ")
            if (path, blob) not in self._blobs:
                command = ["git", "cat-file", "blob", blob]
                raw = subprocess.run(command, cwd=path, capture_output=True, check=True).stdout
                self._blobs[path, blob] = [line for line in raw.split(b"\n") if line]
            for line in self._blobs[path, blob]:
                yield anchor, line


class Truth:
    """What holds in a repository at one moment, by the rules."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self.branches = dict(
            row.split(" ")[::-1]
            for row in git.lines("for-each-ref", "--format=%(objectname) %(refname:short)", "refs/heads")
        )
        config = git.lines("config", "--get-regexp", r"^branch\..*\.gitmem$")
        self.ids = {
            key.removeprefix("branch.").removesuffix(".gitmem"): value
            for key, value in (row.split(" ") for row in config)
        }
        code, name = git.ask("symbolic-ref", "--short", "-q", "HEAD")
        self.here = name.strip() if code == 0 else None
        code, commit = git.ask("rev-parse", "-q", "--verify", "HEAD")
        self.head = commit.strip() if code == 0 else None
        self.events = self._events()
        self.carries = {
            (id, event.id)
            for event in self.events.values()
            if event.fields["op"] == "carry"
            for id in event.fields["events"]
        }

    # -- what git says ------------------------------------------------------------------------

    def _events(self) -> dict[str, Said]:
        found: dict[str, Said] = {}
        private = self.git.path / ".git" / "gitmem" / "private.git"
        journals = [(self.git.path, "gitmem/shared")]
        journals += [(private, "gitmem/private")] if private.is_dir() else []
        for path, ref in journals:
            for anchor, line in self.git.journal(path, ref):
                id = hashlib.sha256(line).hexdigest()
                known = found[id].anchors if id in found else frozenset()
                found[id] = Said(id, json.loads(line), known | {anchor})
        return found

    @cached_property
    def commits(self) -> dict[str, Commit]:
        """Every commit that a ref or a reflog knows."""
        rows = self.git.lines("log", "--all", "--reflog", "HEAD", "--format=%H %T %ct %P")
        split = (row.split(" ") for row in rows)
        return {id: Commit(tree, tuple(filter(None, up)), int(time)) for id, tree, time, *up in split}

    def ancestors(self, *tips: str | None) -> set[str]:
        """Return the commits that `tips` reach, themselves among them."""
        found: set[str] = set()
        todo = [tip for tip in tips if tip in self.commits]
        while todo:
            commit = todo.pop()
            if commit not in found:
                found.add(commit)
                todo += self.commits[commit].parents
        return found

    def first_parents(self, tip: str) -> list[str]:
        """Return the first-parent history of a commit, oldest first."""
        chain = [tip]
        while self.commits[chain[-1]].parents:
            chain.append(self.commits[chain[-1]].parents[0])
        return chain[::-1]

    def reflog(self, ref: str) -> list[Entry]:
        """Return a reflog, oldest first."""
        path = self.git.path / ".git" / "logs" / ref
        entries = []
        for row in path.read_text().splitlines() if path.is_file() else ():
            head, _, message = row.partition("\t")
            old, new, *_, time, _zone = head.split(" ")
            entries.append(Entry(old, new, int(time), message))
        return entries

    # -- own commits --------------------------------------------------------------------------

    @cached_property
    def _picked(self) -> set[str]:
        return {entry.new for entry in self.reflog("HEAD") if _PICKED.match(entry.message)}

    def made_on(self, branch: str, before: int | None = None) -> set[str]:
        """Return the commits made on a branch: `before` is given where that name is another's now."""
        if branch in self.branches and before is None:
            entries = [e for e in self.reflog(f"refs/heads/{branch}") if _MADE.match(e.message)]
            return {
                entry.new
                for entry in entries
                if "rebase (finish)" not in entry.message or entry.new in self._picked
            }
        made, _ = self._replayed
        return {entry.new for entry in made.get(branch, ()) if before is None or entry.time < before}

    def last_tip(self, branch: str, before: int | None = None) -> str | None:
        """Return where a branch stood when HEAD last left it."""
        _, left = self._replayed
        found = [e.old for e in left.get(branch, ()) if before is None or e.time < before]
        return found[-1] if found else None

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
                made[renamed[2]] = made.pop(renamed[1], [])
                left[renamed[2]] = left.pop(renamed[1], [])
                here = renamed[2]
            elif _PICKED.match(entry.message) or (
                _MADE.match(entry.message) and "rebase (finish)" not in entry.message
            ):
                made.setdefault(here, []).append(entry)
        return made, left

    @cached_property
    def lines(self) -> set[str | None]:
        """Every line that events belong to."""
        said = {e.line for e in self.events.values() if not e.repo and e.fields["op"] != "carry"}
        return said

    def branch_of(self, line: str | None) -> tuple[str | None, bool, int | None]:
        """Return (branch, whether it exists, when a later branch took its name)."""
        if line is None or line == TRUNK:
            return line, line is not None, None
        for name, id in self.ids.items():
            if id == line and name in self.branches:
                return name, True, None
        said = [e for e in self.events.values() if e.fields.get("line") == line]
        name = max(said, key=lambda event: event.fields["at"]).fields["branch"]
        if name in self.branches:
            return name, False, self.reflog(f"refs/heads/{name}")[0].time
        return name, False, None

    def own(self, line: str | None, commit: str) -> bool:
        name, exists, before = self.branch_of(line)
        if name is not None and commit in self.made_on(name, before):
            return True
        others = [tip for other, tip in self.branches.items() if not (exists and other == name)]
        return commit not in self.ancestors(*others)

    def tip(self, line: str | None) -> str | None:
        """Return the tip of a line; of a deleted branch, where HEAD last left it."""
        name, exists, before = self.branch_of(line)
        if name is None:
            return None
        return self.branches.get(name) if exists else self.last_tip(name, before)

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
            lost = [event for event in self._of(line) if event.id not in shown]
            for event in lost:
                to = self._trunk_home(event, tip) if line == TRUNK else self._branch_home(event, tip)
                if to:
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
        at = int(datetime.fromisoformat(event.fields["at"]).timestamp())
        later = (c for c in self.first_parents(tip) if self.commits[c].time >= at)
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
        name, _, before = self.branch_of(line)
        found = {self.tip(line)} | ({self.last_tip(name, before)} if name else set())
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
        return any(
            forget.fields["op"] == "forget"
            and not any(
                other.fields["op"] == "revise" and not self._saw(forget, other) and not self._saw(other, forget)
                for other in seen
            )
            for forget in seen
        )

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
            # A branch without an id yet is the only one of its name.
            pending = self.head in self.ancestors(tip) or not self._own_by_name(self.here, self.head)
        return {"branch": self.here, "pending": pending, "anchor": self.head or EMPTY_TREE}

    def _own_by_name(self, branch: str, commit: str) -> bool:
        others = [tip for other, tip in self.branches.items() if other != branch]
        return commit in self.made_on(branch) or commit not in self.ancestors(*others)
