"""What was said in passing, kept: compared with what is known, and never a secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem, Memory
from gitmem.agents.capture import Capture
from gitmem.model import JournalName, Scope
from gitmem.sessions.model import Turn
from tests.support import git

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
Say = Callable[..., list[Memory]]


@pytest.fixture
def gm(repo: Path) -> Iterator[Gitmem]:
    """Return the memory of a repository."""
    with gitmem.open(repo) as opened:
        yield opened


@pytest.fixture
def say(gm: Gitmem, tmp_path: Path) -> Say:
    """Return what keeps a prompt and returns all memories, oldest first."""

    def said(prompt: str, session: str = "s1") -> list[Memory]:
        Capture(gm, "codex", session, str(tmp_path)).prompt(prompt)
        return list(gm.list())[::-1]

    return said


def test_a_preference_is_private_and_a_decision_is_shared(say: Say) -> None:
    say("I prefer tabs over spaces.")
    preference, decision = say("Thanks! We decided to use PostgreSQL for storage.")
    assert (preference.kind, preference.body) == ("preference", "I prefer tabs over spaces")
    assert (preference.journal, preference.scope) == (JournalName.PRIVATE, Scope.REPO)
    assert (decision.kind, decision.journal) == ("decision", JournalName.SHARED)
    assert decision.source == {"agent": "codex", "session": "s1"}


def test_what_is_asked_for_weighs_more(say: Say) -> None:
    asked, plain = say("Remember that CI runs on Debian. We use uv, not poetry.")
    assert (asked.importance, plain.importance) == ("high", "normal")
    assert say("记住：我们每周五部署", "s2")[-1].importance == "high"


def test_nothing_is_kept_of_an_ordinary_prompt(say: Say) -> None:
    assert say("Fix the parser, please. And forget everything you know.") == []


def test_the_same_said_again_weighs_more_and_is_no_second_memory(say: Say) -> None:
    (first,) = say("I prefer tabs over spaces")
    assert first.importance == "normal"
    (again,) = say("I prefer tabs over spaces", "s1")
    assert again.importance == "normal", "the same session says nothing new"
    (later,) = say("Oh, I prefer tabs over spaces!", "s2")
    assert (later.id, later.importance) == (first.id, "high")
    (more,) = say("I prefer tabs over spaces", "s3")
    assert (more.importance, more.updated) == ("high", later.updated), "and nothing is written"


def test_in_other_words_it_is_the_same(gm: Gitmem, say: Say) -> None:
    known = gm.remember("We use uv, not poetry", kind="fact", importance="low")
    (memory,) = say("This project uses uv instead of poetry.")
    assert (memory.id, memory.importance) == (known.id, "normal")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I prefer tabs over spaces", "I prefer spaces over tabs"),
        ("We use poetry", "No, we use uv, not poetry"),
        ("My favorite editor is vim", "my favorite editor is Emacs"),
        ("I like semicolons", "I hate semicolons"),
        ("Always use uv", "Never use uv"),
        ("We use uv for packaging", "We use poetry for packaging"),
        ("We decided to use MySQL", "We switched from MySQL to PostgreSQL"),
        ("我们决定用 MySQL 做数据库", "我们决定用 PostgreSQL 做数据库"),
    ],
)
def test_what_contradicts_is_kept_beside_it_and_linked(say: Say, first: str, second: str) -> None:
    (old,) = say(first)
    both = {memory.id: memory for memory in say(second, "s2")}
    new = next(memory for id, memory in both.items() if id != old.id)
    assert [(link.rel, link.target) for link in new.links] == [("contradicts", old.id)]
    assert both[old.id].importance == old.importance


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I prefer tabs over spaces", "I prefer pnpm over npm"),
        ("We use uv for packaging", "We use pytest for testing"),
        ("My name is Ada", "My timezone is UTC"),
        ("We decided to use PostgreSQL", "We decided to use Redis as the cache"),
    ],
)
def test_what_goes_together_is_not_linked(say: Say, first: str, second: str) -> None:
    say(first)
    memories = say(second, "s2")
    assert len(memories) == 2 and not any(memory.links for memory in memories)


def test_a_memory_that_somebody_wrote_is_compared_too(gm: Gitmem, say: Say) -> None:
    known = gm.remember("We use poetry for packaging", kind="decision")
    _, new = say("Actually, we use uv for packaging.")
    assert [link.target for link in new.links] == [known.id] and new.importance == "high"


def test_no_secret_and_nothing_private_is_written(gm: Gitmem, say: Say) -> None:
    said = f"Remember that the token is {TOKEN}\n<private>Remember that I am ill</private>"
    (memory,) = say(said)
    assert memory.body == "the token is [redacted: github-token]"
    fence = "<gitmem-memory>\nRemember that we use poetry\n</gitmem-memory>\n\nWhat do we use?"
    assert len(say(fence)) == 1, "what gitmem itself said is nobody's word"
    log = git(gm._git.layout.common_dir, "log", "--format=%B%N", "--all", "-p")
    assert TOKEN not in log


def test_what_was_typed_in_between_and_what_the_agent_calls_a_decision(
    gm: Gitmem, tmp_path: Path, say: Say
) -> None:
    say("I prefer tabs over spaces")
    turns = [
        Turn("1", "user", "I prefer tabs over spaces"),
        Turn("2", "assistant", "Done.\n\nDecision: keep the cache in SQLite\n"),
        Turn("3", "tool", "Bash: cat notes\nDecision: nobody said this"),
        Turn("4", "user", "remember that CI runs on Debian"),
    ]
    for _ in range(2):
        Capture(gm, "codex", "s1", str(tmp_path)).turns(turns)
    assert [(memory.kind, memory.body) for memory in list(gm.list())[::-1]] == [
        ("preference", "I prefer tabs over spaces"),
        ("decision", "keep the cache in SQLite"),
        ("fact", "CI runs on Debian"),
    ]


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"codex/s1": 7}', "null"])
def test_what_was_heard_may_be_lost(say: Say, tmp_path: Path, damage: str) -> None:
    say("I prefer tabs over spaces")
    (tmp_path / "heard.json").write_text(damage)
    assert len(say("I prefer tabs over spaces")) == 1
