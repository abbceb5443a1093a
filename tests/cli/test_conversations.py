"""`gitmem import`, `session` and `card` as users see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Gitmem
from tests.support import git, run_cli

Ask = Callable[..., Any]


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """Return a file of turns in the general form."""
    said = [("user", "How many connections?"), ("assistant", "Five, the plan allows no more.")]
    lines = [
        json.dumps({"session": "pools", "id": str(n), "role": role, "text": text,
                    "at": f"2026-11-19T10:00:0{n}Z"})
        for n, (role, text) in enumerate(said)
    ]  # fmt: skip
    path = tmp_path / "turns.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_import_and_read(gitmem: Gitmem, ask: Ask, turns: Path) -> None:
    done = gitmem("import", "jsonl", "--from", str(turns))
    assert done.stdout.startswith("jsonl imported 2 rounds in 1 session (1 transcript read")
    (again,) = ask("import", "jsonl", "--from", str(turns))
    assert (again["rounds"], again["sessions"]) == (0, [])
    listed = gitmem("session", "list").stdout
    assert listed.startswith("pools **jsonl**") and "(2026-11-19 10:00, 2 rounds)" in listed
    shown = gitmem("session", "show", "pools#2").stdout
    assert "Five, the plan allows no more." in shown and shown.count("How many") == 1
    assert [r["role"] for r in ask("session", "show", "po")["rounds"]] == ["user", "assistant"]
    assert "imported: 2 rounds by Ada" in gitmem("session", "log", "pools").stdout


def test_tags(gitmem: Gitmem, ask: Ask, turns: Path) -> None:
    gitmem("import", "jsonl", "--from", str(turns))
    assert "#db" in gitmem("session", "tag", "pools", "db", "later").stdout
    assert ask("session", "untag", "pools", "later")[0]["tags"] == ["db"]
    assert len(ask("session", "list", "--tag", "db")) == 1
    assert ask("session", "list", "--agent", "codex") == []


def test_a_card_and_what_it_cites(gitmem: Gitmem, ask: Ask, turns: Path) -> None:
    gitmem("import", "jsonl", "--from", str(turns))
    card = {"summary": "Five connections", "rounds": [{"session": "pools", "indexes": "1-2"}]}
    made = gitmem("card", json.dumps(card), "-k", "decision").stdout
    id = made.split()[0]
    assert made == f"{id} remembered: Five connections\n"
    unfolded = gitmem("show", id, "--unfold").stdout
    assert "Five connections" in unfolded and "the plan allows no more" in unfolded
    assert "the plan allows no more" not in gitmem("show", id).stdout
    piped = gitmem("card", "-", input=json.dumps({**card, "summary": "Still five"})).stdout
    assert "Still five" in piped
    (entry,) = ask("show", id, "--unfold")
    assert entry["cited"][0]["rounds"][1]["index"] == 2


def test_a_dry_run(gitmem: Gitmem, ask: Ask, turns: Path) -> None:
    done = gitmem("import", "jsonl", "--from", str(turns), "--dry-run")
    assert done.stdout.startswith("jsonl would import 2 rounds")
    assert ask("session", "list") == []


def test_every_agent_that_is_here(gitmem: Gitmem, ask: Ask, repo: Path, hermetic: Path) -> None:
    assert "no agent keeps conversations" in gitmem("import", "--all").stderr
    project = hermetic / ".claude" / "projects" / "x"
    project.mkdir(parents=True)
    line = {"type": "user", "uuid": "1", "sessionId": "s1", "cwd": str(repo),
            "message": {"role": "user", "content": "hi"}}  # fmt: skip
    (project / "s1.jsonl").write_text(json.dumps(line) + "\n")
    (report,) = ask("import", "--all")
    assert (report["agent"], report["rounds"]) == ("claude-code", 1)


def test_an_export_comes_back(gitmem: Gitmem, ask: Ask, repo: Path, tmp_path: Path) -> None:
    gitmem("remember", "Use PostgreSQL", "-k", "decision")
    export = tmp_path / "export.jsonl"
    export.write_text(gitmem("export").stdout)
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repo), str(other))
    done = run_cli("import", "gitmem", "--from", str(export), cwd=other)
    assert done.stdout == "gitmem took in 1 event (1 found, 0 revised, 0 unchanged)\n"
    assert "Use PostgreSQL" in run_cli("list", cwd=other).stdout
    again = run_cli("import", "gitmem", "--from", str(export), cwd=other)
    assert "took in 0 events" in again.stdout


def test_another_tools_memories(gitmem: Gitmem, tmp_path: Path) -> None:
    memory = {"id": "m1", "memory": "Prefers uv", "created_at": "2026-01-02T03:04:05Z"}
    (tmp_path / "all.json").write_text(json.dumps({"results": [memory]}))
    done = gitmem("import", "mem0", "--from", str(tmp_path / "all.json"))
    assert done.stdout.startswith("mem0 took in 1 memory (1 found")
    assert "Prefers uv" in gitmem("list").stdout


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["import"], 1, "import takes a source, or --all"),
        (["import", "codex", "--all"], 1, "import takes a source, or --all"),
        (["import", "nonsense"], 2, "unknown source 'nonsense'"),
        (["import", "jsonl"], 1, "name it: --from FILE"),
        (["import", "codex", "--from", "/no/where"], 2, "there is no '/no/where'"),
        (["import", "codex", "--since", "soon"], 1, "'soon'"),
        (["session", "show"], 1, "session show needs an id"),
        (["session", "show", "nothing"], 2, "no session 'nothing'"),
        (["session", "list", "x"], 1, "list takes no id"),
        (["session", "tag", "x"], 1, "session tag needs a tag"),
        (["card", "just words"], 1, "a card is a JSON object"),
    ],
)
def test_what_is_wrong_is_said(gitmem: Gitmem, args: list[str], code: int, said: str) -> None:
    done = gitmem(*args, code=code)
    assert said in done.stderr and done.stdout == ""
