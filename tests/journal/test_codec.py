"""Event lines: the canonical form to the byte, ids, and everything that makes a line broken."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.errors import UsageError
from gitmem.journal.codec import (
    DEEPEST,
    OPS,
    UNDO,
    BrokenLine,
    decode,
    encode,
    event_id,
    printable_name,
    without_floats,
)

AT = "2026-11-20T10:11:12.345678Z"
BY = "Ada <ada@example.com>"
ID = "1a2b3c4d" * 8

# The example of the format, and one line of each other shape.
GOLDEN: list[tuple[dict[str, Any], str]] = [
    (
        {
            "op": "remember",
            "text": "Use PostgreSQL: the team knows it",
            "kind": "decision",
            "tags": ["database"],
            "importance": "high",
            "line": "9f3c2a7be1d04c58",
            "branch": "feature/login",
        },
        '{"at":"2026-11-20T10:11:12.345678Z","branch":"feature/login","by":"Ada <ada@example.com>",'
        '"importance":"high","kind":"decision","line":"9f3c2a7be1d04c58","op":"remember",'
        '"tags":["database"],"text":"Use PostgreSQL: the team knows it","v":1}',
    ),
    (
        {"op": "remember", "data": {"z": 1, "a": {"y": [True, None, "0.5"], "b": "é"}}},
        '{"at":"2026-11-20T10:11:12.345678Z","by":"Ada <ada@example.com>",'
        '"data":{"a":{"b":"é","y":[true,null,"0.5"]},"z":1},"op":"remember","v":1}',
    ),
    (
        {"op": "revise", "memory": ID, "base": [ID], "text": 'a\n"b"\\\t\u2028\x7f\0 我们 🎉'},
        '{"at":"2026-11-20T10:11:12.345678Z","base":["' + ID + '"],"by":"Ada <ada@example.com>",'
        '"memory":"' + ID + '","op":"revise","text":"a\\n\\"b\\"\\\\\\t\u2028\x7f'
        '\\u0000 我们 🎉","v":1}',
    ),
    (
        {"op": "carry", "events": [ID], "attachments": [{"oid": "ab"}], "v": 99},
        '{"at":"2026-11-20T10:11:12.345678Z","attachments":[{"oid":"ab"}],'
        '"by":"Ada <ada@example.com>","events":["' + ID + '"],"op":"carry","v":1}',
    ),
]  # fmt: skip


def fields(**more: Any) -> dict[str, Any]:
    return {"at": AT, "by": BY, "op": "remember", "text": "x", "v": 1, **more}


def raw(**more: Any) -> bytes:
    """Return a line as a stranger might write it: not canonical, without our checks."""
    return json.dumps(fields(**more)).encode()


def without(*keys: str, **more: Any) -> bytes:
    kept = {key: value for key, value in fields(**more).items() if key not in keys}
    return json.dumps(kept).encode()


text = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


# -- the canonical form -------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "line"), GOLDEN)
def test_the_line_is_the_golden_one(given: dict[str, Any], line: str) -> None:
    event = encode({"by": BY, **given, "at": AT})
    assert event.line == line.encode()
    assert event.id == hashlib.sha256(line.encode()).hexdigest() == event_id(event.line)


def test_empty_values_are_left_out() -> None:
    empty = {"branch": None, "tags": [], "base": (), "reason": "", "source": {}}
    assert encode(fields(**empty)).line == encode(fields()).line


def test_falsehood_and_zero_are_values() -> None:
    assert encode(fields(pending=False, data={"n": 0})).fields["pending"] is False


def test_no_key_may_sort_before_at() -> None:
    with pytest.raises(AssertionError, match="'at'"):
        encode(fields(agent="claude"))


@given(st.dictionaries(text.filter(lambda key: key > "at"), plain), text)
def test_at_is_the_first_key(more: dict[str, Any], content: str) -> None:
    assert encode({**more, **fields(text=content)}).line.startswith(b'{"at":"2026-')


@given(text, st.dictionaries(text, plain, max_size=5), st.sampled_from(sorted(OPS)))
def test_what_is_encoded_is_decoded(content: str, data: dict[str, Any], op: str) -> None:
    more = {"memory": ID, "events": [ID], "tag": "t", "rel": "relates", "target": "x"}
    event = encode(fields(op=op, text=content, data=data, **more))
    read = decode(event.line)
    assert read == event and read.understood
    assert read.fields.get("text", "") == content and read.fields.get("data", {}) == data
    assert b"\n" not in event.line


@given(st.dictionaries(text, plain, max_size=5), st.randoms())
def test_the_order_of_keys_does_not_change_the_line(data: dict[str, Any], random: Any) -> None:
    shuffled = list(data.items())
    random.shuffle(shuffled)
    assert encode(fields(data=dict(shuffled))).line == encode(fields(data=data)).line


def test_an_event_of_its_own_making_reads_like_a_decoded_one() -> None:
    event = encode(fields(tags=("a", "b"), base=(ID,)))
    assert event == decode(event.line)
    assert event.fields["tags"] == ["a", "b"]


# -- floats and half characters -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e400, "inf"),
        ({"a": [1.5, {"b": 2.0}], 3: (0.25,)}, {"a": ["1.5", {"b": "2.0"}], "3": ["0.25"]}),
        ([True, 1, None, "x"], [True, 1, None, "x"]),
    ],
)
def test_floats_become_text(value: Any, stored: Any) -> None:
    assert without_floats(value) == stored


@given(st.text(), st.characters(categories=["Cs"]), st.text())
@example("ok ", "\ud83d", "")
def test_half_a_character_is_a_usage_error(before: str, half: str, after: str) -> None:
    content = before + half + after
    for where in ({"text": content}, {"data": {content: 1}}, {"data": {"a": [content]}}):
        with pytest.raises(UsageError, match="half of a character"):
            encode({"at": AT, "by": BY, "op": "remember", **where})


@pytest.mark.parametrize("escape", ["\\ud83d", "\\uD83D x", "\\uDE00\\uD83D", "a\\udfff"])
def test_an_escaped_half_character_is_broken(escape: str) -> None:
    line = raw(text="HERE").replace(b"HERE", escape.encode())
    with pytest.raises(BrokenLine):
        decode(line)


def test_an_escaped_pair_is_a_character_and_keeps_its_line() -> None:
    line = raw(text="HERE").replace(b"HERE", b"\\ud83d\\ude00 \\\\ud83d")
    event = decode(line)
    assert (event.text, event.line, event.id) == ("😀 \\ud83d", line, event_id(line))


def test_data_that_nests_too_deep_is_a_usage_error() -> None:
    deep: Any = "x"
    for _ in range(DEEPEST - 1):
        deep = [deep]
    encode(fields(text="[{" * 500, data={"a": deep[0]}))
    with pytest.raises(UsageError, match="nests deeper"):
        encode(fields(data={"a": deep}))


# -- broken lines -------------------------------------------------------------------------------

BROKEN = {
    "empty": b"",
    "blank": b"   ",
    "prose": b"reviewed by Bob",
    "cut short": raw()[:-1],
    "two objects": raw() + raw(),
    "not UTF-8": raw().replace(b'"x"', b'"\xff"'),
    "a surrogate in UTF-8": raw().replace(b'"x"', b'"\xed\xa0\xbd"'),
    "a byte order mark": b"\xef\xbb\xbf" + raw(),
    "UTF-16": raw().decode().encode("utf-16"),
    "array": b"[" + raw() + b"]",
    "string": b'"' + AT.encode() + b'"',
    "number": b"1",
    "null": b"null",
    "NaN": raw().replace(b'"x"', b"NaN"),
    "-Infinity in data": raw(data={"a": 1}).replace(b'"a": 1', b'"a": -Infinity'),
    "a number beyond all": raw(data={"a": 1}).replace(b'"a": 1', b'"a": -1e999'),
    "an integer of 5,000 digits": raw(data={"a": 1}).replace(b'"a": 1', b'"a": ' + b"9" * 5000),
    "nested deep": raw(data={"a": 1}).replace(b'"a": 1', b'"a": ' + b"[" * 80 + b"]" * 80),
    "nested beyond any stack": b'{"at":' + b"[" * 100_000,
    "nested beyond any stack, closed": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "a raw control character": raw().replace(b'"x"', b'"\x01"'),
    "a key twice": raw().replace(b'"v": 1', b'"v": 1, "text": "y"'),
    "a key twice within": raw(data={"a": 1}).replace(b'"a": 1', b'"a": 1, "a": 2'),
    "no at": without("at"),
    "no version": without("v"),
    "no op": without("op"),
    "remember by nobody": without("by"),
    "op no string": raw(op=["remember"]),
    **{f"{op} of nothing": raw(op=op) for op in ("revise", "forget", "restore", "purge")},
    **{f"{op} without tag": raw(op=op, memory=ID) for op in ("tag", "untag")},
    **{f"{op} without target": raw(op=op, memory=ID, rel="relates") for op in ("link", "unlink")},
    **{f"{op} without rel": raw(op=op, memory=ID, target="x") for op in ("link", "unlink")},
    "tag of nothing": raw(op="tag", tag="x"),
    "carry of nothing": raw(op="carry"),
    "an importance unheard of": raw(importance="urgent"),
    "an importance in capitals": raw(importance="High"),
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN.keys())
def test_broken(line: bytes) -> None:
    with pytest.raises(BrokenLine) as raised:
        decode(line)
    assert str(raised.value)


@pytest.mark.parametrize(
    "at",
    [
        "2026-11-20T10:11:12Z",
        "2026-11-20T10:11:12.345Z",
        "2026-11-20T10:11:12.3456789Z",
        "2026-11-20T10:11:12.345678+00:00",
        "2026-11-20T10:11:12.345678z",
        "2026-11-20 10:11:12.345678Z",
        "2026-11-20T10:11:12.345678Z\n",
        " 2026-11-20T10:11:12.345678Z",
        "+2026-11-20T10:11:12.345678Z",
        "20261-1-20T10:11:12.345678Z",
        "٢٠٢٦-11-20T10:11:12.345678Z",
        "2026-11-20T10:11:12.34567８Z",
        "",
        0,
        1.5,
        None,
        ["2026-11-20T10:11:12.345678Z"],
    ],
)
def test_an_at_of_another_shape_is_broken(at: Any) -> None:
    with pytest.raises(BrokenLine, match="'at'"):
        decode(raw(at=at))


@pytest.mark.parametrize("version", [0, -1, True, False, "1", 1.0, 1.5, None, [1], {}])
def test_a_version_that_is_no_count_is_broken(version: Any) -> None:
    with pytest.raises(BrokenLine, match="version"):
        decode(raw(v=version))


STRINGS = "branch by expires kind line memory reason rel scope tag target text".split()
WRONG = [
    *((key, value) for key in STRINGS for value in (1, 1.5, None, True, ["x"], {"x": 1})),
    *((key, value) for key in ("base", "events", "tags") for value in ("x", 1, {}, [1], [[]])),
    *((key, value) for key in ("data", "paths", "source") for value in ("x", 1, None, ["x"])),
    *(("importance", value) for value in (1, None, ["high"], {"high": 1})),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_known_key_of_the_wrong_type_is_broken(key: str, value: Any) -> None:
    with pytest.raises(BrokenLine, match=f"'{key}'"):
        decode(raw(**{key: value}))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_event_or_broken(line: bytes) -> None:
    with pytest.raises(BrokenLine):
        decode(line)


@given(st.data())
def test_a_damaged_line_is_an_event_or_broken(data: st.DataObject) -> None:
    line = bytearray(raw(data={"a": [1, {"b": "é"}]}, tags=["t"]))
    for _ in range(data.draw(st.integers(1, 3))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    try:
        event = decode(bytes(line))
    except BrokenLine:
        return
    assert event.id == event_id(bytes(line)) and event.line == line


# -- what is kept though not understood ---------------------------------------------------------


@given(
    st.integers(2) | st.just(1),
    text.filter(lambda op: op not in OPS),
    st.dictionaries(st.sampled_from([*STRINGS, "base", "events", "tags", "data"]), plain),
)
@example(2, "remember", {"memory": 1, "base": 3, "by": [], "reason": {}, "branch": 7})
@example(10**30, "revise", {"base": ["x", 1], "memory": {"a": 1}, "text": ["y"]})
def test_later_versions_and_unknown_ops_are_kept(
    version: int, op: str, more: dict[str, Any]
) -> None:
    line = json.dumps({**more, "at": AT, "op": op, "v": version}).encode()
    event = decode(line)
    assert not event.understood
    assert (event.line, event.id) == (line, event_id(line))
    assert event.memory is None or isinstance(event.memory, str)
    assert all(isinstance(value, str) for value in (event.by, event.reason, *event.base))
    assert event.branch is None or isinstance(event.branch, str)
    assert event.text is None or isinstance(event.text, str)
    assert event.undoes is None


def test_unknown_keys_of_this_version_are_kept() -> None:
    event = decode(raw(mood=[1, {"a": None}]))
    assert event.understood and event.fields["mood"] == [1, {"a": None}]


@pytest.mark.parametrize(
    "line",
    [
        encode(fields(text="a\u2028b\u2029c\x85d\x0bf\x0c")).line,
        encode(fields()).line + b"\r",
        encode(fields()).line + b"  ",
        b" " + encode(fields()).line,
        json.dumps(fields(text="é"), indent=1).replace("\n", "\r").encode(),
        b'{"v":1,"text":"\\u00e9\\/","op":"remember","by":"x","at":"' + AT.encode() + b'"}',
    ],
    ids=["line separators", "CR", "trailing spaces", "leading space", "CR within", "own order"],
)
def test_a_line_keeps_its_own_id(line: bytes) -> None:
    event = decode(line)
    assert event.understood
    assert (event.line, event.id) == (line, hashlib.sha256(line).hexdigest())


def test_an_at_that_is_no_date_fits_the_pattern() -> None:
    assert decode(raw(at="2026-02-31T25:61:61.000000Z")).at == "2026-02-31T25:61:61.000000Z"


# -- reading an event ---------------------------------------------------------------------------


def test_a_remember_is_about_itself_and_a_carry_about_none() -> None:
    event = encode(fields(memory="f" * 64))
    assert event.memory == event.id
    assert encode(fields(op="carry", events=[ID])).memory is None
    assert encode(fields(op="forget", memory=ID)).memory == ID


def test_an_undo_names_a_whole_event_id() -> None:
    def undoes(reason: str) -> str | None:
        return encode(fields(op="revise", memory=ID, reason=reason)).undoes

    assert undoes(UNDO + ID) == ID
    for words in ("undo the migration first", "undo ", f"undo {ID} please", "redo " + ID, ""):
        assert undoes(words) is None


# -- names that are not UTF-8 -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("feature/login", "feature/login"),
        ("100%", "100%"),
        ("日本語", "日本語"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf%E9"),
        (b"100%\xff\xfe/\xc3\xa9".decode("utf-8", "surrogateescape"), "100%25%FF%FE/é"),
    ],
)
def test_a_name_that_is_not_utf8_is_percent_encoded(name: str, shown: str) -> None:
    assert printable_name(name) == shown


@given(st.binary(), st.binary())
def test_different_names_stay_different(one: bytes, other: bytes) -> None:
    names = [part.decode("utf-8", "surrogateescape") for part in (one, other)]
    shown = [printable_name(name) for name in names]
    "".join(shown).encode("utf-8")  # raises if half a character is left
    if shown[0] != names[0] and shown[1] != names[1]:
        assert (shown[0] == shown[1]) == (one == other)
