"""zircote's git-notes-memory: notes on commits, each visible where its commit is."""

from __future__ import annotations

from pathlib import Path

from gitmem.model import Memory
from tests.imports.support import by_key, commit, foreign, opened, skipped, texts
from tests.support import git

TOOL = "zircote-git-notes"
DECISION = """\
---
type: decisions
spec: my-project
timestamp: 2026-01-15T10:30:00+00:00
summary: Chose PostgreSQL
phase: planning
tags:
- database
- big picture
relates_to:
- learnings:{commit}:0
---

## Context

A table, and a rule:

---

no record begins here
"""
SECOND = """\
---
type: decisions
timestamp: 2026-01-16T10:30:00+00:00
summary: Chose uv: it is fast
status: resolved
---
"""
LEARNING = """\
---
type: learnings
timestamp: 2026-01-14T10:30:00+00:00
summary: Locks outlive processes
---

Locks outlive processes, unless the kernel holds them.
"""


def note(repo: Path, namespace: str, text: str, commit: str = "HEAD", author: str = "Ada") -> None:
    """Append to a note, as the tool does."""
    user = ("-c", f"user.name={author}", "-c", f"user.email={author.lower()}@example.com")
    ref = f"refs/notes/mem/{namespace}"
    git(repo, *user, "notes", "--ref", ref, "append", "-F", "-", commit, input=text)


def filled(repo: Path) -> str:
    """Write three records on HEAD, and return its commit."""
    head = git(repo, "rev-parse", "HEAD")
    note(repo, "decisions", DECISION.format(commit=head))
    note(repo, "decisions", SECOND, author="Bob")
    note(repo, "learnings", LEARNING)
    return head


def test_records_with_all_that_they_have(repo: Path) -> None:
    head = filled(repo)
    found = foreign(TOOL, repo)
    first, second = found[f"decisions:{head}:0"], found[f"decisions:{head}:1"]
    assert first.text.startswith("Chose PostgreSQL\n\n## Context") and "no record" in first.text
    assert (first.kind, first.at) == ("decision", "2026-01-15T10:30:00.000000Z")
    assert first.tags == ("topic:my-project", "database", "big picture")
    assert first.links == (("relates", f"learnings:{head}:0"),)
    assert first.source == {"phase": "planning"} and first.commit == head
    assert (first.by, second.by) == ("Ada <ada@example.com>", "Bob <bob@example.com>")
    assert (second.text, second.tags) == ("Chose uv: it is fast", ("resolved",))
    assert found[f"learnings:{head}:0"].text == (
        "Locks outlive processes, unless the kernel holds them."
    )


def test_they_are_seen_where_their_commit_is(repo: Path) -> None:
    filled(repo)
    git(repo, "switch", "-q", "-c", "f")
    commit(repo, "work", "2026-01-20T00:00:00Z")
    note(repo, "learnings", LEARNING.replace("Locks", "Branches"))
    git(repo, "switch", "-q", "main")
    with opened(repo) as gm:
        assert gm.import_memories(TOOL).new == 4
        assert len(gm.list()) == 3 and len(gm.list(branch="f")) == 4
        git(repo, "merge", "-q", "--squash", "f")
        git(repo, "commit", "-q", "-m", "squashed")
        git(repo, "branch", "-q", "-D", "f")
        assert len(gm.list()) == 4


def test_of_a_commit_that_no_branch_has_they_are_everybodys(repo: Path) -> None:
    lost = commit(repo, "work", "2026-01-20T00:00:00Z")
    note(repo, "learnings", LEARNING, lost)
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    with opened(repo) as gm:
        gm.import_memories(TOOL)
        assert len(texts(gm)) == 1
        assert gm.list()[0].scope == "repo"


def test_links_name_memories(repo: Path) -> None:
    head = filled(repo)
    with opened(repo) as gm:
        gm.import_memories(TOOL)
        seen = by_key(gm)
    (link,) = seen[f"decisions:{head}:0"].links
    assert (link.rel, link.target) == ("relates", seen[f"learnings:{head}:0"].id)


def test_more_records_on_a_note_are_found_later(repo: Path) -> None:
    filled(repo)
    with opened(repo) as gm:
        gm.import_memories(TOOL)
        note(repo, "decisions", LEARNING)
        report = gm.import_memories(TOOL)
        assert (report.new, report.unchanged) == (1, 3)


def test_records_that_a_stock_merge_mixed_up_are_counted(repo: Path) -> None:
    mixed = "\n".join(sorted(set((DECISION + LEARNING).split("\n"))))
    note(repo, "decisions", mixed)
    note(repo, "reviews", SECOND.replace("resolved", "tombstone"))
    assert skipped(TOOL, repo) == [
        "a note without any record that can be read", "a record that was deleted",
    ]  # fmt: skip


def test_notes_of_another_repository(repo: Path, tmp_path: Path) -> None:
    filled(repo)
    here = tmp_path / "here"
    here.mkdir()
    git(here, "init", "-q")
    with opened(here) as gm:
        report = gm.import_memories(TOOL, repo)
        memories: list[Memory] = list(gm.list())
        assert report.new == len(memories) == 3
        assert {str(memory.scope) for memory in memories} == {"repo"}
