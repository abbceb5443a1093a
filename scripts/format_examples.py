"""The examples of docs/format.md, made by running the program on a throw-away repository.

The clock and the identity are fixed, so the same program always makes the same text.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import gitmem

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
BLOCK = re.compile(r"(<!-- example: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(page: str) -> str:
    """Return `page` with every example made anew."""
    made = examples()
    return BLOCK.sub(lambda match: f"{match[1]}\n{made[match[2]]}\n\n{match[3]}", page)


def examples() -> dict[str, str]:
    """Return {name: fenced block}."""
    with tempfile.TemporaryDirectory() as folder, _environment(Path(folder)) as environ:
        repo = Path(folder) / "repo"
        _prepare(repo, environ)
        with gitmem.open(repo, backend="program", environ=environ, now=_clock()) as gm:
            gm.init()
            memory = gm.remember(
                "Use PostgreSQL: the team knows it", kind="decision", tags=["database"]
            )
            gm.update(memory.id, "Use PostgreSQL 17: the team knows it", importance="high")
            gm.tag(memory.id, "topic:storage")
        _commit(repo, environ, "Add a login page")
        with gitmem.open(repo, backend="program", environ=environ, now=_clock(5)) as gm:
            gm.remember({"lesson": "run the migrations first", "cost": "an hour"}, kind="lesson")
        return _collect(repo, environ)


def _collect(repo: Path, environ: Mapping[str, str]) -> dict[str, str]:
    def git(*args: str) -> str:
        return _git(repo, environ, *args)

    notes = "refs/notes/gitmem/shared"
    first = git("rev-list", "--max-parents=0", "HEAD")
    log = ("log", "--format=%h %s%n%N", "--notes=gitmem/*")
    return {
        "events": _fenced("json", git("notes", "--ref", notes, "show", first)),
        "log": _console("git log --format='%h %s%n%N' --notes='gitmem/*'", git(*log)),
        "tree": _console(
            f"git ls-tree -r --name-only {notes}", git("ls-tree", "-r", "--name-only", notes)
        ),
        "journal": _console(
            f"git log --format='%an: %s' {notes}", git("log", "--format=%an: %s", notes)
        ),
        "mirror": _fenced("markdown", (repo / "MEMORY.md").read_text(encoding="utf-8")),
    }


@contextmanager
def _environment(folder: Path) -> Iterator[dict[str, str]]:
    """Fix everything that git takes from outside; the library reads it from the process."""
    fixed = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_AUTHOR_DATE": NOON.isoformat(),
        "GIT_COMMITTER_DATE": NOON.isoformat(),
    }
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(fixed)
    try:
        yield fixed
    finally:
        os.environ.clear()
        os.environ.update(before)


def _prepare(repo: Path, environ: Mapping[str, str]) -> None:
    repo.mkdir()
    _git(repo, environ, "init", "-q", "-b", "main")
    _commit(repo, environ, "Begin")


def _commit(repo: Path, environ: Mapping[str, str], subject: str) -> None:
    _git(repo, environ, "commit", "-q", "--allow-empty", "-m", subject)


def _git(repo: Path, environ: Mapping[str, str], *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=repo, env=dict(environ), capture_output=True, text=True, check=True
    )
    return done.stdout.strip("\n")


def _clock(minutes: int = 0) -> Callable[[], datetime]:
    """Return a clock that moves on a second with every look."""
    moment = NOON + timedelta(minutes=minutes)

    def now() -> datetime:
        nonlocal moment
        moment += timedelta(seconds=1)
        return moment

    return now


def _console(command: str, output: str) -> str:
    return _fenced("console", f"$ {command}\n{output}")


def _fenced(language: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
    fence = "````" if "```" in lines else "```"
    return f"{fence}{language}\n{lines}\n{fence}"
