"""The import of transcripts: found, left alone when unchanged, cleaned, and broken in every way."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.errors import NotFound, UsageError
from gitmem.sessions import importing
from gitmem.sessions.importing import ImportReport
from tests.support import git

AT = "2026-11-19T10:00:00.000Z"
OLD = 1_700_000_000


@pytest.fixture
def gm(repo: Path) -> Iterator[Gitmem]:
    """Return the memory of a repository."""
    with gitmem.open(repo) as opened:
        yield opened


def record(id: str, text: str, session: str = "s1", **said: Any) -> str:
    """Return a line as Claude Code writes it."""
    message = {"role": said.pop("role", "user"), "content": said.pop("content", text)}
    return json.dumps({"type": message["role"], "uuid": id, "sessionId": session, "timestamp": AT,
                       "message": message, "parentUuid": None, **said})  # fmt: skip


def transcript(place: Path, *lines: str, age: float = OLD) -> Path:
    """Write a transcript, long ago."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{line}\n" for line in lines))
    os.utime(place, (age, age))
    return place


def take(gm: Gitmem, place: Path, **options: Any) -> ImportReport:
    return gm.import_transcripts("claude-code", path=place, **options)


def said(gm: Gitmem, id: str) -> list[str]:
    return [round.turn.text for round in gm.session(id).rounds]


def test_again_nothing_is_read_and_later_only_what_is_new(gm: Gitmem, tmp_path: Path) -> None:
    place = transcript(tmp_path / "t" / "s1.jsonl", record("1", "one"), record("2", "two"))
    first = take(gm, place.parent)
    assert (first.new, first.transcripts, first.unchanged) == (2, 1, 0)
    again = take(gm, place.parent)
    assert (again.new, again.transcripts, again.unchanged) == (0, 0, 1)
    transcript(place, record("1", "one"), record("2", "two"), record("3", "three"), age=OLD + 9)
    assert take(gm, place.parent).new == 1 and said(gm, "s1") == ["one", "two", "three"]
    log = git(gm._folder / "private.git", "log", "--format=%s", "refs/gitmem/sessions")
    assert log.splitlines() == ["import claude-code: 1 round in 1 session",
                                "import claude-code: 2 rounds in 1 session"]  # fmt: skip


def test_a_changed_round_is_reported_and_the_first_kept(gm: Gitmem, tmp_path: Path) -> None:
    place = transcript(tmp_path / "s1.jsonl", record("1", "one"))
    take(gm, place)
    transcript(place, record("1", "ONE"), age=OLD + 9)
    report = take(gm, place)
    assert (report.new, report.changed) == (0, 1) and said(gm, "s1") == ["one"]


def test_a_file_just_written_is_read_again(gm: Gitmem, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    place.write_text(record("1", "one") + "\n")
    take(gm, place)
    assert take(gm, place).transcripts == 1, "its time could be the same after another write"


def test_when_the_conversations_are_gone_all_is_read_again(gm: Gitmem, tmp_path: Path) -> None:
    place = transcript(tmp_path / "s1.jsonl", record("1", "one"))
    take(gm, place)
    git(gm._folder / "private.git", "update-ref", "-d", "refs/gitmem/sessions")
    assert take(gm, place).new == 1 and said(gm, "s1") == ["one"]


def test_a_dry_run_says_the_same_and_writes_nothing(gm: Gitmem, tmp_path: Path) -> None:
    place = transcript(tmp_path / "s1.jsonl", record("1", "one"), record("2", "two"))
    dry = take(gm, place, dry_run=True)
    assert dry.new == 2 and gm.sessions() == []
    assert not (gm._folder / "private.git").exists() and not (gm._folder / "imports.json").exists()
    assert take(gm, place).new == 2
    transcript(place, record("1", "one"), record("3", "three"), age=OLD + 9)
    assert take(gm, place, dry_run=True).new == 1 and len(said(gm, "s1")) == 2


def test_since_leaves_out_what_was_not_written_to(gm: Gitmem, tmp_path: Path) -> None:
    transcript(tmp_path / "t" / "old.jsonl", record("1", "old", "old"))
    transcript(tmp_path / "t" / "new.jsonl", record("1", "new", "new"), age=OLD + 86_400 * 30)
    assert take(gm, tmp_path / "t", since="2023-12-01").new == 1
    assert [one.about.id for one in gm.sessions()] == ["new"]


def test_by_default_only_what_is_about_this_repository(
    gm: Gitmem, repo: Path, hermetic: Path
) -> None:
    projects = hermetic / ".claude" / "projects"
    transcript(projects / "a" / "here.jsonl", record("1", "ours", "here", cwd=str(repo / "src")))
    transcript(projects / "b" / "there.jsonl", record("1", "theirs", "there", cwd="/elsewhere"))
    report = gm.import_transcripts("claude-code")
    assert (report.new, report.elsewhere) == (1, 1)
    assert [one.about.id for one in gm.sessions()] == ["here"]
    assert "claude-code" in gm.agents_here() and "codex" not in gm.agents_here()


def test_secrets_private_spans_and_our_own_words_are_not_kept(gm: Gitmem, tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    call = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "gitmem list"}}]
    answer = [{"type": "tool_result", "tool_use_id": "t1", "content": "1a2b3c4d a memory"}]
    place = transcript(
        tmp_path / "s1.jsonl",
        record("1", f"use {token} please"),
        record("2", "before <private>my salary</private> after"),
        record("3", "", role="assistant", content=call),
        record("4", "", content=answer),
        record("5", "<gitmem-memory>\nwhat gitmem injected\n</gitmem-memory>\n\nand my question"),
        record("6", "<private>all of it</private>"),
    )
    report = take(gm, place)
    assert sum(report.secrets.values()) == 1
    kept = said(gm, "s1")
    assert len(kept) == 3
    everything = "\n".join(kept)
    for gone in (token, "salary", "1a2b3c4d", "injected", "all of it"):
        assert gone not in everything
    assert "before" in everything and "after" in everything and "and my question" in everything
    everywhere = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=gm._folder / "private.git", capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert token.encode() not in everywhere and b"salary" not in everywhere


