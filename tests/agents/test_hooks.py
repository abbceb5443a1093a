"""Hooks of agents: who speaks, in which repository, and that nothing ever fails an agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.agents.hooks import log as log_file
from gitmem.agents.hooks.dialect import AGENTS, dialect
from gitmem.agents.hooks.entry import EVENTS as OURS
from tests.agents.hooked import (
    AGENTS as SAMPLED,
)
from tests.agents.hooked import (
    EVENTS,
    context,
    hook,
    log,
    sample,
    samples,
    tree,
)
from tests.sessions.samples import SHARED, needs_samples
from tests.support import git, run_cli


@pytest.fixture
def ready(repo: Path) -> Path:
    """Return a repository that was set up, with one memory."""
    assert run_cli("init", cwd=repo).returncode == 0
    text = "Use PostgreSQL as the database: the team knows it"
    assert run_cli("remember", text, "-k", "decision", "-i", "high", cwd=repo).returncode == 0
    return repo


# -- who speaks -------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", SAMPLED)
def test_an_agent_is_told_by_what_it_says(agent: str, repo: Path) -> None:
    for said in samples(agent, repo):
        found = dialect("", said, {})
        assert found and found.agent == agent, said


def test_the_environment_tells_where_what_is_said_does_not() -> None:
    said: dict[str, object] = {"hook_event_name": "SessionStart", "session_id": "x"}
    project = {"CLAUDE_PROJECT_DIR": "/x"}
    assert dialect("", said, {}) is None
    for environ, agent in (
        (project, "claude-code"),
        ({**project, "GEMINI_PROJECT_DIR": "/x"}, "gemini"),  # which sets the other's name too
        ({**project, "CURSOR_VERSION": "3.20"}, None),  # it reads both dialects, and would twice
        ({**project, "COPILOT_CLI": "1"}, None),
    ):
        found = dialect("", said, environ)
        assert (found.agent if found else None) == agent


def test_who_is_named_is_not_asked() -> None:
    assert [found.agent for name in AGENTS if (found := dialect(name, {}, {}))] == list(AGENTS)
    assert dialect("nobody", {}, {"CLAUDE_PROJECT_DIR": "/x"}) is None


@pytest.mark.parametrize("agent", SAMPLED)
def test_every_event_of_an_agent_is_answered_in_its_words(agent: str, ready: Path) -> None:
    patient = {"GITMEM_RECALL_TIMEOUT": "60000"}
    for number, said in enumerate(samples(agent, ready)):
        event = EVENTS[said["hook_event_name"]]
        answer = hook(ready, event, said, agent, patient)
        again = {**said, "session_id": f"another-{number}"} if event == "prompt" else said
        assert answer == hook(ready, event, again, env=patient), "named or not"
        if event == "session-start":
            assert "Use PostgreSQL" in context(answer, said["hook_event_name"])
        elif event != "prompt":
            assert answer == "", "or the agent would go on"


@needs_samples
@pytest.mark.parametrize(
    "place",
    sorted(SHARED.glob("transcripts/*/*hook-stdin*")) if SHARED else [],
    ids=lambda p: p.name,
)
def test_what_agents_really_said(place: Path, ready: Path) -> None:
    for line in place.read_text().splitlines():
        said = json.loads(line)
        event = EVENTS[said["hook_event_name"]]
        assert hook(ready.parent, event, said) == "", "its folder is none here"
        answer = hook(ready, event, {**said, "cwd": str(ready)})
        if event == "session-start":
            assert "Use PostgreSQL" in context(answer)
        elif event != "prompt":
            assert answer == ""
    assert "failed" not in log(ready)


# -- what is said -----------------------------------------------------------------------------

BROKEN = {
    "nothing": b"",
    "no JSON": b"hello",
    "torn": b'{"session_id": "x", "cwd": ',
    "an array": b'[{"cwd": "."}]',
    "a number": b"7",
    "not UTF-8": b'{"cwd": "\xff\xfe"}',
    "null bytes": b"\0" * 1000,
    "deep": b"[" * 200_000,
    "1 MB": b'{"prompt": "' + b"x" * 2**20 + b'"}',
    "an empty object": b"{}",
    "other types": b'{"cwd": 7, "session_id": [], "prompt": {}, "transcript_path": null}',
    "a path with a NUL": b'{"cwd": "/a\\u0000b", "hook_event_name": "SessionStart"}',
    "half a pair": b'{"cwd": "\\ud83d", "prompt": "\\ud83d", "hook_event_name": "Stop"}',
}


@pytest.mark.parametrize("said", BROKEN.values(), ids=list(BROKEN))
def test_what_cannot_be_understood_is_answered_with_nothing(said: bytes, repo: Path) -> None:
    assert run_cli("init", cwd=repo).returncode == 0
    for event, agent in (("session-start", ""), ("prompt", "claude-code"), ("stop", "codex")):
        assert hook(repo, event, said, agent) == ""


@pytest.mark.parametrize(
    "arguments",
    [[], ["unknown"], ["stop", "--agent"], ["stop", "--agent", "nobody"], ["stop", "x"]],
)
def test_arguments_that_mean_nothing(arguments: list[str], ready: Path) -> None:
    said = json.dumps(sample("claude-code", ready, "session-start"))
    done = run_cli("hook", *arguments, cwd=ready, input=said)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_help_says_how_it_is_called(repo: Path) -> None:
    done = run_cli("hook", "--help", cwd=repo)
    assert done.returncode == 0 and all(event in done.stdout for event in OURS)


def test_one_who_never_closes_the_pipe_is_not_waited_for(ready: Path) -> None:
    command = [sys.executable, "-m", "gitmem", "hook", "session-start"]
    said = json.dumps(sample("codex", ready, "session-start")).encode()
    with subprocess.Popen(
        command, cwd=ready, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(said)
        process.stdin.flush()
        assert "Use PostgreSQL" in context(process.stdout.read().decode())
        assert process.wait() == 0


def test_one_who_does_not_listen_is_no_trouble(ready: Path) -> None:
    said = json.dumps(sample("claude-code", ready, "session-start"))
    script = f"{sys.executable} -m gitmem hook session-start >&-; echo $?"
    done = subprocess.run(
        ["sh", "-c", script], cwd=ready, input=said, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


# -- where ------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", OURS)
def test_a_clone_without_init_is_left_alone(event: str, repo: Path) -> None:
    before = tree(repo), git(repo, "for-each-ref")
    assert hook(repo, event, sample("claude-code", repo, event), "claude-code") == ""
    assert (tree(repo), git(repo, "for-each-ref")) == before


def test_outside_of_a_repository_nothing_is_said_and_the_cache_has_the_log(
    tmp_path: Path, hermetic: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    said = sample("codex", outside, "session-start")
    assert hook(outside, "session-start", said) == ""
    assert "codex session-start" in (hermetic / ".cache" / "gitmem" / "hooks.log").read_text()
    assert list(outside.iterdir()) == []


def test_without_a_home_it_works(ready: Path) -> None:
    said = sample("codex", ready, "session-start")
    for home in ("", "/nonexistent"):
        env = {"HOME": home, "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "a@example.com"}
        assert "Use PostgreSQL" in context(hook(ready, "session-start", said, env=env))


def test_a_subdirectory_a_worktree_and_a_directory_that_is_gone(ready: Path) -> None:
    (ready / "src" / "deep").mkdir(parents=True)
    git(ready, "worktree", "add", "-q", "../side")
    places = [ready / "src" / "deep", ready.parent / "side"]
    for place in places:
        answer = hook(ready.parent, "session-start", sample("gemini", place, "session-start"))
        assert "Use PostgreSQL" in context(answer), place
    gone = sample("claude-code", ready / "gone", "session-start")
    project = {"CLAUDE_PROJECT_DIR": str(ready)}
    assert "Use PostgreSQL" in context(hook(ready.parent, "session-start", gone, env=project))


def test_a_directory_that_was_deleted_under_the_agent(ready: Path) -> None:
    said = json.dumps(sample("claude-code", ready, "session-start"))
    gone = ready.parent / "gone"
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -P -m gitmem hook session-start"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", script], input=said, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Use PostgreSQL" in context(done.stdout)


def test_a_session_that_left_the_repository_still_belongs_to_it(ready: Path) -> None:
    said = sample("claude-code", Path("/"), "session-start")
    env = {"CLAUDE_PROJECT_DIR": str(ready)}
    assert "Use PostgreSQL" in context(hook(ready.parent, "session-start", said, env=env))


def test_git_names_the_repository_to_whoever_is_started_by_it(ready: Path) -> None:
    said = sample("claude-code", ready, "session-start")
    env = {"GIT_DIR": str(ready / ".git"), "GIT_WORK_TREE": str(ready)}
    assert "Use PostgreSQL" in context(hook(ready, "session-start", said, env=env))


def test_a_repository_that_is_damaged_is_answered_with_nothing_and_noted(ready: Path) -> None:
    (ready / ".git" / "HEAD").write_text("nonsense\n")
    said = sample("claude-code", ready, "session-start")
    assert hook(ready, "session-start", said) == ""
    assert "failed: NotARepository" in log(ready)


def test_a_repository_that_cannot_be_written_can_be_read(ready: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    (ready / ".git").chmod(0o500)
    said = sample("claude-code", ready, "session-start")
    assert "Use PostgreSQL" in context(hook(ready, "session-start", said))


# -- who is left alone ------------------------------------------------------------------------


@pytest.mark.parametrize(("globs", "served"), [("codex", True), ("claude-*", False), ("*", False)])
def test_excluded_agents_are_neither_captured_nor_served(
    globs: str, served: bool, ready: Path
) -> None:
    said = sample("claude-code", ready, "session-start")
    assert context(hook(ready, "session-start", said))
    git(ready, "config", "gitmem.excludeAgents", f"nobody,{globs}")
    assert bool(hook(ready, "session-start", said)) == served
    prompt = sample("claude-code", ready, "prompt", prompt="remember that we deploy on Fridays")
    hook(ready, "prompt", prompt)
    assert ("Fridays" in run_cli("list", cwd=ready).stdout) == served


def test_the_role_of_a_subagent_can_be_excluded(ready: Path) -> None:
    git(ready, "config", "gitmem.excludeAgents", "claude-code/Explore")
    said = sample("claude-code", ready, "session-start")
    assert hook(ready, "session-start", said)
    assert hook(ready, "session-start", {**said, "agent_type": "Explore"}) == ""
    assert hook(ready, "session-start", {**said, "agent_type": "Plan"})


# -- the log ----------------------------------------------------------------------------------


def test_the_log_says_what_was_done_and_nothing_that_was_said(ready: Path) -> None:
    hook(ready, "session-start", sample("codex", ready, "session-start"))
    hook(ready, "prompt", sample("codex", ready, "prompt", prompt="my salary is secret"))
    lines = log(ready).splitlines()
    assert [line.split()[1:3] for line in lines] == [
        ["codex", "session-start:"],
        ["codex", "prompt:"],
    ]
    assert "salary" not in log(ready)


def test_the_log_is_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "hooks"
    for number in range(8):
        log_file.write(str(folder), f"{number} {'x' * (log_file.LARGEST // 2)}")
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert set(sizes) == {log_file.NAME, f"{log_file.NAME}.1"}
    assert max(sizes.values()) < 2 * log_file.LARGEST
    assert (folder / log_file.NAME).read_text().split()[1] in ("6", "7")


def test_deinit_takes_all_of_it_away(ready: Path) -> None:
    hook(ready, "session-start", sample("codex", ready, "session-start"))
    assert (ready / ".git" / "gitmem" / "hooks").is_dir()
    assert run_cli("deinit", cwd=ready).returncode == 0
    assert not (ready / ".git" / "gitmem" / "hooks").exists()
