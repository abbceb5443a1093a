"""What is taken in as an agent stops: the transcript so far, whatever state it is in."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gitmem
from gitmem.agents.hooks import ended
from tests.agents.hooked import AGENTS, hook, log, sample
from tests.support import git

AT = "2026-11-19T10:00:00.000Z"


@pytest.fixture
def ready(repo: Path) -> Path:
    """Return a repository that was set up."""
    with gitmem.open(repo) as gm:
        gm.init()
    return repo


def line(id: str, text: str, role: str = "user", session: str = "s1") -> str:
    """Return a record as Claude Code writes it."""
    message = {"role": role, "content": text}
    record = {"type": role, "uuid": id, "sessionId": session, "timestamp": AT, "message": message}
    return json.dumps(record) + "\n"


def stop(repo: Path, transcript: Path | str, event: str = "stop", **said: object) -> None:
    """Tell that the agent stops; nothing is ever answered."""
    given = sample("claude-code", repo, event, transcript_path=str(transcript), session_id="s1")
    assert hook(repo, event, {**given, **said}, "claude-code") == ""


def rounds(repo: Path, session: str = "s1") -> list[str]:
    with gitmem.open(repo) as gm:
        found = [one.about.id for one in gm.sessions()]
        return [one.turn.text for one in gm.session(session).rounds] if session in found else []


def memories(repo: Path) -> Sequence[str]:
    with gitmem.open(repo) as gm:
        return [memory.body for memory in gm.list()][::-1]


@pytest.mark.parametrize("event", ["stop", "pre-compact"])
def test_a_session_is_taken_in_as_it_grows(event: str, ready: Path, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    for number in range(1, 4):
        with place.open("a") as file:
            file.write(line(str(number), f"turn {number}"))
        stop(ready, place, event)
        assert rounds(ready) == [f"turn {n}" for n in range(1, number + 1)]
    assert f"{event}: 1 rounds" in log(ready) and "failed" not in log(ready)


def test_one_that_is_not_there_yet_torn_or_gone(ready: Path, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    stop(ready, place)
    place.write_text(line("1", "one") + line("2", "two")[:50])
    stop(ready, place)
    assert rounds(ready) == ["one"]
    place.write_text(line("1", "one") + line("2", "two"))
    stop(ready, place)
    place.unlink()
    stop(ready, place)
    assert rounds(ready) == ["one", "two"] and "failed" not in log(ready)


@pytest.mark.parametrize("path", ["", "/", "relative.jsonl", "/dev/zero", "/nonexistent/x", "\0"])
def test_a_path_that_is_none(path: str, ready: Path) -> None:
    stop(ready, path)
    assert "failed" not in log(ready)
    with gitmem.open(ready) as gm:
        assert gm.sessions() == []


def test_a_fifo_is_not_waited_for(ready: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s1.jsonl")
    stop(ready, tmp_path / "s1.jsonl")
    assert "failed" not in log(ready)


def test_what_was_said_in_between_is_kept_once(ready: Path, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    prompt = sample("claude-code", ready, "prompt", prompt="We use uv, not poetry", session_id="s1")
    hook(ready, "prompt", prompt, "claude-code")
    place.write_text(
        line("1", "We use uv, not poetry")
        + line("2", "Decision: keep the cache in SQLite", "assistant")
        + line("3", "Remember that CI runs on Debian")
    )
    stop(ready, place)
    stop(ready, place, "pre-compact")
    expected = ["We use uv, not poetry", "keep the cache in SQLite", "CI runs on Debian"]
    assert memories(ready) == expected


def test_subagents_are_taken_in_and_what_they_are_told_is_nobodys_word(
    ready: Path, tmp_path: Path
) -> None:
    place = tmp_path / "s1.jsonl"
    place.write_text(line("1", "one"))
    sub = tmp_path / "s1" / "subagents" / "agent-ab12.jsonl"
    sub.parent.mkdir(parents=True)
    sub.write_text(line("9", "Remember that you are a subagent"))
    stop(ready, place)
    assert rounds(ready, "s1/agent-ab12") == ["Remember that you are a subagent"]
    assert memories(ready) == []


def test_what_was_written_last_is_taken_in_by_the_next_session(ready: Path, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    place.write_text(line("1", "one"))
    stop(ready, place, "session-end")
    assert rounds(ready) == [], "there is no time for it"
    with place.open("a") as file:
        file.write(line("2", "goodbye", "assistant"))
    stop(ready, tmp_path / "another.jsonl")
    assert rounds(ready) == ["one", "goodbye"]
    assert not (ready / ".git" / "gitmem" / "hooks" / ended.NAME).exists()


@pytest.mark.parametrize(
    "damage", ["", "{}", "[7]", '[["codex"]]', '[["nobody", "/x"]]', "[[1,2]]"]
)
def test_what_waits_may_be_damaged(ready: Path, tmp_path: Path, damage: str) -> None:
    place = tmp_path / "s1.jsonl"
    place.write_text(line("1", "one"))
    folder = ready / ".git" / "gitmem" / "hooks"
    folder.mkdir()
    (folder / ended.NAME).write_text(damage)
    stop(ready, place)
    assert rounds(ready) == ["one"] and "failed" not in log(ready)


def test_what_waits_is_bounded(tmp_path: Path) -> None:
    for number in range(ended.MOST + 5):
        ended.add(str(tmp_path), "codex", [f"/{number}"])
    assert len(ended.take(str(tmp_path))) == ended.MOST and ended.take(str(tmp_path)) == []


def test_two_agents_in_one_repository(ready: Path, tmp_path: Path) -> None:
    for session in ("s1", "s2"):
        place = tmp_path / f"{session}.jsonl"
        place.write_text(line("1", f"of {session}", session=session))
        stop(ready, place, session_id=session)
    assert (rounds(ready), rounds(ready, "s2")) == (["of s1"], ["of s2"])


def test_two_agents_at_once(ready: Path, tmp_path: Path) -> None:
    """Prompts and stops of two agents, in the repository and in a worktree of it."""
    git(ready, "worktree", "add", "-q", "../side")
    places = {"claude-code": ready, "codex": ready.parent / "side"}
    decided = {"claude-code": ("uv", "PostgreSQL", "Redis"), "codex": ("Vue", "Terraform", "Rust")}
    for agent in places:
        (tmp_path / f"{agent}.jsonl").write_text(line("1", f"of {agent}", session=agent))

    def work(agent: str) -> None:
        place = tmp_path / f"{agent}.jsonl"
        for number, what in enumerate(decided[agent]):
            said = sample(agent, places[agent], "prompt", prompt=f"We decided to use {what}.")
            hook(places[agent], "prompt", {**said, "session_id": agent}, agent)
            with place.open("a") as file:
                file.write(line(f"{number}b", f"turn {number}", session=agent))
            told = {**sample(agent, places[agent], "stop"), "transcript_path": str(place)}
            assert hook(places[agent], "stop", told, "claude-code") == ""

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, places))
    assert "failed" not in log(ready)
    turns = [f"turn {number}" for number in range(3)]
    for agent in places:
        assert rounds(ready, agent) == [f"of {agent}", *turns]
        mine = [f"We decided to use {what}" for what in decided[agent]]
        assert [text for text in memories(places[agent]) if text in mine] == mine


def test_one_that_is_written_meanwhile(ready: Path, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    texts = [f"turn {number}" for number in range(200)]

    def write() -> None:
        with place.open("w") as file:
            for number, text in enumerate(texts):
                whole = line(str(number), text)
                for part in (whole[:40], whole[40:]):
                    file.write(part)
                    file.flush()
                    time.sleep(0.003)

    with ThreadPoolExecutor() as pool:
        writing = pool.submit(write)
        while not writing.done():
            stop(ready, place)
        writing.result()
    stop(ready, place)
    assert rounds(ready) == texts and "failed" not in log(ready)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_without_a_transcript_is_no_trouble(agent: str, ready: Path) -> None:
    for event in ("stop", "pre-compact", "session-end"):
        assert hook(ready, event, sample(agent, ready, event), agent) == ""
    assert "failed" not in log(ready)


def test_without_an_author_nothing_is_kept(ready: Path, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    place.write_text(line("1", "one"))
    (tmp_path / "empty").mkdir()
    given = sample("claude-code", ready, "stop", transcript_path=str(place))
    env = {"HOME": str(tmp_path / "empty")}
    assert hook(ready, "stop", given, "claude-code", env) == ""
    assert "git knows" in log(ready) or "identity" in log(ready)


def test_a_session_that_grew_often_is_packed(ready: Path, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    with gitmem.open(ready) as gm:
        for number in range(150):
            with place.open("a") as file:
                file.write(line(str(number), f"turn {number}"))
            gm.import_transcripts("claude-code", path=place)
    private = ready / ".git" / "gitmem" / "private.git"
    counted = dict(row.split(": ") for row in git(private, "count-objects", "-v").splitlines())
    assert int(counted["packs"]) >= 1 and int(counted["count"]) < 600
    assert len(rounds(ready)) == 150 and git(private, "fsck", "--strict") == ""
