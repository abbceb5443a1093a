"""What stock git says of a repository: all that the model knows."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any


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
    def seconds(self) -> int:
        """When it was written, in seconds since 1970."""
        return int(datetime.fromisoformat(self.fields["at"]).timestamp())

    @property
    def pending(self) -> bool:
        return bool(self.fields.get("pending"))

    @property
    def repo(self) -> bool:
        return self.fields.get("scope") == "repo"


class Git:
    """A repository, asked by stock git; what cannot change is asked once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._blobs: dict[tuple[Path, str], list[bytes]] = {}
        self._merges: dict[tuple[str, str], str] = {}
        self._bases: dict[tuple[str, str], str | None] = {}

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
            # Path by path: a rename on the other side is not followed.
            tree = ("-c", "merge.renames=false", "merge-tree", "--write-tree", ours, theirs)
            code, out = self.ask(*tree)
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


class Facts:
    """A repository at one moment."""

    def __init__(self, git: Git) -> None:
        self.git = git
        refs = git.lines("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
        self.branches = dict(row.split(" ") for row in refs)
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
        found = {}
        for id, tree, time, *parents in (row.split(" ") for row in rows):
            found[id] = Commit(tree, tuple(filter(None, parents)), int(time))
        return found

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
