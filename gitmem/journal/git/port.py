"""The port: what gitmem needs of git, as one protocol with two implementations.

`program` drives the git program: nothing to import, 2 ms for a spawn, reads SHA-256
and reftable repositories. `libgit2` binds pygit2: 80 ms to import, then microseconds
a call. A one-shot command wants the first, a long-lived process the second; both hold the
same contract (``tests/journal/test_git_contract.py``).

Only those two, with `discovery` and `spawn` beside them, start git or open a repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

Backend = Literal["auto", "program", "libgit2"]

# Values are named tuples: a dataclass takes half a millisecond to make, of every command.

BLOB_MODE = 0o100644
TREE_MODE = 0o040000


class Layout(NamedTuple):
    """Where a repository keeps its things.

    `workdir` is None when it is bare, and when gitmem was started inside its ``.git``.
    """

    git_dir: Path
    common_dir: Path
    workdir: Path | None
    object_format: str

    @property
    def hex_length(self) -> int:
        """Digits of an object id: 40 (SHA-1) or 64 (SHA-256)."""
        return 64 if self.object_format == "sha256" else 40


class Head(NamedTuple):
    """HEAD: `branch` is None when detached, `commit` is None on an unborn branch.

    `branch` is the short name; bytes that are not UTF-8 stand in it as lone surrogates, so that
    ``refs/heads/`` before it still names the ref.
    """

    branch: str | None
    commit: str | None


class TreeEntry(NamedTuple):
    """One entry of a tree object."""

    name: str
    mode: int
    oid: str

    @property
    def is_tree(self) -> bool:
        """Whether the entry is a subtree."""
        return self.mode == TREE_MODE


class Commit(NamedTuple):
    """A commit as read; `time` is the committer's, seconds since 1970.

    `message` is without the newlines that end it.
    """

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str
    time: int
    message: str


class RefUpdate(NamedTuple):
    """Move `ref` to `new` provided it stands at `old` (None: provided it does not exist)."""

    ref: str
    new: str
    old: str | None


class TreeChange(NamedTuple):
    """A blob whose id differs between two trees; None where a side lacks the path."""

    path: str
    old: str | None
    new: str | None


class Git(Protocol):
    """What gitmem asks of one repository. Object ids are hex strings, paths use ``/``.

    Errors: `errors.GitFailed` with git's first line, `errors.Unavailable` where the disk or
    a permission is at fault, `errors.RefMoved` from `update_refs` alone. A missing object
    raises `KeyError` with its id, and is never fetched from a remote; ids are whole. What git
    objects cannot hold (a ``/`` in a name, a NUL in a message) raises `ValueError`.

    A written object can be read back at once through the same instance. It is on disk, for others
    to read, when `update_refs` returns: that is the one commit point.
    """

    layout: Layout

    def head(self) -> Head: ...
    def ref(self, name: str) -> str | None: ...
    def refs(self, prefix: str) -> dict[str, str]: ...
    def update_refs(self, updates: Sequence[RefUpdate], message: str) -> None:
        """Compare and swap in one transaction: all of them, or `RefMoved` and none.

        A ref that is locked counts as moved: a process that holds it is about to move it.
        """
        ...

    def delete_ref(self, name: str) -> None:
        """Delete a ref, whatever it stands at; nothing happens if it is not there."""
        ...

    def blob(self, oid: str) -> bytes: ...
    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (id, content) in the order asked for; the bulk way to read."""
        ...

    def tree(self, oid: str) -> list[TreeEntry]: ...
    def commit(self, oid: str) -> Commit: ...
    def walk(self, tip: str, hide: str | None = None, limit: int | None = None) -> Iterator[Commit]:
        """Yield the commits reachable from `tip` and not from `hide`, newest committed first."""
        ...

    def files(self, tree: str) -> Iterator[tuple[str, str]]:
        """Yield (path, blob id) for every blob below `tree`."""
        ...

    def diff(self, old: str | None, new: str | None) -> list[TreeChange]:
        """Return the blobs that differ between two trees (None: the empty tree), recursively."""
        ...

    def has(self, oid: str) -> bool: ...

    def write_blob(self, content: bytes) -> str: ...
    def write_tree(self, entries: Iterable[TreeEntry]) -> str: ...
    def write_commit(
        self, tree: str, parents: Sequence[str], author: str, time: int, message: str
    ) -> str:
        """Write a commit, never signed.

        `author` is ``Name <email>`` and becomes the committer too, `time` is in seconds UTC.
        """
        ...

    def config(self) -> Mapping[str, Sequence[str]]:
        """Every configured value; keys are lower-cased as git prints them, the last value counts.

        It is read again when one of the files has changed.
        """
        ...

    def config_origins(self) -> Sequence[Path]:
        """The configuration files git read, and the usual ones that do not exist yet."""
        ...

    def config_add(self, key: str, value: str) -> None: ...
    def config_set(self, key: str, value: str) -> None: ...
    def config_unset(self, key: str, value: str | None = None) -> None:
        """Remove a key of the repository's own configuration, or its entries equal to `value`."""
        ...

    def identity(self) -> str:
        """Return ``Name <email>`` as git would commit with; `errors.NoIdentity` if it has none.

        Bytes that are not UTF-8 are percent-encoded.
        """
        ...

    def tracked(self, path: str) -> bool:
        """Whether `path`, or anything below it, is in the index or in the tree of any ref.

        Only the first 20,000 refs are looked into, branches before others.
        """
        ...

    def blob_at_head(self, path: str) -> str | None:
        """Return the blob id of `path` in HEAD's tree, if it is there."""
        ...

    def pack(self, tip: str, packed: str | None) -> None:
        """Pack the objects reachable from `tip` and not from `packed`; drop loose copies."""
        ...

    def init_bare(self, path: Path) -> None:
        """Create an empty bare repository with this one's object format."""
        ...

    def close(self) -> None:
        """Stop what was started; the object cannot be used afterwards."""
        ...
