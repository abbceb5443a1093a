"""The four rules, on facts alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.journal.branches.visibility import EMPTY_TREES, Fact, Vantage, visible

A, B = "a" * 40, "b" * 40
MAIN = Vantage(A, "main", None, "main")
FIX = Vantage(A, "fix", "11", "main")
BARE = Vantage(A, None, None, "main")
FACT = Fact("e", "e", "remember", "2026", (B,))


@pytest.mark.parametrize(
    ("change", "vantage", "expected"),
    [
        ({}, MAIN, False),
        ({"anchors": (A,)}, MAIN, True),
        ({"anchors": (A,), "pending": True}, MAIN, False),
        ({"anchors": (B, A)}, MAIN, True),
        ({"anchors": (min(EMPTY_TREES),)}, MAIN, True),
        ({"anchors": (max(EMPTY_TREES),)}, BARE, True),
        ({"anchors": (min(EMPTY_TREES),), "pending": True}, MAIN, False),
        ({"repo": True, "pending": True}, BARE, True),
        ({"branch": "main"}, MAIN, True),
        ({"branch": "main"}, FIX, False),
        ({"branch": "fix", "line": "11"}, FIX, True),
        ({"branch": "fix", "line": "11", "pending": True}, FIX, True),
        ({"branch": "old-name", "line": "11"}, FIX, True),
        ({"branch": "fix", "line": "22"}, FIX, False),
        ({"branch": "fix"}, FIX, True),
        ({"branch": "fix", "line": "11"}, MAIN, False),
        ({"branch": "fix", "line": "11"}, BARE, False),
        ({"pending": True}, BARE, True),
        ({"pending": True}, FIX, False),
        ({"pending": True, "branch": "fix"}, BARE, False),
    ],
)
def test_rules_one_to_three(change: dict[str, object], vantage: Vantage, expected: bool) -> None:
    fact = FACT._replace(**change)
    assert (visible([fact], vantage, {A}) == {"e"}) is expected


def test_a_visible_carry_brings_what_it_names_and_what_that_names() -> None:
    far = Fact("far", None, "carry", "2026", (B,), carries=("e",))
    near = Fact("near", None, "carry", "2026", (A,), carries=("far", "unknown"))
    seen = visible([FACT, far, near], MAIN, {A})
    assert seen == {"e", "far", "near", "unknown"}
    assert visible([FACT, far], MAIN, {A}) == set()


def test_carries_that_name_each_other_end() -> None:
    one = Fact("one", None, "carry", "2026", (A,), carries=("two",))
    two = Fact("two", None, "carry", "2026", (B,), carries=("one", "e"))
    assert visible([one, two, FACT], MAIN, {A}) == {"one", "two", "e"}


IDS = st.sampled_from("abcdefgh")
FACTS = st.lists(
    st.builds(
        Fact,
        id=IDS,
        memory=IDS,
        op=st.just("remember"),
        at=st.just("2026"),
        anchors=st.tuples(st.sampled_from([A, B])),
        repo=st.booleans(),
        branch=st.sampled_from([None, "main", "fix"]),
        line=st.sampled_from([None, "11", "22"]),
        pending=st.booleans(),
        carries=st.lists(IDS, max_size=3).map(tuple),
    ),
    max_size=8,
    unique_by=lambda fact: fact.id,
)


@given(FACTS, st.randoms(use_true_random=False), st.sampled_from([MAIN, FIX, BARE]))
def test_order_does_not_matter_and_more_reach_never_hides(
    facts: list[Fact], random: object, vantage: Vantage
) -> None:
    seen = visible(facts, vantage, {A})
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert visible(shuffled, vantage, {A}) == seen
    assert seen <= visible(facts, vantage, {A, B})
