"""Every test runs in a home directory of its own, with no git setting from outside."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import git

settings.register_profile(
    "gitmem", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("gitmem")

# Whoever starts the tests in the background of a shell has ^C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

DROPPED = ("EDITOR", "EMAIL", "PYTHONUNBUFFERED", "VISUAL")

GITCONFIG = """\
[user]
\tname = Ada
\temail = ada@example.com
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
"""


@pytest.fixture(autouse=True)
def hermetic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the test a temporary HOME and no variable that changes what git or gitmem does."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "GITMEM_", "XDG_")) or name in DROPPED:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GITCONFIG)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("NO_COLOR", "1")
    root = str(Path(__file__).parent.parent)
    monkeypatch.setenv("PYTHONPATH", root)
    return home


@pytest.fixture
def repo(tmp_path: Path, hermetic: Path) -> Path:
    """Return a fresh repository with one commit."""
    path = tmp_path / "repo"
    path.mkdir()
    git(path, "init", "-q")
    (path / "README.md").write_text("# demo\n")
    git(path, "add", "README.md")
    git(path, "commit", "-q", "-m", "first")
    return path
