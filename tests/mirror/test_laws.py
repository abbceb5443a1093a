"""The law of the inbox: no word that somebody typed is lost, whatever was done to the block."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.mirror.mirror import LONG_TERM
from gitmem.model import Memory
from tests.mirror.support import DAILY, Desk, FakeView, memories, spaced_texts


def _words(text: str) -> set[str]:
    text = re.sub(r"<!-- (?:gitmem:|[0-9a-f]{4,}).*?-->", " ", text)
    text = re.sub(r"&(?:amp;)*#x[0-9A-F]+;", " ", text)
    return set(re.findall(r"[^\W_]{2,}", text))


changes = st.one_of(
    st.tuples(st.just("delete"), st.integers(0, 50), st.just("")),
    st.tuples(st.just("insert"), st.integers(0, 50), spaced_texts),
    st.tuples(st.just("insert"), st.integers(0, 50), spaced_texts.map("- {}".format)),
    st.tuples(st.just("append"), st.integers(0, 50), spaced_texts),
    st.tuples(st.just("double"), st.integers(0, 50), st.just("")),
    st.tuples(st.just("strip"), st.integers(0, 50), st.just("")),
    st.tuples(st.just("indent"), st.integers(0, 50), st.just("")),
    st.tuples(
        st.just("word"), st.integers(0, 50), st.sampled_from(["new", "#new", "@new", "**new**"])
    ),
)


def _mutate(lines: list[str], change: tuple[str, int, str]) -> None:
    kind, number, text = change
    place = number % max(len(lines), 1)
    line = lines[place] if lines else ""
    if kind == "insert":
        lines.insert(place, text.replace("gitmem:", "x"))
    elif lines and kind == "delete":
        del lines[place]
    elif lines and kind == "double":
        lines.insert(place, line)
    elif lines:
        lines[place] = {
            "append": f"{line} {text.replace('gitmem:', 'x')}",
            "strip": re.sub(r" <!-- .*? -->", "", line),
            "indent": f"  {line}",
            "word": line.replace(" ", f" {text} ", 1),
        }[kind]


@settings(max_examples=150)
@given(
    st.lists(memories, min_size=1, max_size=5, unique_by=lambda memory: memory.id),
    st.lists(changes, min_size=1, max_size=4),
    st.booleans(),
)
def test_no_word_that_was_typed_is_lost(
    tmp_path_factory: pytest.TempPathFactory,
    shown: list[Memory],
    typed: list[tuple[str, int, str]],
    accept: bool,
) -> None:
    desk = Desk(tmp_path_factory.mktemp("desk") / "work", FakeView(*shown))
    desk.sync()
    head, begin, rest = desk.text().partition("\n\n## ")
    lines = (begin + rest).split("\n")
    for change in typed:
        _mutate(lines, change)
    (desk.root / LONG_TERM).write_bytes((head + "\n".join(lines)).encode())
    headings = re.findall(r"(?m)^## (.*)", begin + rest)
    wanted = _words(desk.text()) - _words(" ".join(headings))
    found, _ = desk.sync(accept=accept)
    afterwards = [desk.text(), desk.text(DAILY), *(repr(edit) for _, edit in found.edits)]
    assert wanted <= _words("\n".join(afterwards))
    if not found.held:
        assert desk.mirror().edits(desk.view).edits == []
