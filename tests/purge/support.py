"""What tests of purge share: where a text could still be, looked for byte by byte."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support import git

SHARED = "refs/notes/gitmem/shared"
KEPT = "refs/gitmem/kept/shared"

SECRET = "The Kwyjibo vault opens with Quixotry-4711"
"""What is purged: its first and second version have words that stand nowhere else."""
LATER = "The [Kwyjibo] vault (*) opens with Zygomorph-0815 now"
WORDS = (b"kwyjibo", b"quixotry", b"zygomorph")


def traces(*places: Path) -> list[str]:
    """Return where one of `WORDS` is: in which file below `places`, or which object."""
    return sorted({*_in_files(*places), *_in_objects(*places)})


def _in_files(*places: Path) -> Iterator[str]:
    for place in places:
        for path in place.rglob("*"):
            if path.is_file() and not path.is_symlink() and _told(path.read_bytes()):
                yield str(path)


def _in_objects(*places: Path) -> Iterator[str]:
    for place in places:
        for head in place.rglob("HEAD"):
            if (head.parent / "objects").is_dir():
                for oid, content in objects(head.parent):
                    if _told(content):
                        yield f"{head.parent}: {oid}"


def objects(git_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (id, content) of every object that a repository has, reachable or not."""
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", "cat-file", "--batch-all-objects", "--batch"],
        capture_output=True,
        check=True,
    )
    rest = done.stdout
    while rest:
        head, _, rest = rest.partition(b"\n")
        oid, _, size = head.split()
        yield oid.decode(), rest[: int(size)]
        rest = rest[int(size) + 1 :]


def _told(content: bytes) -> bool:
    lower = content.lower()
    return any(word in lower for word in WORDS)


def whole(repo: Path) -> bool:
    """Whether git finds nothing wrong with a repository."""
    done = subprocess.run(
        ["git", "fsck", "--full", "--strict", "--no-dangling"],
        cwd=repo, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    return True


def lines(repo: Path, ref: str = SHARED) -> set[str]:
    """Return every line of the journal's tip."""
    listed = git(repo, "ls-tree", "-r", "--format=%(objectname)", ref).split()
    return {line for oid in listed for line in git(repo, "cat-file", "blob", oid).split("\n")}


def story(repo: Path, ref: str = SHARED) -> list[tuple[str, ...]]:
    """Return (author, author date, committer date, subject) of each commit, oldest first."""
    format = "--format=%an <%ae>%x00%ad%x00%cd%x00%s"
    told = git(repo, "log", "--topo-order", "--reverse", format, ref).split("\n")
    return [tuple(line.split("\0")) for line in told]
