"""`scripts/memory.py` takes that other script's arguments and prints its JSON; gitmem does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.search.embedders import MODEL, needs_model
from tests.support import git, run_cli

SCRIPT = Path(__file__).parents[2] / "skills" / "gitmem" / "scripts" / "memory.py"
DECISION = '{"decision": "Use PostgreSQL", "reason": "the team knows it"}'
ROW = {"id", "s", "t", "i", "b"}

Run = Callable[..., str]


def run(repo: Path, *args: str, env: dict[str, str] | None = None) -> Any:
    return subprocess.run(
        [sys.executable, SCRIPT, "-p", str(repo), *args],
        cwd=repo.parent,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
    )


@pytest.fixture
def memory(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the script in the test's repository, with gitmem on the path; return what it prints."""
    program = tmp_path / "bin" / "gitmem"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def run_here(*args: str) -> str:
        done = run(repo, *args)
        assert (done.returncode, done.stderr) == (0, ""), f"{args}: {done.stderr}"
        return str(done.stdout.rstrip("\n"))

    return run_here


def test_a_session(memory: Run, repo: Path) -> None:
    assert json.loads(memory("sync", "--start")) == {"b": "main", "t": {}, "c": [], "n": 0, "h": []}
    critical = memory("remember", "Never log card numbers", "-i", "c", "-t", "security, billing")
    high = memory("r", DECISION, "-t", "topic:storage", "-i", "h")
    started = json.loads(memory("sync", "--start"))
    assert started["b"] == "main" and started["n"] == 2
    assert started["t"] == {"billing": 1, "security": 1, "storage": 1}
    assert [one["id"] for one in started["c"]] == [critical]
    assert [one["id"] for one in started["h"]] == [high]
    ended = json.loads(memory("sync", "--end", '{"summary": "moved the pool"}'))
    assert ended == {"ok": True, "mid": ended["mid"], "branch": "main"}
    assert "moved the pool" in run_cli("show", ended["mid"], cwd=repo).stdout
    assert memory("sync") == ""


def test_what_is_remembered_is_found(memory: Run) -> None:
    id = memory("remember", DECISION, "-i", "h", "-t", "database,storage")
    other = memory("remember", "The freeze ends on Friday")
    row = {"id": id, "s": "Use PostgreSQL", "t": "decision", "i": "h", "b": "main"}
    assert json.loads(memory("get", "postgres")) == {"topic": "postgres", "mem": [row]}
    assert json.loads(memory("g", "STORAGE"))["mem"] == [row], "tags count, in any case"
    assert json.loads(memory("recall", "-q", "postgres"))["mem"] == [row]
    assert json.loads(memory("search", "postgresql")) == {"query": "postgresql", "results": [row]}
    assert json.loads(memory("s", "freezes"))["results"][0]["id"] == other, "stems, by gitmem"
    assert json.loads(memory("g", "freezes"))["mem"][0].keys() == ROW
    assert json.loads(memory("s", "nowhere")) == {"query": "nowhere", "results": []}


def test_a_file_is_no_memory(memory: Run, repo: Path) -> None:
    """A file of the work tree that fitted best was a traceback."""
    (repo / "pool.py").write_text("def pool(): ...\n")
    id = memory("remember", "The pool has ten connections")
    assert [one["id"] for one in json.loads(memory("search", "pool"))["results"]] == [id]


