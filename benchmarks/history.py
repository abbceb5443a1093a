"""A repository with a long history and many memories, made in seconds by ``git fast-import``.

    python -m benchmarks.history /tmp/large --memories 100000 --anchors 5000 --commits 100000

The code's history is a line of small commits; the memories are spread over `anchors` of them, in
order of time, and their journal has one commit a write, as gitmem would have left it.
"""

from __future__ import annotations

import argparse
import random
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitmem.journal.clock import format_at
from gitmem.journal.codec import encode

AUTHOR = "Ada <ada@example.com>"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
SPAN = timedelta(days=600)
JOURNAL = "refs/notes/gitmem/shared"

_SUBJECTS = (
    "the connection pool", "the retry loop", "the release script", "`src/app/cache.py`",
    "the login form", "the nightly import", "the billing worker", "the search index",
    "issue #482", "the staging cluster", "the mobile client", "the rate limiter",
    "the session cookie", "the CSV export", "the audit log",
)  # fmt: skip
_VERBS = (
    "uses PostgreSQL", "is behind a feature flag", "must not block the event loop",
    "times out after 30 s", "runs on Redis Streams", "needs an index on `created_at`",
    "was rewritten in Rust", "keeps 90 days", "is owned by the platform team",
    "breaks on daylight saving", "retries three times with jitter",
    "is deployed by hand until v2.4.0", "caches 4xx answers too", "reads its settings from Vault",
)  # fmt: skip
_REASONS = (
    "the team knows it", "we measured 40 ms less", "the old way lost writes",
    "a customer asked for it", "the audit wants it", "nobody could explain the alternative",
    "CI failed one time in ten without it",
)  # fmt: skip
_TAGS = (
    "database", "auth", "release", "performance", "testing", "security", "frontend", "ops",
    "topic:billing", "topic:search",
)  # fmt: skip
_KINDS = {"decision": 25, "fact": 25, "lesson": 15, "preference": 5, "task": 15, "note": 15}
_IMPORTANCES = {"critical": 1, "high": 9, "normal": 75, "low": 15}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a repository to make; `writes` is the number of journal commits."""

    memories: int
    anchors: int
    commits: int
    writes: int


def build(path: Path, shape: Shape) -> list[str]:
    """Make the repository at `path`, which must not exist, and return its anchors, oldest first."""
    subprocess.run(["git", "init", "-q", "-b", "main", path], check=True)
    marks = path / ".git" / "benchmark.marks"
    _import(path, _code(shape), f"--export-marks={marks}")
    oids = dict(line.split(" ") for line in marks.read_text().split("\n") if line)
    step = shape.commits // shape.anchors
    anchors = [oids[f":{index * step + 1}"] for index in range(shape.anchors)]
    _import(path, _journal(shape, anchors))
    marks.unlink()
    subprocess.run(["git", "-C", path, "reset", "-q", "--hard"], check=True)
    return anchors


def sentences(seed: int = 7) -> Iterator[str]:
    """Yield what is remembered, without end: sentences as teams write them, hardly two alike."""
    chosen = random.Random(seed)
    number = 0
    while True:
        number += 1
        subject, verb, reason = (chosen.choice(part) for part in (_SUBJECTS, _VERBS, _REASONS))
        yield f"{subject[0].upper()}{subject[1:]} {verb}: {reason} (case {number})"


def lines(shape: Shape, seed: int = 7) -> Iterator[bytes]:
    """Yield canonical event lines in order of time, without end."""
    chosen = random.Random(seed)
    step = SPAN / max(shape.memories, 1)
    for number, text in enumerate(sentences(seed)):
        fields = {
            "at": format_at(BEGIN + number * step),
            "branch": "main",
            "by": AUTHOR,
            "importance": _pick(chosen, _IMPORTANCES),
            "kind": _pick(chosen, _KINDS),
            "op": "remember",
            "tags": sorted(chosen.sample(_TAGS, chosen.choice((0, 1, 1, 2)))),
            "text": text,
        }
        yield encode(fields).line


def _pick(chosen: random.Random, weights: dict[str, int]) -> str:
    return chosen.choices(list(weights), list(weights.values()))[0]


def _import(path: Path, stream: Iterable[bytes], *options: str) -> None:
    command = ["git", "-C", str(path), "fast-import", "--quiet", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert child.stdin
        child.stdin.writelines(stream)
    if child.returncode:
        raise SystemExit(f"git fast-import ended with {child.returncode}")


def _code(shape: Shape) -> Iterator[bytes]:
    for number in range(shape.commits):
        content = b"value = %d\n" % number
        yield _commit(b"refs/heads/main", number, shape.commits, b"change %d" % number)
        yield b"M 100644 inline src/%02d/module_%02d.py\n" % (number % 37, number % 41)
        yield b"data %d\n%s\n" % (len(content), content)


def _journal(shape: Shape, anchors: list[str]) -> Iterator[bytes]:
    notes: dict[str, bytes] = {}
    events = lines(shape)
    done = 0
    for write in range(shape.writes):
        touched: dict[str, None] = {}
        until = shape.memories * (write + 1) // shape.writes
        while done < until:
            anchor = anchors[done * shape.anchors // shape.memories]
            notes[anchor] = notes.get(anchor, b"") + next(events) + b"\n"
            touched[anchor] = None
            done += 1
        yield _commit(JOURNAL.encode(), write, shape.writes, b"remember", mark=False)
        for anchor in touched:
            fanned = f"{anchor[:2]}/{anchor[2:4]}/{anchor[4:]}".encode()
            yield b"M 100644 inline %s\n" % fanned
            yield b"data %d\n%s\n" % (len(notes[anchor]), notes[anchor])


def _commit(ref: bytes, number: int, of: int, message: bytes, mark: bool = True) -> bytes:
    at = int((BEGIN + SPAN * (number / of)).timestamp())
    marked = b"mark :%d\n" % (number + 1) if mark else b""
    who = b"%s %d +0000" % (AUTHOR.encode(), at)
    return b"commit %s\n%scommitter %s\ndata %d\n%s\n" % (ref, marked, who, len(message), message)


def main() -> None:
    """Make the repository that the arguments describe."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--anchors", type=int, default=5_000)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--writes", type=int, help="journal commits (default: one a memory)")
    given = parser.parse_args()
    writes = given.writes or given.memories
    build(given.path, Shape(given.memories, given.anchors, given.commits, writes))


if __name__ == "__main__":
    main()
