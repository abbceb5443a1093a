"""A little world: git commands, and memories written and read by the rules of branches alone.

Events are facts here, not lines of a journal; `World.sees` answers as a reader would: what should
be carried is carried, virtually, before the four rules are applied.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gitmem.journal.branches.ancestry import Ancestry
from gitmem.journal.branches.landing import Carry, Landing
from gitmem.journal.branches.lines import Lines
from gitmem.journal.branches.visibility import Fact, Vantage, visible
from gitmem.journal.git.history import History
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.reflogs import Reflogs
from tests.support import git

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
START = 1_700_000_000


class Clock:
    """Seconds that pass with every command, the same in every clone."""

    def __init__(self) -> None:
        self.now = START

    def tick(self, seconds: int = 10) -> int:
        """Let time pass."""
        self.now += seconds
        return self.now


class World:
    """One clone: its repository, and the events it knows of."""

    def __init__(self, path: Path, clock: Clock | None = None, facts: Sequence[Fact] = ()) -> None:
        self.path = path
        self.clock = clock or Clock()
        self.facts: dict[str, Fact] = {fact.id: fact for fact in facts}
        self.private: set[str] = set()
        self.trunk = ""
        self.folder: Path | None = None
        self.track = False

    @classmethod
    def new(cls, path: Path, branch: str = "main") -> World:
        """Make a repository with one commit."""
        path.mkdir()
        git(path, "init", "-q", "-b", branch)
        world = cls(path)
        world.commit("first")
        return world

    def clone(self, name: str, *options: str) -> World:
        """Clone the repository, and everything it knows but its private memories."""
        self.git("config", "receive.denyCurrentBranch", "ignore")
        self.git("clone", "-q", *options, self.path.as_uri(), f"../{name}")
        world = World(self.path.parent / name, self.clock)
        world.pull_memories(self)
        return world

    def pull_memories(self, other: World) -> None:
        """Take in what another clone shares."""
        self.facts |= {f.id: f for f in other.facts.values() if f.id not in other.private}

    # -- git ----------------------------------------------------------------------------------

    def git(self, *args: str, **env: str) -> str:
        """Run git ten seconds later than the last time."""
        when = f"{self.clock.tick()} +0000"
        os.environ.update(GIT_AUTHOR_DATE=when, GIT_COMMITTER_DATE=when, GIT_EDITOR="true", **env)
        try:
            return git(self.path, "-c", "rerere.enabled=false", *args)
        finally:
            for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "GIT_EDITOR", *env):
                del os.environ[name]

    def commit(self, name: str, file: str | None = None, text: str | None = None) -> str:
        """Append a line to a file of its own (or write `text` to `file`), and commit it."""
        path = self.path / (file or f"{name}.txt")
        before = path.read_text() if path.exists() else ""
        path.write_text(before + f"{name}\n" if text is None else text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", name)
        return self.head()

    def head(self) -> str:
        """Return HEAD's commit."""
        return git(self.path, "rev-parse", "HEAD")

    def fork(self, name: str, start: str = "HEAD") -> None:
        """Create a branch and switch to it."""
        self.git("checkout", "-q", "-b", name, start)

    def switch(self, name: str) -> None:
        """Switch to a branch, or detach at a commit."""
        self.git("checkout", "-q", name)

    def squash(self, branch: str, edit: str | None = None) -> str:
        """Squash a branch into the current one; `edit` changes another file in the same commit."""
        self.git("merge", "-q", "--squash", branch)
        if edit:
            (self.path / edit).write_text("bumped\n")
            self.git("add", "-A")
        self.git("commit", "-q", "-m", f"squash {branch}")
        return self.head()

    def merge(self, *branches: str) -> str:
        """Merge, always with a merge commit."""
        self.git("merge", "-q", "--no-ff", "-m", f"merge {branches}", *branches)
        return self.head()

    def rebase_todo(self, onto: str, script: str) -> None:
        """Rebase interactively, the list edited by a sed script."""
        self.git("rebase", "-q", "-i", onto, GIT_SEQUENCE_EDITOR=f"sed -i -e '{script}'")

    def delete(self, branch: str) -> None:
        """Delete a branch, merged or not."""
        self.git("branch", "-q", "-D", branch)

    # -- memories -----------------------------------------------------------------------------

    def remember(self, name: str, *, private: bool = False, repo: bool = False) -> str:
        """Write a memory where HEAD stands; `name` is its id."""
        return self.event(name, "remember", name, private=private, repo=repo)

    def event(
        self, id: str, op: str, memory: str, *, private: bool = False, repo: bool = False
    ) -> str:
        """Write an event about a memory."""
        self.look(write=True)  # as every mutating verb does
        with Eyes(self) as eyes:
            stamp = eyes.lines.stamp()
            commit = eyes.git.head().commit or EMPTY
        at = f"{self.at()}"
        self.facts[id] = Fact(
            id, memory, op, at, (commit,), repo, stamp.branch, stamp.line, stamp.pending
        )
        if private:
            self.private.add(id)
        return id

    def at(self) -> str:
        """Return the time as events write it."""
        return datetime.fromtimestamp(self.clock.tick(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")

    def rewritten(self, pairs: dict[str, str]) -> None:
        """Copy lines as `notes.rewriteRef` does: old commit to new."""
        for fact in list(self.facts.values()):
            new = [pairs[anchor] for anchor in fact.anchors if anchor in pairs]
            if new and fact.id not in self.private:
                anchors = tuple(dict.fromkeys((*fact.anchors, *new)))
                self.facts[fact.id] = fact._replace(anchors=anchors)

    def carries(self) -> list[Carry]:
        """Return what should be carried, as seen from HEAD."""
        with Eyes(self) as eyes:
            return list(eyes.landing.carries(list(self.facts.values())).carries)

    def look(self, write: bool = False) -> dict[str, Fact]:
        """Return every fact with what should be carried; `write` it down if asked to."""
        facts = dict(self.facts)
        for carry in self.carries():
            fact = carry_fact(carry)
            facts[fact.id] = fact
        if write:
            self.facts = facts
        return facts

    def sees(self, branch: str | None = None, *, at: str | None = None) -> set[str]:
        """Return the memories seen from HEAD, or from a branch or commit without switching."""
        facts = self.look()
        with Eyes(self) as eyes:
            if at is not None:
                vantage = eyes.lines.at(at)
            else:
                vantage = eyes.lines.of(branch) if branch else eyes.lines.here()
            return self.seen_from(vantage, eyes, facts)

    def seen_from(self, vantage: Vantage, eyes: Eyes, facts: dict[str, Fact]) -> set[str]:
        """Return the memories whose events, other than `forget`, are visible."""
        reached = eyes.ancestry.seen(vantage.commit, facts.values(), vantage.trunk)
        events = visible(facts.values(), vantage, reached.anchors)
        return {
            memory
            for id in events
            if facts[id].op != "forget" and (memory := facts[id].memory) is not None
        }

    def events(self, branch: str | None = None) -> set[str]:
        """Return the events visible from HEAD, or from a branch."""
        facts = self.look()
        with Eyes(self) as eyes:
            vantage = eyes.lines.of(branch) if branch else eyes.lines.here()
            reached = eyes.ancestry.seen(vantage.commit, facts.values(), vantage.trunk)
            return visible(facts.values(), vantage, reached.anchors)


class Eyes:
    """Everything that answers, opened anew for each question as a command would."""

    def __init__(self, world: World) -> None:
        self.git = open_repository(world.path, "program")
        self.history = History(self.git.layout)
        self.ancestry = Ancestry(self.history, world.folder)
        self.reflogs = Reflogs(self.history)
        self.lines = Lines(
            self.git,
            self.history,
            self.ancestry,
            trunk=world.trunk,
            facts=lambda name: _concerning(name, list(world.facts.values())),
        )
        self.landing = Landing(self.git, self.history, self.lines, self.ancestry, world.folder)

    def __enter__(self) -> Eyes:
        return self

    def __exit__(self, *_: object) -> None:
        self.landing.close()
        self.git.close()


def _concerning(name: str, facts: Sequence[Fact]) -> list[Fact]:
    own = {fact.id for fact in facts if fact.branch == name}
    return [fact for fact in facts if fact.id in own or own.intersection(fact.carries)]


def carry_fact(carry: Carry) -> Fact:
    """Return the fact of a carry as every clone would write it."""
    text = repr((carry.events, carry.anchor, carry.at, carry.by, carry.branch))
    id = "carry-" + hashlib.sha256(text.encode()).hexdigest()[:12]
    return Fact(
        id, None, "carry", carry.at, (carry.anchor,), branch=carry.branch, carries=carry.events
    )
