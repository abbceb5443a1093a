"""Every command once, as a user types it; in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Gitmem, invoke
from tests.support import git

Ask = Callable[..., Any]
Remember = Callable[..., str]


def test_remember_takes_every_option(ask: Ask, remember: Remember) -> None:
    old = remember("Use SQLite")
    memory = ask(
        "remember", "Use PostgreSQL", "-t", "a,b", "-t", "c", "-i", "h", "-k", "decision",
        "--scope", "repo", "--supersedes", old, "--expires", "2099-12-31",
    )  # fmt: skip
    assert memory["tags"] == ["a", "b", "c"]
    assert (memory["importance"], memory["kind"], memory["scope"]) == ("high", "decision", "repo")
    assert memory["expires"].startswith("2099-12-31")
    (link,) = memory["links"]
    assert link["rel"] == "supersedes" and link["target"].startswith(old)
    assert ask("remember", "mine alone", "--private")["journal"] == "private"


@pytest.mark.parametrize(
    ("given", "stored"), [*zip("chnl", "critical high normal low".split(), strict=True)]
)
def test_importance_by_letter_and_by_name(given: str, stored: str, ask: Ask) -> None:
    assert ask("remember", "x", "-i", given)["importance"] == stored
    assert ask("remember", "x", "-i", stored)["importance"] == stored


def test_a_json_object_is_data(ask: Ask, gitmem: Gitmem) -> None:
    memory = ask("remember", '{"decision": "PostgreSQL", "reason": "the team knows it"}')
    assert memory["data"] == {"decision": "PostgreSQL", "reason": "the team knows it"}
    assert memory["text"] is None
    assert "decision: PostgreSQL\\nreason: the team knows it" in gitmem("list").stdout


@pytest.mark.parametrize("text", ['["a", "b"]', '"quoted"'])
def test_json_that_is_no_object_is_text_and_said(text: str, gitmem: Gitmem) -> None:
    envelope = json.loads(gitmem("remember", text, "--json").stdout)
    assert envelope["data"]["text"] == text
    (warning,) = envelope["warnings"]
    assert "no object" in warning and "put it in one" in warning
    assert gitmem("remember", text).stderr.startswith("**warning:** the text is JSON but no object")


@pytest.mark.parametrize("text", ["{not json}", "[1] see below", "42", "{" * 5000, '{"a": NaN}'])
def test_text_that_only_looks_like_json_is_text(text: str, gitmem: Gitmem) -> None:
    result = gitmem("remember", text, "--json")
    envelope = json.loads(result.stdout)
    assert (envelope["data"]["text"], envelope["warnings"]) == (text, [])


def test_standard_input(ask: Ask) -> None:
    assert ask("remember", "-", input="line one\nline two\n")["text"] == "line one\nline two"
    assert ask("remember", "-", input="\ufeffwith a mark\r\n".encode())["text"] == "with a mark"
    assert ask("remember", "-", input='{"a": "b"}')["data"] == {"a": "b"}


def test_update(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    short = remember("one", "-t", "x,y")
    assert ask("update", short, "two")["text"] == "two"
    changed = ask("update", short, "-i", "c", "-k", "fact", "-t", "y,z", "--expires", "30d")
    assert (changed["text"], changed["tags"]) == ("two", ["y", "z"])
    assert (changed["importance"], changed["kind"]) == ("critical", "fact")
    assert changed["expires"]
    assert ask("update", short, "--expires", "never")["expires"] is None
    assert ask("update", short, "-", input="three\n")["text"] == "three"
    assert "nothing to change" in gitmem("update", short, code=1).stderr


def test_evolve(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    short = remember("one")
    memory = ask("evolve", short, "confirmed under load")
    assert memory["text"] == "one"
    assert [note["text"] for note in memory["notes"]] == ["confirmed under load"]
    assert "- note: confirmed under load (Ada <ada@example.com>, " in gitmem("show", short).stdout


def test_forget_restore_and_undo(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    short = remember("one")
    gitmem("forget", short, "--reason", "obsolete")
    assert ask("list") == []
    assert [memory["id"][:8] for memory in ask("list", "--forgotten")] == [short]
    shown = gitmem("show", short).stdout
    assert f"hint: bring it back: gitmem restore {short}" in shown
    gitmem("restore", short)
    assert len(ask("list")) == 1
    undone = ask("undo")
    assert (undone["op"], undone["memory"]["forgotten"]) == ("restore", True)
    assert f"{short} took back 'forget': one" in gitmem("undo").stdout


def test_edit(
    ask: Ask, gitmem: Gitmem, remember: Remember, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed s/SQLite/PostgreSQL/ "$1" >"$0.new" && cat "$0.new" >"$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    short = remember("Use SQLite")
    assert ask("edit", short)["text"] == "Use PostgreSQL"
    assert gitmem("edit", short).stdout == f"{short} unchanged: Use PostgreSQL\n"
    short = remember('{"use": "SQLite"}')
    assert ask("edit", short)["data"] == {"use": "PostgreSQL"}


def test_edit_keeps_what_was_typed_when_it_cannot_be_stored(
    gitmem: Gitmem, remember: Remember, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nhead -c 70000 /dev/zero | tr "\\0" x > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = gitmem("edit", remember("short"), code=1)
    (kept,) = tmp_path.glob("gitmem-edit-*")
    assert str(kept) in result.stderr
    assert kept.read_text() == "x" * 70000


def test_an_editor_that_fails(
    gitmem: Gitmem, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = remember()
    for editor in ("false", "/nowhere/editor"):
        monkeypatch.setenv("EDITOR", editor)
        assert "hint: set $EDITOR" in gitmem("edit", short, code=4).stderr


def test_tags_and_links(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    one, two = remember("one"), remember("two")
    assert ask("tag", one, "a", "b,c")["tags"] == ["a", "b", "c"]
    assert ask("untag", one, "b")["tags"] == ["a", "c"]
    assert gitmem("tags").stdout == "a 1\nc 1\n"
    assert ask("tags") == {"a": 1, "c": 1}
    gitmem("link", one, two, "--rel", "depends", "--comment", "first this")
    assert f"- depends: {two} first this" in gitmem("show", one).stdout
    assert ask("unlink", one, two, "--rel", "depends")["links"] == []


def test_show_several(gitmem: Gitmem, remember: Remember) -> None:
    one, two = remember("first\n\nwith *more*\n", "-t", "a", "--private"), remember("second")
    shown = gitmem("show", one, two).stdout
    assert f"## {one} note\n\nfirst\n\nwith *more*\n\n- id: {one}" in shown
    assert "- private: yes: it is never pushed" in shown
    assert "- tags: #a" in shown
    assert f"## {two} note" in shown


def test_both_sides_of_what_is_contested_are_shown(ask: Ask, gitmem: Gitmem, repo: Path) -> None:
    git(repo, "config", "gitmem.trust", "all")
    memory = ask("remember", "Use SQLite")
    for by, text in (
        ("Bob <bob@example.com>", "Use MySQL"),
        ("Eve <eve@example.com>", "Use Mongo"),
    ):
        event = {
            "at": "2026-11-20T10:11:12.345678Z", "base": [memory["id"]], "by": by,
            "memory": memory["id"], "op": "revise", "text": text, "v": 1,
        }  # fmt: skip
        line = json.dumps(event, separators=(",", ":"))
        git(repo, "notes", "--ref=gitmem/shared", "append", "-m", line)
    short = memory["id"][:8]
    shown = gitmem("show", short).stdout
    assert "- contested content: Use MySQL (Bob <bob@example.com>, 2026-11-20 10:11)" in shown
    assert "- contested content: Use Mongo (Eve <eve@example.com>, 2026-11-20 10:11)" in shown
    assert f"hint: settle it: gitmem update {short} TEXT" in shown
    assert ", contested)" in gitmem("list", "--contested").stdout
    gitmem("update", short, "Use PostgreSQL")
    assert "contested" not in gitmem("show", short).stdout


def test_list_filters(ask: Ask, remember: Remember) -> None:
    remember("one", "-k", "decision", "-t", "a,b", "-i", "h")
    remember("two", "-t", "a", "--private")
    remember("three", "--scope", "repo")

    def found(*args: str) -> list[str]:
        return [memory["text"] for memory in ask("list", *args)]

    assert found() == ["three", "two", "one"]
    assert found("-k", "decision") == ["one"]
    assert found("-t", "a") == ["two", "one"]
    assert found("-t", "a", "-t", "b") == found("-t", "a,b") == ["one"]
    assert found("-i", "high") == ["one"]
    assert found("--author", "ada") == ["three", "two", "one"]
    assert found("--author", "bob") == []
    assert found("--scope", "repo") == ["three"]
    assert found("--private") == ["two"]
    assert found("--shared") == ["three", "one"]
    assert found("--since", "1d") == ["three", "two", "one"]
    assert found("--until", "1d") == []
    assert found("--contested") == []
    assert found("-n", "2") == ["three", "two"]


def test_log(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    one = remember("one", "-i", "high")
    remember("two")
    gitmem("update", one, "three", "-i", "low")
    gitmem("tag", one, "a")
    gitmem("forget", one, "--reason", "obsolete")
    lines = gitmem("log").stdout.splitlines()
    assert [line.split("**")[1] for line in lines] == "forget tag revise remember remember".split()
    assert lines[0].endswith("by Ada <ada@example.com> on main: (obsolete)")
    assert lines[1].endswith(": #a")
    assert lines[2].endswith(" on main: three (low)")
    assert len(gitmem("log", one).stdout.splitlines()) == 4
    assert len(gitmem("log", "-n", "2").stdout.splitlines()) == 2
    newest = ask("log")[0]
    assert (newest["op"], newest["reason"], len(newest["id"])) == ("forget", "obsolete", 64)


def test_get(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    one = remember("one", "-t", "topic:storage")
    assert gitmem("get", "storage").stdout.startswith(one)
    gitmem("get", "nothing", code=2)


def test_entities(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    one = remember("We moved from pg to Redis")
    assert {entity["name"] for entity in ask("entities")} >= {"PostgreSQL", "Redis"}
    shown = gitmem("entity", "postgres").stdout
    assert shown.startswith("## PostgreSQL (")
    assert one in shown and "Redis" in shown


def test_search(gitmem: Gitmem, remember: Remember) -> None:
    one = remember("Use PostgreSQL: the team knows it", "-k", "decision", "-t", "database")
    remember("Answer in French", "-k", "preference")
    first, last = gitmem("search", "which", "team").stdout.splitlines()
    assert first.startswith(f"{one} **decision** Use PostgreSQL: the team knows it #database (")
    assert last == "(1 hit; searched: lexical, files)"
    assert "nothing matched" in gitmem("search", "team", "-k", "preference").stdout


def test_a_long_hit_shows_the_passage(gitmem: Gitmem, remember: Remember) -> None:
    remember("filler words " * 200 + "the needle is here " + "more filler " * 200)
    first = gitmem("search", "needle").stdout.splitlines()[0]
    assert "needle" in first
    assert len(first) < 1000


def test_context(ask: Ask, gitmem: Gitmem) -> None:
    assert gitmem("context").stderr == "there is no working memory\n"
    gitmem("context", "set", "moving the pool")
    assert gitmem("context").stdout == "moving the pool\n"
    assert gitmem("context", "show").stdout == "moving the pool\n"
    gitmem("context", "set", "-", input="from *stdin*\n")
    assert ask("context") == {"text": "from *stdin*"}
    gitmem("context", "clear")
    assert ask("context") == {"text": ""}


def test_the_end_of_a_session_archives_its_working_memory(
    repo: Path, ask: Ask, gitmem: Gitmem
) -> None:
    gitmem("init")
    gitmem("context", "set", "moving the pool\nnext: its tests")
    working = repo / "memory" / "active-context.md"
    working.write_text(working.read_text().replace("its tests", "its own tests"))
    end = ask("sync", "--end", "moved the pool")
    (day,) = [path for path in (repo / "memory").glob("*.md") if path != working]
    assert end["archived"]["kind"] == "episode" and end["archived"]["journal"] == "private"
    assert "moving the pool" in day.read_text() and "next: its own tests" in day.read_text()
    assert ask("context") == {"text": ""} and "pool" not in working.read_text()
    assert "moved the pool" in gitmem("sync", "--start").stdout
    assert ask("sync", "--end")["archived"] is None


def test_sync(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    one = remember("Never force-push", "-i", "c", "-k", "lesson", "-t", "topic:git")
    assert f"- {one} **lesson** Never force-push" in gitmem("sync", "--start").stdout
    compact = json.loads(gitmem("sync", "--start", "--format", "compact").stdout)
    assert (compact["b"], compact["n"], compact["t"]) == ("main", 1, {"git": 1})
    assert compact["c"] == [{"id": one, "s": "Never force-push", "t": "lesson"}]
    assert ask("sync", "--start", "--format", "compact") == compact
    assert gitmem("sync", "--end").stdout == "the session is closed\n"
    end = ask("sync", "--end", '{"summary": "moved the pool", "next": "tests"}')
    assert (end["episode"]["text"], end["episode"]["kind"]) == (
        "moved the pool\nnext: tests", "episode",
    )  # fmt: skip
    assert gitmem("sync", "--end", "plain words").stdout.endswith("remembered: plain words\n")
    assert gitmem("sync", "--accept").stderr == "no edit is held\n"


def test_care(ask: Ask, gitmem: Gitmem, remember: Remember) -> None:
    remember()
    assert "branch: main\ninitialised: no\n" in gitmem("status").stdout
    assert "memories: 1\n" in gitmem("status").stdout
    assert "by kind note: 1\n" in gitmem("stats").stdout
    assert ask("stats")["by_kind"] == {"note": 1}
    assert gitmem("doctor").stdout == "clean\n"
    assert gitmem("doctor", "--repair").stdout == "clean\n"
    assert ask("doctor")["clean"] is True
    assert gitmem("reindex").stdout == "indexed 1 memory\n"


def test_doctor_lists_what_it_finds(gitmem: Gitmem, remember: Remember, repo: Path) -> None:
    remember()
    git(repo, "notes", "--ref=gitmem/shared", "append", "-m", "{not an event")
    result = gitmem("doctor")
    assert result.stdout.startswith("**warning:** 1 lines in the notes are no events")
    assert "\nhint: " in result.stdout
    assert "clean" not in result.stdout.splitlines()


def test_export(gitmem: Gitmem, remember: Remember) -> None:
    remember("one")
    remember("two")
    lines = gitmem("export").stdout.splitlines()
    assert [json.loads(json.loads(line)["event"])["text"] for line in lines] == ["one", "two"]
    assert "## " in gitmem("export", "--format", "markdown").stdout
    assert len(json.loads(gitmem("export", "--json").stdout)["data"]) == 2


def test_init_and_deinit(gitmem: Gitmem, repo: Path) -> None:
    before = {path: path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file()}
    assert "MEMORY.md" in gitmem("init").stdout
    assert (repo / "MEMORY.md").exists()
    assert gitmem("init").stdout == "everything is in place\n"
    gitmem("deinit")
    after = {path: path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file()}
    user = {path for path in after if ".git" not in path.parts}
    assert {path: after[path] for path in user} == {path: before[path] for path in user}
    assert after[repo / ".git/config"] == before[repo / ".git/config"]
    assert gitmem("deinit").stdout == "there is nothing to undo\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    script = invoke("completion", shell).stdout
    assert f"_GITMEM_COMPLETE={shell}_complete" in script


def test_completing_commands_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def complete(line: str) -> list[str]:
        monkeypatch.setenv("_GITMEM_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        return [item.split(",")[1] for item in invoke().stdout.splitlines()]

    assert complete("gitmem re") == ["remember", "restore", "recall", "remote", "reindex"]
    assert complete("gitmem remember -k de") == ["decision"]
    assert complete("gitmem list --importance h") == ["high"]
    assert complete("gitmem context s") == ["show", "set"]
