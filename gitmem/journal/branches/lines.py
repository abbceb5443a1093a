"""Lines: the identities of branches, and what an event written now carries of them.

A branch name is not a branch: names are used again, renamed, and two people each have a ``fix``.
Every event off the trunk carries a random id that git config keeps as ``branch.<name>.gitmem``; git
itself renames, copies and deletes it with the branch. See ``docs/branches.md``, "Identity".
"""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import NotFound, Unavailable
from gitmem.journal.branches.ancestry import Ancestry
from gitmem.journal.branches.visibility import Fact, Vantage
from gitmem.journal.codec import printable_name
from gitmem.journal.git.history import BRANCHES, REMOTES, History, Tip
from gitmem.journal.git.objects import decode
from gitmem.journal.git.port import Git

if TYPE_CHECKING:
    from gitmem.journal.git.reflogs import Reflogs

KEY = "gitmem"
"""The variable of a branch's section in git config that holds its line."""

_REBASES = ("rebase-merge/head-name", "rebase-apply/head-name")

FactsOf = Callable[[str], Iterable[Fact]]
"""The facts that concern a branch of that (printable) name: its events, and carries of those."""


class Stamp(NamedTuple):
    """What an event written now says of where it was written."""

    branch: str | None
    line: str | None
    pending: bool


