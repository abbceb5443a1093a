"""The skill is what the specification asks for, and every command that it names runs."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitmem.agents.install import skill
from gitmem.cli.commands import ALIASES, MODULES
from tests.cli.conftest import invoke
from tests.support import git

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "gitmem"
PAGES = sorted([*SKILL.rglob("*.md"), ROOT / "templates" / "AGENTS.md"])
FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
CODE = re.compile(r"```sh\n(.*?)```|`(gitmem [^`]+)`", re.DOTALL)


def front_matter() -> tuple[dict[str, object], str]:
    _, head, body = (SKILL / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def named(page: Path) -> Iterator[str]:
    """Yield the command lines that a page has in code."""
    for block, span in CODE.findall(page.read_text(encoding="utf-8")):
        for line in (block or span).splitlines():
            if line.startswith("gitmem "):
                yield line


COMMANDS = sorted({line for page in PAGES for line in named(page)})


def test_the_front_matter_is_as_specified() -> None:
    fields, body = front_matter()
    assert set(fields) <= FIELDS, "agents refuse other keys"
    assert fields["name"] == SKILL.name
    assert 1 <= len(str(fields["description"])) <= 1024
    assert len(str(fields["compatibility"])) <= 500
    assert "\n  openclaw:\n" in (SKILL / "SKILL.md").read_text(encoding="utf-8"), "block style"
    assert len(body.split("\n")) <= 500
    assert len(body) / 4 < 5000, "tokens"


def test_the_validator_of_the_specification_agrees() -> None:
    validate = pytest.importorskip("skills_ref", reason="of the dev extra").validate
    assert validate(SKILL) == []


def test_links_lead_to_files_beside_it() -> None:
    _, body = front_matter()
    for target in re.findall(r"\]\(([^)]+)\)|`(scripts/[^`]+)`", body):
        path = "".join(target)
        assert (SKILL / path).is_file(), path
        assert path.count("/") == 1, "one level deep"


def test_it_teaches_silence_and_every_importance() -> None:
    _, body = front_matter()
    for word in ("silent", "`critical`", "`high`", "`normal`", "`low`", "password"):
        assert word in body


def test_all_of_it_is_installed(hermetic: Path) -> None:
    found = {path.relative_to(SKILL) for path in SKILL.rglob("*") if path.is_file()}
    wanted = {path for path in found if "__pycache__" not in path.parts}
    assert {copy.path.relative_to(hermetic / "gitmem") for copy in skill.copies(hermetic)} == wanted


def test_enough_commands_are_named() -> None:
    names = {shlex.split(line)[1] for line in COMMANDS}
    assert names <= MODULES.keys() | ALIASES.keys()
    wanted = "remember search show get update evolve forget restore undo sync context".split()
    assert names >= set(wanted)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_runs(page: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As written, but for the id; what a page shows to be redirected comes from standard input."""
    monkeypatch.chdir(repo)
    git(repo, "checkout", "-q", "-b", "feature/login")
    for words in (["init"], ["remember", "elsewhere"]):
        assert invoke(*words).exit_code == 0
    git(repo, "checkout", "-q", "main")
    lines = list(named(page))
    assert lines
    for line in lines:
        id = invoke("remember", f"PostgreSQL, for {line}", "-t", "topic:storage").stdout.split()[0]
        if "unlink" in line:
            assert invoke("link", id, "src/db.py").exit_code == 0
        if "restore" in line:
            assert invoke("forget", id).exit_code == 0
        line = line.replace("1a2b3c4d", id).replace(" ID", f" {id}").partition(" < ")[0]
        done = invoke(*shlex.split(line, comments=True)[1:], input="from a file\n")
        assert done.exit_code == 0, f"{line}\n{done.output}"


def test_the_id_in_the_pages_is_never_real() -> None:
    ids = {id for line in COMMANDS for id in re.findall(r"\b[0-9a-f]{8}\b", line)}
    assert ids == {"1a2b3c4d"}


def test_scripts_are_executable_and_say_how_they_are_called() -> None:
    for script in (SKILL / "scripts").glob("*.py"):
        done = subprocess.run([script, "--help"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
