"""docs/cli.md and docs/settings.md say what the program does, and their examples run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from gitmem.cli.commands import ALIASES, MODULES, SECTIONS
from gitmem.cli.main import cli
from gitmem.cli.verb import Verb
from gitmem.config import SETTINGS
from tests.cli.conftest import Gitmem, invoke
from tests.support import git

ROOT = Path(__file__).parents[2]
SETTING_UP = ("init", "deinit", "completion", "model")
SERVING = ("mcp",)  # it ends the process that it runs in


def command(name: str) -> Verb:
    found = cli.get_command(click.Context(cli), name)
    assert isinstance(found, Verb)
    return found


def test_every_command_is_documented_and_every_documented_command_exists() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^### gitmem (\S+)$", page, re.MULTILINE) == list(MODULES)


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    for setting in SETTINGS:
        assert f"`{setting.key}`" in page
        assert f"`{setting.variable}`" in page


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/docs", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_check_finds_a_page_that_is_out_of_date(tmp_path: Path) -> None:
    for name in ("scripts", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("gitmem", "templates"):
        (tmp_path / name).symlink_to(ROOT / name)
    page = tmp_path / "docs/cli.md"
    page.write_text("mine")
    run = [sys.executable, tmp_path / "scripts/docs"]
    done = subprocess.run([*run, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "docs/cli.md is out of date: run scripts/docs\n")
    assert page.read_text() == "mine", "--check writes nothing"
    assert subprocess.run(run, capture_output=True, text=True).stdout == "wrote docs/cli.md\n"
    assert page.read_bytes() == (ROOT / "docs/cli.md").read_bytes()


@pytest.mark.parametrize("name", MODULES)
def test_every_command_has_help_with_examples(name: str) -> None:
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert f"Usage: gitmem {name}" in result.stdout
    assert command(name).examples
    for example in command(name).examples:
        assert f"  {example}\n" in result.stdout
        assert any(f"gitmem {called}" in example for called in names(name))
    assert "--json" in result.stdout
    assert "-C, --repo DIR" in result.stdout


@pytest.mark.parametrize(
    ("name", "about"), [(name, about) for rows in SECTIONS.values() for name, _, about in rows]
)
def test_the_overview_has_the_first_line_of_each_help(name: str, about: str) -> None:
    assert command(name).get_short_help_str(200) == about
    assert re.search(rf"^  {name} +{re.escape(about)}$", invoke("--help").stdout, re.MULTILINE)


def names(name: str) -> list[str]:
    """Return what a command may be called."""
    return [name, *(alias for alias, whole in ALIASES.items() if whole == name)]


def two_branches(repo: Path, remember: Callable[..., str]) -> None:
    """Set up what the examples speak of: a release, and a branch with a memory."""
    git(repo, "checkout", "-q", "-b", "feature/login")
    remember("Passwords are hashed with scrypt")
    git(repo, "checkout", "-q", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    git(repo, "tag", "v1.2")


def things_to_import(gitmem: Gitmem, folder: Path) -> None:
    """Set up what the examples import, and a conversation."""
    (folder / "rollouts").mkdir()
    memories = {"results": [{"id": "m1", "memory": "Prefers uv"}]}
    (folder / "memories.json").write_text(json.dumps(memories))
    (folder / "export.jsonl").write_text(gitmem("export").stdout)
    turns = [{"session": "5a1c0f54", "text": f"turn {number}"} for number in range(15)]
    (folder / "turns.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in turns))
    gitmem("import", "jsonl", "--from", str(folder / "turns.jsonl"))


@pytest.mark.parametrize("name", [name for name in MODULES if name not in SETTING_UP + SERVING])
def test_the_examples_run(
    name: str,
    repo: Path,
    gitmem: Gitmem,
    remember: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.chdir(tmp_path)
    two_branches(repo, remember)
    things_to_import(gitmem, tmp_path)
    for remote in ("origin", "upstream"):
        git(tmp_path, "init", "-q", "--bare", remote)
        git(repo, "remote", "add", remote, str(tmp_path / remote))
    other = remember("The pool is in src/db.py", "-t", "topic:storage")
    for example in command(name).examples:
        one = remember("Use PostgreSQL", "-t", "database")
        if name == "unlink":
            gitmem("link", one, "src/db.py")
        if name == "restore":
            gitmem("forget", one)
        if "--branch" in example or "--at" in example:
            git(repo, "commit", "-q", "--allow-empty", "-m", "third")
        words = shlex.split(example.replace("1a2b3c4d", one).replace("5e6f7a8b", other))
        words = words[words.index("gitmem") + 1 :]
        for redirected in ("<", ">"):
            words = words[: words.index(redirected)] if redirected in words else words
        card = '{"summary": "s", "rounds": [{"session": "5a1c", "indexes": "3"}]}'
        given = card if name == "card" else "first\n"
        gitmem(*words, input=given if "-" in words else None)
