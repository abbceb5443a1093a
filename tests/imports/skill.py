"""The git-notes-memory skill, as far as it writes: one JSON object a branch on the root commit."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support import git

PARENTS = ("main", "master")
START = datetime(2026, 3, 2, 9)


class Skill:
    """Remembers on the branch that is checked out, a minute after the last time.

    `zone` is the machine's offset from UTC in hours: the skill's own times are local.
    """

    def __init__(self, repo: Path, zone: int = 0) -> None:
        self.repo = repo
        self.zone = zone
        self.now = START

    def remember(self, content: Any, **fields: Any) -> str:
        """Store a memory and return its id; `fields` are the skill's, such as ``i`` and ``g``."""
        memories, id = self.load(), self.id(content)
        now = self._tick().isoformat()
        about = {"e": ["word"], "t": "decision", "g": [], "i": "n", "b": self.branch(), "a": 0}
        memories[id] = {"d": content, **about, "c": now, "u": now, **fields}
        self.save(memories)
        return id

    def update(self, id: str, content: Any) -> None:
        """Give a memory another content; its id stays."""
        memories = self.load()
        memories[id] |= {"d": content, "u": self._tick().isoformat()}
        self.save(memories)

    def evolve(self, id: str, note: str) -> None:
        """Add a note."""
        memories = self.load()
        now = self._tick()
        added = {"n": note, "t": now.strftime("%Y%m%d_%H%M%S"), "b": self.branch()}
        memories[id].setdefault("ev", []).append(added)
        memories[id]["u"] = now.isoformat()
        self.save(memories)

    def merge_branch(self, source: str) -> None:
        """Copy what another branch has, the later of two versions of one memory."""
        mine, theirs = self.load(), self.read(source)
        newer = {id: m for id, m in theirs.items() if id not in mine or m["u"] > mine[id]["u"]}
        self.save(mine | newer)

    def load(self) -> dict[str, Any]:
        """Return the branch's memories; one without begins with a copy of the trunk's."""
        found = self.read(self.branch())
        for parent in PARENTS:
            if not found and parent != self.branch() and (found := self.read(parent)):
                self.save(found)
        return found

    def read(self, branch: str) -> dict[str, Any]:
        """Return what a branch's ref has."""
        shown = git(self.repo, "notes", "--ref", ref(branch), "show", self.root(), check=False)
        found: dict[str, Any] = json.loads(shown) if shown else {}
        return found

    def save(self, memories: dict[str, Any]) -> None:
        """Write the branch's note anew."""
        text = json.dumps(memories, separators=(",", ":"))
        with self._dated():
            git(
                self.repo, "notes", "--ref", ref(self.branch()), "add", "-f", "-m", text,
                self.root(),
            )  # fmt: skip

    def branch(self) -> str:
        """Return the branch, ``main`` for a detached HEAD."""
        name = git(self.repo, "rev-parse", "--abbrev-ref", "HEAD")
        return name if name != "HEAD" else "main"

    def root(self) -> str:
        """Return the root commit."""
        return git(self.repo, "rev-list", "--max-parents=0", "HEAD")

    @staticmethod
    def id(content: Any) -> str:
        """Return the id that the skill gives a content."""
        return hashlib.md5(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]

    def _tick(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now

    @contextmanager
    def _dated(self) -> Iterator[None]:
        when = f"{(self.now - timedelta(hours=self.zone)).isoformat()}+00:00"
        os.environ["GIT_COMMITTER_DATE"] = os.environ["GIT_AUTHOR_DATE"] = when
        try:
            yield
        finally:
            del os.environ["GIT_COMMITTER_DATE"], os.environ["GIT_AUTHOR_DATE"]


def ref(branch: str) -> str:
    """Return the ref of a branch; ``/`` is lost."""
    return f"refs/notes/mem-{branch.replace('/', '-')}"
