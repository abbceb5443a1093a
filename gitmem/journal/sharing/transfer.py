"""One remote's journal: fetched, pushed and read back by the user's own git.

Credentials, proxies, ssh and ``url.*.insteadOf`` are what they are for the user's own ``git push``;
tags, submodules, hooks and all other refs stay out of it. GitPython reads the progress of it where
somebody watches.
Without a terminal nothing is asked on one: git then has no terminal at all, for ssh would find that
of the agent around us.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from gitmem.errors import RefMoved, Refused, Unavailable
from gitmem.journal.git.objects import encode
from gitmem.journal.git.port import Layout
from gitmem.journal.git.spawn import ELSEWHERE, Child, first_line, heard_out, started
from gitmem.journal.tracking import refspec

Progress = Callable[[str, int, int], None]
"""Told what git does, how much of it is done, and of how much (0: unknown)."""

_QUIET_FETCH = (
    "--no-tags", "--no-filter", "--no-recurse-submodules", "--no-write-fetch-head", "--prune",
    "--no-auto-maintenance", "--no-write-commit-graph", "--no-show-forced-updates", "--refmap=",
)  # fmt: skip
_QUIET_PUSH = (
    "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed",
)  # fmt: skip
_RACES = ("(fetch first)", "(non-fast-forward)", "(stale info)", "(already exists)")
_REMOTE_RACES = ("cannot lock ref", "failed to update ref", "reference already exists")
_NO_WINDOW = {
    "GCM_INTERACTIVE": "never",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
}
_OVERTAKEN = re.compile("cannot lock ref|unable to write file .*: No such file")
"""A fetch beside another, and one beside a gc, which removes folders that are empty just then."""

_UNLOCK = "if no git command is running, remove that '.lock' file and try again"
_FETCHES = 6
"""Fetches to try, if another process is in the way of each."""

_PASSWORD = re.compile(r"(?<=//)[^/@\s]+@")

_HINTS = (
    ("terminal prompts disabled", "run it once on a terminal, or set up a git credential helper"),
    ("Authentication failed", "check the user name and password that git uses for it"),
    ("Permission denied (publickey", "check your ssh key, for example with 'ssh-add -l'"),
    ("Host key verification failed", "connect once with ssh on a terminal"),
    ("Could not resolve host", "the memories are kept here, and can be pushed later"),
    ("Could not resolve hostname", "the memories are kept here, and can be pushed later"),
    ("not appear to be a git repository", "'git remote -v' shows its address"),
    ("not found", "'git remote -v' shows its address"),
)


class Listener(Protocol):
    """Hears what git says beside its output, a line at a time."""

    told: list[str]

    def new_message_handler(self) -> Callable[[str], None]: ...


class Declined(Unavailable):
    """The remote does not take what is pushed."""


class Ended(NamedTuple):
    """How a git command ended: its exit code, and what it said."""

    code: int
    output: str
    errors: str


class Remote:
    """A configured remote of one repository.

    `pushed_to` are the addresses to read back from, if it is not fetched from where it is pushed.
    `terminal` says that somebody is there to be asked. With a `limit`, what has not ended so many
    seconds after this was made is ended, and no window is opened to ask in.
    """

    def __init__(
        self,
        layout: Layout,
        name: str,
        environ: Mapping[str, str],
        *,
        pushed_to: Sequence[str] = (),
        terminal: bool = False,
        limit: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.name = name
        self._layout = layout
        self._environ = environ
        self._addresses = pushed_to or (name,)
        self._terminal = terminal
        self._limit = limit
        self._until = time.monotonic() + limit if limit is not None else None
        self._progress = progress

    def fetch(self, *, whole: bool = False) -> None:
        """Fetch the remote's journals into their tracking refs; a journal that is gone is dropped.

        `whole`: also what a partial clone was not given the last time.

        Raises:
            Unavailable: it cannot be reached, or takes too long.
        """
        options = [*_QUIET_FETCH, *(["--refetch"] if whole else [])]
        command = ("fetch", *options, *self._shown, "--", self.name, refspec(self.name))
        for number in range(_FETCHES):
            ended = self._run(*command)
            if not ended.code:
                return
            if not _OVERTAKEN.search(ended.errors):
                raise self._failure(ended)
            time.sleep(random.uniform(0, 0.05 * 2**number))
        raise Unavailable(
            f"what '{self.name}' has cannot be noted: {first_line(encode(ended.errors))}", _UNLOCK
        )

    def tip(self, ref: str) -> str | None:
        """Return where a ref stands at the remote, asked of it now.

        Where it is pushed to several addresses that do not agree, it stands nowhere.

        Raises:
            Unavailable: it cannot be reached, or takes too long.
        """
        found = {self._tip(address, ref) for address in self._addresses}
        return found.pop() if len(found) == 1 else None

    def _tip(self, address: str, ref: str) -> str | None:
        rows = (line.split("\t") for line in self._git("ls-remote", "--", address, ref).split("\n"))
        return next((row[0] for row in rows if row[1:] == [ref]), None)

    def push(self, ref: str, new: str) -> None:
        """Move a ref at the remote forward to `new`.

        Raises:
            RefMoved: it stands where `new` does not follow.
            Unavailable: the remote does not take it, or cannot be reached.
        """
        self._push(ref, new)

    def force(self, ref: str, new: str, expected: str | None) -> None:
        """Move a ref at the remote to `new`, if it stands at `expected`; read back that it did.

        Raises:
            RefMoved: it stands elsewhere.
            Refused: the remote does not allow it. Unavailable: it cannot be reached.
        """
        try:
            self._push(ref, new, f"--force-with-lease={ref}:{expected or ''}")
        except Declined as error:
            hint = "ask whoever runs it to allow a forced push of this ref"
            raise Refused(error.message, hint) from None
        if self.tip(ref) != new:
            raise RefMoved(f"'{ref}' has moved at '{self.name}'")

    def _push(self, ref: str, new: str, *options: str) -> None:
        ended = self._run(
            "push", *_QUIET_PUSH, *options, *self._shown, "--", self.name, f"{new}:{ref}"
        )
        rejected = [line for line in ended.output.split("\n") if line.startswith("!")]
        if rejected:
            raise self._rejection(ref, rejected[0].rpartition("\t")[2], ended.errors)
        if ended.code:
            raise self._failure(ended)

    def _rejection(self, ref: str, why: str, errors: str) -> RefMoved | Unavailable:
        """Return the error for what git or the remote answered: ``[rejected] (fetch first)``."""
        raced = why.endswith(_RACES) or any(sign in why + errors for sign in _REMOTE_RACES)
        if raced:
            return RefMoved(f"'{ref}' has moved at '{self.name}'")
        said = [line.removeprefix("remote:").strip() for line in errors.split("\n")
                if line.startswith("remote:")]  # fmt: skip
        told = "; ".join([why, *filter(None, said)])[:300]
        return Declined(
            f"'{self.name}' does not take the memories: {_PASSWORD.sub('', told)}",
            "they are kept here; ask whoever runs it, or push to another remote",
        )

    def _git(self, *args: str) -> str:
        ended = self._run(*args)
        if ended.code:
            raise self._failure(ended)
        return ended.output

    def _failure(self, ended: Ended) -> Unavailable:
        line = first_line(encode(ended.errors))
        if line.startswith("Could not read from remote"):  # what ssh said stands before it
            lines = [one.strip() for one in ended.errors.split("\n")]
            line = next((one for one in lines if one and "fatal:" not in one), line)
        hint = next((hint for sign, hint in _HINTS if sign in line), "")
        return Unavailable(f"'{self.name}' cannot be reached: {_PASSWORD.sub('', line)}", hint)

    @property
    def _shown(self) -> Sequence[str]:
        return ["--progress"] if self._progress else ["--quiet"]

    def _run(self, *args: str) -> Ended:
        """Run git to its end, or to that of its time.

        Raises:
            Unavailable: git is not there, or the time is over.
        """
        layout = self._layout
        command = ["git", f"--git-dir={layout.git_dir}", *args]
        place = layout.workdir or layout.git_dir
        with started(command, place, self._variables(), apart=not self._terminal) as child:
            said = (
                _watched(child, self._progress, self._left)
                if self._progress
                else heard_out(child, self._left)
            )
        if said is None or self._left == 0:
            raise Unavailable(f"'{self.name}' did not answer within {self._limit:g} seconds")
        return Ended(child.returncode, *said)

    @property
    def _left(self) -> float | None:
        """Seconds that are left; None without a limit."""
        return max(0.0, self._until - time.monotonic()) if self._until is not None else None

    def _variables(self) -> dict[str, str]:
        kept = {name: self._environ[name] for name in self._environ if name not in ELSEWHERE}
        variables = {**kept, "LC_ALL": "C", "LANGUAGE": "C"}
        # A mirror takes no refspec. The settings that somebody gave the same way go on.
        number = self._environ.get("GIT_CONFIG_COUNT", "0")
        if number.isdecimal():
            variables[f"GIT_CONFIG_KEY_{number}"] = f"remote.{self.name}.mirror"
            variables[f"GIT_CONFIG_VALUE_{number}"] = "false"
            variables["GIT_CONFIG_COUNT"] = str(int(number) + 1)
        if not self._terminal:
            variables["GIT_TERMINAL_PROMPT"] = "0"
        if self._limit is not None:  # nobody waits for it, so no window is opened either
            variables |= _NO_WINDOW
        return variables


def _watched(child: Child, progress: Progress, limit: float | None) -> tuple[str, str]:
    """Pass on what git says of its progress, as GitPython reads it; ends it after `limit` seconds.

    GitPython takes 70 ms to import: git is connecting meanwhile, and where nobody watches there is
    nothing for it to read.
    """
    import git

    heard, printed = _listener(progress), list[str]()
    git.cmd.handle_process_output(
        git.Git.AutoInterrupt(child, child.args),
        printed.append,
        heard.new_message_handler(),
        decode_streams=False,
        kill_after_timeout=limit,
    )
    child.wait()
    return "".join(printed), "\n".join(heard.told)


def _listener(progress: Progress) -> Listener:
    """Return what reads git's standard error: progress is passed on, all else is `told`."""
    import git

    steps = {
        git.RemoteProgress.COUNTING: "counting",
        git.RemoteProgress.COMPRESSING: "compressing",
        git.RemoteProgress.WRITING: "sending",
        git.RemoteProgress.RECEIVING: "receiving",
        git.RemoteProgress.RESOLVING: "unpacking",
    }

    class Heard(git.RemoteProgress):
        def __init__(self) -> None:
            super().__init__()
            self.told = self.error_lines

        def line_dropped(self, line: str) -> None:
            self.told.append(line)

        def update(
            self,
            op_code: int,
            cur_count: str | float,
            max_count: str | float | None = None,
            message: str = "",
        ) -> None:
            step = steps.get(op_code & self.OP_MASK)
            if step:
                progress(step, int(float(cur_count)), int(float(max_count or 0)))

    return Heard()
