"""What sharing costs beside git's own transfer, and fifty clones that push at once.

    python -m benchmarks.sharing [--memories 10000] [--rounds 5] [--clones 50]

The remotes are bare repositories on the same disk, so that gitmem's own work shows.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import time
from pathlib import Path

from benchmarks.history import Shape, build
from benchmarks.timing import Bench, Command, table

SHARED = "refs/notes/gitmem/shared"
SPEC = f"+{SHARED}*:refs/gitmem/remotes/origin/shared*"


class Scene:
    """A repository with memories, and remotes and clones made of it for every run anew."""

    def __init__(self, bench: Bench, memories: int) -> None:
        self.bench = bench
        anchors = max(memories // 20, 1)
        self.source = bench.path / "source"
        build(self.source, Shape(memories, anchors, commits=anchors * 20, writes=memories))
        self._gitmem(self.source, "init")
        self._gitmem(self.source, "list", "--limit", "1")
        self.code = bench.path / "code.git"  # what a clone has before any memory
        self._git(bench.path, "clone", "-q", "--bare", str(self.source), str(self.code))
        self.full = bench.path / "full.git"
        shutil.copytree(self.code, self.full)
        self._git(self.source, "push", "-q", str(self.full), SHARED)
        self.clone = bench.path / "clone"
        self._git(bench.path, "clone", "-q", str(self.code), str(self.clone))
        self._gitmem(self.clone, "init")

    def first_push(self, by_git: bool) -> Command:
        """Push everything to a remote that has no memory."""
        remote = self.bench.path / f"empty-{by_git}.git"
        command = self._push(self.source, by_git)

        def prepare() -> None:
            shutil.rmtree(remote, ignore_errors=True)
            shutil.copytree(self.code, remote)
            self._aim(self.source, remote)
            self._git(self.source, "update-ref", "-d", "refs/gitmem/remotes/origin/shared")

        command.prepare = prepare
        return command

    def first_pull(self, by_git: bool) -> Command:
        """Fetch everything into a clone that has no memory; gitmem shows it in Markdown, too."""
        place = self.bench.path / f"pulling-{by_git}"
        command = self._fetch(place, by_git)

        def prepare() -> None:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(self.clone, place, symlinks=True)
            self._aim(place, self.full)

        command.prepare = prepare
        return command

    def later(self) -> list[Command]:
        """Push one memory, push nothing and fetch nothing, each by git and by gitmem."""
        made = []
        for by_git in (True, False):
            place = self.bench.path / f"later-{by_git}"
            remote = self.bench.path / f"later-{by_git}.git"
            shutil.copytree(self.full, remote)
            shutil.copytree(self.source, place, symlinks=True)
            self._aim(place, remote)
            self._gitmem(place, "pull")
            one = self._push(place, by_git, "one memory")
            one.prepare = lambda place=place: self._gitmem(place, "remember", "Another")  # type: ignore[misc]
            made += [
                one,
                self._push(place, by_git, "nothing"),
                self._fetch(place, by_git, "nothing"),
            ]
        return [made[number] for number in (0, 3, 1, 4, 2, 5)]

    def _push(self, place: Path, by_git: bool, what: str = "") -> Command:
        if by_git:
            argv = ["git", "push", "-q", "origin", SHARED]
            return Command(f"git push {what}", argv, place)
        return self.bench.gitmem(f"gitmem push {what}", place, "push")

    def _fetch(self, place: Path, by_git: bool, what: str = "") -> Command:
        if by_git:
            argv = ["git", "fetch", "-q", "--refmap=", "origin", SPEC]
            return Command(f"git fetch {what}", argv, place)
        return self.bench.gitmem(f"gitmem pull {what}", place, "pull")

    def _aim(self, place: Path, remote: Path) -> None:
        self._git(place, "config", "remote.origin.url", str(remote))
        self._git(place, "config", "--replace-all", "remote.origin.fetch", SPEC)

    def _gitmem(self, cwd: Path, *args: str) -> None:
        self.bench.run(self.bench.gitmem(args[0], cwd, *args))

    def _git(self, cwd: Path, *args: str) -> None:
        subprocess.run(["git", *args], cwd=cwd, env=self.bench.environ, check=True)


def crowd(bench: Bench, clones: int) -> str:
    """Let clones push a memory each, all at once; say how long it took them."""
    remote = bench.path / "crowd.git"
    seed = bench.path / "seed"
    build(seed, Shape(100, 10, commits=10, writes=100))
    subprocess.run(["git", "clone", "-q", "--bare", seed, remote], env=bench.environ, check=True)
    places = []
    for number in range(clones):
        place = bench.path / f"crowd-{number}"
        subprocess.run(["git", "clone", "-q", remote, place], env=bench.environ, check=True)
        for args in (["init"], ["remember", f"Of clone {number}"]):
            bench.run(bench.gitmem(args[0], place, *args))
        places.append(place)
    begun = time.perf_counter()
    argv = bench.gitmem("push", remote, "push", "--json").argv
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen(argv, cwd=place, env=bench.environ, stdout=pipe, text=True)
        for place in places
    ]
    told = [process.communicate()[0] for process in running]
    took = time.perf_counter() - begun
    receipts = [json.loads(line)["data"] for line in told if json.loads(line)["ok"]]
    arrived = {id for receipt in receipts for id in receipt["memories"]}
    tries = [receipt["tries"] for receipt in receipts]
    there = _lines(bench, remote)
    return (
        f"{clones} clones at once: {len(arrived)} receipts, {there} memories at the remote,"
        f" {took:.1f} s, {sum(tries)} pushes tried (at most {max(tries)} by one)"
    )


def _lines(bench: Bench, remote: Path) -> int:
    listed = ["git", "ls-tree", "-r", "--format=%(objectname)", SHARED]
    found = subprocess.run(listed, cwd=remote, env=bench.environ, capture_output=True, check=True)
    show = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=remote, env=bench.environ, input=found.stdout,
        capture_output=True, check=True,
    )  # fmt: skip
    return show.stdout.count(b'"Of clone ')


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clones", type=int, default=50)
    given = parser.parse_args()
    with Bench() as bench:
        if given.memories:
            scene = Scene(bench, given.memories)
            first = [make(by_git) for make in (scene.first_push, scene.first_pull)
                     for by_git in (True, False)]  # fmt: skip
            timed = [*first, *scene.later()]
            hello = bench.click_hello()
            listing = bench.gitmem("list", scene.clone, "list")
            bench.race([hello, listing, *timed], given.rounds)
            pairs = zip(timed[::2], timed[1::2], strict=True)
            names = ("first push", "first pull", "push one", "push nothing", "pull nothing")
            rows = [
                [name, f"{git.wall:.0f} ms", f"{own.wall:.0f} ms", f"{own.wall / git.wall:.2f} ×",
                 f"{own.wall - git.wall:+.0f} ms"]
                for name, (git, own) in zip(names, pairs, strict=True)
            ]  # fmt: skip
            print(f"click hello {hello.wall:.0f} ms, gitmem list {listing.wall:.0f} ms\n")
            print(table([f"{given.memories:,} memories", "git", "gitmem", "ratio", "more"], rows))
        if given.clones:
            print(crowd(bench, given.clones))


if __name__ == "__main__":
    main()
