"""Staleness: memories that name files know them as they were, and say when HEAD has others.

A path that a memory names is recorded with the blob id HEAD has there. Who remembers in the midst
of a change speaks of files as they are about to be committed, so where the working tree differs,
its id stands beside HEAD's: ``{path: "HEAD's[ working tree's]"}``, zeros for no file. A file is as
it was while HEAD has one of the two. Judging reads the trees of one commit, and no working tree.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from gitmem.errors import GitFailed
from gitmem.journal.git import objects
from gitmem.journal.git.history import History
from gitmem.journal.git.port import Git, TreeEntry
from gitmem.model import FileChange, JournalName, Memory

MOST = 20
"""Paths recorded with one memory."""

TRIED = 200
"""Words of one text that are looked up."""

LONGEST = 400
"""Characters of a path."""

LARGEST = 2**20
"""Bytes up to which a file of the working tree is compared with HEAD's."""

_TREES_KEPT = 5_000
_REGULAR = 0o100000
_KIND = 0o170000
_SUBMODULE = 0o160000

# The tokeniser of `text.entity_forms` knows paths better, and takes 120 ms to make: too long for
# `remember`. Here git decides which of the words are paths.
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”")
_WORD = re.compile(r"[^\s`\"'“”‘’<>()\[\]{}|,;\u3000-\u303f\uff00-\uff0f\uff1a-\uff1f]+")
_ASCII = re.compile(r"[\w./+@~-]+", re.ASCII)
_POSITION = re.compile(r"(?:::.*|#L?\d.*|(?::\d+(?:-\d+)?)+)$")  # a.py:12  a.py#L12  a.py::test


class Staleness:
    """Says which files texts name, and which of those a commit has otherwise."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._trees = _Trees(git)
        self._absent = "0" * git.layout.hex_length

    def named(self, texts: Sequence[str]) -> list[dict[str, str]]:
        """Return, for each text, ``{path: ids}`` of the files that it names."""
        words = [list(candidates(text)) for text in texts]
        known = self._known(dict.fromkeys(word for some in words for word in some))
        found = [[word for word in some if word in known][:MOST] for some in words]
        return [{path: known[path] for path in paths} for paths in found]

    def of(self, memories: Iterable[Memory], commit: str | None) -> dict[str, list[FileChange]]:
        """Return {memory id: its files that `commit` has otherwise}, where there are any."""
        changes: dict[str, list[FileChange]] = {}
        seen: dict[str, str | None] = {}
        for memory in memories if commit else ():
            for path, ids in _recorded(memory):
                if path not in seen:
                    seen[path] = self._id(commit or "", path)
                now = seen[path]
                if now is not None and now != ids and not _names(ids, now):
                    change = FileChange(path, "gone" if now == self._absent else "changed")
                    changes.setdefault(memory.id, []).append(change)
        return changes

    def marked(self, memories: Sequence[Memory], commit: str | None) -> list[Memory]:
        """Return the memories with `Memory.stale` as of `commit`."""
        changes = self.of(memories, commit)
        return [
            replace(memory, stale=tuple(changes[memory.id])) if memory.id in changes else memory
            for memory in memories
        ]

    def _id(self, commit: str, path: str) -> str | None:
        """Return the blob id at a path, zeros if there is none; None if that cannot be told."""
        if not inside(path):  # a stranger's
            return None
        try:
            entry = self._trees.entry(commit, path)
        except (
            LookupError
        ):  # a shallow or partial clone lacks a tree: nothing is said of what is in it
            return None
        is_blob = entry is not None and not entry.is_tree and entry.mode != _SUBMODULE
        return entry.oid if entry and is_blob else self._absent

    def _known(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the ids of those paths that are files in HEAD, or may be in the next commit."""
        commit = self._git.head().commit if paths else None
        known: dict[str, str] = {}
        new: list[str] = []
        for path in paths:
            try:
                entry = self._trees.entry(commit, path) if commit else None
            except LookupError:
                continue
            here = self._here(path) if entry is None or entry.mode & _KIND == _REGULAR else None
            if entry is None and here not in (None, self._absent):
                new.append(path)
                known[path] = f"{self._absent} {here}"
            elif entry is not None and entry.mode & _KIND == _REGULAR:
                known[path] = entry.oid if here in (None, entry.oid) else f"{entry.oid} {here}"
        for path in set(new) - self._wanted(new):
            del known[path]
        return known

    def _here(self, path: str) -> str | None:
        """Return the id of a file of the working tree; None if that cannot be told."""
        workdir = self._git.layout.workdir
        if workdir is None:
            return None
        file = os.path.join(workdir, path)
        try:
            found = os.lstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
                return None
            if os.path.realpath(file) != os.path.join(os.path.realpath(workdir), path):
                return None  # it leads through a symbolic link, out of the repository perhaps
            with open(file, "rb") as content:
                return objects.object_id("blob", content.read(), self._git.layout.object_format)
        except (FileNotFoundError, NotADirectoryError):
            return self._absent
        except (OSError, ValueError):  # unreadable, or no name that this system can have
            return None

    def _wanted(self, paths: Sequence[str]) -> set[str]:
        """Return those that git does not ignore: from a digest one can guess a secret."""
        workdir = self._git.layout.workdir
        if not paths or workdir is None:
            return set()
        place = os.fsencode(workdir)
        options = ("-z", "--cached", "--others", "--exclude-standard", "--", *paths)
        done = History(self._git.layout).attempt(
            "-C", place, b"--work-tree=" + place, "ls-files", *options
        )
        return set(objects.decode(done.stdout).split("\0"))


