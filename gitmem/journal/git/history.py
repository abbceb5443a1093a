"""What git knows of history, asked in bulk: over the git program, whatever the port's backend.

A spawn costs 2 ms and a walk as long as history is, so each question takes many commits at once.
Replacements (``git replace``) are not looked through: they are this clone's alone, and what is
carried must be the same in every clone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.journal.git.objects import decode, encode
from gitmem.journal.git.port import Layout
from gitmem.journal.git.spawn import Arg, Done, environment, failed, first_line, run, stream

BRANCHES = "refs/heads/"
REMOTES = "refs/remotes/"


class Tip(NamedTuple):
    """A branch, local or remote-tracking; `upstream` is the full name of the ref it follows."""

    ref: str
    commit: str
    upstream: str | None

    @property
    def local(self) -> bool:
        """Whether it is a branch of this repository."""
        return self.ref.startswith(BRANCHES)


class Node(NamedTuple):
    """A commit in a graph: `inside` is False where it only bounds what was asked for."""

    oid: str
    time: int
    parents: tuple[str, ...]
    inside: bool


class Stamp(NamedTuple):
    """What one must know of a commit besides its place: its tree and its committer's time."""

    tree: str
    time: int
    parents: tuple[str, ...]


class Step(NamedTuple):
    """A commit of a first-parent chain, and the paths in which it differs from its first parent."""

    oid: str
    parents: tuple[str, ...]
    time: int
    paths: tuple[str, ...]


class Side(NamedTuple):
    """One side of a changed path: its mode and object id."""

    mode: str
    oid: str


class Change(NamedTuple):
    """A path that differs between two trees; None where a side lacks it."""

    path: str
    old: Side | None
    new: Side | None


