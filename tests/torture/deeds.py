"""How each deed is done: by gitmem's library, or by git alone."""

from __future__ import annotations

import fcntl
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gitmem import Gitmem
from tests.sharing.support import SHARED, TRACKING
from tests.torture.plan import OURS, STOCK, STRATEGIES, Deed

LEFT_BEHIND = 15.0
"""Seconds after which a lock is taken for that of a git that was killed, as a person would."""


class Idle(Exception):
    """There is nothing to do it to."""


class StockFailed(Exception):
    """Git could not do it: two of them met at a lock, or there was nothing to do."""


def do(deed: Deed, gm: Gitmem, clone: Path) -> Sequence[str]:
    """Do a deed, and return the memories of which gitmem has said that it did it."""
    dice = random.Random(deed.seed)
    if deed.verb in OURS:
        return _OURS[deed.verb](gm, deed, dice)
    with _apart(clone, deed.verb):
        _STOCK[deed.verb](clone, deed, dice)
    return ()


@contextmanager
def _apart(clone: Path, verb: str) -> Iterator[None]:
    """Keep `git gc --prune=now` apart from stock git, which it harms; gitmem has to bear it."""
    with (clone / ".git/torture").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if verb == "gc" else fcntl.LOCK_SH)
        yield


def _remember(gm: Gitmem, deed: Deed, dice: random.Random) -> Sequence[str]:
    kind = dice.choice(("decision", "fact", "lesson", "preference"))
    return [gm.remember(deed.mark, kind=kind).id]


def _revise(gm: Gitmem, deed: Deed, dice: random.Random) -> Sequence[str]:
    return [gm.update(_some(gm, dice), deed.mark).id]


def _forget(gm: Gitmem, deed: Deed, dice: random.Random) -> Sequence[str]:
    return [gm.forget(_some(gm, dice), reason=deed.mark).id]


def _tag(gm: Gitmem, deed: Deed, dice: random.Random) -> Sequence[str]:
    return [gm.tag(_some(gm, dice), deed.mark).id]


def _push(gm: Gitmem, deed: Deed, dice: random.Random) -> Sequence[str]:
    return gm.push().memories


def _pull(gm: Gitmem, deed: Deed, dice: random.Random) -> Sequence[str]:
    return gm.pull().memories


def _some(gm: Gitmem, dice: random.Random) -> str:
    """Return one of the memories; a new one more often, so that writers meet."""
    found = gm.list()
    if not found:
        raise Idle
    return dice.choice(found[:6] if dice.random() < 0.5 else found).id


def _commit(clone: Path, deed: Deed, dice: random.Random) -> None:
    _git(clone, deed, "commit", "-q", "--allow-empty", "-m", deed.mark)


def _amend(clone: Path, deed: Deed, dice: random.Random) -> None:
    """Carry the notes over, as `notes.rewriteRef` says, and overwrite who writes meanwhile."""
    _git(clone, deed, "commit", "-q", "--amend", "--allow-empty", "-m", deed.mark)


def _merge(clone: Path, deed: Deed, dice: random.Random) -> None:
    strategy = dice.choices(list(STRATEGIES), list(STRATEGIES.values()))[0]
    _git(clone, deed, "fetch", "-q", "origin")
    _git(clone, deed, "notes", "--ref", SHARED, "merge", "-q", "-s", strategy, TRACKING)


def _git_push(clone: Path, deed: Deed, dice: random.Random) -> None:
    _git(clone, deed, "push", "-q", "origin", SHARED)


def _remove(clone: Path, deed: Deed, dice: random.Random) -> None:
    listed = _git(clone, deed, "notes", "--ref", SHARED, "list").split()[1::2]
    if not listed:
        raise Idle
    _git(clone, deed, "notes", "--ref", SHARED, "remove", dice.choice(listed))


def _gc(clone: Path, deed: Deed, dice: random.Random) -> None:
    _git(clone, deed, "gc", "-q", "--prune=now")


_OURS: Mapping[str, Callable[[Gitmem, Deed, random.Random], Sequence[str]]] = {
    "remember": _remember, "revise": _revise, "forget": _forget, "tag": _tag, "push": _push,
    "pull": _pull,
}  # fmt: skip
_STOCK: Mapping[str, Callable[[Path, Deed, random.Random], None]] = {
    "commit": _commit, "amend": _amend, "merge": _merge, "git push": _git_push,
    "remove": _remove, "gc": _gc,
}  # fmt: skip
assert set(_OURS) == set(OURS) and set(_STOCK) == set(STOCK)


def _git(clone: Path, deed: Deed, *args: str) -> str:
    """Run git by the deed's clock."""
    moment = f"{int(time.time() + deed.skew * 86_400)} +0000"
    environ = {**os.environ, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    done = subprocess.run(
        ["git", *args], cwd=clone, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StockFailed(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def unlock(clone: Path, older: float = LEFT_BEHIND) -> Sequence[str]:
    """Remove the locks that killed gits have left, as `doctor` says to, and return their names."""
    git_dir = clone / ".git"
    refs = [Path(folder, name) for folder, _, names in os.walk(git_dir / "refs") for name in names]
    removed = []
    for lock in (path for path in (*git_dir.glob("*.lock"), *refs) if path.suffix == ".lock"):
        try:
            if time.time() - lock.stat().st_mtime >= older:
                lock.unlink()
                removed.append(lock.name)
        except FileNotFoundError:  # its git was only slow
            continue
    return removed
