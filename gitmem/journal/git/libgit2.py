"""The port by libgit2: 80 ms to import, then no process at all for reading and writing.

What is rare (configuration, packing, looking into every ref) the git program does here too.

Of libgit2's ways to move a ref only those that look again under the lock keep every write:
`create_note` and forced creation overwrite, and creation without force looks before it locks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import Option, RepositoryOpenFlag, SortMode

from gitmem.errors import GitFailed, RefMoved
from gitmem.journal.git import objects
from gitmem.journal.git.port import Commit, Git, Head, Layout, RefUpdate, TreeChange, TreeEntry
from gitmem.journal.git.program import GitProgram, not_moved
from gitmem.journal.git.spawn import beside_gc, failed, object_folders

_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_NUMBERS = {kind: number for number, kind in _KINDS.items()}
_EMPTY_TREE = objects.object_id("tree", b"", "sha1")

Failure = (pygit2.GitError, OSError)
"""What pygit2 raises for an error of libgit2: a lock is an `OSError` or not, as it happens."""


def open_layout(layout: Layout, strict: bool) -> Git:
    """Open a repository with libgit2, or with the git program where libgit2 cannot.

    Raises:
        GitFailed: libgit2 cannot, and `strict` asks for it alone.
    """
    # Git has accepted the repository before, by rules that libgit2 knows in part only.
    pygit2.option(Option.SET_OWNER_VALIDATION, 0)
    try:
        return Libgit2(layout)
    except (*Failure, KeyError, ValueError) as error:
        if strict:
            raise GitFailed(f"libgit2 cannot open '{layout.git_dir}': {error}") from error
        return GitProgram(layout)


class Libgit2:
    """libgit2 on one repository. For one thread at a time."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._program = GitProgram(layout)  # starts nothing by itself
        self._repo = pygit2.Repository(str(layout.git_dir), RepositoryOpenFlag.NO_SEARCH)

    def head(self) -> Head:
        name = self._program.head_ref()
        if name is None:
            return Head(None, str(self._repo.lookup_reference("HEAD").target))
        return Head(name.removeprefix("refs/heads/"), self.ref(name))

    def ref(self, name: str) -> str | None:
        try:
            return str(self._repo.lookup_reference(name).resolve().target)
        except KeyError:
            return None
        except (*Failure, ValueError):  # a name that is not UTF-8, or no name of a ref at all
            return self._program.ref(name)

    def refs(self, prefix: str) -> dict[str, str]:
        return self._program.refs(prefix)

    def update_refs(self, updates: Sequence[RefUpdate], message: str) -> None:
        if any(update.old is None for update in updates):
            # Locked like this, libgit2 would make `a/b` beside a packed ref `a`.
            self._program.update_refs(updates, message)
            return
        self._program.written.before()
        try:
            with self._repo.transaction() as locked:
                for update in updates:
                    locked.lock_ref(update.ref)
                for update in updates:
                    if self.ref(update.ref) != update.old:
                        raise RefMoved(f"'{update.ref}' has moved")
                for update in updates:
                    locked.set_target(update.ref, update.new, message=message)
        except Failure as error:
            raise not_moved(self, updates, str(error)) from error
        self._program.written.after()

    def delete_ref(self, name: str) -> None:
        self._program.delete_ref(name)

    def blob(self, oid: str) -> bytes:
        return self._read("blob", oid)

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return ((oid, self._read("blob", oid)) for oid in oids)

    def tree(self, oid: str) -> list[TreeEntry]:
        return objects.decode_tree(self._read("tree", oid), self.layout.hex_length // 2)

    def commit(self, oid: str) -> Commit:
        return objects.decode_commit(oid, self._read("commit", oid))

    def walk(self, tip: str, hide: str | None = None, limit: int | None = None) -> Iterator[Commit]:
        for oid in (tip, hide):
            if oid and not self.has(oid):
                raise KeyError(oid)
        walker = self._repo.walk(tip, SortMode.TIME)
        if hide:
            walker.hide(hide)
        for commit in islice(walker, limit):
            yield objects.decode_commit(str(commit.id), commit.read_raw())

    def files(self, tree: str) -> Iterator[tuple[str, str]]:
        return objects.files(self._trees, tree)

    def diff(self, old: str | None, new: str | None) -> list[TreeChange]:
        return objects.changes(self._trees, old, new)

    def _trees(self, oids: Iterable[str]) -> Iterator[list[TreeEntry]]:
        return map(self.tree, oids)

    def has(self, oid: str) -> bool:
        try:
            name = objects.whole(oid, self.layout.hex_length)
        except KeyError:
            return False
        return name in self._repo or name == _EMPTY_TREE

    def write_blob(self, content: bytes) -> str:
        return self._write("blob", content)

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        return self._write("tree", objects.encode_tree(entries))

    def write_commit(
        self, tree: str, parents: Sequence[str], author: str, time: int, message: str
    ) -> str:
        return self._write("commit", objects.encode_commit(tree, parents, author, time, message))

    def config(self) -> Mapping[str, Sequence[str]]:
        return self._program.config()

    def config_origins(self) -> Sequence[Path]:
        return self._program.config_origins()

    def config_add(self, key: str, value: str) -> None:
        self._program.config_add(key, value)

    def config_set(self, key: str, value: str) -> None:
        self._program.config_set(key, value)

    def config_unset(self, key: str, value: str | None = None) -> None:
        self._program.config_unset(key, value)

    def identity(self) -> str:
        return self._program.identity()

    def tracked(self, path: str) -> bool:
        return self._program.tracked(path)

    def blob_at_head(self, path: str) -> str | None:
        return self._program.blob_at_head(path)

    def pack(self, tip: str, packed: str | None) -> None:
        self._program.pack(tip, packed)

    def init_bare(self, path: Path) -> None:
        self._program.init_bare(path)

    def close(self) -> None:
        self._program.close()
        self._repo.free()

    def _read(self, kind: str, oid: str) -> bytes:
        try:
            number, content = self._repo.read(objects.whole(oid, self.layout.hex_length))
        except KeyError:
            if oid != _EMPTY_TREE:  # which git knows without having it
                raise KeyError(oid) from None
            number, content = _NUMBERS["tree"], b""
        except Failure as error:
            raise GitFailed(f"'{oid}' cannot be read: {error}") from error
        if number != _NUMBERS[kind]:
            raise GitFailed(f"'{oid}' is a {_KINDS[number]}, not a {kind}")
        return bytes(content)

    def _write(self, kind: str, data: bytes) -> str:
        return beside_gc(lambda: self._write_once(kind, data))

    def _write_once(self, kind: str, data: bytes) -> str:
        try:
            oid = str(self._repo.write(_NUMBERS[kind], data))
        except Failure as error:
            raise failed(str(error), object_folders(self.layout.common_dir), len(data)) from error
        self._program.written.note(oid, kind, data)
        return oid
