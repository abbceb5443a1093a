"""The plugin for Claude Code is what the sources make of it, and does what `install` does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem.agents.install.claude_code import AGENT
from gitmem.agents.install.place import of_user
from tests.support import run_cli

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "gitmem"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def commands() -> dict[str, str]:
    hooks = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    return {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}


def test_it_is_up_to_date() -> None:
    script = [sys.executable, ROOT / "scripts" / "plugin", "--check"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_check_finds_what_is_out_of_date(tmp_path: Path) -> None:
    for name in ("scripts", "plugins", "skills", ".claude-plugin"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "gitmem").symlink_to(ROOT / "gitmem")
    hooks = tmp_path / "plugins/gitmem/hooks/hooks.json"
    hooks.write_text("{}")
    extra = tmp_path / "plugins/gitmem/skills/gitmem/gone.md"
    extra.write_text("of an earlier release")
    script = [sys.executable, tmp_path / "scripts/plugin"]
    done = subprocess.run([*script, "--check"], capture_output=True, text=True)
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stderr.splitlines()] == [
        "plugins/gitmem/hooks/hooks.json",
        "plugins/gitmem/skills/gitmem/gone.md",
    ]
    assert hooks.read_text() == "{}", "--check writes nothing"
    subprocess.run(script, check=True, capture_output=True)
    assert hooks.read_bytes() == (PLUGIN / "hooks/hooks.json").read_bytes()
    assert not extra.exists()


def test_the_files_are_as_claude_code_reads_them() -> None:
    plugin = read(PLUGIN / ".claude-plugin" / "plugin.json")
    assert (plugin["name"], plugin["version"]) == ("gitmem", gitmem.__version__)
    market = read(ROOT / ".claude-plugin" / "marketplace.json")
    (listed,) = market["plugins"]
    assert listed["name"] == plugin["name"]
    assert listed["source"].startswith("./") and (ROOT / listed["source"]).samefile(PLUGIN)
    (server,) = read(PLUGIN / ".mcp.json")["mcpServers"].items()
    assert re.fullmatch(r"[A-Za-z0-9_-]+", server[0])
    assert server[1] == {"command": "gitmem", "args": ["mcp"]}
    assert (PLUGIN / "skills/gitmem/SKILL.md").is_file()
    assert os.access(PLUGIN / "skills/gitmem/scripts/memory.py", os.X_OK)


def test_it_has_the_hooks_that_install_registers(hermetic: Path) -> None:
    (part,) = AGENT.parts(of_user(os.environ, "/bin/python"))["hooks"]
    wanted = getattr(part, "groups")  # noqa: B009
    found = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert list(found) == list(wanted)
    for event, (group,) in found.items():
        (hook,), (other,) = group["hooks"], wanted[event]["hooks"]
        assert {**hook, "command": ""} == {**other, "command": ""}
        words = other["command"].split(" -m gitmem ")[1]
        assert f"then gitmem {words};" in hook["command"]
        assert group.get("matcher") == wanted[event].get("matcher")


@pytest.mark.parametrize("installed", [True, False])
def test_its_commands_run_with_and_without_gitmem(
    repo: Path, tmp_path: Path, installed: bool
) -> None:
    bin = tmp_path / "bin"
    bin.mkdir()
    for name in ("sh", "git"):
        (bin / name).symlink_to(str(shutil.which(name)))
    if installed:
        (bin / "gitmem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
        (bin / "gitmem").chmod(0o755)
    run_cli("init", cwd=repo)
    run_cli("remember", "Use PostgreSQL", "-i", "critical", cwd=repo)
    for event, line in commands().items():
        said = {"hook_event_name": event, "session_id": "s", "cwd": str(repo), "source": "startup"}
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=repo,
            input=json.dumps(said),
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": str(bin)},
        )
        assert (done.returncode, done.stderr) == (0, "")
        if event != "SessionStart":
            assert done.stdout == ""
        elif installed:
            assert (
                "Use PostgreSQL"
                in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
            )
        else:
            assert json.loads(done.stdout).keys() == {"systemMessage"}
