"""How long it takes to know what a branch sees, in large repositories.

    python -m benchmarks.branches [--scale 0.1] [--only anchors|sync|squash] [--json]

Every figure stands beside one `git rev-list --count HEAD` of the same repository in the same run:
the ratio is what can be compared between machines. Repositories are made under TMPDIR.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

import gitmem
from benchmarks.history import AUTHOR, BEGIN, JOURNAL, SPAN, Shape, build, sentences
from benchmarks.timing import ROOT
from gitmem.journal.branches.ancestry import Ancestry
from gitmem.journal.clock import format_at
from gitmem.journal.codec import encode
from gitmem.journal.git.history import History
from gitmem.journal.git.opening import open_repository


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured time, `git rev-list --count HEAD` beside it, and what is allowed, all in ms."""

    name: str
    milliseconds: float
    git: float
    target: float | None

    @property
    def line(self) -> str:
        """The figure as a row of a Markdown table."""
        target = f"≤ {self.target:.0f} ms" if self.target is not None else ""
        missed = self.target is not None and self.milliseconds > self.target
        return (
            f"| {self.name} | {self.milliseconds:.1f} ms | {self.milliseconds / self.git:.2f} "
            f"| {target}{' **missed**' if missed else ''} |"
        )


def timed(action: Callable[[], object], runs: int = 1) -> float:
    """Return the median time of an action, in milliseconds."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        action()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def rev_list(path: Path) -> float:
    """Return what git takes to count the commits of HEAD, in milliseconds."""
    return timed(lambda: git(path, "rev-list", "--count", "HEAD"), 5)


def git(path: Path, *args: str) -> None:
    """Run git in the repository at `path`."""
    subprocess.run(["git", "-C", path, *args], check=True, stdout=subprocess.DEVNULL)


def commit(path: Path, number: int, files: int = 1) -> None:
    """Commit a change of some files of the trunk."""
    for index in range(files):
        (path / "src" / f"benchmark_{index}.py").write_text(f"value = {number}\n")
    git(path, "add", "src")
    git(path, "commit", "-q", "-m", f"benchmark {number}")


# -- 1,000 anchors against 100,000 commits ----------------------------------------------------


def anchors(path: Path, scale: float) -> Iterator[Figure]:
    """Yield how long it takes to know which anchors HEAD reaches."""
    shape = Shape(int(1000 * scale), int(1000 * scale), int(100_000 * scale), 10)
    made = build(path, shape)
    layout = open_repository(path, "program").layout
    head = subprocess.check_output(["git", "-C", path, "rev-parse", "HEAD"], text=True).strip()
    folder = path / ".git" / "gitmem"
    folder.mkdir(exist_ok=True)
    what = f"{len(made):,} anchors, {shape.commits:,} commits"

    def cold() -> object:
        return Ancestry(History(layout)).reaches(head, made)

    reference = rev_list(path)
    yield Figure(f"{what}: cold", timed(cold, 5), reference, 250)
    kept = Ancestry(History(layout), folder)
    kept.reaches(head, made)
    again = timed(lambda: kept.reaches(head, made), 5)
    yield Figure(f"{what}: unchanged, in one process", again, reference, 5)
    fresh = timed(lambda: Ancestry(History(layout), folder).reaches(head, made), 5)
    yield Figure(f"{what}: unchanged, in another process", fresh, reference, 5)
    without = timed(cold, 5)
    git(path, "commit-graph", "write", "--reachable")
    reference = rev_list(path)
    yield Figure(f"{what}: cold, with a commit-graph", timed(cold, 5), reference, without)


# -- a session start after a commit -----------------------------------------------------------


def sync(path: Path, scale: float) -> Iterator[Figure]:
    """Yield how long a session start takes, unchanged and after a commit."""
    shape = Shape(int(100_000 * scale), int(10_000 * scale), int(100_000 * scale), 1000)
    build(path, shape)
    what = f"{shape.memories:,} events, {shape.anchors:,} anchors: sync --start"
    reference = rev_list(path)
    with gitmem.open(path, backend="libgit2") as gm:
        first = timed(gm.init)
        yield Figure(f"{what}, with init and the catalog made", first, reference, None)
        gm.sync_start()
        unchanged = timed(gm.sync_start, 5)
        yield Figure(f"{what}, unchanged", unchanged, reference, None)
        times = []
        for number in range(5):
            commit(path, number)
            times.append(timed(gm.sync_start))
        yield Figure(f"{what}, after a commit", statistics.median(times), reference, 2 * unchanged)
    yield from _processes(path, what, reference)


def _processes(path: Path, what: str, reference: float) -> Iterator[Figure]:
    """The same by the command line, in a process of its own each time."""
    command = [sys.executable, "-m", "gitmem", "sync", "--start"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start() -> None:
        subprocess.run(command, cwd=path, env=environ, check=True, stdout=subprocess.DEVNULL)

    start()
    yield Figure(f"{what}, unchanged, a process", timed(start, 5), reference, None)
    (path / ".git" / "gitmem" / "start.json").unlink(missing_ok=True)
    whole = timed(start)
    yield Figure(f"{what}, unchanged, a process, no cached answer", whole, reference, None)
    times = []
    for number in range(5):
        commit(path, 100 + number)
        times.append(timed(start))
    after = statistics.median(times)
    yield Figure(f"{what}, after a commit, a process", after, reference, 2 * whole)


# -- 500 dead branches ------------------------------------------------------------------------


def squash(path: Path, scale: float) -> Iterator[Figure]:
    """Yield how long it takes to look for squash merges of branches that nobody merged."""
    files, dead, commits = int(10_000 * scale), int(500 * scale), int(100_000 * scale)
    _build_dead(path, files, dead, commits)
    what = f"{dead} dead branches, {files:,} files, {commits:,} commits"
    reference = rev_list(path)
    with gitmem.open(path, backend="libgit2") as gm:
        begin = time.perf_counter()
        gm.list(limit=1)
        first = (time.perf_counter() - begin) * 1000
        yield Figure(f"{what}: the first look (bounded)", first, reference, None)
        looks = 1
        # A look ends after two seconds, and the next goes on.
        while timed(lambda: gm.list(limit=1)) > 100 and looks < 100:
            looks += 1
        whole = (time.perf_counter() - begin) * 1000
        yield Figure(f"{what}: until all were looked for ({looks} looks)", whole, reference, None)
        idle = timed(lambda: gm.list(limit=1), 5)
        yield Figure(f"{what}: nothing new", idle, reference, None)
        times = []
        for number in range(5):
            commit(path, number, files=5)
            times.append(timed(lambda: gm.list(limit=1)))
        yield Figure(f"{what}: one new trunk commit", statistics.median(times), reference, 300)


def _build_dead(path: Path, files: int, dead: int, commits: int) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", path], check=True)
    marks = path / ".git" / "benchmark.marks"
    command = ["git", "-C", str(path), "fast-import", "--quiet", f"--export-marks={marks}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert child.stdin
        child.stdin.writelines(_trunk(files, dead, commits))
    oids = dict(line.split(" ") for line in marks.read_text().split("\n") if line)
    marks.unlink()
    tips = [oids[f":{commits + 1 + index}"] for index in range(dead)]
    command = ["git", "-C", str(path), "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert child.stdin
        child.stdin.writelines(_memories(tips, commits))
    with (path / ".git" / "config").open("a") as config:
        for index in range(dead):
            config.write(f'[branch "dead/{index}"]\n\tgitmem = {_line(index)}\n')
    git(path, "reset", "-q", "--hard")


def _line(index: int) -> str:
    return f"{index:016x}"


def _when(number: int, commits: int) -> int:
    return int((BEGIN + SPAN * (number / commits)).timestamp())


def _trunk(files: int, dead: int, commits: int) -> Iterator[bytes]:
    """The trunk's commits, then one commit for each branch, spread over the trunk's history."""
    chosen = random.Random(7)
    names = [f"src/{number % 100:02d}/module_{number:05d}.py" for number in range(files)]
    for number in range(commits):
        yield _head("refs/heads/main", number + 1, _when(number, commits))
        for name in names if number == 0 else (names[number % files],):
            yield _file(name, number)
    for index in range(dead):
        fork = index * commits // dead
        yield _head(f"refs/heads/dead/{index}", commits + 1 + index, _when(fork + 1, commits))
        yield f"from :{fork + 1}\n".encode()
        for name in chosen.sample(names, 3):
            yield _file(name, -index - 1)


def _head(ref: str, mark: int, when: int) -> bytes:
    return f"commit {ref}\nmark :{mark}\ncommitter {AUTHOR} {when} +0000\ndata 1\nx\n".encode()


def _file(name: str, number: int) -> bytes:
    content = f"value = {number}\n"
    return f"M 100644 inline {name}\ndata {len(content)}\n{content}\n".encode()


def _memories(tips: list[str], commits: int) -> Iterator[bytes]:
    """One memory for each branch, in one journal commit."""
    texts = sentences()
    who = f"committer {AUTHOR} {_when(commits, commits)} +0000"
    yield f"commit {JOURNAL}\n{who}\ndata 1\nx\n".encode()
    for index, tip in enumerate(tips):
        at = BEGIN + SPAN * (index / len(tips)) + timedelta(hours=1)
        fields = {
            "at": format_at(at), "branch": f"dead/{index}", "by": AUTHOR, "kind": "decision",
            "line": _line(index), "op": "remember", "text": next(texts),
        }  # fmt: skip
        line = encode(fields).line + b"\n"
        place = f"{tip[:2]}/{tip[2:4]}/{tip[4:]}"
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (place.encode(), len(line), line)


PARTS = {"anchors": anchors, "sync": sync, "squash": squash}


def main() -> None:
    """Measure, and print a row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of everything (default 1)")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    os.environ.update(GIT_AUTHOR_NAME="Ada", GIT_AUTHOR_EMAIL="ada@example.com")
    os.environ.update(GIT_COMMITTER_NAME="Ada", GIT_COMMITTER_EMAIL="ada@example.com")
    if not given.json:
        print("| what | time | × `git rev-list --count HEAD` | target |\n|---|---|---|---|")
    for name in [given.only] if given.only else PARTS:
        with tempfile.TemporaryDirectory(prefix="gitmem-branches-") as folder:
            for figure in PARTS[name](Path(folder) / "repo", given.scale):
                print(json.dumps(asdict(figure)) if given.json else figure.line, flush=True)


if __name__ == "__main__":
    main()
