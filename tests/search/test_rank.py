"""The ranking is pure: what each part says, and that no prior buries what fits."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model import SOURCES, Importance
from gitmem.search import rank
from gitmem.search.base import Closeness, Words
from gitmem.search.rank import Evidence

share = st.floats(0, 1)
words = st.builds(Words, share, share, share, share, share)
closeness = st.builds(Closeness, share, share, share)
ages = st.none() | st.floats(-10, 10_000)
priors = st.fixed_dictionaries(
    {"source": st.sampled_from(SOURCES[1:]), "age": ages}
) | st.fixed_dictionaries(
    {
        "source": st.just("memories"),
        "importance": st.sampled_from(list(Importance)),
        "age": ages,
        "here": st.booleans(),
        "stale": st.booleans(),
        "superseded": st.booleans(),
    }
)
evidence = st.builds(
    lambda words, close, named, near, priors: Evidence(
        words, close, semantic=1.0, named=named, near=near, **priors
    ),
    words, closeness, st.booleans(), share, priors,
)  # fmt: skip

ALL = Words(1.0, 1.0, 1.0, 1.0, 1.0)
HALF = Words(0.5, 0.5, 0.5, 0.5, 0.5)


@given(evidence)
def test_a_score_is_the_sum_of_its_parts(given: Evidence) -> None:
    assert rank.score(given) == pytest.approx(sum(part.share for part in rank.parts(given)))
    assert all(part.share for part in rank.parts(given))


@given(evidence, evidence)
def test_more_evidence_is_never_less_score(one: Evidence, other: Evidence) -> None:
    assert one.closeness and other.closeness
    more = replace(
        one,
        words=Words(*map(max, one.words, other.words)),
        closeness=Closeness(*map(max, one.closeness, other.closeness)),
        near=max(one.near, other.near),
        named=one.named or other.named,
    )
    assert rank.score(more) >= rank.score(one) - 1e-9


@pytest.mark.parametrize("semantic", [False, True])
@given(best=priors, worst=priors)
def test_no_prior_buries_what_says_all_that_was_asked(
    semantic: bool, best: dict[str, object], worst: dict[str, object]
) -> None:
    exact = Closeness(rank.CEILING, rank.CEILING, rank.CEILING)
    half = (rank.CEILING + rank.FLOOR) / 2
    fits = Evidence(ALL, exact if semantic else None, semantic=float(semantic), **worst)  # type: ignore[arg-type]
    partly = Evidence(
        HALF,
        Closeness(half, half, half) if semantic else None,
        semantic=float(semantic),
        **best,  # type: ignore[arg-type]
    )
    assert rank.score(fits) > rank.score(partly)


@given(words)
def test_words_stand_in_for_vectors_that_a_document_has_not(found: Words) -> None:
    file = Evidence(found, None, semantic=1.0, source="files")
    value = rank.FLOOR + (rank.CEILING - rank.FLOOR) * found.cover
    written = replace(file, closeness=Closeness(value, value, value))
    assert rank.score(file) == pytest.approx(rank.score(written))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"importance": Importance.CRITICAL}, {"importance": Importance.HIGH}),
        ({"importance": Importance.HIGH}, {}),
        ({}, {"importance": Importance.LOW}),
        ({"age": 1.0}, {"age": 100.0}),
        ({"age": 100.0}, {"age": None}),
        ({"here": True}, {}),
        ({}, {"stale": True}),
        ({}, {"superseded": True}),
        ({"source": "memories"}, {"source": "sessions"}),
        ({"source": "sessions"}, {"source": "files"}),
    ],
)
def test_of_what_fits_alike(better: dict[str, object], worse: dict[str, object]) -> None:
    one, other = (Evidence(HALF, **extra) for extra in (better, worse))  # type: ignore[arg-type]
    assert rank.score(one) > rank.score(other)


def test_nothing_is_better_for_a_clock_that_is_ahead() -> None:
    assert rank.score(Evidence(HALF, age=-9.0)) == rank.score(Evidence(HALF, age=0.0))


@pytest.mark.parametrize(
    ("question", "author", "named"),
    [
        ("what did Ada decide", "Ada Lovelace <ada@example.com>", True),
        ("what did lovelace decide", "Ada Lovelace <ada@example.com>", True),
        ("what did the adapter do", "Ada <a@example.com>", False),
        ("ask grace99 about it", "<grace99@example.com>", True),
        ("example com", "Ada <ada@example.com>", False),
        ("张伟说了什么", "张伟", True),
        ("张说了什么", "张伟", False),
        ("x", "", False),
    ],
)
def test_whom_a_question_names(question: str, author: str, named: bool) -> None:
    assert rank.names(question, author) is named


def test_the_best_come_first_and_ties_are_stable() -> None:
    assert rank.strongest({"b": 0.5, "a": 0.5, "c": 0.9}, 2) == ["c", "a"]


def test_a_conversation_is_as_good_as_its_two_best_rounds() -> None:
    scores = {"once": [0.9, 0.1, 0.1], "twice": [0.8, 0.8, 0.1], "less": [0.8, 0.7]}
    assert rank.conversations(scores) == ["twice", "less", "once"]


def test_a_conversation_of_one_round_is_as_good_as_that() -> None:
    scores = {"once": [0.9, 0.1], "short": [0.6], "shorter": [0.4]}
    assert rank.conversations(scores) == ["short", "once", "shorter"]


def test_days_between() -> None:
    today = date(2026, 11, 20)
    assert rank.days_between("2026-11-18T23:00:00.000000Z", today) == 2.0
    assert rank.days_between("", today) is None
