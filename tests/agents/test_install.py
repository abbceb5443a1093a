"""`install` puts gitmem into agents' settings, and `uninstall` gives back what was there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gitmem.agents.install import hooks as hooks_module
from gitmem.agents.install import jsontext
from gitmem.cli.install import NAMES
from tests.agents.hooked import environment
from tests.cli.conftest import invoke
from tests.support import git, run_cli

EVENTS = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"),
}
SETTINGS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
}
PROJECT = {**SETTINGS, "claude-code": ".claude/settings.local.json"}
AGENTS = sorted(SETTINGS)

THEIRS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done // \\"really\\""}]}
        ],
        "SessionStart": [
            {
                "matcher": "startup",
                "hooks": [
                    {"type": "command", "command": "other -m tool hook session-start"}
                ]
            }
        ],
        "PreToolUse": []
    },
    "permissions": {"allow": ["Bash(ls *)"], "deny": []}
}
"""
SAMPLES = {
    "others' hooks": THEIRS,
    "tabs": THEIRS.replace("    ", "\t"),
    "line ends of Windows": THEIRS.replace("\n", "\r\n"),
    "one line": json.dumps(json.loads(THEIRS)),
    "packed": json.dumps(json.loads(THEIRS), separators=(",", ":")),
    "a byte order mark": "\ufeff" + THEIRS,
    "no line end": THEIRS.rstrip(),
    "an empty object": "{}",
    "a roomy empty object": "{\n\n}\n",
    "no hooks": '{"theme": "d\u00e4rk \U0001f319"}\n',
    "empty hooks": '{"hooks": {}, "hooks2": {}}',
    "the same key twice": '{"hooks": {"Stop": []}, "a": 1, "hooks": {"Stop": []}}',
    "nothing": "",
    "blank lines": "\n\n",
}
COMMENTED = """\
// settings of mine
{
  "ui": {"theme": "dark"}, /* "hooks": { */
  "hooks": {
    // "AfterAgent": [
    "AfterAgent": [
      {"hooks": [{"type": "command", "command": "say done"}]} // mine
    ] // the last
  },
  "mcpServers": {
    "docs": {"command": "docs"} // and no comma
  } // the very last
} // after it
"""


