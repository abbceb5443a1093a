"""`init` and `deinit`: what gitmem changes in a repository, written down to be undone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gitmem.errors import NotARepository, Unavailable
from gitmem.journal.branches.lines import KEY as LINE
from gitmem.journal.git.port import Git
from gitmem.journal.tracking import RECORD as FETCHED
from gitmem.journal.tracking import refspec, remotes

RECORD = "init.json"
PATHS = ("MEMORY.md", "memory")
BASES = ("catalog", "rounds", "tokens", "files")
DERIVED = (
    *(f"{name}.sqlite{end}" for name in BASES for end in ("", "-wal", "-shm")), "lexical",
    "vectors", "vectors.lock", "recalled.json", "recalled.json.lock", "start.json",
    "ancestry.json", "landing.1.sqlite", "lines.lock", "import.lock", FETCHED,
    "purging.lock", "trust.lock", "authors.json", "hooks", "turns",
)  # fmt: skip
"""What is made anew when it is missing; the private journal, in the same folder, is not."""

REWRITE = ("notes.rewriteRef", "refs/notes/gitmem/*")
DISPLAY = ("notes.displayRef", "refs/notes/gitmem/shared")
_HEADER = "# gitmem: a mirror of the memories in git notes"
Keep = Callable[[], None]
"""Writes down what `Initialised` says now."""

_PATTERNS = {"MEMORY.md": "/MEMORY.md", "memory": "/memory/"}


@dataclass(slots=True)
class Initialised:
    """What `init` did: settings and lines it added, paths it mirrors to, the branch it ran on.

    `hooks` has the path of each git hook that calls gitmem, and how it came to.
    """

    mirrored: list[str] = field(default_factory=list)
    config: list[tuple[str, str]] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)
    track: bool = False
    branch: str = ""
    hooks: dict[str, str] = field(default_factory=dict)


def read_record(folder: Path) -> Initialised | None:
    """Return what `init` recorded under `folder`, or None where it was never run."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        found["config"] = [(key, value) for key, value in found["config"]]
        return Initialised(**found)
    except OSError:
        return None
    except (ValueError, TypeError, KeyError):  # torn by a full disk: nothing that init did is known
        return Initialised()


def write_record(folder: Path, record: Initialised) -> None:
    """Write down what `init` did, or is about to do."""
    write(folder / RECORD, json.dumps(asdict(record), indent=1))


