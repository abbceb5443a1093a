"""Git's configuration as it was read, and who writes according to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import NoIdentity
from gitmem.journal.git.objects import decode
from gitmem.journal.git.port import Layout

HINT = (
    'run `git config --global user.name "Your Name"` and '
    "`git config --global user.email you@example.com`"
)

_CRUD = "".join(map(chr, range(33))) + ",:;<>\"\\'"
"""What git cuts off both ends of a name and an address; once also the dot of 'Jr.'."""

Stamp = tuple[int, int, int] | None


class Configuration(NamedTuple):
    """Every value, the files that hold or could hold one, and what those looked like when read."""

    values: Mapping[str, Sequence[str]]
    origins: Sequence[Path]
    stamps: Mapping[Path, Stamp]

    @property
    def current(self) -> bool:
        """Whether no file has changed since, nor come nor gone."""
        return all(_stamp(path) == stamp for path, stamp in self.stamps.items())


def read(listing: Callable[[], bytes], layout: Layout, usual: Iterable[Path]) -> Configuration:
    """Read what ``git config --list --show-origin -z`` prints; `usual` files may be missing.

    Files are stamped before git reads them, or a write in between would never be noticed. One that
    is included is known only afterwards: then git reads once more.
    """
    # A section may depend on the branch: `includeIf.onbranch`.
    head = layout.git_dir / "HEAD"
    stamps: dict[Path, Stamp] = {}
    unknown = [*usual, head]
    while unknown:
        stamps |= {path: _stamp(path) for path in unknown}
        values, origins = parse(listing(), layout.git_dir)
        unknown = [path for path in origins if path not in stamps]
    return Configuration(values, [path for path in stamps if path != head], stamps)


def parse(listing: bytes, folder: Path) -> tuple[dict[str, list[str]], list[Path]]:
    """Return the values, and the files that they come from, as git names them in `folder`."""
    values: dict[str, list[str]] = {}
    origins: dict[Path, None] = {}
    parts = listing.split(b"\0")
    for origin, setting in zip(parts[::2], parts[1::2], strict=False):
        key, equals, value = setting.partition(b"\n")
        # A key alone on its line is true, though git prints nothing after it.
        values.setdefault(decode(key), []).append(decode(value) if equals else "true")
        kind, _, file = os.fsdecode(origin).partition(":")
        if kind == "file":
            origins[folder / file] = None
    return values, list(origins)


def usual_files(layout: Layout, environ: Mapping[str, str]) -> Iterable[Path]:
    """Yield the files git looks for, whether or not they exist.

    The system's is where git was built to have it: most often the place named here.
    """
    if not environ.get("GIT_CONFIG_NOSYSTEM"):
        yield Path(environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    home = Path(environ.get("HOME") or "/")
    if "GIT_CONFIG_GLOBAL" in environ:
        yield Path(environ["GIT_CONFIG_GLOBAL"])
    else:
        yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
        yield home / ".gitconfig"
    yield layout.common_dir / "config"
    yield layout.git_dir / "config.worktree"


def identity(environ: Mapping[str, str], values: Mapping[str, Sequence[str]]) -> str:
    """Return ``Name <email>`` from ``GIT_AUTHOR_*``, ``author.*``, ``user.*`` or ``EMAIL``.

    Git would make an address up from the login and the host name; a memory outlives both.
    Bytes that are not UTF-8 are percent-encoded, as everywhere in an event.

    Raises:
        NoIdentity: the name or the address is missing, or nothing remains of it once cleaned.
    """
    name = _clean(_first("name", environ, values))
    email = _clean(_first("email", environ, values) or environ.get("EMAIL"))
    for part, value in (("name", name), ("email", email)):
        if not value:
            raise NoIdentity(f"git knows no 'user.{part}' to write with", HINT)
    return f"{name} <{email}>"


def _first(
    part: str, environ: Mapping[str, str], values: Mapping[str, Sequence[str]]
) -> str | None:
    variable = environ.get(f"GIT_AUTHOR_{part.upper()}")
    configured = values.get(f"author.{part}") or values.get(f"user.{part}")
    return variable or (configured[-1] if configured else None)


def _clean(value: str | None) -> str:
    """Cut what git cuts, so that an event and its commit name the same person."""
    kept = "".join(char for char in (value or "").strip(_CRUD) if char not in "<>\n\0")
    return "".join(_percent(char) for char in kept)


def _percent(char: str) -> str:
    return f"%{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else char


def _stamp(path: Path) -> Stamp:
    try:
        stat = path.stat()
    except OSError:  # missing or out of reach: either way git reads nothing there
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