def test_output_of_tools_is_cut(gm: Gitmem, tmp_path: Path) -> None:
    call = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]
    output = "\n".join(f"line {number}" for number in range(1000))
    answer = [{"type": "tool_result", "tool_use_id": "t1", "content": output}]
    place = transcript(
        tmp_path / "s1.jsonl",
        record("1", "", role="assistant", content=call),
        record("2", "", content=answer),
        record("3", "x" * 100_000),
    )
    take(gm, place)
    tool, long = said(gm, "s1")
    assert tool.startswith("Bash: make\nline 0\n") and tool.endswith("line 999")
    assert "more lines]" in tool and len(tool) < 900
    assert len(long) < 66_000 and long.endswith("more characters]")


def test_the_agents_subagents_are_kept_apart(gm: Gitmem, tmp_path: Path) -> None:
    place = tmp_path / "t"
    transcript(place / "s1.jsonl", record("1", "one"))
    agent = record("9", "sub", isSidechain=True, agentId="ab12")
    transcript(place / "s1" / "subagents" / "agent-ab12.jsonl", agent)
    take(gm, place)
    subs = [one.about for one in gm.sessions() if one.about.parent]
    assert [sub.parent for sub in subs] == ["s1"] and said(gm, "claude-code/s1") == ["one"]


# -- bad input --------------------------------------------------------------------------------


def test_each_bad_file_is_said_and_the_rest_imported(gm: Gitmem, tmp_path: Path) -> None:
    place = tmp_path / "t"
    transcript(place / "good.jsonl", record("1", "good", "good"))
    transcript(place / "empty.jsonl")
    (place / "binary.jsonl").write_bytes(b"\xff\xfe\x00" * 100)
    (place / "array.jsonl").write_text('[{"type": "user"}]\n')
    (place / "endless.jsonl").write_bytes(b"x" * 3_000_000)
    (place / "folder.jsonl").mkdir()
    os.mkfifo(place / "fifo.jsonl")
    (place / "loop.jsonl").symlink_to("loop.jsonl")
    (place / "gone.jsonl").symlink_to("nowhere")
    transcript(place / "dots.jsonl", record("1", "dots", "../../../etc"))
    transcript(place / "torn.jsonl", record("1", "torn", "torn"), record("2", "half")[:40])
    odd = record("1", "1970", "old").replace(AT, "1970-01-01T00:00:00Z")
    transcript(place / "clock.jsonl", odd)
    report = take(gm, place)
    assert {one.about.id for one in gm.sessions()} == {"good", "../../../etc", "torn", "old"}
    names = {Path(path).name for path in report.unread}
    assert names >= {"empty.jsonl", "array.jsonl", "fifo.jsonl", "loop.jsonl", "gone.jsonl"}
    assert {"binary.jsonl", "endless.jsonl"} <= names
    assert report.new == 4 and all(report.unread.values())


def test_a_place_that_is_not_there(gm: Gitmem, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        take(gm, tmp_path / "nowhere")
    with pytest.raises(NotFound):
        gm.import_transcripts("no such agent")
    assert gm.import_transcripts("claude-code").transcripts == 0


def test_interrupted_what_was_read_is_kept(
    gm: Gitmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        transcript(tmp_path / "t" / f"{name}.jsonl", record("1", name, name))

    def stop(done: int, all: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take(gm, tmp_path / "t", progress=stop)
    assert {one.about.id for one in gm.sessions()} == {"a", "b"}
    report = take(gm, tmp_path / "t")
    assert (report.new, report.unchanged) == (1, 2)


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"tip": 1, "files": 2}', '{"files": {}}'])
def test_a_damaged_note_of_what_was_read_does_no_harm(
    gm: Gitmem, tmp_path: Path, damage: str
) -> None:
    place = transcript(tmp_path / "s1.jsonl", record("1", "one"))
    take(gm, place)
    (gm._folder / importing.STATE).write_text(damage)
    assert take(gm, place).new == 0 and said(gm, "s1") == ["one"]


# -- turns that a program gives ---------------------------------------------------------------


def test_a_conversation_that_a_program_gives(gm: Gitmem) -> None:
    turns = [{"role": "user", "text": "hi", "speaker": "Ada"}, {"text": "there", "at": AT, "x": 1}]
    assert gm.import_session(turns, session="chat").new == 2
    assert gm.import_session([*turns, {"role": "assistant", "text": "hm"}], session="chat").new == 1
    first, second, _ = gm.session("chat").rounds
    assert (first.turn.speaker, second.turn.role, second.turn.at[:10]) == ("Ada", "user", AT[:10])
    assert said(gm, "api/chat") == ["hi", "there", "hm"]


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        ({"role": "user"}, "turn 2 has no text"),
        ({"text": 7}, "turn 2 has no text"),
        ({"text": "x", "role": "god"}, "the role 'god'"),
        ({"text": "x", "at": "yesterday"}, "the time 'yesterday'"),
    ],
)
def test_a_wrong_turn_is_said_and_nothing_written(
    gm: Gitmem, turn: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        gm.import_session([{"text": "fine"}, turn], session="chat")
    assert gm.sessions() == []
