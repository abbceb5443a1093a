"""Rendering, and parsing what was rendered."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from gitmem.mirror.document import enclose, read
from gitmem.mirror.parse import parse_block
from gitmem.mirror.render import (
    LONG_TERM,
    Limit,
    Section,
    fit,
    long_term,
    parse_context,
    render_block,
    render_context,
    render_memory,
    template,
)
from gitmem.model import Alternative, Importance, Memory, Note
from tests.mirror.support import item_of, make, memories, rendered, texts


def test_one_memory_is_one_line() -> None:
    memory = make(tags=("database",), importance=Importance.HIGH, branch="feature/login")
    assert render_memory(memory, "1a2b3c4d", ["PostgreSQL"]) == (
        "- **decision** Use PostgreSQL: the team knows it #database @PostgreSQL "
        "<!-- 1a2b3c4d high feature/login 2026-11-20 -->"
    )


def test_more_text_is_indented_and_code_starts_below() -> None:
    assert rendered(make("Two\n\n- lines", branch=None)).split("\n")[1:] == ["", "  - lines"]
    first, *rest = rendered(make("```py\nx = 1\n```", tags=("code",))).split("\n")
    assert first.startswith("- **decision** #code <!-- ")
    assert rest == ["  ```py", "  x = 1", "  ```"]


@given(memories)
def test_every_field_comes_back_exactly(memory: Memory) -> None:
    item = item_of(rendered(memory, "PostgreSQL", "Visual Studio"))
    assert item.text == memory.text
    assert item.kind == memory.kind
    assert item.tags == memory.tags
    assert item.importance == memory.importance
    assert memory.id.startswith(item.id or "-")
    assert item.mentions == ("PostgreSQL", "Visual_Studio")
    assert not item.annex


@given(memories, memories)
def test_items_do_not_run_into_each_other(one: Memory, other: Memory) -> None:
    block = render_block(
        [Section("Critical", [rendered(one)]), Section("", [rendered(other)])], "9 more"
    )
    (region,) = read(block.encode()).regions
    assert not region.edited
    assert region.closed
    parsed = parse_block(region.text)
    assert [item.text for item in parsed.items] == [one.text, other.text]
    assert [item.heading for item in parsed.items] == ["Critical", "Critical"]
    assert parsed.strays == ("## Critical", "9 more")


@given(texts)
def test_the_context_comes_back_exactly(text: str) -> None:
    (region,) = read(enclose(render_context(text)).encode()).regions
    assert parse_context(region.text) == text


def test_data_is_shown_as_lines() -> None:
    data = {"decision": "Use Go", "reason": "fast", "n": 3}
    lines = rendered(replace(make(), text=None, data=data)).split("\n")
    assert lines[0].startswith("- **decision** decision: Use Go <!-- ")
    assert lines[1:] == ["  reason: fast", "  n: 3"]


def test_a_contested_memory_shows_both_texts() -> None:
    sides = (
        Alternative("content", "Use MySQL\nit is there", "e" * 64, "Bob <b@x>", "2026-11-21T00:00"),
        Alternative("content", "Use PostgreSQL", "f" * 64, "Ada <a@x>", "2026-11-20T00:00"),
        Alternative("forgotten", None, "d" * 64, "Eve <e@x>", "2026-11-22T00:00"),
    )
    memory = make(
        "Use PostgreSQL", contested=sides, notes=(Note("works", "Ada <a@x>", "2026-12-01"),)
    )
    first, *rest = rendered(memory).split("\n")
    assert "Use PostgreSQL" in first
    assert rest == [
        "  > **note** Ada, 2026-12-01: works",
        "  > **contested** Bob, 2026-11-21: Use MySQL",
        "  > it is there",
        "  > **contested** Eve, 2026-11-22 would forget it",
    ]
    item = item_of(rendered(memory))
    assert item.text == "Use PostgreSQL"
    assert item.annex.count("contested") == 2


def test_a_long_text_is_cut_and_says_so() -> None:
    memory = make("word " * 2_000)
    line = rendered(memory)
    assert len(line) < 4_300
    assert "  > **cut** 6,001 more characters: `gitmem show" in line
    assert memory.body.startswith(item_of(line).text)


def test_a_file_keeps_to_its_limit() -> None:
    spent = template("MEMORY.md")
    pairs = [(m, rendered(m)) for m in (make(f"memory {n} " + "x" * 60) for n in range(300))]
    shown = fit(pairs, LONG_TERM, spent)
    text = spent.replace("{block}", render_block(long_term(shown), "99 more: `gitmem list`"))
    assert 120 < len(shown) < 200
    assert text.count("\n") <= 200
    assert len(text.encode()) <= 20_000
    assert len(fit(pairs, Limit(10, 100_000), "")) < 10


def test_what_matters_stands_first() -> None:
    kinds = [make("a", kind="fact"), make("b", importance=Importance.HIGH), make("c", kind="story")]
    pairs = [
        (memory, memory.body) for memory in [*kinds, make("d", importance=Importance.CRITICAL)]
    ]
    assert [section.title for section in long_term(pairs)] == ["Critical", "High", "Facts", "Story"]


def test_templates_have_a_place_for_the_block() -> None:
    for name in ("MEMORY.md", "daily.md", "active-context.md"):
        assert template(name).count("{block}") == 1
        assert template(name).endswith("{block}\n")
