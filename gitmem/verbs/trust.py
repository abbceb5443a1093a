"""Whom this clone trusts: what its user decided, who writes here, who has commits on the trunk.

The decisions are kept under the git directory, which no clone and no checkout brings.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitmem.errors import NoIdentity, Unavailable
from gitmem.journal.branches.lines import Lines
from gitmem.journal.codec import printable_name
from gitmem.journal.git.history import History
from gitmem.journal.git.objects import decode
from gitmem.journal.git.port import Git
from gitmem.journal.trust import EVERYBODY, Decisions, Trust, author_of

RECORD = "trust.json"
AUTHORS = "authors.json"
"""Who has commits on the trunk, as found out so far: derived."""

NOBODY = Decisions()


class Judge:
    """Says who is trusted in one clone."""

    def __init__(self, git: Git, lines: Lines, folder: Path, setting: Callable[[], str]) -> None:
        """`setting` returns the value of ``gitmem.trust``."""
        self._git = git
        self._folder = folder
        self._setting = setting
        self._trunk = TrunkAuthors(git, lines, folder / AUTHORS)

    def untrusted(self, authors: Collection[str]) -> set[str]:
        """Return those of `authors` (`author_of`) who are not trusted."""
        trust = self.trust()
        return {author for author in authors if not trust.why(author).trusted}

    def trusts(self, by: str) -> bool:
        """Whether who signs with `by` is trusted."""
        return not self.untrusted([author_of(by)])

    def trust(self) -> Trust:
        """Return who is trusted now."""
        try:
            self_ = author_of(printable_name(self._git.identity()))
        except NoIdentity:
            self_ = None
        everybody = self._setting() == EVERYBODY
        return Trust(self.decisions(), self_, everybody, self._trunk.all)

    def decisions(self) -> Decisions:
        """Return what was decided in this clone; nothing, where that cannot be read."""
        try:
            found = json.loads((self._folder / RECORD).read_bytes())
            lists = {name: tuple(map(str, found[name])) for name in ("named", "revoked", "own")}
            return Decisions(trunk=found["trunk"] is True, **lists)
        except (OSError, ValueError, TypeError, KeyError):
            return NOBODY

    def open(self) -> None:
        """Trust the authors of commits on the trunk from now on."""
        self._decide(lambda old: old._replace(trunk=True))

    def close(self) -> None:
        """Trust nobody any more but oneself."""
        self._decide(lambda old: Decisions(revoked=old.revoked, own=old.own))

    def name(self, author: str) -> None:
        """Trust an author by name."""
        self._decide(
            lambda old: old._replace(
                named={*old.named, author}, revoked={*old.revoked} - {author}
            )
        )  # fmt: skip

    def revoke(self, author: str) -> None:
        """Do not trust an author, whatever else speaks for him."""
        self._decide(
            lambda old: old._replace(
                named={*old.named} - {author}, revoked={*old.revoked, author}
            )
        )  # fmt: skip

    def note_own(self, by: str) -> None:
        """Write down who writes here: after a change of address, that is still oneself."""
        author = author_of(by)
        if author in self.decisions().own:
            return
        with suppress(Unavailable):  # a read-only clone: then nothing else is written either
            self._decide(lambda old: old._replace(own={*old.own, author}))

    def _decide(self, change: Callable[[Decisions], Decisions]) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._alone():
                new = change(self.decisions())
                lists = {name: sorted(getattr(new, name)) for name in ("named", "revoked", "own")}
                _write(self._folder / RECORD, {"trunk": new.trunk, **lists})
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise Unavailable(f"cannot write '{self._folder / RECORD}': {reason}") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (self._folder / "trust.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


class TrunkAuthors:
    """The authors of commits on the trunk, as it stands in this clone: its own branch, or else the
    remote's. What a remote has and nobody here has merged decides nothing where there is a branch.
    """

    def __init__(self, git: Git, lines: Lines, path: Path) -> None:
        self._git = git
        self._lines = lines
        self._path = path
        self._history = History(git.layout)
        self._known: tuple[str, frozenset[str]] | None = None

    def all(self) -> frozenset[str]:
        """Return the address of every author; git is asked for what is new since the last time."""
        tip = next(iter(self._lines.trunk_tips()), None)
        if tip is None:
            return frozenset()
        key = f"{tip} {self._history.cut}"
        if self._known is None:
            self._known = self._load()
        if self._known is None or self._known[0] != key:
            self._known = key, self._ask(tip, self._known)
            with suppress(OSError):  # asked again the next time
                _write(self._path, {"at": key, "authors": sorted(self._known[1])})
        return self._known[1]

    def _ask(self, tip: str, known: tuple[str, frozenset[str]] | None) -> frozenset[str]:
        old, _, cut = known[0].partition(" ") if known else ("", "", "")
        grown = known and cut == str(self._history.cut) and self._history.is_ancestor(old, tip)
        before, bounds = (known[1], [f"^{old}"]) if known and grown else (frozenset(), [])
        # Not `log`, nor %aE: .mailmap is somebody's text, in the working tree.
        listed = self._history.attempt("rev-list", "--format=%ae", tip, *bounds)
        lines = decode(listed.stdout).split("\n")
        fresh = {printable_name(line) for line in lines if not line.startswith("commit ")}
        return before | {author_of(f"<{address}>") for address in fresh if address.strip()}

    def _load(self) -> tuple[str, frozenset[str]] | None:
        try:
            found = json.loads(self._path.read_bytes())
            return str(found["at"]), frozenset(map(str, found["authors"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None


def _write(path: Path, value: object) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    beside.write_text(json.dumps(value), encoding="utf-8")
    beside.replace(path)