class Lines:
    """The branches of one repository as gitmem tells them apart."""

    def __init__(
        self,
        git: Git,
        history: History,
        ancestry: Ancestry,
        *,
        trunk: str = "",
        recorded: str | None = None,
        facts: FactsOf = lambda _: (),
    ) -> None:
        """`trunk` is the setting ``gitmem.trunk``, `recorded` the branch `init` was run on."""
        self._git = git
        self._history = history
        self._ancestry = ancestry
        self._setting = trunk
        self._recorded = recorded
        self._facts = facts

    # -- the trunk ----------------------------------------------------------------------------

    def set_trunk(self, name: str) -> None:
        """Take another branch for the trunk."""
        self._setting = name

    def trunk(self) -> str | None:
        """Return the name of the branch that others fork from, as people read it."""
        name = self.trunk_name()
        return printable_name(name) if name else None

    def trunk_name(self) -> str | None:
        """Return the trunk's name as git has it."""
        if self._setting:
            return self._setting
        default = self._git.config().get("init.defaultbranch", ())
        for name in (*self._remote_heads(), *default[-1:], "main", "master", self._recorded):
            if name and self._exists(name):
                return name
        return self._only_branch()

    def trunk_tips(self) -> list[str]:
        """Return where the trunk stands, here and in every remote."""
        name = self.trunk_name()
        if not name:
            return []
        refs = [BRANCHES + name, *(f"{REMOTES}{remote}/{name}" for remote in self.remotes())]
        return [tip for ref in refs if (tip := self._git.ref(ref))]

    @property
    def bare(self) -> bool:
        """Whether nobody works here: its branches are what others pushed."""
        return self._git.config().get("core.bare", ())[-1:] == ["true"]

    def remotes(self) -> list[str]:
        """Return the configured remotes, ``origin`` first."""
        keys = (key.split(".", 1)[1] for key in self._git.config() if key.startswith("remote."))
        names = {key.rpartition(".")[0] for key in keys} - {""}
        return sorted(names, key=lambda name: (name != "origin", name))

    def _remote_heads(self) -> Iterator[str]:
        """Yield the branch that each remote's HEAD names: a file, never packed."""
        for remote in self.remotes():
            prefix = f"{REMOTES}{remote}/"
            try:
                path = self._git.layout.common_dir / prefix / "HEAD"
                target = decode(path.read_bytes()).strip().removeprefix("ref: ")
            except OSError:  # none, or a reftable holds it
                target = self._reftable_head(prefix)
            if target.startswith(prefix):
                yield target.removeprefix(prefix)

    def _reftable_head(self, prefix: str) -> str:
        if not (self._git.layout.common_dir / "reftable").exists():
            return ""
        return decode(self._history.attempt("symbolic-ref", "-q", f"{prefix}HEAD").stdout).strip()

    def _exists(self, name: str) -> bool:
        refs = [BRANCHES + name, *(f"{REMOTES}{remote}/{name}" for remote in self.remotes())]
        return self._git.head().branch == name or any(self._git.ref(ref) for ref in refs)

    def _only_branch(self) -> str | None:
        """Return the one branch there is; of several none stands out.

        Nor does that of a ``clone --single-branch``: it is the one somebody asked for.
        """
        if any(self._narrow(remote) for remote in self.remotes()):
            return None
        names = {ref.removeprefix(BRANCHES) for ref in self._git.refs(BRANCHES)}
        names |= {name} if (name := self._git.head().branch) else set()
        return names.pop() if len(names) == 1 else None

    def _narrow(self, remote: str) -> bool:
        """Whether only some of a remote's branches are fetched."""
        wanted = self._git.config().get(f"remote.{remote}.fetch", ())
        heads = [spec for spec in wanted if spec.lstrip("+").startswith(BRANCHES)]
        return bool(heads) and not any("*" in spec for spec in heads)

    # -- vantages -----------------------------------------------------------------------------

    def here(self) -> Vantage:
        """Return what HEAD stands for: during a rebase, the branch that is being rebased."""
        return self._vantage(self.current(), self._git.head().commit)

    def of(self, branch: str) -> Vantage:
        """Return what one sees from a branch, local or remote-tracking.

        Raises:
            NotFound: there is none of that name.
        """
        if commit := self._git.ref(BRANCHES + branch):
            return self._vantage(branch, commit)
        for remote in self.remotes():
            if branch.startswith(f"{remote}/") and (commit := self._git.ref(REMOTES + branch)):
                name = branch.removeprefix(f"{remote}/")
                return self._vantage(name, commit, self.remote_line(name, REMOTES + branch))
        raise NotFound(f"no branch '{printable_name(branch)}'", "`git branch -a` lists them")

    def at(self, commit: str) -> Vantage:
        """Return what one sees from a bare commit, named as git names revisions.

        Raises:
            NotFound: it names no commit.
        """
        found = self._history.resolve(commit)
        if found is None:
            raise NotFound(f"no commit '{commit}'", "`git log --oneline --all` lists them")
        return self._vantage(None, found)

    def current(self) -> str | None:
        """Return the branch that HEAD stands for, as git names it; None if it is detached."""
        for file in _REBASES:
            try:
                name = decode((self._git.layout.git_dir / file).read_bytes()).strip()
            except OSError:  # no rebase going on
                continue
            if name.startswith(BRANCHES):
                return name.removeprefix(BRANCHES)
        return self._git.head().branch

    def _vantage(self, name: str | None, commit: str | None, line: str | None = None) -> Vantage:
        trunk = self.trunk_name()
        if name is not None and name != trunk:
            line = line or self.line(name)
        shown = (printable_name(each) if each else None for each in (name, trunk))
        return Vantage(commit, next(shown), line if name != trunk else None, next(shown))

    # -- identity -----------------------------------------------------------------------------

    def line(self, name: str) -> str | None:
        """Return the line of a local branch: its own, or the one it takes over from upstream."""
        return self._own_line(name) or self._taken_over(name)

    def lines(self) -> Mapping[str, str]:
        """Return {branch: line} of the local branches that have an id."""
        keys = [key for key in self._git.config() if key.startswith("branch.")]
        named = [key.removeprefix("branch.").removesuffix(f".{KEY}") for key in keys
                 if key.endswith(f".{KEY}")]  # fmt: skip
        return {name: line for name in named if (line := self._own_line(name))}

    def remote_line(self, name: str, ref: str) -> str | None:
        """Return the line that a remote-tracking branch stands for."""
        if self._upstream(name) == ref and (own := self._own_line(name)):
            return own
        return self._pushed(name, self._git.ref(ref))

    def _own_line(self, name: str) -> str | None:
        values = self._git.config().get(f"branch.{name}.{KEY}", ())
        if len(values) > 1 and (kept := self._kept(name, values)):
            return kept
        return values[-1] if values else None

    def _kept(self, name: str, values: Sequence[str]) -> str | None:
        """Return which of several lines is that of the branch ``git branch -M`` renamed to `name`.

        Git leaves the section of the one that was there; the order tells which is the older only.
        """
        old = self._reflogs().renamed_from(name)
        known = {fact.line for fact in self._facts(printable_name(old))} if old else set()
        return next((value for value in values if value in known), None)

    def _upstream(self, name: str) -> str | None:
        """Return the ref a branch follows, if it is called the same there."""
        config = self._git.config()
        if self.bare:
            return BRANCHES + name
        remote = config.get(f"branch.{name}.remote", ())
        merge = config.get(f"branch.{name}.merge", ())
        same = remote and remote[-1] != "." and merge and merge[-1] == BRANCHES + name
        return f"{REMOTES}{remote[-1]}/{name}" if same else None

    def _taken_over(self, name: str) -> str | None:
        upstream = self._upstream(name)
        return self._pushed(name, self._git.ref(upstream)) if upstream else None

    def _pushed(self, name: str, tip: str | None) -> str | None:
        """Return the latest line of that name which `tip` has and the trunk has not."""
        found = _lines_by_anchor(printable_name(name), self._facts) if tip else {}
        if not found:
            return None
        off_trunk = self._ancestry.reaches(tip, found)
        for trunk in self.trunk_tips():
            off_trunk -= self._ancestry.reaches(trunk, off_trunk)
        latest = [max(found[anchor]) for anchor in off_trunk]
        return max(latest)[1] if latest else None

    # -- writing ------------------------------------------------------------------------------

    def stamp(self) -> Stamp:
        """Return what an event written now carries, giving the branch an id if it has none."""
        return self.stamp_of(self.current(), self._git.head().commit)

    def stamp_of(self, name: str | None, commit: str | None) -> Stamp:
        """Return what an event carries that is written on a commit of a branch, as `stamp`."""
        pending = self._pending(name, commit)
        if name is None:
            return Stamp(None, None, pending)
        on_trunk = name == self.trunk_name()
        line = None if on_trunk else self.line(name) or self._create(name)
        return Stamp(printable_name(name), line, pending)

    def _pending(self, name: str | None, commit: str | None) -> bool:
        if commit is None:
            return bool(self._history.tips())  # else a memory of an orphan is everybody's
        if name is None:
            tips = [tip.commit for tip in self._history.tips()]
            return not self._history.unreached([commit], tips)
        return name != self.trunk_name() and not self._owned(name, commit)

    def _owned(self, name: str, commit: str) -> bool:
        """Whether a commit is the branch's own and not (yet) the trunk's."""
        trunk = self.trunk_tips()
        if commit in trunk:  # just forked: nothing to ask
            return False
        if commit in self._reflogs().made_on(name):
            return bool(self._history.unreached([commit], trunk))
        others = [tip.commit for tip in self._history.tips() if self.name_of(tip) != name]
        return bool(self._history.unreached([commit], [*trunk, *others]))

    def _reflogs(self) -> Reflogs:
        from gitmem.journal.git.reflogs import Reflogs  # 4 ms, for what few commands ask

        return Reflogs(self._history)

    def name_of(self, tip: Tip, remotes: Sequence[str] | None = None) -> str:
        """Return the branch's name without its remote: a push takes nothing away from a branch."""
        if tip.local:
            return tip.ref.removeprefix(BRANCHES)
        short = tip.ref.removeprefix(REMOTES)
        known = self.remotes() if remotes is None else remotes
        fit = (remote for remote in known if short.startswith(f"{remote}/"))
        remote = max(fit, key=len, default=short.partition("/")[0])
        return short.removeprefix(f"{remote}/")

    def _create(self, name: str) -> str | None:
        """Give a branch an id; None where config cannot be written, and the name serves."""
        key = f"branch.{name}.{KEY}"
        try:
            with self._alone():  # or two writers would each give it one
                # Asked of git: what was read before the lock may be older than it looks.
                found = self._history.attempt("config", "--get", key).stdout.decode().strip()
                if not found:
                    found = os.urandom(8).hex()
                    self._git.config_set(key, found)
                return found
        except (OSError, Unavailable):
            return None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        folder = self._git.layout.common_dir / "gitmem"
        folder.mkdir(exist_ok=True)
        with (folder / "lines.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _lines_by_anchor(name: str, facts_of: FactsOf) -> dict[str, list[tuple[str, str]]]:
    """Return {anchor: [(at, line)]} of a name's lines: where their events and carries stand."""
    facts = list(facts_of(name))
    lines = {fact.id: fact.line for fact in facts if fact.line and fact.branch == name}
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for fact in facts:
        own = [lines[fact.id]] if fact.id in lines else []
        for line in dict.fromkeys((*own, *(lines[id] for id in fact.carries if id in lines))):
            for anchor in fact.anchors:
                found[anchor].append((fact.at, line))
    return found
