"""Edits of settings as text change what they should, and leave every comment where it was."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.agents import managed
from gitmem.agents.install import jsontext, tomltext
from gitmem.agents.install.ledger import Entry

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["// no comment", "/* nor this */", '"', "\\", "\\\\", "}", ","]),
)
KEYS = st.one_of(st.text(max_size=4), st.sampled_from(["//", "/*", "hooks"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])
COMMENTS = st.sampled_from(["", "", ' // {"x": [\n', ' /* }, ] " */ ', "\n// one\n// two\n"])
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """JSON in some layout, with comments, and its value."""
    value = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    value["list"] = draw(st.lists(VALUES, max_size=3))
    text = json.dumps(value, indent=draw(INDENTS), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = TOKENS.sub(lambda found: found[0] + draw(COMMENTS), text)
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text, value


def comments(text: str) -> list[str]:
    """Return the comments of a text, in order."""
    both = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return [found for found in both if not found.startswith('"')]


def parse(text: str) -> Any:
    return jsontext.parse(text, comments=True)


@given(texts(), VALUES)
def test_what_is_inserted_is_there_and_can_be_deleted(
    sample: tuple[str, dict[str, Any]], new: Any
) -> None:
    text, value = sample
    for path, expected in (
        (("list",), {**value, "list": [*value["list"], new]}),
        (("new key",), {**value, "new key": new}),
        (("new", "deeper", '"'), {**value, "new": {"deeper": {'"': new}}}),
    ):
        if path == ("new key",) and isinstance(new, list):
            continue  # an array that is there takes items
        after = jsontext.insert(text, path, new)
        assert parse(after) == expected
        assert comments(after) == comments(text)
        inserted = ("list", len(value["list"])) if path == ("list",) else path[:1]
        assert parse(jsontext.delete(after, inserted)) == value
        assert comments(jsontext.delete(after, inserted)) == comments(text)


@given(texts(), VALUES, st.data())
def test_one_member_goes_or_changes_and_no_other(
    sample: tuple[str, dict[str, Any]], new: Any, data: st.DataObject
) -> None:
    text, value = sample
    key = data.draw(st.sampled_from(list(value)))
    left = {name: there for name, there in value.items() if name != key}
    assert parse(jsontext.delete(text, (key,))) == left
    assert parse(jsontext.replace(text, (key,), new)) == {**value, key: new}
    for index in range(len(value["list"])):
        expected = copy.deepcopy(value)
        expected["list"][index] = new
        assert parse(jsontext.replace(text, ("list", index), new)) == expected
        del expected["list"][index]
        assert parse(jsontext.delete(text, ("list", index))) == expected


def test_an_insertion_looks_like_its_neighbours() -> None:
    text = '{\n\t"a": [ // first\n\t\t1\n\t] // last\n}\n'
    after = jsontext.insert(text, ("b", "c"), [2])
    assert after == (
        '{\n\t"a": [ // first\n\t\t1\n\t], // last\n\t"b": {\n\t\t"c": [\n\t\t\t2\n\t\t]\n\t}\n}\n'
    )
    assert jsontext.delete(after, ("b",)) == text
    assert jsontext.insert('{"a": [1]}', ("a",), 2) == '{"a": [1, 2]}'
    assert jsontext.insert("{ /* none */ }", ("a",), 1) == '{ /* none */\n  "a": 1\n}'


@pytest.mark.parametrize(
    "text", ["{", "{} x", '{"a": 1,}', '{"a": NaN}', "[" * 90_000, '{"a": "\n"}', "{'a': 1}", "/*"]
)
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        jsontext.parse(text, comments=True)


PLAIN = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=3),
    st.integers(0, 99),
)
TOML = st.lists(
    st.sampled_from(
        [
            "# a comment\n",
            "\n",
            "[other]\n",
            'x = "[mcp.gitmem]"\n',
            "[[many]]\n",
            "  [deep.er]  # why\n",
        ]
    ),
    max_size=8,
).map("".join)


@given(
    TOML, st.dictionaries(st.sampled_from(["command", "args", "wait"]), PLAIN, min_size=1), PLAIN
)
def test_a_table_comes_changes_and_goes(text: str, values: dict[str, Any], new: Any) -> None:
    try:
        before = tomltext.parse(text)
    except ValueError:
        return
    after = tomltext.insert(text, "mcp.gitmem", values)
    assert after.startswith(text)
    assert tomllib.loads(after) == {**before, "mcp": {"gitmem": values}}
    key = next(iter(values))
    changed = tomltext.update(after, "mcp.gitmem", {key: new})
    assert tomllib.loads(changed)["mcp"]["gitmem"] == {**values, key: new}
    deleted = tomltext.delete(changed, "mcp.gitmem")
    assert deleted == text if text.strip() else not deleted.strip()


def test_a_table_goes_from_the_middle_with_those_below_it() -> None:
    text = (
        '[mcp.gitmem]\nargs = [\n  "x",\n]\n\n[mcp.gitmem.env]\nA = "[b]"\n\n# of the next\n'
        "[mcp.gitmemory]\nx = 1\n"
    )
    assert tomltext.delete(text, "mcp.gitmem") == "\n# of the next\n[mcp.gitmemory]\nx = 1\n"


@given(st.one_of(st.none(), st.text()), st.text())
def test_the_ledger_gives_back_every_text(before: str | None, after: str) -> None:
    assert Entry.of(before, after, []).undo(after) == before


@given(st.text(st.characters(exclude_characters="<\r")))
def test_the_managed_block_comes_and_goes(text: str) -> None:
    with_block = managed.put(text, "told")
    assert managed.put(with_block, "told") == with_block
    assert managed.take(with_block) == (text if text.endswith("\n") or not text else f"{text}\n")
