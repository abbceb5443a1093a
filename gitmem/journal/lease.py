"""One ref forced onto a remote, if it stands there as it was last fetched: what a purge needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.errors import RefMoved, Refused, Unavailable
from gitmem.journal.git import Layout
from gitmem.journal.history import History
from gitmem.journal.spawn import Done, environment, first_line, run

_LOCAL = ("GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH")
_ALONE = ("-c", "push.followTags=false", "-c", "push.recurseSubmodules=no")


class Remote:
    """A remote of one repository, by git's own transfer; nothing is asked on a terminal."""

    def __init__(self, layout: Layout, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self._history = History(layout)
        kept = {key: value for key, value in environment(environ).items() if key not in _LOCAL}
        theirs = {key: environ[key] for key in _LOCAL if key in environ}
        self._history.environ = {**kept, **theirs}

    def fetch(self, ref: str, tracking: str) -> str | None:
        """Fetch a ref into a tracking ref, and return its tip; None if the remote has none."""
        if self.tip(ref) is None:
            return None
        self._git("fetch", "-q", "--no-tags", "--no-filter", "--no-write-fetch-head",
                  "--no-auto-maintenance", self.name,
                  f"+{ref}:{tracking}")  # fmt: skip
        return self._git("rev-parse", "--verify", tracking).strip()

    def tip(self, ref: str) -> str | None:
        """Return where a ref stands at the remote."""
        listed = self._git("ls-remote", self.name, ref).split("\n")
        found = [line.split("\t")[0] for line in listed if line.endswith(f"\t{ref}")]
        return found[0] if found else None

    def force(self, ref: str, new: str, expected: str | None) -> None:
        """Move a ref at the remote to `new`, if it stands at `expected`; read back that it did.

        Raises:
            RefMoved: it stands elsewhere.
            Refused: the remote does not allow it. Unavailable: it cannot be reached.
        """
        lease = f"--force-with-lease={ref}:{expected or ''}"
        options = ("push", "-q", "--porcelain", "--no-verify", lease, self.name, f"{new}:{ref}")
        done = self._run([*_ALONE, *options])
        told = done.stdout.decode("utf-8", "replace")
        rejected = [line for line in told.split("\n") if line.startswith("!")]
        if any("(stale info)" in line or "(fetch first)" in line for line in rejected):
            raise RefMoved(f"'{ref}' has moved at '{self.name}'")
        if rejected:
            why = rejected[0].rpartition("\t")[2]
            raise Refused(f"'{self.name}' does not take the rewritten journal: {why}",
                          "ask whoever runs it to allow a forced push of this ref")  # fmt: skip
        if done.returncode:
            raise self._failed(done.stderr)
        if self.tip(ref) != new:
            raise RefMoved(f"'{ref}' has moved at '{self.name}'")

    def _git(self, *args: str) -> str:
        done = self._run(args)
        if done.returncode:
            raise self._failed(done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def _run(self, args: Sequence[str]) -> Done:
        history = self._history
        return run([*history.command, *args], history.layout.git_dir, history.environ)

    def _failed(self, stderr: bytes) -> Unavailable:
        return Unavailable(f"'{self.name}' cannot be reached: {first_line(stderr)}")
