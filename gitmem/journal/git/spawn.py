"""Processes of the git program: one that ends, and one that stays to answer reads.

A child that dies is an error of its own, never a hang or a broken pipe.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from gitmem.errors import GitFailed, Unavailable
from gitmem.journal.git.objects import encode

ELSEWHERE = (
    # What `git rev-parse --local-env-vars` lists, but for the settings of `git -c`, and two more.
    # Hooks inherit them: `git commit -a` gives its hooks an index of its own, a push gives
    # `pre-receive` a quarantine that swallows objects and forbids moving a ref. With GIT_DIR left
    # in place a hook's private memories would land in the repository that is pushed.
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    # These three contradict GIT_LITERAL_PATHSPECS below.
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
)
"""What a process around us may have set for its own git, and ours must not follow."""

QUIET = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
"""Set for every git: messages in English, no question asked, no index refreshed on the side."""

_EXACT = {
    # A memory is read as it was written, and reading it never touches the network: a git before
    # 2.45 knows only the second of the two that keep a partial clone from fetching what it lacks.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_DEFAULT_REF_FORMAT": "files",
}

WINDOW = 32
"""Requests sent before an answer is read; with ids of 64 digits they fit in a pipe of one page."""

Answer = tuple[str, str, bytes]
"""An object as read: id, kind, content."""

Arg = str | bytes
"""An argument; text goes out as UTF-8 whatever the locale, a path as the bytes it is."""

Written = TypeVar("Written")

Done = subprocess.CompletedProcess[bytes]
Child = subprocess.Popen[str]

GRACE = 1.0
"""Seconds that a command has to end of its own accord."""


class GaveUp(GitFailed):
    """The reading process ended of its own accord over an object, and said why."""


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git on a repository that is named, not found."""
    kept = {name: value for name, value in environ.items() if name not in ELSEWHERE}
    return {**kept, **QUIET, **_EXACT}


