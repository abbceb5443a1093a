"""Settings: what may be set, by whom, and its default. No input or output.

A value comes from the environment (``GITMEM_*``), else git config (``gitmem.*``), else, for the
few keys a team may share, ``.gitmem.yml`` in the working tree. That file is somebody's text: it
never sets a path, a command, a URL or trust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.errors import UsageError

TEAM_FILE = ".gitmem.yml"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its git config key, its default, and whether `.gitmem.yml` may set it.

    `choices` are all the values it may have, where they are few.
    """

    key: str
    default: str | int | bool | tuple[str, ...]
    about: str
    team: bool = False
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable, for example ``GITMEM_DEFAULT_TAGS``."""
        snake = "".join(f"_{char}" if char.isupper() else char for char in self.name)
        return f"GITMEM_{snake.upper().replace('.', '_')}"

    @property
    def name(self) -> str:
        """The key without its ``gitmem.`` prefix, as `.gitmem.yml` spells it."""
        return self.key.removeprefix("gitmem.")


SETTINGS: tuple[Setting, ...] = (
    Setting("gitmem.defaultTags", (), "tags added to every `remember`, separated by commas", True),
    Setting("gitmem.defaultKind", "note", "kind of a `remember` that names none", True),
    Setting("gitmem.budget", 1200, "tokens of the session-start briefing", True),
    Setting("gitmem.trunk", "", "branch that others fork from; empty: found out", True),
    Setting(
        "gitmem.trust",
        "known",
        "whose memories agents are shown: `known`, as `gitmem trust` says, or `all`",
        choices=("known", "all"),
    ),
    Setting("gitmem.remote", "", "remote to share with; empty: `origin`, or the only one"),
    Setting("gitmem.autoPull", False, "`sync --start` pulls first, for 5 seconds at most"),
    Setting("gitmem.autoPush", False, "`sync --end` pushes, for 20 seconds at most"),
    Setting("gitmem.track", False, "the Markdown files are committed (`init --track`)"),
    Setting("gitmem.mirror", True, "write `MEMORY.md` and `memory/` after `gitmem init`"),
    Setting("gitmem.recallTimeout", 1000, "milliseconds after which a prompt is not waited for"),
    Setting("gitmem.excludeAgents", (), "agents (globs) that hooks neither capture from nor serve"),
    Setting(
        "gitmem.userDir", "", "folder of the user-scope journal; empty: the platform's data folder"
    ),
    Setting(
        "gitmem.cacheDir", "", "folder of downloaded models; empty: the platform's cache folder"
    ),
    Setting(
        "gitmem.chroma.url", "", "Chroma server for vectors; empty: Chroma in the git directory"
    ),
)

_BY_KEY = {setting.key.lower(): setting for setting in SETTINGS}


class Settings:
    """Resolved values: ``settings["gitmem.budget"]``; `warnings` says what was ignored."""

    def __init__(
        self,
        environ: Mapping[str, str],
        git: Mapping[str, Sequence[str]],
        team: Mapping[str, Any] | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self._values = {s.key: self._resolve(s, environ, git, team or {}) for s in SETTINGS}
        allowed = {s.name for s in SETTINGS if s.team}
        for name in sorted(set(map(str, team or ())) - allowed):
            self.warnings.append(f"{TEAM_FILE}: '{name}' cannot be set there and is ignored")

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def _resolve(
        self,
        setting: Setting,
        environ: Mapping[str, str],
        git: Mapping[str, Sequence[str]],
        team: Mapping[str, Any],
    ) -> Any:
        if setting.variable in environ:
            return parse(setting, environ[setting.variable], setting.variable)
        if git.get(setting.key.lower()):
            return parse(setting, git[setting.key.lower()][-1], setting.key)
        if setting.team and setting.name in team:
            try:
                return parse(setting, team[setting.name], f"{TEAM_FILE}: {setting.name}")
            except UsageError as error:  # somebody's text must not stop this user's work
                self.warnings.append(error.message)
            except ValueError:  # a number of more digits than Python will spell
                self.warnings.append(f"{TEAM_FILE}: '{setting.name}' is too large a number")
        return setting.default


def parse(setting: Setting, value: Any, where: str) -> Any:
    """Read `value` as the setting's kind.

    Raises:
        UsageError: it is none; `where` is named.
    """
    default = setting.default
    if isinstance(default, bool):
        words = {"true": True, "yes": True, "on": True, "1": True, "": False}
        words |= {"false": False, "no": False, "off": False, "0": False}
        word = str(value).lower()
        if word in words:
            return words[word]
        raise UsageError(f"'{where}' is '{value}', which is neither true nor false")
    if isinstance(default, int):
        if isinstance(value, int) or str(value).isdecimal():
            return int(value)
        raise UsageError(f"'{where}' is '{value}', which is not a whole number")
    if isinstance(default, tuple):
        parts = value if isinstance(value, list) else str(value).split(",")
        return tuple(str(part).strip() for part in parts if str(part).strip())
    if setting.choices and str(value) not in setting.choices:
        raise UsageError(f"'{where}' is '{value}'", f"it is {' or '.join(setting.choices)}")
    return str(value)


def setting(key: str) -> Setting:
    """Return the setting with that key, in any case."""
    return _BY_KEY[key.lower()]