@needs_model
def test_what_only_stands_near_is_not_found(memory: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITMEM_CACHE_DIR", str(MODEL.parents[1]))
    id = memory("remember", DECISION)
    memory("remember", "The freeze ends on Friday")
    assert json.loads(memory("get", "quantumphysics"))["mem"] == []
    assert [one["id"] for one in json.loads(memory("search", "database"))["results"]] == [id]


def test_recall(memory: Run, repo: Path) -> None:
    id = memory("r", '{"topic": "auth", "learned": "OAuth2 #login"}', "-t", "sec", "-i", "c")
    last = memory("r", "The freeze ends on Friday")
    memory("evolve", id, "still so")
    found = json.loads(memory("recall", "-i", id))
    assert found["d"] == {"topic": "auth", "learned": "OAuth2 #login"}
    assert (found["t"], found["g"], found["i"], found["b"]) == ("learning", ["sec"], "c", "main")
    assert found["e"][:2] == ["auth", "login"]
    assert [note["n"] for note in found["ev"]] == ["still so"]
    assert found.keys() == {"d", "e", "t", "g", "i", "b", "c", "u", "a", "ev"}
    assert json.loads(memory("q", "-i", last))["d"] == "The freeze ends on Friday"
    assert list(json.loads(memory("q", "-t", "SEC"))) == [id]
    assert list(json.loads(memory("q", "--last", "1"))) == [last]
    entry = json.loads(memory("q", "--last", "2"))[id]
    assert entry.keys() == {"s", "e", "t", "i", "u"} and entry["s"] == "auth"
    whole = json.loads(memory("recall"))
    assert whole == {"b": "main", "n": 2, "t": ["sec"], "recent": [last, id]}
    assert memory("recall", "-i", "00000000") == memory("recall", "-t", "nobody's") == "null"
    assert json.loads(run_cli("show", id, "--json", cwd=repo).stdout)["data"][0]["kind"] == "lesson"


def test_update(memory: Run) -> None:
    id = memory("remember", DECISION)
    assert memory("update", id, '{"reason": "PostGIS"}', "-m") == "ok"
    assert memory("u", id, "-i", "c", "-t", "a,b") == "ok"
    found = json.loads(memory("q", "-i", id))
    assert found["d"] == {"decision": "Use PostgreSQL", "reason": "PostGIS"}
    assert (found["i"], found["g"]) == ("c", ["a", "b"])
    assert memory("update", id) == "ok"
    assert memory("update", id, "- text, at last") == "ok"
    assert json.loads(memory("q", "-i", id))["d"] == "- text, at last"
    for words in (["update", "00000000", "x"], ["evolve", "00000000", "x"], ["f", "00000000"]):
        assert memory(*words) == "not found"
    assert (memory("forget", id), memory("f", id)) == ("ok", "not found")


def test_entities_and_branches(memory: Run, repo: Path) -> None:
    id = memory("r", DECISION)
    assert json.loads(memory("entities")) == {"entities": {"postgresql": 1}, "total": 1}
    assert memory("ent") == memory("entities")
    named = json.loads(memory("entity", "postgresql"))
    assert named["count"] == 1
    assert named["memories"] == [{"id": id, "s": "Use PostgreSQL", "t": "decision"}]
    assert json.loads(memory("entity", "nobody")) == {"error": "not found"}
    git(repo, "checkout", "-q", "-b", "feature/login")
    memory("r", "Passwords are hashed with scrypt")
    git(repo, "checkout", "-q", "main")
    found = json.loads(memory("branches"))
    assert found["current"] == "main"
    assert found["branches"]["feature/login"] == {"count": 2, "current": False}
    assert json.loads(memory("br"))["branches"]["main"] == {"count": 1, "current": True}
    assert "scrypt" not in memory("get", "scrypt")[len('{"topic":"scrypt"') :]
    assert json.loads(memory("merge-branch", "feature/login"))["merged"]
    assert json.loads(memory("get", "scrypt"))["mem"]
    assert json.loads(memory("mb", "nowhere")) == {"merged": [], "conflicts": [], "errors": []}


def test_odd_content_arrives_whole(memory: Run) -> None:
    for content in ("-i c", "[1, 2]", "42", "è 记住 \U0001f9e0", '"in quotes"', "a\nb"):
        id = memory("remember", "--", content)
        expected = "in quotes" if content.startswith('"') else content
        assert json.loads(memory("recall", "-i", id))["d"] == expected


def test_no_repository_is_made_and_the_exit_code_is_gitmems(memory: Run, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for words in (["remember", "x"], ["sync", "--start"], ["recall", "-i", "1a2b3c4d"]):
        done = run(outside, *words)
        assert (done.returncode, done.stdout) == (3, "")
        assert "error" in done.stderr and "Traceback" not in done.stderr
    assert list(outside.iterdir()) == []


def test_where_gitmem_is_looked_for(memory: Run, repo: Path, hermetic: Path) -> None:
    bare = {"PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin"}
    if (Path(sys.executable).parent / "gitmem").exists():
        bare["PATH"] = "/usr/bin:/bin"
    done = run(repo, "remember", "x", env=bare)
    assert (done.returncode, done.stdout) == (4, "")
    assert "gitmem is not on the path" in done.stderr
    named = {**bare, "GITMEM": f"'{sys.executable}' -m gitmem"}
    assert run(repo, "remember", "x", env=named).returncode == 0
    local = hermetic / ".local" / "bin" / "gitmem"
    local.parent.mkdir(parents=True)
    local.symlink_to(repo.parent / "bin" / "gitmem")
    assert run(repo, "remember", "x", env=bare).returncode == 0


def test_it_needs_the_standard_library_alone(repo: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, "--help"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "merge-branch" in done.stdout