class _Trees:
    """The trees of commits, read once each."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._roots: dict[str, str] = {}
        self._kept: dict[str, Mapping[str, TreeEntry] | None] = {}

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """Return what a commit has at a path; LookupError if a tree on the way is not here."""
        entry = None
        tree = self._root(commit)
        for part in path.split("/"):
            if entry is not None and not entry.is_tree:
                return None
            entry = self._tree(entry.oid if entry else tree).get(part)
            if entry is None:
                return None
        return entry

    def _root(self, commit: str) -> str:
        if commit not in self._roots:
            try:
                self._roots[commit] = self._git.commit(commit).tree
            except (KeyError, GitFailed):
                self._roots[commit] = ""
        return self._roots[commit]

    def _tree(self, oid: str) -> Mapping[str, TreeEntry]:
        if oid not in self._kept:
            if len(self._kept) >= _TREES_KEPT:
                self._kept.clear()
            try:
                self._kept[oid] = {entry.name: entry for entry in self._git.tree(oid)}
            except (KeyError, GitFailed):  # not here, or damaged, which is for git to say
                self._kept[oid] = None
        if (entries := self._kept[oid]) is None:
            raise LookupError(oid)
        return entries


def candidates(text: str) -> Iterator[str]:
    """Yield what may be a path from the root of the repository: what a text quotes first."""
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        quoted = next(filter(None, match.groups()))
        found |= dict.fromkeys((quoted, _clean(quoted)))
    for match in _WORD.finditer(text):
        word = match[0]
        parts = (word,) if word.isascii() else (word, *_ASCII.findall(word))
        found |= dict.fromkeys(filter(_like_a_path, map(_clean, parts)))
        if len(found) >= TRIED:
            break
    yield from list(filter(inside, found))[:TRIED]


def _clean(word: str) -> str:
    """Take off what belongs to the sentence, and a place in the file."""
    word = _POSITION.sub("", word.lstrip("*").rstrip(".,:;!?*…"))
    return word.removeprefix("./").rstrip("/")


def _like_a_path(word: str) -> bool:
    """Whether a word that is not quoted may be a path: it has a folder, a suffix or a capital."""
    return "/" in word or "." in word or word[:1].isupper()


def inside(path: str) -> bool:
    """Whether a path, as from the root of the repository, stays in it and out of ``.git``."""
    parts = path.split("/")
    never = {"", ".", "..", ".git"}
    return len(path) <= LONGEST and path.isprintable() and not never & {p.casefold() for p in parts}


def _recorded(memory: Memory) -> Iterable[tuple[str, object]]:
    """Return the paths of a memory and their ids, which a stranger may have made anything."""
    if not memory.paths or memory.journal is JournalName.USER:  # which is of other repositories
        return ()
    return islice(memory.paths.items(), MOST)


def _names(ids: object, oid: str) -> bool:
    return not isinstance(ids, str) or oid in ids.split(" ")
