"""Anchors are found one by one in a short text and at once in a long one: the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.text import secret_rules
from gitmem.text.secret_rules import Anchors, anchors

WORDS = sorted({*anchors(False).rules, *anchors(True).rules, "a", " ", "=", "\n"})


def places(found: Anchors, text: str, monkeypatch: pytest.MonkeyPatch, short: int) -> list[object]:
    monkeypatch.setattr(secret_rules, "SHORT", short)
    return list(found.found(text))


@pytest.mark.parametrize("folded", [False, True])
@given(parts=st.lists(st.sampled_from(WORDS), max_size=30))
def test_both_ways_find_the_same(folded: bool, parts: list[str]) -> None:
    text = "".join(parts)
    with pytest.MonkeyPatch.context() as patched:
        one_by_one = places(anchors(folded), text, patched, len(text) + 1)
        assert places(anchors(folded), text, patched, 0) == one_by_one


def test_both_ways_find_the_same_in_real_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(secret_rules.__file__).with_name("secrets.toml").read_text()
    found = anchors(False)
    assert places(found, text, monkeypatch, 10**9) == places(found, text, monkeypatch, 0) != []
