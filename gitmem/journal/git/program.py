"""The port by the git program: nothing to import, a spawn of 2 ms here and there.

Spawns are what this costs, so there are few: one ``cat-file --batch`` answers every read, objects
written are held back and sent as one pack when a ref is to move, and a loose ref is read as the
file it is. A write to a journal is two spawns, a reader's first question one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from gitmem.errors import GitFailed, RefMoved, Unavailable
from gitmem.journal.git import loose, objects
from gitmem.journal.git.configuration import Configuration, identity, read, usual_files
from gitmem.journal.git.port import Commit, Git, Head, Layout, RefUpdate, TreeChange, TreeEntry
from gitmem.journal.git.spawn import (
    WINDOW,
    Answer,
    Arg,
    Done,
    GaveUp,
    Reader,
    beside_gc,
    environment,
    failed,
    first_line,
    object_folders,
    run,
)
from gitmem.journal.git.written import Written

UNPACK_LIMIT = 100
"""Objects up to which a write stays loose, as in `transfer.unpackLimit`."""

HELD_BACK = 16 * 2**20
"""Bytes of objects held back before they are written without waiting for a ref."""

MANY_TIPS = 20_000
"""Tips that `tracked` looks into, branches first."""

_SHARED_REF = re.compile(r"refs/(heads|tags|notes|remotes|gitmem)/[^\0\n ]+")
_OID = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\n?")
_BRANCH = re.compile(rb"ref: (refs/heads/[^\n]+)\n?")
_OWN_REFS = ("refs/notes/", "refs/gitmem/")


class GitProgram:
    """The git program on one repository.

    Objects written are held back until a ref moves, a tree is walked or `HELD_BACK` bytes have come
    together: unreferenced, they would be nobody's. For one thread at a time.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._environ = environment(os.environ)
        self._command: list[Arg] = ["git", b"--git-dir=" + os.fsencode(layout.git_dir)]
        self._reader = Reader(self._command, layout.git_dir, self._environ)
        self._held: dict[str, tuple[str, bytes]] = {}
        self._held_bytes = 0
        self.written = Written(layout, self._index, self._any_missing)
        self._config: Configuration | None = None

    def head(self) -> Head:
        name = self.head_ref()
        if name is None:
            return Head(None, self._git("rev-parse", "--verify", "HEAD").decode().strip())
        return Head(name.removeprefix("refs/heads/"), self.ref(name))

    def head_ref(self) -> str | None:
        """Return the full name of the ref that HEAD stands for; None if it is detached."""
        path = self.layout.git_dir / "HEAD"
        text = b"" if path.is_symlink() else _content(path) or b""  # core.preferSymlinkRefs
        named = _BRANCH.fullmatch(text)
        if named and named[1] != b"refs/heads/.invalid":  # what reftable puts there
            return objects.decode(named[1])
        if _OID.fullmatch(text):
            return None
        return objects.decode(self._try("symbolic-ref", "-q", "HEAD").stdout).strip() or None

    def ref(self, name: str) -> str | None:
        reftable = self.layout.common_dir / "reftable"
        if _SHARED_REF.fullmatch(name) and "/." not in name and not reftable.exists():
            # A loose ref is a file of one id and outranks a line in `packed-refs`, which git writes
            # first and deletes the file after. Symbolic and broken refs git answers.
            loose = _content(self.layout.common_dir / name)
            if loose is None:
                return self._packed(name)
            if _OID.fullmatch(loose):
                return loose.decode().strip()
        return self._list(name).get(name)

    def _packed(self, name: str) -> str | None:
        lines = _content(self.layout.common_dir / "packed-refs") or b""
        end = lines.find(b" " + objects.encode(name) + b"\n")
        start = lines.rfind(b"\n", 0, end) + 1
        return lines[start:end].decode() if end > 0 else None

    def refs(self, prefix: str) -> dict[str, str]:
        listed = self._list(prefix.rpartition("/")[0])
        return {name: oid for name, oid in listed.items() if name.startswith(prefix)}

    def _list(self, pattern: str) -> dict[str, str]:
        lines = self._git("for-each-ref", "--format=%(objectname) %(refname)", pattern or "refs")
        rows = (line.split(" ", 1) for line in objects.decode(lines).split("\n") if line)
        return {name: oid for oid, name in rows}

    def update_refs(self, updates: Sequence[RefUpdate], message: str) -> None:
        for update in updates:  # looked at first: a race already lost need not cost two processes
            if self.ref(update.ref) != update.old:
                raise RefMoved(f"'{update.ref}' has moved")
        self._send()
        none = "0" * self.layout.hex_length
        moves = [f"update {update.ref} {update.new} {update.old or none}" for update in updates]
        script = objects.encode("\n".join(["start", *moves, "prepare", "commit", ""]))
        reason = message.replace("\0", " ")[:1000] or "gitmem"
        # A ref of ours that stands for a branch would let git move the branch.
        move = partial(self._try, "update-ref", "--no-deref", "-m", reason, "--stdin", input=script)
        self.written.before()
        done = move()
        if done.returncode and self.written.retry():
            done = move()
        if done.returncode:
            raise not_moved(self, updates, first_line(done.stderr))
        self.written.after()

    def delete_ref(self, name: str) -> None:
        self._git("update-ref", "--no-deref", "-d", name, at=[self.layout.common_dir])

    def blob(self, oid: str) -> bytes:
        return self._object("blob", oid)

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return self._objects("blob", oids)

    def tree(self, oid: str) -> list[TreeEntry]:
        return objects.decode_tree(self._object("tree", oid), self.layout.hex_length // 2)

    def commit(self, oid: str) -> Commit:
        return objects.decode_commit(oid, self._object("commit", oid))

    def walk(self, tip: str, hide: str | None = None, limit: int | None = None) -> Iterator[Commit]:
        for oid in (tip, hide):
            if oid and not self.has(oid):
                raise KeyError(oid)
        self._send()
        bounds = [tip, *([f"^{hide}"] if hide else [])]
        count = [f"--max-count={limit}"] if limit is not None else []
        listed = self._git("rev-list", *count, *bounds).decode().split()
        for oid, data in self._objects("commit", listed):
            yield objects.decode_commit(oid, data)

    def files(self, tree: str) -> Iterator[tuple[str, str]]:
        return objects.files(self._trees, tree)

    def diff(self, old: str | None, new: str | None) -> list[TreeChange]:
        return objects.changes(self._trees, old, new)

    def _trees(self, oids: Iterable[str]) -> Iterator[list[TreeEntry]]:
        for _, data in self._objects("tree", oids):
            yield objects.decode_tree(data, self.layout.hex_length // 2)

    def has(self, oid: str) -> bool:
        try:
            name = objects.whole(oid, self.layout.hex_length)
        except KeyError:
            return False
        return name in self._held or self._ask([name])[0] is not None

    def write_blob(self, content: bytes) -> str:
        return self._hold("blob", content)

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        return self._hold("tree", objects.encode_tree(entries))

    def write_commit(
        self, tree: str, parents: Sequence[str], author: str, time: int, message: str
    ) -> str:
        return self._hold("commit", objects.encode_commit(tree, parents, author, time, message))

    def config(self) -> Mapping[str, Sequence[str]]:
        return self._configuration().values

    def config_origins(self) -> Sequence[Path]:
        return self._configuration().origins

    def config_add(self, key: str, value: str) -> None:
        self._configure("--add", key, value)

    def config_set(self, key: str, value: str) -> None:
        self._configure("--replace-all", key, value)

    def config_unset(self, key: str, value: str | None = None) -> None:
        if value is None:
            self._configure("--unset-all", key, absent=5)
        else:
            self._configure("--fixed-value", "--unset-all", key, value, absent=5)

    def identity(self) -> str:
        return identity(self._environ, self.config())

    def tracked(self, path: str) -> bool:
        if self._git("ls-files", "-z", "--", path):
            return True
        tips = self._list("refs")
        names = sorted(tips, key=lambda name: not name.startswith("refs/heads/"))
        trees = dict.fromkeys(tips[name] for name in names if not name.startswith(_OWN_REFS))
        asked = [f"{tip}:{path}\n" for tip in ("HEAD", *islice(trees, MANY_TIPS))]
        # In a clone without trees this may end early; what it lacks it cannot check out either.
        done = self._try(
            "cat-file", "--batch-check", "--buffer", input=objects.encode("".join(asked))
        )
        return any(not line.endswith(b" missing") for line in done.stdout.splitlines())

    def blob_at_head(self, path: str) -> str | None:
        found = self._ask([f"HEAD:{path}"])[0] if "\n" not in path else None
        return found[0] if found and found[1] == "blob" else None

    def pack(self, tip: str, packed: str | None) -> None:
        self._send()
        hidden = f"^{packed}\n" if packed and self.has(packed) else ""
        target = self._objects_dir / "pack" / "pack"
        options = ("--revs", "--incremental", "--non-empty", "--delta-base-offset", "-q")
        self._git(
            "pack-objects",
            *options,
            os.fsencode(target),
            input=f"{tip}\n{hidden}".encode(),
            at=object_folders(self.layout.common_dir),
        )
        self._git("prune-packed", "-q")

    def init_bare(self, path: Path) -> None:
        # An empty template: the user's may bring hooks that run on every journal write.
        options = ("-q", "--bare", "--template=", f"--object-format={self.layout.object_format}")
        command: list[Arg] = ["git", "init", *options, os.fsencode(path)]
        done = run(command, self.layout.git_dir, self._environ)
        if done.returncode:
            raise failed(first_line(done.stderr), [path.absolute()])

    def close(self) -> None:
        self._held.clear()
        self.written.clear()
        self._reader.close()

    def _configuration(self) -> Configuration:
        if self._config is None or not self._config.current:
            usual = usual_files(self.layout, self._environ)
            listing = partial(self._git, "config", "--list", "--show-origin", "-z")
            self._config = read(listing, self.layout, usual)
        return self._config

    def _configure(self, *args: str, absent: int = 0) -> None:
        """Change the repository's own file; exit code `absent` says the key is not there."""
        done = self._try("config", "--local", *args)
        self._config = None
        if done.returncode not in (0, absent):
            raise failed(first_line(done.stderr), [self.layout.common_dir])

    @property
    def _objects_dir(self) -> Path:
        return self.layout.common_dir / "objects"

    def _try(self, *args: Arg, input: bytes = b"") -> Done:
        return run([*self._command, *args], self.layout.git_dir, self._environ, input)

    def _git(self, *args: Arg, input: bytes = b"", at: Iterable[Path] = ()) -> bytes:
        done = self._try(*args, input=input)
        if done.returncode:
            raise failed(first_line(done.stderr), at, len(input))
        return done.stdout

    def _ask(self, names: Sequence[str]) -> list[Answer | None]:
        try:
            return self._reader.ask(names)
        except GaveUp:
            # What a partial clone knows of and lacks, git will fetch or end, not call missing.
            if not any(key.endswith((".promisor", ".partialclone")) for key in self.config()):
                raise
            if len(names) == 1:
                return [None]
            return [self._ask([name])[0] for name in names]

    def _object(self, kind: str, oid: str) -> bytes:
        held = self._held.get(objects.whole(oid, self.layout.hex_length))
        return self._checked(kind, oid, (oid, *held) if held else self._ask([oid])[0])

    def _objects(self, kind: str, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        self._send()
        rest = iter(oids)
        while window := list(islice(rest, WINDOW)):
            answers = self._ask([objects.whole(oid, self.layout.hex_length) for oid in window])
            for oid, answer in zip(window, answers, strict=True):
                yield oid, self._checked(kind, oid, answer)

    def _checked(self, kind: str, oid: str, answer: Answer | None) -> bytes:
        if answer is None:
            if (self._objects_dir / oid[:2] / oid[2:]).exists():  # cat-file calls it missing
                raise GitFailed(f"'{oid}' is damaged", "run `git fsck` to see what else is")
            raise KeyError(oid)
        if answer[1] != kind:
            raise GitFailed(f"'{oid}' is a {answer[1]}, not a {kind}")
        return answer[2]

    def _hold(self, kind: str, data: bytes) -> str:
        oid = objects.object_id(kind, data, self.layout.object_format)
        if oid not in self._held:
            self._held[oid] = (kind, data)
            self._held_bytes += len(data)
        if self._held_bytes > HELD_BACK:
            self._send()
        return oid

    def _send(self) -> None:
        """Write the objects held back; they stay held if that fails."""
        if not self._held:
            return
        if len(self._held) > UNPACK_LIMIT:
            self._index(objects.pack(self._held.values(), self.layout.object_format))
        else:
            self._unpack()
        for oid, (kind, data) in self._held.items():
            self.written.note(oid, kind, data)
        self._held.clear()
        self._held_bytes = 0

    def _unpack(self) -> None:
        small = []
        for oid, (kind, data) in self._held.items():
            if len(data) < loose.LARGE:
                small.append((kind, data))
            else:
                beside_gc(partial(loose.write, self._objects_dir, oid, kind, data))
        if small:
            stream = objects.pack(small, self.layout.object_format)
            self._store("unpack-objects", "-q", stream=stream)

    def _index(self, stream: bytes) -> None:
        self._store("index-pack", "--stdin", stream=stream)

    def _store(self, *command: str, stream: bytes) -> None:
        common_dir = self.layout.common_dir
        beside_gc(lambda: self._git(*command, input=stream, at=object_folders(common_dir)))

    def _any_missing(self, oids: Sequence[str]) -> bool:
        """Ask a new process: one that has a pack open reads it still when it is deleted."""
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        done = self._try("cat-file", "--batch-check", "--buffer", input=asked)
        return any(line.endswith(b" missing") for line in done.stdout.splitlines())


def not_moved(git: Git, updates: Sequence[RefUpdate], message: str) -> RefMoved | Unavailable:
    """Return why a compare and swap failed, by what the refs are like; git's word counts last."""
    for update in updates:
        if git.ref(update.ref) != update.old:
            return RefMoved(f"'{update.ref}' has moved")
    names = ("packed-refs", *(update.ref for update in updates))
    locks = [git.layout.common_dir / f"{name}.lock" for name in names]
    for lock in locks:
        if lock.exists():
            return RefMoved(f"'{lock}' exists")
    error = failed(message, (lock.parent for lock in locks))
    if type(error) is GitFailed and any(lock.name in message for lock in locks):
        # Whoever held the lock has given up since: neither it nor the ref shows that it was there.
        return RefMoved(message)
    return error


def _content(path: Path) -> bytes | None:
    """Return what a file holds, None if there is none, nothing where git must say why not."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError:
        return b""