class History:
    """Questions to one repository's history. A missing object is never an error."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.environ = environment(os.environ)
        self.command: list[Arg] = ["git", b"--git-dir=" + os.fsencode(layout.git_dir)]

    @property
    def shallow(self) -> bool:
        """Whether history was cut off when the repository was cloned."""
        return (self.layout.common_dir / "shallow").exists()

    @property
    def cut(self) -> int:
        """What changes when more or less of a shallow history is fetched; 0 where all is here."""
        return _stat(self.layout.common_dir / "shallow")[0]

    @property
    def partial(self) -> bool:
        """Whether objects were left out when the repository was cloned."""
        return any(self.layout.common_dir.glob("objects/pack/*.promisor"))

    # -- reachability -------------------------------------------------------------------------

    def known(self, oids: Collection[str]) -> set[str]:
        """Return those that are commits, and here."""
        # `cat-file --batch-check` would end over the first object that a partial clone lacks.
        args = ("rev-list", "--no-walk=unsorted", "--ignore-missing", "--stdin")
        return set(self._lines(*args, asked=oids)) & set(oids)

    def unreached(self, oids: Collection[str], tips: Iterable[str]) -> set[str]:
        """Return the commits, of those here, that none of `tips` reaches."""
        asked = [*oids, *(f"^{tip}" for tip in tips)]
        listed = self._lines("rev-list", "--ignore-missing", "--stdin", asked=asked)
        return set(listed).intersection(oids) if oids else set()

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` reaches `old`; it reaches itself."""
        return old == new or not self.attempt("merge-base", "--is-ancestor", old, new).returncode

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the best common ancestor; None if there is none, or a commit is not here."""
        return decode(self.attempt("merge-base", one, other).stdout).strip() or None

    def difference(self, old: str, new: str) -> tuple[set[str], set[str]] | None:
        """Return the commits that `old` alone reaches, and those that `new` alone reaches.

        None if one of the two is not here.
        """
        done = self.attempt("rev-list", "--left-right", f"{old}...{new}")
        if done.returncode:
            return None
        sides: tuple[set[str], set[str]] = set(), set()
        for line in done.stdout.decode().split():
            sides[line[0] == ">"].add(line[1:])
        return sides

    def graph(self, tips: Iterable[str], hidden: Iterable[str]) -> list[Node]:
        """Return what `tips` reach and `hidden` do not, children first, and what bounds it."""
        options = ("--topo-order", "--parents", "--timestamp", "--boundary")
        asked = [*tips, *(f"^{oid}" for oid in hidden)]
        lines = self._lines("rev-list", *options, "--ignore-missing", "--stdin", asked=asked)
        rows = (line.split(" ") for line in lines)
        return [
            Node(oid.lstrip("-"), int(time), tuple(parents), not oid.startswith("-"))
            for time, oid, *parents in rows
        ]

    def stamps(self, oids: Collection[str]) -> dict[str, Stamp]:
        """Return tree, time and parents of the commits that are here."""
        options = ("--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H %T %ct %P")
        lines = self._lines("rev-list", *options, asked=oids)
        rows = (line.split(" ") for line in lines if not line.startswith("commit "))
        return {
            oid: Stamp(tree, int(time), tuple(parent for parent in parents if parent))
            for oid, tree, time, *parents in rows
        }

    def first_since(self, tip: str, times: Iterable[int]) -> dict[int, str]:
        """Return, for each time, the first commit of the first-parent history not older than it.

        For a time after the last commit that is the last one.
        """
        wanted = sorted(set(times), reverse=True)
        options = ("--first-parent", f"--max-age={wanted[-1]}", "--format=%H %ct")
        lines = self._lines("rev-list", *options, "--stdin", asked=[tip])
        rows = (line.split(" ") for line in lines if not line.startswith("commit "))
        chain = [(oid, int(time)) for oid, time in rows] or [(tip, 0)]
        return {
            when: next((oid for oid, time in reversed(chain) if time >= when), chain[0][0])
            for when in wanted
        }

    def resolve(self, revision: str) -> str | None:
        """Return the commit that a revision, as git reads it, names."""
        if revision.startswith("-"):
            return None
        found = self.attempt("rev-parse", "-q", "--verify", f"{revision}^{{commit}}")
        return decode(found.stdout).strip() or None

    # -- refs ---------------------------------------------------------------------------------

    def tips(self) -> list[Tip]:
        """Return every branch, local and remote-tracking; a remote's HEAD is none."""
        format = "--format=%(objectname)%00%(refname)%00%(upstream)%00%(symref)"
        listed = self._git("for-each-ref", format, BRANCHES, REMOTES)
        rows = (line.split("\0") for line in decode(listed).split("\n") if line)
        return [Tip(ref, oid, up or None) for oid, ref, up, symbolic in rows if not symbolic]

    def state(self) -> str:
        """Return what changes whenever a branch moves or comes or goes, or history is deepened.

        Read from git's files, 2 ms sooner than git would tell; a reftable only git can read.
        """
        folder = self.layout.common_dir
        if (folder / "reftable").exists():
            found: list[object] = [*self.tips()]
        else:
            found = [_stat(folder / "packed-refs"), *_loose(folder / BRANCHES, folder / REMOTES)]
        return hashlib.sha256(repr([*found, _stat(folder / "shallow")]).encode()).hexdigest()[:16]

    # -- content ------------------------------------------------------------------------------

    def first_parents(self, tip: str) -> Generator[Step]:
        """Yield the first-parent chain from `tip` downwards; closing the iterator stops git."""
        options = ("--first-parent", "-m", "--name-only", "-z", "--no-renames", "--no-color")
        settled = ("--no-show-signature", "--ignore-submodules=none", "--no-ext-diff")
        command = [*self.command, "log", *options, *settled, "--format=%x01%H %ct %P", tip, "--"]
        with closing(stream(command, self.layout.git_dir, self.environ)) as pieces:
            yield from _steps(pieces)

    def changes(self, pairs: Sequence[tuple[str, str]]) -> list[list[Change]]:
        """Return, for each pair of trees, the paths that differ; no rename is looked for."""
        asked = "".join(f"{old} {new}\n" for old, new in pairs).encode()
        if not asked:
            return []
        options = ("--stdin", "-r", "-z", "--no-renames", "--no-ext-diff")
        return _changes(self._git("diff-tree", *options, input=asked), pairs)

    def merged(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """Merge three texts as git does; None if they conflict or are no text."""
        import tempfile  # 3 ms, for what is rarely asked

        with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
            files = [Path(folder, name) for name in ("ours", "base", "theirs")]
            for file, content in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(content)
            done = self.attempt("merge-file", "-p", "-q", *map(os.fsencode, files))
        return None if done.returncode else done.stdout

    # -- git ----------------------------------------------------------------------------------

    def _lines(self, *args: Arg, asked: Iterable[str]) -> list[str]:
        """Run a command that reads revisions; without any it would fall back on HEAD, or fail."""
        given = encode("".join(f"{line}\n" for line in asked))
        return decode(self._git(*args, input=given)).split("\n")[:-1] if given else []

    def attempt(self, *args: Arg, input: bytes = b"") -> Done:
        return run([*self.command, *args], self.layout.git_dir, self.environ, input)

    def _git(self, *args: Arg, input: bytes = b"") -> bytes:
        done = self.attempt(*args, input=input)
        if done.returncode:
            raise failed(first_line(done.stderr))
        return done.stdout


def _stat(path: Path) -> tuple[int, int, int]:
    """Return what changes with a file; zeros if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _loose(*folders: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the loose refs below some folders, each with what its file holds."""
    for folder in folders:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # no remote yet, or its last branch has just been deleted
            continue
        for entry in entries:
            path = Path(entry.path)
            if entry.is_dir():
                yield from _loose(path)
            else:
                with suppress(OSError):
                    yield entry.path, path.read_bytes()


def _steps(chunks: Iterator[bytes]) -> Iterator[Step]:
    """Read ``\\1id time parents NUL LF path NUL path NUL`` … as it comes."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\x01")
        yield from (_step(record) for record in whole if record)
    if rest:
        yield _step(rest)


def _step(record: bytes) -> Step:
    head, _, names = record.partition(b"\0")
    oid, time, *parents = head.decode().split()
    paths = [decode(name) for name in names.removeprefix(b"\n").split(b"\0") if name]
    return Step(oid, tuple(parents), int(time), tuple(paths))


def _changes(output: bytes, pairs: Sequence[tuple[str, str]]) -> list[list[Change]]:
    """Read ``diff-tree --stdin -z``: a line a pair, then ``:modes ids status NUL path NUL``."""
    found: dict[tuple[str, str], list[Change]] = {pair: [] for pair in pairs}
    parts = iter(output.split(b"\0"))
    current: list[Change] = []
    for part in parts:
        *headers, entry = part.split(b"\n")
        for header in headers:  # a pair without difference has a header alone
            old, new = header.decode().split(" ")
            current = found[old, new]
        if entry:
            modes = entry.decode().removeprefix(":").split(" ")
            current.append(_change(decode(next(parts)), *modes[:4]))
    return [found[pair] for pair in pairs]


def _change(path: str, old_mode: str, new_mode: str, old: str, new: str) -> Change:
    before = Side(old_mode, old) if old.strip("0") else None
    return Change(path, before, Side(new_mode, new) if new.strip("0") else None)