@contextmanager
def reported() -> Iterator[None]:
    """Turn what the system says of a file into one sentence."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Unavailable(
            f"cannot write '{error.filename}': {reason}", "check its permissions"
        ) from None


@reported()
def initialise(
    git: Git, folder: Path, track: bool, trunk: str = "", show_notes: bool = False
) -> list[str]:
    """Set the repository up and return a line for each change; running it again changes nothing.

    Each change is recorded before it is made: whoever is stopped in between begins again, and
    `deinitialise` knows of it.

    Raises:
        NotARepository: it is bare, so that there is nowhere to mirror to.
        Unavailable: a file cannot be written.
    """
    if git.layout.workdir is None:
        raise NotARepository(
            "a bare repository has no working tree to show memories in",
            "its memories can be read and written without 'init'",
        )
    record = read_record(folder)
    said = (
        [] if record else [f"memories are kept in git notes: {REWRITE[1].replace('*', 'shared')}"]
    )
    record = record or Initialised()

    def keep() -> None:
        write_record(folder, record)

    record.branch = record.branch or git.head().branch or ""
    said += _add_config(git, REWRITE, "memories follow amended and rebased commits", record, keep)
    if show_notes:
        about = "`git log` shows memories beside commits"
        said += _add_config(git, DISPLAY, about, record, keep)
    said += _track_remotes(git, record, keep)
    said += _set_trunk(git, record, trunk, keep) if trunk else []
    said += (_track if track else _exclude)(git, record, keep)
    keep()
    return said


@reported()
def deinitialise(git: Git, folder: Path) -> list[str]:
    """Undo what `initialise` recorded, unless somebody else changed it since."""
    record = read_record(folder)
    if record is None:
        return []
    said = []
    for key, value in record.config:
        if value in git.config().get(_listed(key), ()):
            git.config_unset(key, value)
            said.append(f"git config: removed {key} = {value}")
    said += _forget_lines(git)
    for name, lines in record.lines.items():
        if remove_lines(Path(name), lines):
            said.append(f"{shown(git, Path(name))}: removed {' '.join(lines[1:] or lines)}")
    (folder / RECORD).unlink(missing_ok=True)
    for derived in (*(folder / name for name in DERIVED), git.layout.git_dir / "gitmem" / "mirror"):
        _remove(derived)
    return said


def _add_config(
    git: Git, setting: tuple[str, str], about: str, record: Initialised, keep: Keep
) -> list[str]:
    """Add a value to a setting that may have several: never in place of another."""
    key, value = setting
    if value in git.config().get(_listed(key), ()):
        return []
    if setting not in record.config:
        record.config.append(setting)
        keep()
    git.config_add(key, value)
    return [f"git config: added {key} = {value} ({about})"]


def _track_remotes(git: Git, record: Initialised, keep: Keep) -> list[str]:
    """Let a plain ``git fetch`` bring the memories of each remote, into a ref of their own."""
    said = []
    for name in remotes(git.config()):
        fetched = git.config().get(f"remote.{name}.fetch", ())
        # Without any refspec git fetches HEAD, and with one it would not; a mirror has all already.
        if fetched and not any(":refs/*" in refspec for refspec in fetched):
            about = f"'git fetch' brings the memories of '{name}'"
            setting = f"remote.{name}.fetch", refspec(name)
            said += _add_config(git, setting, about, record, keep)
    return said


def _listed(key: str) -> str:
    """Return a key as git lists it: in lower case, but for a name in the middle."""
    section, _, rest = key.partition(".")
    middle, dot, name = rest.rpartition(".")
    return f"{section.lower()}.{middle}{dot}{name.lower()}"


def _set_trunk(git: Git, record: Initialised, trunk: str, keep: Keep) -> list[str]:
    if git.config().get("gitmem.trunk", [""])[-1] == trunk:
        return []
    record.config = [pair for pair in record.config if pair[0] != "gitmem.trunk"]
    record.config.append(("gitmem.trunk", trunk))
    keep()
    git.config_set("gitmem.trunk", trunk)
    return [f"git config: set gitmem.trunk = {trunk}"]


def _forget_lines(git: Git) -> list[str]:
    """Take the identities of branches away, which gitmem gave them as it wrote on them."""
    keys = [key for key in git.config() if key.startswith("branch.") and key.endswith(f".{LINE}")]
    for key in keys:
        git.config_unset(key)
    return [f"git config: removed {key}" for key in keys]


def _exclude(git: Git, record: Initialised, keep: Keep) -> list[str]:
    """List the mirror in .git/info/exclude, but no path that a checkout would overwrite."""
    said = []
    free = [path for path in PATHS if path in record.mirrored or not git.tracked(path)]
    said += [
        f"{path} is tracked here and is left alone ('gitmem init --track' mirrors into it)"
        for path in PATHS if path not in free
    ]  # fmt: skip
    record.mirrored = free
    exclude = git.layout.common_dir / "info" / "exclude"
    if free and (added := add_lines(exclude, [_PATTERNS[path] for path in free], record, keep)):
        said.append(f"{shown(git, exclude)}: added {' '.join(added)}")
    return said


def _track(git: Git, record: Initialised, keep: Keep) -> list[str]:
    """Leave the mirror to be committed, out of reach of prettier."""
    said = []
    for name, lines in record.lines.items():
        gone = [line for line in lines if line in _PATTERNS.values()]
        rest = [line for line in lines if line not in gone]
        if Path(name).name == "exclude" and remove_lines(Path(name), gone if rest[1:] else lines):
            record.lines[name] = rest if rest[1:] else []
            said.append(f"{shown(git, Path(name))}: removed {' '.join(gone)}")
    assert git.layout.workdir is not None
    ignore = git.layout.workdir / ".prettierignore"
    formatted = ignore.is_file() and not ignore.is_symlink()
    patterns = [_PATTERNS[path] for path in PATHS]
    if formatted and (added := add_lines(ignore, patterns, record, keep)):
        said.append(f".prettierignore: added {' '.join(added)}")
    if not record.track:
        record.config.append(("gitmem.track", "true"))
        keep()
        git.config_set("gitmem.track", "true")
        said.append("git config: set gitmem.track = true (commit MEMORY.md and memory/)")
    record.track, record.mirrored = True, list(PATHS)
    return said


def shown(git: Git, path: Path) -> str:
    """Return a path as seen from the top of the working tree."""
    top = git.layout.workdir or git.layout.common_dir
    return os.path.relpath(path, top)


def add_lines(path: Path, wanted: Iterable[str], record: Initialised, keep: Keep) -> list[str]:
    """Add the lines that a file lacks, below a line that says whose they are; return them."""
    old = _read(path).decode("utf-8", "surrogateescape")
    present = old.split("\n")
    new = [line for line in wanted if line not in present]
    if new:
        known = record.lines.get(str(path), [])
        record.lines[str(path)] = list(dict.fromkeys([*known, _HEADER, *new]))
        keep()
        gap = "" if not old or old.endswith("\n") else "\n"
        text = "".join(f"{line}\n" for line in [_HEADER, *new] if line not in present)
        write(path, old + gap + text)
    return new


def remove_lines(path: Path, unwanted: Iterable[str]) -> bool:
    """Remove the last occurrence of each line; false if none was there any more."""
    content = _read(path).decode("utf-8", "surrogateescape").split("\n")
    before = len(content)
    for line in unwanted:
        if line in content:
            del content[len(content) - 1 - content[::-1].index(line)]
    if len(content) < before:
        write(path, "\n".join(content))
    return len(content) < before


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def write(path: Path, text: str) -> None:
    """Write a file beside its place and rename it, so that a crash leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text.encode("utf-8", "surrogateescape"))
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    finally:
        with suppress(OSError):  # it is in its place, or was never made
            temporary.unlink()