def run(command: Sequence[Arg], cwd: Path, environ: Mapping[str, str], input: bytes = b"") -> Done:
    """Run a command to its end, whatever its exit code.

    Raises:
        Unavailable: git is not installed.
        GitFailed: it could not be started.
    """
    try:
        return subprocess.run(
            _encoded(command),
            cwd=cwd,
            env=environ,
            input=input,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise _not_started(error) from error


def stream(
    command: Sequence[Arg], cwd: Path, environ: Mapping[str, str], whole: bool = False
) -> Generator[bytes]:
    """Yield what a command prints, in pieces as they come; closing the generator ends the command.

    Raises:
        Unavailable: git is not installed.
        GitFailed: it could not be started, or, where only all of it will do (`whole`), it failed.
    """
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(
            _encoded(command), cwd=cwd, env=environ, stdout=pipe, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise _not_started(error) from error
    with child:
        assert child.stdout
        try:
            while piece := os.read(child.stdout.fileno(), 65_536):
                yield piece
            if whole and child.wait():
                raise GitFailed("git stopped before its end", "see what `git fsck` says")
        finally:
            child.kill()


@contextmanager
def started(
    command: Sequence[Arg], cwd: Path, environ: Mapping[str, str], *, apart: bool
) -> Iterator[Child]:
    """Start a command whose output is read as text; on leaving it has ended, or is ended.

    `apart`: in a session of its own, without a terminal; what it has started ends with it.

    Raises:
        Unavailable: git is not installed.
        GitFailed: it could not be started.
    """
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(
            _encoded(command), cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=pipe,
            stderr=pipe, encoding="utf-8", errors="replace", start_new_session=apart,
        )  # fmt: skip
    except OSError as error:
        raise _not_started(error) from error
    try:
        yield child
    finally:
        if child.poll() is None:  # asked first, so that git takes its locks away
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM) if apart else child.terminate()
            try:
                child.wait(GRACE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for stream in (child.stdout, child.stderr):
            if stream:
                stream.close()


def heard_out(child: Child, limit: float | None) -> tuple[str, str] | None:
    """Return what a command prints and complains of; None if it takes longer than `limit` s."""
    try:
        return child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def first_line(stderr: bytes) -> str:
    """Return the line in which git says what went wrong, past warnings and GIT_TRACE output."""
    lines = stderr.decode("utf-8", "replace").splitlines()
    told = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    line = next(iter(told or lines), "git failed and said nothing")
    return line.removeprefix("fatal: ").removeprefix("error: ")


def failed(message: str, places: Iterable[Path] = (), size: int = 0) -> Unavailable:
    """Return the error for what git refused: a write of `size` bytes into one of `places`, if any.

    Git words the two common causes in many ways, so the places themselves are asked.
    """
    for place in places:
        while not place.is_dir():
            place = place.parent
        if not os.access(place, os.W_OK | os.X_OK):
            hint = "check its owner and permissions, and whether its file system is read-only"
            return Unavailable(f"'{place}' cannot be written", hint)
        disk = os.statvfs(place)
        if disk.f_bavail * disk.f_frsize < size + 65_536 or (disk.f_files and not disk.f_favail):
            return Unavailable(f"the disk of '{place}' is full", "free some space and try again")
    return GitFailed(message)


def beside_gc(write: Callable[[], Written]) -> Written:
    """Write objects, and write them again if that fails: it does no harm.

    ``git gc`` removes the empty folder that git or libgit2 has just made for an object; in a trial
    beside a permanent gc one write of 500 failed so.
    """
    for _ in range(3):
        try:
            return write()
        except GitFailed:
            continue
    return write()


def object_folders(common_dir: Path) -> Iterator[Path]:
    """Yield the folders objects go to; `sudo git …` leaves some that only root can write."""
    yield common_dir / "objects"
    yield from (path for path in (common_dir / "objects").glob("*") if path.is_dir())


def _encoded(command: Sequence[Arg]) -> list[bytes]:
    return [arg if isinstance(arg, bytes) else encode(arg) for arg in command]


def _not_started(error: OSError) -> Unavailable:
    if isinstance(error, FileNotFoundError) and error.filename in ("git", b"git"):
        return Unavailable("git is not installed, or not on the path", "install git 2.34 or later")
    return GitFailed(f"git could not be started: {error}")


class Reader:
    """One ``git cat-file --batch`` that stays."""

    def __init__(self, command: Sequence[Arg], cwd: Path, environ: Mapping[str, str]) -> None:
        self._command = [*command, "cat-file", "--batch"]
        self._cwd = cwd
        self._environ = environ
        self._child: subprocess.Popen[bytes] | None = None

    def ask(self, names: Sequence[str]) -> list[Answer | None]:
        """Return the objects of that name, at most `WINDOW` at a time; None for one not here.

        Raises:
            GitFailed: the process died; the next question starts another. `GaveUp` if by itself.
        """
        child = self._child or self._start()
        try:
            assert child.stdin and child.stdout
            child.stdin.write(b"".join(encode(name) + b"\n" for name in names))
            child.stdin.flush()
            return [self._answer(child.stdout.readline(), child) for _ in names]
        except (BrokenPipeError, EOFError) as error:
            raise self._last_words(names) from error
        except BaseException:
            # An interrupt between question and answer would leave every later answer one off.
            self.close()
            raise

    def close(self) -> None:
        """Stop the process."""
        if child := self._child:
            self._child = None
            child.kill()
            child.communicate()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            self._child = subprocess.Popen(
                _encoded(self._command),
                cwd=self._cwd,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise _not_started(error) from error
        return self._child

    @staticmethod
    def _answer(header: bytes, child: subprocess.Popen[bytes]) -> Answer | None:
        if not header:
            raise EOFError
        oid, *rest = header.split()
        if len(rest) != 2 or not rest[1].isdigit():  # "… missing", "… ambiguous", "… submodule"
            return None
        size = int(rest[1])
        assert child.stdout
        content = child.stdout.read(size + 1)
        if len(content) <= size:
            raise EOFError
        return oid.decode(), rest[0].decode(), content[:size]

    def _last_words(self, names: Sequence[str]) -> GitFailed:
        """Return why the child died: git repeats a complaint about an object when asked again."""
        assert self._child
        code = self._child.wait()
        self.close()
        if code < 0:
            return GitFailed(f"git cat-file was killed by signal {-code}")
        asked = b"".join(encode(name) + b"\n" for name in names)
        return GaveUp(first_line(run(self._command, self._cwd, self._environ, asked).stderr))
