"""git-notes-memory: real repositories, written by the skill, and who sees what afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitmem.errors import Unreadable
from tests.imports.skill import Skill, ref
from tests.imports.support import by_key, commit, foreign, opened, skipped, texts, tips
from tests.support import git

TOOL = "git-notes-memory"


def test_a_memory_with_all_that_it_has(old: Path) -> None:
    skill = Skill(old, zone=8)
    content = {"decision": "Use PostgreSQL", "cost": 1.5}
    id = skill.remember(content, i="c", g=["database", "two words"], t="learning")
    skill.evolve(id, "seen to work")
    with opened(old) as gm:
        report = gm.import_memories(TOOL)
        assert (report.found, report.new, report.skipped, report.remarks) == (1, 1, {}, {})
        (memory,) = gm.list()
    assert memory.data == {"decision": "Use PostgreSQL", "cost": "1.5"}
    assert (memory.kind, memory.importance) == ("lesson", "critical")
    assert memory.tags == ("database", "two-words")
    assert memory.created == "2026-03-02T01:01:00.000000Z"  # 09:01 in a zone eight hours ahead
    assert memory.author == "Ada <ada@example.com>" and memory.branch == "main"
    assert [(note.text, note.at) for note in memory.notes] == [
        ("seen to work", "2026-03-02T01:02:00.000000Z")
    ]
    assert memory.source == {
        "import": TOOL, "key": f"main/{id}", "updated": "2026-03-02T09:02:00.000000Z",
    }  # fmt: skip
    assert not memory.private and git(
        old, "log", "-1", "--format=%s", "refs/notes/gitmem/shared"
    ) == ("import git-notes-memory: 1 memory")


def test_authors_are_those_of_the_notes_commits(old: Path) -> None:
    skill = Skill(old)
    id = skill.remember("Ada's")
    os.environ |= {"GIT_AUTHOR_NAME": "Bob", "GIT_AUTHOR_EMAIL": "bob@example.com"}
    other = skill.remember("Bob's")
    skill.evolve(id, "Bob agrees")
    del os.environ["GIT_AUTHOR_NAME"], os.environ["GIT_AUTHOR_EMAIL"]
    found = foreign(TOOL, old)
    assert found[f"main/{id}"].by == "Ada <ada@example.com>"
    assert found[f"main/{other}"].by == "Bob <bob@example.com>"
    assert found[f"main/{id}"].additions[0].by == "Bob <bob@example.com>"


def test_memories_stay_on_their_branch_until_it_is_merged(old: Path) -> None:
    skill = Skill(old)
    skill.remember("of the trunk")
    git(old, "switch", "-q", "-c", "feature/login")
    skill.remember("before any commit")
    commit(old, "login", "2026-03-02T10:00:00Z")
    skill.now = skill.now.replace(hour=11)
    skill.remember("after a commit")
    git(old, "switch", "-q", "main")
    commit(old, "other", "2026-03-03T00:00:00Z")
    with opened(old) as gm:
        assert gm.import_memories(TOOL).new == 3
        assert texts(gm) == ["of the trunk"]
        every = ["after a commit", "before any commit", "of the trunk"]
        assert texts(gm, "feature/login") == every
        assert not gm.status().orphaned
        git(old, "merge", "-q", "--no-edit", "feature/login")
        assert texts(gm) == every


def test_a_squash_merge_after_the_import_lands_them(old: Path) -> None:
    skill = Skill(old)
    git(old, "switch", "-q", "-c", "f")
    commit(old, "work", "2026-03-02T08:00:00Z")
    skill.remember("learned on f")
    git(old, "switch", "-q", "main")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        assert texts(gm) == []
        git(old, "merge", "-q", "--squash", "f")
        git(old, "commit", "-q", "-m", "squashed")
        git(old, "branch", "-q", "-D", "f")
        assert texts(gm) == ["learned on f"]


def test_of_a_branch_that_is_gone_they_wait_to_be_adopted(old: Path) -> None:
    skill = Skill(old)
    skill.remember("of the trunk")
    git(old, "switch", "-q", "-c", "gone")
    skill.remember("left behind")
    git(old, "switch", "-q", "main")
    git(old, "branch", "-q", "-D", "gone")
    (old / ".git" / "logs" / "HEAD").unlink()  # as in a fresh clone: nobody knows the branch
    with opened(old) as gm:
        assert gm.import_memories(TOOL).new == 2
        assert texts(gm) == ["of the trunk"]
        assert gm.status().orphaned == {"gone": 1}
        git(old, "switch", "-q", "-c", "gone")
        assert texts(gm) == ["of the trunk"]  # a later branch of the same name is another
        git(old, "switch", "-q", "main")
        assert [memory.body for memory in gm.adopt("gone")] == ["left behind"]
        assert texts(gm) == ["left behind", "of the trunk"]
        assert gm.import_memories(TOOL).unchanged == 2


def test_what_the_trunk_had_taken_over_the_trunk_sees(old: Path) -> None:
    skill = Skill(old)
    skill.remember("of the trunk")
    git(old, "switch", "-q", "-c", "feature")
    id = skill.remember("of the feature")
    git(old, "switch", "-q", "main")
    skill.merge_branch("feature")
    git(old, "branch", "-q", "-D", "feature")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        assert texts(gm) == ["of the feature", "of the trunk"]
        assert by_key(gm)[f"feature/{id}"].branch == "feature"
        assert not gm.status().orphaned


def test_a_copy_that_was_changed_on_a_branch_reads_so_there_alone(old: Path) -> None:
    skill = Skill(old)
    id = skill.remember("first")
    git(old, "switch", "-q", "-c", "f")
    commit(old, "work", "2026-03-02T08:00:00Z")
    skill.update(id, "second")
    skill.evolve(id, "only here")
    git(old, "switch", "-q", "main")
    with opened(old) as gm:
        assert gm.import_memories(TOOL).new == 1
        (here,) = gm.list()
        (there,) = gm.list(branch="f")
        assert (here.body, here.notes) == ("first", ())
        assert (there.body, [note.text for note in there.notes]) == ("second", ["only here"])
        assert there.id == here.id and not there.contested and len(there.heads) == 1
        assert gm.import_memories(TOOL).unchanged == 1
        git(old, "merge", "-q", "--no-ff", "--no-edit", "f")
        assert texts(gm) == ["second"]


def test_two_branches_that_share_a_ref_are_kept_apart(old: Path) -> None:
    """``feature/a`` and ``feature-a`` have one ref: the memories say whose they are."""
    skill = Skill(old)
    for name in ("feature/a", "feature-a"):
        git(old, "switch", "-q", "-c", name, "main")
        commit(old, name.replace("/", "_"), "2026-03-02T08:00:00Z")
        skill.remember(f"said on {name}")
    git(old, "switch", "-q", "main")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        assert texts(gm, "feature/a") == ["said on feature/a"]
        assert texts(gm, "feature-a") == ["said on feature-a"]
        assert texts(gm) == []


def test_a_detached_head_is_no_branch_main(old: Path) -> None:
    git(old, "branch", "-q", "-m", "main", "trunk")
    git(old, "switch", "-q", "--detach")
    Skill(old).remember("said nowhere")
    git(old, "switch", "-q", "trunk")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        (memory,) = gm.list()
        assert memory.scope == "repo" and memory.branch is None


def test_importing_again_adds_only_what_is_new(old: Path) -> None:
    skill = Skill(old)
    id = skill.remember("first")
    skill.remember("kept")
    with opened(old) as gm:
        gm.import_memories(TOOL)
        before = tips(old)
        again = gm.import_memories(TOOL)
        assert (again.found, again.new, again.revised, again.unchanged) == (2, 0, 0, 2)
        assert tips(old) == before
        skill.update(id, "second")
        skill.evolve(id, "a note")
        skill.remember("third")
        assert gm.import_memories(TOOL, dry_run=True).revised == 1
        assert gm.import_memories(TOOL, dry_run=True) == gm.import_memories(TOOL)
        assert texts(gm) == ["kept", "second", "third"]
        revised = by_key(gm)[f"main/{id}"]
        assert [note.text for note in revised.notes] == ["a note"]
        assert gm.import_memories(TOOL).unchanged == 3


def test_a_stock_merge_that_its_own_tool_cannot_read(old: Path) -> None:
    """``cat_sort_uniq`` leaves two lines, each whole JSON."""
    skill = Skill(old)
    id = skill.remember("mine")
    mine = git(old, "notes", "--ref", ref("main"), "show", skill.root())
    git(old, "update-ref", "-d", ref("main"))
    skill.remember("theirs")
    theirs = git(old, "notes", "--ref", ref("main"), "show", skill.root())
    git(old, "notes", "--ref", ref("main"), "add", "-f", "-m", f"{mine}\n{theirs}", skill.root())
    assert sorted(memory.text for memory in foreign(TOOL, old).values()) == ["mine", "theirs"]
    assert foreign(TOOL, old)[f"main/{id}"].at == "2026-03-02T09:01:00.000000Z"


def test_what_cannot_be_read_is_counted(old: Path) -> None:
    notes = {
        "mem-main": '{"a":{"d":"good","b":"main"},"b":{"d":""},"c":[1]}',
        "mem-odd": "[1, 2]",
        "mem-torn": '{"a": {"d": "torn',
    }
    for name, text in notes.items():
        git(old, "notes", "--ref", f"refs/notes/{name}", "add", "-m", text, "HEAD")
    assert sorted(skipped(TOOL, old)) == [
        "a memory that is no JSON object",
        "a memory without content",
        "a note that is no JSON",
        "a note that is no JSON object",
    ]
    with opened(old) as gm:
        report = gm.import_memories(TOOL)
        assert (report.new, sum(report.skipped.values())) == (1, 4)
        assert texts(gm) == ["good"]


def test_a_repository_without_its_refs_is_an_error(old: Path) -> None:
    with opened(old) as gm, pytest.raises(Unreadable, match="no refs 'refs/notes/mem-"):
        gm.import_memories(TOOL)


def test_names_that_no_branch_can_have(old: Path) -> None:
    odd = {"a": "../../x", "b": "a\0b", "c": "\ud800", "d": "-d", "e": "x" * 5000}
    entries = {id: {"d": f"said on {id}", "b": name} for id, name in odd.items()}
    git(old, "notes", "--ref", ref("elsewhere"), "add", "-m", json.dumps(entries), "HEAD")
    with opened(old) as gm:
        assert (gm.import_memories(TOOL).new, texts(gm)) == (5, [])
        assert sum(gm.status().orphaned.values()) == 5
        assert gm.import_memories(TOOL).unchanged == 5
