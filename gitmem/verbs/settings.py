"""Settings read from where they live: the environment, git config, `.gitmem.yml`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.config import TEAM_FILE, Settings
from gitmem.journal.git.port import Git

if TYPE_CHECKING:  # yaml takes 30 ms
    from yaml import SafeLoader

LARGEST = 64 * 1024
"""A team file is a page; whatever is larger is not one."""


def load_settings(git: Git, environ: Mapping[str, str]) -> Settings:
    """Resolve every setting; what cannot be used of the team's file is a warning."""
    team, trouble = _team(git.layout.workdir)
    settings = Settings(environ, git.config(), team)
    settings.warnings[:0] = [trouble] if trouble else []
    return settings


def _team(workdir: Path | None) -> tuple[Mapping[str, Any], str]:
    path = workdir / TEAM_FILE if workdir else None
    if path is None or path.is_symlink() or not path.is_file():
        return {}, ""
    import yaml  # 30 ms, for the few repositories that have the file

    try:
        if path.stat().st_size > LARGEST:
            return {}, f"{TEAM_FILE} is larger than {LARGEST:,} bytes and is ignored"
        found = yaml.load(path.read_bytes(), _loader())
    except (OSError, yaml.YAMLError, RecursionError, ValueError) as error:
        reason = str(error).split("\n", 1)[0]
        return {}, f"{TEAM_FILE} cannot be read and is ignored: {reason}"
    if found is None or isinstance(found, dict):
        return found or {}, ""
    return {}, f"{TEAM_FILE} holds no settings and is ignored"


def _loader() -> type[SafeLoader]:
    """Return a loader of plain values: by aliases, ten lines of YAML say more than memory holds."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it has an alias")
            return super().compose_node(parent, index)

    return Plain


def user_journal(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Return where the user's own journal is."""
    if folder := settings["gitmem.userDir"]:
        return Path(folder).expanduser() / "user.git"
    return data_folder(environ) / "gitmem" / "user.git"


def data_folder(environ: Mapping[str, str]) -> Path:
    """Return what platformdirs would, which imports tempfile and shutil to say it: 4 ms."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(environ.get("XDG_DATA_HOME", "").strip() or Path.home() / ".local" / "share")
