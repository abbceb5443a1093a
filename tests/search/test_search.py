"""Searching through the library: memories and conversations, filtered, and what goes wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import gitmem
from gitmem.errors import NotFound, UsageError
from gitmem.search.base import IndexUnusable
from gitmem.search.question import SearchResult
from tests.search.embedders import HashEmbedder
from tests.support import git

TALK = [
    {
        "id": "1",
        "role": "user",
        "speaker": "Grace",
        "text": "Which store holds the sessions?",
        "at": "2026-03-01T10:00:00Z",
    },
    {"id": "2", "role": "assistant", "text": "Redis, in the second cluster."},
    {"id": "3", "role": "user", "speaker": "Grace", "text": "And for how long?"},
    {"id": "4", "role": "assistant", "text": "Thirty minutes."},
]


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def gm(repo: Path) -> Iterator[gitmem.Gitmem]:
    with gitmem.open(repo, now=Clock()) as opened:
        opened.remember(
            "Use PostgreSQL for orders: the team knows it", kind="decision", tags=["db"]
        )
        opened.remember("Deploy on Friday is forbidden", kind="preference", importance="critical")
        opened.import_session(TALK, session="s1", agent="demo", title="caches")
        opened.import_session(
            [{"id": "1", "role": "user", "text": "hello"}], session="s2", agent="demo"
        )
        yield opened


@pytest.fixture
def semantic(gm: gitmem.Gitmem, monkeypatch: pytest.MonkeyPatch) -> gitmem.Gitmem:
    monkeypatch.setattr(gm, "_embedder", HashEmbedder)
    gm.__dict__.pop("_engine", None)
    return gm


def found(result: SearchResult) -> list[str]:
    return [hit.memory.summary if hit.memory else hit.found.text for hit in result.hits]


def test_memories_and_rounds_are_found_together(gm: gitmem.Gitmem) -> None:
    gm.remember("Redis is backed up nightly")
    result = gm.search("redis", within=("memories", "sessions"))
    assert found(result)[0] == "Redis is backed up nightly"
    assert "Redis, in the second cluster." in found(result)
    assert result.searched == ("lexical",)


def test_an_answer_is_found_by_what_it_answers(gm: gitmem.Gitmem) -> None:
    result = gm.search("store sessions", within=("sessions",))
    assert found(result)[:2] == ["Which store holds the sessions?", "Redis, in the second cluster."]
    assert result.hits[1].said and result.hits[1].said.index == 2


def test_where_to_look(gm: gitmem.Gitmem) -> None:
    assert found(gm.search("redis", within=("memories",))) == []
    assert found(gm.search("postgresql", within=("sessions",))) == []
    with pytest.raises(UsageError, match="no 'mails' to look in"):
        gm.search("x", within=("mails",))


def test_one_conversation(gm: gitmem.Gitmem) -> None:
    gm.import_session(TALK[:2], session="other", agent="demo")
    hits = gm.search("redis", session="other").hits
    assert {hit.said.session for hit in hits if hit.said} == {"demo/other"}
    assert all(hit.said for hit in hits)
    with pytest.raises(NotFound):
        gm.search("redis", session="nowhere")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("kind = decision", ["Use PostgreSQL for orders: the team knows it"]),
        ("tag IN (db, other)", ["Use PostgreSQL for orders: the team knows it"]),
        ("importance >= high", ["Deploy on Friday is forbidden"]),
        (
            "agent = demo AND author = grace",
            ["And for how long?", "Which store holds the sessions?"],
        ),
        (
            "created_at < 2026-04-01 AND NOT author = nobody AND text LIKE '%sessions%'",
            ["Which store holds the sessions?"],
        ),
        ("session = s2", ["hello"]),
    ],
)
def test_conditions(gm: gitmem.Gitmem, where: str, expected: list[str]) -> None:
    query = "postgresql deploy friday store sessions long hello redis thirty"
    assert sorted(found(gm.search(query, where=where, within=("memories", "sessions")))) == expected


def test_a_condition_that_is_none_points_at_its_column(gm: gitmem.Gitmem) -> None:
    with pytest.raises(UsageError, match="column 6"):
        gm.search("x", where="kind ~ decision")


def test_clauses_hold_for_what_is_near_too(semantic: gitmem.Gitmem) -> None:
    assert found(semantic.search('"second cluster"')) == ["Redis, in the second cluster."]
    assert "Deploy on Friday is forbidden" not in found(semantic.search("forbidden -deploy"))


def test_a_title_that_stands_nowhere_is_sought_by_its_words(gm: gitmem.Gitmem) -> None:
    asked = 'What did we say about the "sessions store"?'
    assert "Which store holds the sessions?" in found(gm.search(asked, within=("sessions",)))
    assert any("quoted" in line for line in gm.warnings)


@pytest.mark.parametrize("query", ['"sessions store"', '"sessions store" redis -deploy'])
def test_a_phrase_of_a_search_has_to_stand_there(gm: gitmem.Gitmem, query: str) -> None:
    assert found(gm.search(query, within=("sessions",))) == []
    assert gm.warnings == []


def test_where_a_phrase_stands_nothing_else_is_found(gm: gitmem.Gitmem) -> None:
    hits = gm.search('hello redis "second cluster"', within=("sessions",))
    assert found(hits) == ["Redis, in the second cluster."]
    assert gm.warnings == []


def test_meaning_finds_what_has_none_of_the_words(semantic: gitmem.Gitmem) -> None:
    semantic.remember("deployment happens monday")
    result = semantic.search("deploying", within=("memories",))
    assert "semantic" in result.searched and "vectors" in result.searched
    assert "deployment happens monday" in found(result)


def test_every_part_of_a_score_is_told(semantic: gitmem.Gitmem) -> None:
    hit = semantic.search("what did Grace ask in march 2026", within=("sessions",)).hits[0]
    parts = {part.name: part.share for part in hit.parts}
    assert {"close: context", "author named", "time named"} <= parts.keys()
    assert sum(parts.values()) == pytest.approx(hit.score)


def test_what_was_superseded_comes_after_what_replaces_it(gm: gitmem.Gitmem) -> None:
    old = gm.remember("The cache is memcached, on port 11211")
    gm.remember("The cache is redis", supersedes=[old.id])
    assert found(gm.search("cache", within=("memories",)))[0] == "The cache is redis"


def test_a_branch_is_looked_at_from_outside(gm: gitmem.Gitmem, repo: Path) -> None:
    git(repo, "switch", "-q", "-c", "feature")
    git(repo, "commit", "-q", "--allow-empty", "-m", "work")
    gm.remember("zebra on the feature")
    git(repo, "switch", "-q", "-")
    assert found(gm.search("zebra", within=("memories",))) == []
    assert found(gm.search("zebra", branch="feature")) == ["zebra on the feature"]


def test_an_import_after_the_first_search_is_found(gm: gitmem.Gitmem) -> None:
    assert found(gm.search("giraffe")) == []
    gm.import_session(
        [{"id": "1", "role": "user", "text": "a giraffe"}], session="s3", agent="demo"
    )
    assert found(gm.search("giraffe")) == ["a giraffe"]


def test_a_process_that_searched_before_any_import(repo: Path) -> None:
    with gitmem.open(repo) as gm:
        assert found(gm.search("giraffe")) == []
        gm.import_session(
            [{"id": "1", "role": "user", "text": "a giraffe"}], session="s", agent="d"
        )
        assert found(gm.search("giraffe")) == ["a giraffe"]


# -- what goes wrong --------------------------------------------------------------------------


class Broken(HashEmbedder):
    def documents(self, texts: Sequence[str]) -> Iterator[object]:  # type: ignore[override]
        raise IndexUnusable("the model's 'vocab.txt' is damaged", "gitmem model install")


def test_a_model_that_cannot_be_used_is_said_and_words_are_left(
    gm: gitmem.Gitmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gm, "_embedder", Broken)
    result = gm.search("postgresql", within=("memories",))
    assert len(result.hits) == 1 and "semantic" not in result.searched
    assert any("'vocab.txt' is damaged: searched by words alone" in line for line in gm.warnings)


def test_a_model_of_the_wrong_size_is_said(
    gm: gitmem.Gitmem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, repo: Path
) -> None:
    folder = tmp_path / "cache" / "models" / "all-MiniLM-L6-v2"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    git(repo, "config", "gitmem.cacheDir", str(tmp_path / "cache"))
    with gitmem.open(repo) as again:
        assert len(again.search("postgresql", within=("memories",)).hits) == 1
        assert any("searched by words alone" in line for line in again.warnings)


def test_a_chroma_server_that_is_gone_is_said(semantic: gitmem.Gitmem, repo: Path) -> None:
    git(repo, "config", "gitmem.chroma.url", "http://127.0.0.1:9")
    with gitmem.open(repo) as again:
        again._embedder = HashEmbedder  # type: ignore[method-assign]
        result = again.search("postgresql", within=("memories",))
        assert found(result)[0].startswith("Use PostgreSQL") and "vectors" not in result.searched
        assert any("127.0.0.1:9" in line for line in again.warnings)


def test_every_derived_file_may_be_lost(semantic: gitmem.Gitmem, repo: Path) -> None:
    before = found(semantic.search("redis sessions", within=("memories", "sessions")))
    semantic.close()
    for name in ("lexical", "vectors"):
        shutil.rmtree(repo / ".git" / "gitmem" / name)
    for name in ("rounds", "tokens", "catalog"):
        for file in (repo / ".git" / "gitmem").glob(f"{name}.sqlite*"):
            file.unlink()
    with gitmem.open(repo) as again:
        again._embedder = HashEmbedder  # type: ignore[method-assign]
        assert found(again.search("redis sessions", within=("memories", "sessions"))) == before


def test_a_damaged_index_is_said_and_made_again(gm: gitmem.Gitmem, repo: Path) -> None:
    before = found(gm.search("redis sessions"))
    gm.close()
    for file in (repo / ".git" / "gitmem" / "lexical").glob("*.seg"):
        file.write_bytes(b"")
    with gitmem.open(repo) as again:
        assert found(again.search("redis sessions")) == before
        assert again.warnings == ["the lexical index was damaged and is rebuilt"]
    with gitmem.open(repo) as again:
        assert found(again.search("redis sessions")) == before and again.warnings == []


@pytest.mark.parametrize("query", ["the of", "...", "?!", "(a|b)*[", "x" * 100_000, "数据库", "ﷺ"])
def test_any_query_is_answered(semantic: gitmem.Gitmem, query: str) -> None:
    assert len(semantic.search(query).hits) <= 10
    assert semantic.warnings == []


# -- recall -----------------------------------------------------------------------------------


def test_nothing_is_recalled_twice_in_a_session(gm: gitmem.Gitmem) -> None:
    ask = "which database do we use for orders, postgresql?"
    assert [hit.memory.summary for hit in gm.recall(ask, session="a", threshold=0.2) if hit.memory]
    assert not gm.recall(ask, session="a", threshold=0.2)
    assert gm.recall(ask, session="b", threshold=0.2)
    assert gm.recall(ask, threshold=0.2) and gm.recall(ask, threshold=0.2)


def test_nothing_is_recalled_that_does_not_fit(gm: gitmem.Gitmem) -> None:
    assert gm.recall("what will the weather be tomorrow") == []


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        " \n",
        "?!",
        "...",
        "the of and",
        "And how is it?",
        "什么是",
        "Go on!",
        "thanks, try again",
        "继续",
    ],
)
def test_nothing_is_recalled_by_a_prompt_without_content(gm: gitmem.Gitmem, prompt: str) -> None:
    """Stop words stand in every text: what shares them fits by chance. Others only steer."""
    gm.remember("Go on and try again to continue 继续")
    assert gm.recall(prompt, threshold=0.0) == []


def test_what_is_said_in_passing_is_embedded_together(semantic: gitmem.Gitmem) -> None:
    """A stop of an agent comes after each exchange, and the next prompt waits for nothing."""
    semantic.search("warm")
    embedder = semantic._engine.indexes.embedder
    asked = embedder.asked  # type: ignore[union-attr]

    def say(first: int, last: int) -> None:
        turns = [
            {"id": str(n), "role": "user", "text": f"The walrus has number {n}"}
            for n in range(first, last)
        ]
        semantic.import_session(turns, session="talk", agent="bench")

    say(0, 2)
    assert semantic.catch_up() > 0
    new = semantic.remember("A memory is embedded for the next prompt")
    hits = semantic.recall("what does the walrus have?", threshold=0.0)
    assert any("walrus" in hit.snippet for hit in hits), "by its words"
    assert semantic.recall("a memory is embedded for which prompt?", threshold=0.3)
    assert embedder.asked == asked + 1, new.id  # type: ignore[union-attr]
    say(2, 40)
    semantic.catch_up()
    assert embedder.asked == asked + 41  # type: ignore[union-attr]
    say(40, 41)
    semantic.catch_up()
    semantic.search("walrus")
    assert embedder.asked == asked + 42  # type: ignore[union-attr]


def test_recall_waits_for_no_large_import(semantic: gitmem.Gitmem) -> None:
    semantic.search("warm")
    turns = [{"id": str(n), "role": "user", "text": f"bulk {n}"} for n in range(100)]
    semantic.import_session(turns, session="bulk", agent="demo")
    asked = semantic._engine.indexes.embedder.asked  # type: ignore[union-attr]
    assert semantic.recall("deploy on friday is forbidden", threshold=0.3)
    assert semantic._engine.indexes.embedder.asked == asked  # type: ignore[union-attr]


def test_what_was_just_written_is_recalled_and_found_by_its_names_later(gm: gitmem.Gitmem) -> None:
    """What it names is looked for by the next search: that takes a second."""
    gm.search("warm")
    new = gm.remember("Every rollout to k8s needs a second pair of eyes")
    hits = gm.recall("who looks at a rollout, which pair of eyes?", threshold=0.2)
    assert new.id in [hit.memory.id for hit in hits if hit.memory]
    assert gm._catalog.entities_of(new.id) == []
    found = gm.search("entities:kubernetes").hits
    assert [hit.memory.id for hit in found if hit.memory] == [new.id]


def test_recall_of_what_is_new_does_not_wait_for_entities(
    semantic: gitmem.Gitmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """spaCy takes 0.7 s to import: three prompts behind a new memory went by without an answer."""
    semantic.search("warm")
    with monkeypatch.context() as patched:
        patched.setattr("gitmem.search.naming.find", lambda catalog: pytest.fail("it waits"))
        assert semantic.recall("deploy on friday is forbidden", threshold=0.3)
        new = semantic.remember("Invoices are made by pg at noon")
        assert semantic.recall("invoices at noon", threshold=0.3)
        asked = semantic._engine.indexes.embedder.asked  # type: ignore[union-attr]
    found = semantic.search("entity:PostgreSQL", within=["memories"])
    assert new.id in [hit.memory.id for hit in found.hits if hit.memory], "taken in again"
    embedder = semantic._engine.indexes.embedder
    assert embedder.asked == asked, "nothing is embedded twice"  # type: ignore[union-attr]