def at(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def install(*args: str, code: int = 0, verb: str = "install") -> Result:
    result = invoke(verb, *args)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def uninstall(*args: str, code: int = 0) -> Result:
    return install(*args, code=code, verb="uninstall")


def commands(path: Path) -> dict[str, list[str]]:
    """Return gitmem's command lines in a file of settings, by event."""
    data = jsontext.parse(path.read_text(encoding="utf-8"), comments=True)
    found = {
        event: [
            hook["command"]
            for group in groups
            for hook in group["hooks"]
            if "-m gitmem" in hook["command"]
        ]
        for event, groups in data["hooks"].items()
    }
    return {event: lines for event, lines in found.items() if lines}


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file's bytes and time."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def settings_of(home: Path, agent: str) -> Path:
    return home / SETTINGS[agent]


# -- in, again, and out ---------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_install_registers_each_hook_once(hermetic: Path, agent: str) -> None:
    install(agent)
    found = commands(settings_of(hermetic, agent))
    assert sorted(found) == sorted(EVENTS[agent])
    for lines in found.values():
        (line,) = lines
        words = shlex.split(line)
        assert words[:5] == [sys.executable, "-P", "-m", "gitmem", "hook"]
        assert words[6:] == ["--agent", agent]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("sample", [*SAMPLES, "comments"])
def test_what_is_there_stays_and_comes_back(hermetic: Path, agent: str, sample: str) -> None:
    if sample == "comments" and agent != "gemini":
        pytest.skip("the agent takes no comments in its settings")
    text = SAMPLES.get(sample, COMMENTED)
    path = at(settings_of(hermetic, agent), text)
    before = jsontext.parse(text, comments=True)
    install(agent)
    after = jsontext.parse(path.read_bytes().decode(), comments=True)
    assert len(commands(path)) == len(EVENTS[agent])
    assert list(after)[: len(before)] == list(before), "keys keep their order"
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    for key in before.keys() - {"hooks", "mcpServers"}:
        assert after[key] == before[key]
    if sample == "comments":
        for comment in ("// settings of mine", '/* "hooks": { */', "// mine", "// after it"):
            assert comment in path.read_text()
    if "Windows" in sample:
        assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    uninstall(agent)
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("agent", AGENTS)
def test_again_writes_nothing(hermetic: Path, agent: str) -> None:
    at(settings_of(hermetic, agent), THEIRS)
    install(agent)
    before = tree(hermetic)
    assert install(agent).stdout == "everything is in place\n"
    assert tree(hermetic) == before
    uninstall(agent)
    before = tree(hermetic)
    assert uninstall(agent).stdout == "everything is in place\n"
    assert tree(hermetic) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_again_writes_nothing_after_others_wrote(hermetic: Path, agent: str) -> None:
    """Agents write their settings anew, in a form of their own."""
    install(agent)
    path = settings_of(hermetic, agent)
    data = json.loads(path.read_text())
    data = {"first": 1, **data}
    for groups in data["hooks"].values():
        groups.append({"hooks": [{"type": "command", "command": "later"}]})
    at(path, json.dumps(data))
    before = tree(hermetic)
    assert install(agent).stdout == "everything is in place\n"
    assert tree(hermetic) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_not_there_is_gone_afterwards(hermetic: Path, agent: str) -> None:
    before = sorted(path for path in hermetic.iterdir() if path.name != ".local")
    install(agent)
    assert sorted(hermetic.iterdir()) != before
    uninstall(agent)
    assert sorted(path for path in hermetic.iterdir() if path.name != ".local") == before


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("ledger", ["kept", "lost"])
def test_uninstall_takes_out_its_own_from_what_others_changed(
    hermetic: Path, agent: str, ledger: str
) -> None:
    path = at(settings_of(hermetic, agent), THEIRS)
    install(agent)
    data = json.loads(path.read_text())
    data["added"] = {"by": "somebody"}
    start = EVENTS[agent][0]
    ours = next(group for group in data["hooks"][start] if "gitmem" in json.dumps(group))
    ours["hooks"].insert(0, {"type": "command", "command": "in our group"})
    at(path, json.dumps(data, indent=1))
    if ledger == "lost":
        for kept in (hermetic / ".local/share/gitmem/install").glob("*.json"):
            kept.write_text("[torn")
    uninstall(agent)
    left = json.loads(path.read_text())
    theirs = json.loads(THEIRS)
    assert left.pop("added") == {"by": "somebody"}
    kept = left["hooks"][start].pop()
    assert kept["hooks"] == [{"type": "command", "command": "in our group"}]
    if not left["hooks"][start]:
        del left["hooks"][start]
    assert left == theirs


def test_a_file_that_install_made_and_others_use_stays(hermetic: Path) -> None:
    install("claude-code")
    path = settings_of(hermetic, "claude-code")
    data = json.loads(path.read_text())
    at(path, json.dumps({**data, "model": "opus"}))
    uninstall("claude-code")
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_what_is_left_empty_is_removed_if_install_made_it(hermetic: Path) -> None:
    install("claude-code")
    path = settings_of(hermetic, "claude-code")
    at(path, json.dumps(json.loads(path.read_text())))  # written anew by the agent
    uninstall("claude-code")
    assert not (hermetic / ".claude").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_another_interpreter_is_put_in_the_same_place(
    hermetic: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = at(settings_of(hermetic, agent), THEIRS)
    monkeypatch.setattr(sys, "executable", "/old/bin/python")
    install(agent)
    data = json.loads(path.read_text())
    data["hooks"][EVENTS[agent][0]].append({"hooks": [{"type": "command", "command": "later"}]})
    at(path, json.dumps(data, indent=2))
    monkeypatch.setattr(sys, "executable", "/new/bin/python")
    install(agent)
    text = path.read_text()
    assert "/old/bin/python" not in text
    expected = json.loads(json.dumps(data).replace("/old/bin/", "/new/bin/"))
    assert json.loads(text) == expected


def test_hooks_that_are_there_twice_or_for_other_occasions_become_one(hermetic: Path) -> None:
    line = hooks_module.command(sys.executable, "session-start", "claude-code")
    hook = {"type": "command", "command": line}
    data = {
        "hooks": {
            "SessionStart": [{"matcher": "resume", "hooks": [hook, {"command": "x"}, hook]}],
            "PostToolUse": [{"hooks": [hook]}],
        }
    }
    path = at(settings_of(hermetic, "claude-code"), json.dumps(data))
    install("claude-code")
    found = commands(path)
    assert sorted(found) == sorted(EVENTS["claude-code"])
    assert [len(lines) for lines in found.values()] == [1] * len(EVENTS["claude-code"])
    kept = json.loads(path.read_text())["hooks"]["SessionStart"][0]
    assert kept == {"matcher": "resume", "hooks": [{"command": "x"}]}


def test_the_mode_of_a_file_stays(hermetic: Path) -> None:
    path = at(settings_of(hermetic, "gemini"), "{}")
    path.chmod(0o600)
    install("gemini")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_ledger_keeps_no_copy_of_the_settings(hermetic: Path) -> None:
    secret = '{\n  "env": {"API_KEY": "hunter2"},\n  "a": 1\n}\n'
    at(settings_of(hermetic, "claude-code"), secret)
    install("claude-code")
    kept = (hermetic / ".local/share/gitmem/install/claude-code.json").read_text()
    assert "hunter2" not in kept


# -- what is registered works ---------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_the_registered_commands_run(
    hermetic: Path, repo: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the shell, from a repository whose files would be imported, by an odd path."""
    monkeypatch.setattr(sys, "executable", str(environment(hermetic / "it's my $HOME")))
    monkeypatch.delenv("PYTHONPATH")
    assert run_cli("init", cwd=repo).returncode == 0
    told = run_cli("remember", "Use PostgreSQL: the team knows it", "-i", "critical", cwd=repo)
    assert told.returncode == 0
    (repo / "json.py").write_text("raise SystemExit('imported from the repository')")
    install(agent)
    (line,) = commands(settings_of(hermetic, agent))["SessionStart"]
    said = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(repo)}
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=repo,
        input=json.dumps({**said, "source": "startup"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert "the team knows it" in answer["additionalContext"]


def test_what_the_user_must_still_do_is_said(hermetic: Path) -> None:
    assert "Next: run /hooks in Codex" in install("codex").stdout
    assert "claude mcp add --scope user gitmem -- " in install("claude-code").stdout
    data = json.loads(install("gemini", "--json").stdout)["data"]
    assert data["next"][-1] == "in each repository that should remember: gitmem init"


def test_timeouts_are_in_the_agents_units(hermetic: Path) -> None:
    for agent, least, most in (("claude-code", 3, 120), ("codex", 3, 120), ("gemini", 3e3, 6e4)):
        install(agent)
        data = json.loads(settings_of(hermetic, agent).read_text())
        times = [group[0]["hooks"][0]["timeout"] for group in data["hooks"].values()]
        assert (min(times), max(times)) == (least, most)
    codex = json.loads(settings_of(hermetic, "codex").read_text())["hooks"]
    assert codex["SessionEnd"][0]["hooks"][0]["timeout"] == 3, "more is clamped, with a warning"
    assert "async" not in json.dumps(codex)


# -- the MCP server -------------------------------------------------------------------------------

CONFIG = """\
# mine
model = "o5"   # a comment

[projects."/home/dev/proj"]
trust_level = "trusted"

[mcp_servers.docs]
command = "docs"

# about nothing
"""


@pytest.mark.parametrize("text", [CONFIG, CONFIG.rstrip(), CONFIG.replace("\n", "\r\n"), "", "\n"])
def test_codex_gets_its_server_in_toml(hermetic: Path, text: str) -> None:
    path = at(hermetic / ".codex/config.toml", text)
    install("codex")
    written = path.read_bytes().decode()
    assert written.startswith(text)
    server = tomllib.loads(written)["mcp_servers"]["gitmem"]
    assert [server["command"], *server["args"]] == [sys.executable, "-P", "-m", "gitmem", "mcp"]
    uninstall("codex")
    assert path.read_bytes() == text.encode()


def test_what_codex_notes_below_its_server_lives_and_goes_with_it(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = at(hermetic / ".codex/config.toml", CONFIG)
    monkeypatch.setattr(sys, "executable", "/old/bin/python")
    install("codex")
    noted = '\n[mcp_servers.gitmem.tools.memory_add]\napproval_mode = "approve"\n\n[tui]\nx = 1\n'
    at(path, path.read_text() + noted)
    monkeypatch.setattr(sys, "executable", '/new \\ "bin"/python')
    install("codex")
    server = tomllib.loads(path.read_text())["mcp_servers"]["gitmem"]
    assert server["command"] == '/new \\ "bin"/python'
    assert server["tools"] == {"memory_add": {"approval_mode": "approve"}}
    uninstall("codex")
    assert tomllib.loads(path.read_text()) == {**tomllib.loads(CONFIG), "tui": {"x": 1}}
    assert path.read_text().startswith(CONFIG.rstrip())


@pytest.mark.parametrize("agent", ["codex", "gemini"])
def test_a_server_of_that_name_that_is_somebody_elses_stays(hermetic: Path, agent: str) -> None:
    if agent == "codex":
        path = at(hermetic / ".codex/config.toml", '[mcp_servers.gitmem]\ncommand = "mine"\n')
    else:
        mine = '{"mcpServers": {"gitmem": {"command": "mine"}}}'
        path = at(hermetic / ".gemini/settings.json", mine)
    install(agent)
    assert '"mine"' in path.read_text()
    assert "-m" not in path.read_text().split("mcpServers")[-1].split("hooks")[0]
    uninstall(agent)
    assert '"mine"' in path.read_text()


@pytest.mark.parametrize("agent", ["codex", "gemini"])
def test_without_a_part_it_is_taken_out_again(hermetic: Path, agent: str) -> None:
    def servers() -> Any:
        if agent == "codex":
            path = hermetic / ".codex/config.toml"
            return tomllib.loads(path.read_text())["mcp_servers"] if path.exists() else {}
        return json.loads(settings_of(hermetic, agent).read_text()).get("mcpServers", {})

    install(agent)
    assert "gitmem" in servers()
    install(agent, "--without", "mcp")
    assert servers() == {}
    assert len(commands(settings_of(hermetic, agent))) == len(EVENTS[agent])
    install(agent, "--without", "hooks", "--without", "mcp")
    assert (settings_of(hermetic, agent).parent / "skills/gitmem/SKILL.md").is_file()
    assert not settings_of(hermetic, agent).exists()


# -- what cannot be used --------------------------------------------------------------------------

BROKEN = {
    "cut off": '{"hooks": {',
    "a trailing comma": '{"a": 1,}',
    "no object": "[]",
    "a number": "7",
    "text": "hello",
    "hooks that are a list": '{"hooks": []}',
    "an event that is no list": '{"hooks": {"SessionStart": {}}}',
    "not a number": '{"a": NaN}',
    "a comment that is not closed": '{"a": 1} /* ',
    "too deep": "[" * 100_000,
    "null": "null",
}


@pytest.mark.parametrize("verb", ["install", "uninstall"])
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_settings_that_cannot_be_used_are_left_alone(
    hermetic: Path, agent: str, text: str, verb: str
) -> None:
    at(settings_of(hermetic, agent), text)
    before = tree(hermetic)
    result = install(agent, code=1, verb=verb)
    (error, hint) = result.stderr.strip().split("\n")
    assert error.startswith(f"**error:** '~/{SETTINGS[agent]}' is left alone: ")
    assert "nothing was changed" in hint
    assert {path: what for path, what in tree(hermetic).items() if "lock" not in path} == before


def test_comments_where_an_agent_takes_none_are_refused(hermetic: Path) -> None:
    at(settings_of(hermetic, "claude-code"), COMMENTED)
    assert "is left alone: expecting" in install("claude-code", code=1).stderr


@pytest.mark.parametrize(
    "text",
    ["[mcp_servers", "mcp_servers = 3", 'mcp_servers = {docs = {command = "x"}}', "a = 1\na = 2"],
)
def test_toml_that_cannot_be_used_leaves_every_file_alone(hermetic: Path, text: str) -> None:
    path = at(hermetic / ".codex/config.toml", text)
    assert "'~/.codex/config.toml' is left alone" in install("codex", code=1).stderr
    assert path.read_text() == text
    assert not settings_of(hermetic, "codex").exists(), "nor is any other file written"
    install("codex", "--without", "mcp", code=0 if text.startswith("mcp_servers = {") else 1)


@pytest.mark.parametrize("agent", AGENTS)
def test_bytes_that_are_no_text(hermetic: Path, agent: str) -> None:
    path = settings_of(hermetic, agent)
    path.parent.mkdir()
    path.write_bytes(b'{"a": "\xff"}')
    assert "is not UTF-8 text" in install(agent, code=1).stderr
    assert path.read_bytes() == b'{"a": "\xff"}'


def test_a_read_only_file(hermetic: Path) -> None:
    path = at(settings_of(hermetic, "gemini"), "{}")
    path.chmod(0o444)
    assert "'~/.gemini/settings.json' is read-only" in install("gemini", code=4).stderr
    assert path.read_text() == "{}"
    assert not (hermetic / ".gemini/skills").exists()
    assert install("gemini", "--dry-run", code=4).stderr


@pytest.mark.parametrize("kind", ["folder", "fifo", "file for a folder"])
def test_something_else_where_the_file_should_be(hermetic: Path, kind: str) -> None:
    path = settings_of(hermetic, "claude-code")
    if kind == "file for a folder":
        at(path.parent, "")
    else:
        path.parent.mkdir()
        (os.mkfifo if kind == "fifo" else os.mkdir)(path)
    stderr = install("claude-code", code=4).stderr
    said = "not a directory" if kind == "file for a folder" else "is no regular file"
    assert "'~/.claude/settings.json'" in stderr and said in stderr


@pytest.mark.parametrize("home", [None, "", "relative", "/nowhere/at/all"])
def test_no_home(repo: Path, monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    result = install("claude-code", code=1)
    assert "HOME is" in result.stderr and "--project" in result.stderr
    install("-C", str(repo), "claude-code", "--project")
    assert (repo / PROJECT["claude-code"]).is_file()


@pytest.mark.parametrize("python", ["", "/caf\udce9/python", "/two\nlines/python"])
def test_an_interpreter_that_cannot_be_named(
    hermetic: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    assert "cannot be written into settings" in install("codex", code=1).stderr
    assert not (hermetic / ".codex").exists()


def test_variables_say_where_agents_are(
    hermetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for agent, variable, path in (
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ):
        monkeypatch.setenv(variable, str(tmp_path / agent))
        install(agent)
        assert len(commands(tmp_path / agent / path)) == len(EVENTS[agent])
        assert not settings_of(hermetic, agent).exists()


# -- links ----------------------------------------------------------------------------------------


def test_links_of_dotfiles_are_followed_and_stay(hermetic: Path) -> None:
    dotfiles = hermetic / "dotfiles"
    real = at(dotfiles / "claude.json", THEIRS)
    path = settings_of(hermetic, "claude-code")
    path.parent.mkdir()
    path.symlink_to(real)
    (hermetic / ".codex").symlink_to(dotfiles)
    install("claude-code")
    install("codex")
    assert path.is_symlink() and len(commands(real)) == len(EVENTS["claude-code"])
    assert (hermetic / ".codex").is_symlink()
    assert len(commands(dotfiles / "hooks.json")) == len(EVENTS["codex"])
    assert install("claude-code").stdout == "everything is in place\n"
    uninstall("claude-code")
    uninstall("codex")
    assert path.is_symlink() and real.read_text() == THEIRS
    assert sorted(child.name for child in dotfiles.iterdir()) == ["claude.json"]


def test_a_link_to_nothing_and_a_link_to_itself(hermetic: Path) -> None:
    path = settings_of(hermetic, "claude-code")
    path.parent.mkdir()
    path.symlink_to(hermetic / "gone.json")
    assert "which is not there" in install("claude-code", code=4).stderr
    path.unlink()
    path.symlink_to(path)
    install("claude-code", code=4)
    assert path.is_symlink()


def test_a_link_to_what_is_anothers_is_refused(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = at(hermetic / "theirs.json", "{}")
    path = settings_of(hermetic, "claude-code")
    path.parent.mkdir()
    path.symlink_to(real)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(real).st_uid + 1)
    assert "belongs to another user" in install("claude-code", code=5).stderr
    assert real.read_text() == "{}"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_link_out_of_the_repository_is_refused(hermetic: Path, repo: Path, agent: str) -> None:
    """Whoever wrote the repository would write into the home directory of its reader."""
    target = at(hermetic / "precious.json", "{}")
    path = repo / PROJECT[agent]
    path.parent.mkdir()
    path.symlink_to(target)
    assert "out of the repository" in install("-C", str(repo), agent, "--project", code=5).stderr
    assert target.read_text() == "{}"
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(hermetic)
    install("-C", str(repo), agent, "--project", code=5)


# -- in one repository ----------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_in_a_project_git_is_told_to_ignore_it(hermetic: Path, repo: Path, agent: str) -> None:
    exclude = repo / ".git/info/exclude"
    before = exclude.read_bytes()
    (repo / "sub").mkdir()
    install("-C", str(repo / "sub"), agent, "--project")
    assert len(commands(repo / PROJECT[agent])) == len(EVENTS[agent])
    assert not settings_of(hermetic, agent).exists()
    assert git(repo, "status", "--porcelain") == ""
    everything = tree(repo)
    assert install("-C", str(repo), agent, "--project").stdout == "everything is in place\n"
    assert tree(repo) == everything
    uninstall("-C", str(repo), agent)
    assert exclude.read_bytes() == before
    assert sorted(path.name for path in repo.iterdir()) == [".git", "README.md", "sub"]


def test_two_agents_in_a_project_leave_in_any_order(repo: Path) -> None:
    exclude = repo / ".git/info/exclude"
    before = exclude.read_bytes()
    for agent in AGENTS:
        install("-C", str(repo), agent, "--project")
    for agent in AGENTS:
        uninstall("-C", str(repo), agent, "--project")
    assert exclude.read_bytes() == before


@pytest.mark.parametrize("agent", AGENTS)
def test_a_committed_file_gets_no_path_of_this_machine(repo: Path, agent: str) -> None:
    at(repo / PROJECT[agent], "{}")
    git(repo, "add", "-f", ".")
    result = install("-C", str(repo), agent, "--project", code=5)
    assert f"'{PROJECT[agent]}' is committed" in result.stderr
    assert (repo / PROJECT[agent]).read_text() == "{}"
    assert uninstall("-C", str(repo), agent, "--project").stdout == "everything is in place\n"


def test_a_committed_skill_that_is_the_same_stays(repo: Path) -> None:
    install("-C", str(repo), "codex", "--project")
    git(repo, "add", "-f", ".agents")
    git(repo, "commit", "-q", "-m", "the skill, for all")
    assert install("-C", str(repo), "codex", "--project").stdout == "everything is in place\n"


def test_uninstall_looks_in_both_places(hermetic: Path, repo: Path) -> None:
    install("-C", str(repo), "gemini")
    install("-C", str(repo), "gemini", "--project")
    out = uninstall("-C", str(repo), "gemini").stdout
    assert "- ~/.gemini/settings.json: removed" in out
    assert "- .gemini/settings.json: removed" in out
    assert "- .git/info/exclude: changed" in out


def test_a_project_needs_a_working_tree(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    install("-C", str(outside), "codex", "--project", code=3)
    git(outside, "init", "-q", "--bare")
    assert "bare" in install("-C", str(outside), "codex", "--project", code=3).stderr


# -- the skill ------------------------------------------------------------------------------------


def test_a_skill_that_somebody_changed_is_theirs(hermetic: Path) -> None:
    install("claude-code")
    skill = hermetic / ".claude/skills/gitmem/SKILL.md"
    at(skill, "mine")
    out = install("claude-code").stdout
    assert "- ~/.claude/skills/gitmem/SKILL.md: yours, and left alone" in out
    uninstall("claude-code")
    assert skill.read_text() == "mine"


def test_a_skill_of_an_earlier_release_is_renewed(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gitmem.agents.install import skill

    with monkeypatch.context() as earlier:
        earlier.setattr(skill, "_files", lambda: {"SKILL.md": "of old", "gone.md": "of old"})
        install("claude-code")
    install("claude-code")
    folder = hermetic / ".claude/skills/gitmem"
    assert folder.joinpath("SKILL.md").read_text() != "of old"
    assert not folder.joinpath("gone.md").exists(), "a file that the skill no longer has"
    uninstall("claude-code")
    assert not (hermetic / ".claude").exists()


# -- several at once, and what goes wrong in between ----------------------------------------------


def test_two_installs_at_once(hermetic: Path, repo: Path) -> None:
    at(settings_of(hermetic, "claude-code"), THEIRS)
    at(settings_of(hermetic, "gemini"), COMMENTED)
    command = [sys.executable, "-m", "gitmem", "install"]
    running = [
        subprocess.Popen([*command, agent], cwd=repo, stdout=subprocess.DEVNULL)
        for agent in ["claude-code", "gemini"] * 3
    ]
    assert [process.wait() for process in running] == [0] * 6
    for agent in ("claude-code", "gemini"):
        found = commands(settings_of(hermetic, agent))
        assert [len(lines) for lines in found.values()] == [1] * len(EVENTS[agent])
        uninstall(agent)
    assert settings_of(hermetic, "claude-code").read_text() == THEIRS
    assert settings_of(hermetic, "gemini").read_text() == COMMENTED


def test_a_file_that_changes_in_between_is_read_again(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gitmem.mirror.files import Folder

    path = at(settings_of(hermetic, "claude-code"), '{"a": 1}')
    write, meddled = Folder.write, []

    def meddling(self: Folder, *args: Any, **more: Any) -> Any:
        if args[0].endswith("settings.json") and not meddled:
            meddled.append(at(path, '{"a": 1, "b": 2, "c": 3}'))
        return write(self, *args, **more)

    monkeypatch.setattr(Folder, "write", meddling)
    install("claude-code")
    assert meddled and len(commands(path)) == len(EVENTS["claude-code"])
    assert json.loads(path.read_text())["c"] == 3
    uninstall("claude-code")
    assert path.read_text() == '{"a": 1, "b": 2, "c": 3}'


def test_a_file_that_changes_all_the_time(hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gitmem.mirror.files import Folder

    at(settings_of(hermetic, "claude-code"), "{}")
    monkeypatch.setattr(Folder, "write", lambda *_, **__: None)
    assert "changes again and again" in install("claude-code", code=4).stderr


def test_a_crash_before_the_file_is_written_is_made_good(
    hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gitmem.mirror.files import Folder

    def crash(*_: Any, **__: Any) -> Iterator[None]:
        raise KeyboardInterrupt

    path = at(settings_of(hermetic, "gemini"), COMMENTED)
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write", crash)
        install("gemini", code=130)
    assert path.read_text() == COMMENTED
    uninstall("gemini")
    assert path.read_text() == COMMENTED
    install("gemini")
    assert len(commands(path)) == len(EVENTS["gemini"])


# -- dry runs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_dry_run_shows_a_diff_and_writes_nothing(hermetic: Path, repo: Path, agent: str) -> None:
    path = at(settings_of(hermetic, agent), THEIRS)
    before = tree(hermetic)
    data = json.loads(install(agent, "--dry-run", "--json").stdout)["data"]
    assert tree(hermetic) == before
    assert f"~/{SETTINGS[agent]}: would be changed" in data["changes"]
    git(hermetic, "init", "-q")
    diff = data["diff"].replace("--- ~/", "--- a/").replace("+++ ~/", "+++ b/") + "\n"
    git(hermetic, "apply", "-", input=diff)
    applied = path.read_bytes()
    at(path, THEIRS)
    install(agent)
    assert path.read_bytes() == applied
    everything = tree(hermetic)
    assert "would be changed" in uninstall(agent, "--dry-run").stdout
    assert tree(hermetic) == everything


def test_the_sections_of_the_page_work_as_written(hermetic: Path, repo: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")
    lines = re.findall(r"```sh\n(gitmem install .*)\n```", page)
    assert sorted(line.split()[2] for line in lines) == sorted(NAMES)
    for line in lines:
        install("-C", str(repo), *shlex.split(line)[2:])
    for agent in AGENTS:
        assert len(commands(settings_of(hermetic, agent))) == len(EVENTS[agent])
    assert (repo / "AGENTS.md").exists() and (repo / ".git/hooks/post-commit").exists()


# -- AGENTS.md, and git ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, "# Mine\n", "# Mine", "", "# Mine\r\n\r\nmore\r\n"])
def test_the_block_of_agents_md(repo: Path, text: str | None) -> None:
    path = repo / "AGENTS.md"
    if text is not None:
        at(path, text)
    install("-C", str(repo), "agents-md")
    written = path.read_bytes().decode()
    assert written.startswith(text or "") and "gitmem remember" in written
    assert install("-C", str(repo), "agents-md").stdout == "everything is in place\n"
    assert git(repo, "status", "--porcelain").split() == ["??", "AGENTS.md"], "it is for everybody"
    uninstall("-C", str(repo), "agents-md")
    assert (path.read_bytes() if path.exists() else None) == (text and text.encode()) or text == ""


def test_the_block_is_renewed_where_it_stands(repo: Path) -> None:
    old = "# Mine\n\n<!-- gitmem:begin -->\nof old\n<!-- gitmem:end -->\n\n## More\n"
    path = at(repo / "AGENTS.md", old)
    git(repo, "add", ".")
    install("-C", str(repo), "agents-md")
    written = path.read_text()
    assert "of old" not in written and written.endswith("<!-- gitmem:end -->\n\n## More\n")
    uninstall("-C", str(repo), "agents-md")
    assert path.read_text() == "# Mine\n\n## More\n"


@pytest.mark.parametrize(
    "text", ["<!-- gitmem:begin -->\nx", "<!-- gitmem:end -->x<!-- gitmem:begin -->"]
)
def test_a_block_that_is_not_closed_is_left_alone(repo: Path, text: str) -> None:
    path = at(repo / "AGENTS.md", text)
    assert "do not come in one pair" in install("-C", str(repo), "agents-md", code=1).stderr
    assert path.read_text() == text


def test_what_is_for_a_repository_is_not_for_a_user(repo: Path) -> None:
    for name in ("agents-md", "git"):
        assert "is for one repository" in install(name, "--user", code=1).stderr
    assert "'nobody' is not one of" in install("nobody", code=1).stderr


def test_git_gets_its_hooks_and_loses_them(repo: Path) -> None:
    folder = repo / ".git/hooks"
    before = tree(folder)
    dry = install("-C", str(repo), "git", "--dry-run").stdout
    assert "set up first" in dry and "+++ .git/hooks/post-commit" in dry
    assert tree(folder) == before and not (repo / "MEMORY.md").exists()
    install("-C", str(repo), "git")
    assert (folder / "post-commit").is_file() and (repo / "MEMORY.md").is_file()
    assert install("-C", str(repo), "git").stdout == "everything is in place\n"
    assert (
        ".git/hooks/post-merge: would be removed"
        in uninstall("-C", str(repo), "git", "--dry-run").stdout
    )
    uninstall("-C", str(repo), "git")
    assert tree(folder) == before
    assert uninstall("-C", str(repo), "git").stdout == "everything is in place\n"
    assert (repo / "MEMORY.md").is_file(), "the repository stays set up"


def test_a_dry_run_of_git_shows_what_comes_back(repo: Path) -> None:
    hook = at(repo / ".git/hooks/post-commit", "#!/usr/bin/env python3\nprint('mine')\n")
    hook.chmod(0o755)
    install("-C", str(repo), "git")
    everything = tree(repo)
    assert "+print('mine')" in uninstall("-C", str(repo), "git", "--dry-run").stdout
    assert tree(repo) == everything
    uninstall("-C", str(repo), "git")
    assert hook.read_text() == "#!/usr/bin/env python3\nprint('mine')\n"
