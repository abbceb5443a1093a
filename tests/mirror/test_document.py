"""A file's bytes: the block is found, and everything else stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.mirror import document
from gitmem.mirror.document import digest, enclose, read

BLOCK = enclose("\n- a <!-- 1a2b3c4d normal main 2026-11-20 -->\n")
NEW = enclose("\n- b <!-- 2a2b3c4d normal main 2026-11-20 -->\n")
END = "<!-- gitmem:end -->"
BOM = b"\xef\xbb\xbf"

outside = st.lists(
    st.sampled_from(
        [b"# Title\n", b"text", b"\n", b"\r\n", b"\xc3(", b"- bullet\n", "日本\n".encode(), b" "]
    ),
    max_size=5,
).map(b"".join)


@given(outside, outside, st.booleans())
def test_bytes_outside_the_block_never_change(before: bytes, after: bytes, crlf: bool) -> None:
    block = BLOCK.replace("\n", "\r\n") if crlf else BLOCK
    before, after = before + b"\n", b"\n" + after
    found = read(before + block.encode() + after)
    assert not found.problem
    assert not found.edited
    replaced = found.replace(NEW, "moved text")
    assert replaced.startswith(before)
    assert replaced.endswith(after)
    middle = replaced[len(before) : len(replaced) - len(after)]
    assert middle.replace(b"\r\n", b"\n") == f"{NEW}\n\nmoved text".encode()
    assert (b"\r\n" in middle) == crlf


@given(outside)
def test_a_block_that_is_added_can_be_taken_away(raw: bytes) -> None:
    added = read(raw).replace(BLOCK)
    assert added.startswith(raw)
    found = read(added)
    assert len(found.regions) == 1
    assert not found.edited
    assert found.without_block() == raw
    assert read(found.replace(NEW)).without_block() == raw


@pytest.mark.parametrize("raw", [b"", BOM, b"text", b"text\n", b"text\r\n", b"a\n\n"])
def test_a_file_without_a_block_gets_one_at_its_end(raw: bytes) -> None:
    added = read(raw).replace(BLOCK)
    assert added.endswith((b"-->", b"-->\n", b"-->\r\n"))
    assert read(added).without_block() == raw


def test_a_byte_order_mark_may_precede_the_block() -> None:
    found = read(BOM + BLOCK.encode())
    assert [region.start for region in found.regions] == [3]
    assert found.replace(NEW) == BOM + NEW.encode()


def test_line_ends_and_trailing_space_are_no_edit() -> None:
    reached = BLOCK.replace("2026-11-20 -->", "2026-11-20 -->   ").replace("\n", "\r\n")
    assert not read(reached.encode()).edited
    assert read(BLOCK.replace("- a", "- b").encode()).edited
    assert digest("a \nb") == digest("a\r\nb\n\n")


def test_without_end_marker_the_block_stops_at_the_last_id() -> None:
    block = BLOCK.replace(END, "  more of it\n\n  and more\n\nmine\n- mine too\n")
    found = read(block.encode())
    (region,) = found.regions
    assert not region.closed
    assert region.text.endswith("and more")
    replaced = found.replace(NEW)
    assert replaced == f"{NEW}\n\nmine\n- mine too\n".encode()


def test_without_end_marker_and_ids_everything_is_the_users() -> None:
    block = "<!-- gitmem:begin 0123456789ab -->\n- mine\n"
    assert read(block.encode()).replace(NEW) == f"{NEW}\n- mine\n".encode()


def test_doubled_blocks_become_one() -> None:
    raw = f"one\n{BLOCK}\ntwo\n{BLOCK}\nthree".encode()
    found = read(raw)
    assert len(found.regions) == 2
    assert found.replace(NEW) == f"one\n{NEW}\ntwo\n\nthree".encode()


def test_a_begin_marker_ends_the_block_before_it() -> None:
    first = BLOCK.replace("<!-- gitmem:end -->", "mine")
    found = read(f"{first}\n{BLOCK}\n".encode())
    assert [region.closed for region in found.regions] == [False, True]
    assert b"mine" in found.replace(NEW)


def test_a_lone_end_marker_is_the_users() -> None:
    raw = f"{END}\n{BLOCK}\n{END}\n".encode()
    assert read(raw).replace(BLOCK) == raw


CONFLICTS = [
    BLOCK.replace("\n- a", "\n<<<<<<< HEAD\n- a"),
    BLOCK.replace("\n- a", "\n>>>>>>> other\n- a"),
    BLOCK.replace("\n- a", "\n||||||| base\n- a"),
    f"<<<<<<< HEAD\n{BLOCK}\n=======\n{NEW}\n>>>>>>> other\n",
    f"<<<<<<< HEAD\n{BLOCK.removesuffix(END)}=======\n- x\n>>>>>>> other\n{END}",
]


@pytest.mark.parametrize("text", CONFLICTS)
def test_conflict_markers_in_the_block_stop_everything(text: str) -> None:
    assert read(text.encode()).problem == document.CONFLICT
    assert read(text.replace("\n", "\r\n").encode()).problem == document.CONFLICT


def test_conflict_markers_elsewhere_do_not_matter() -> None:
    text = f"<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> other\n{BLOCK}\n"
    assert not read(text.encode()).problem
    assert not read(BLOCK.replace("- a", "- a\n  =======\n  <<<<<<< HEAD").encode()).problem


def test_bytes_that_are_no_text() -> None:
    assert read(BLOCK.encode().replace(b"- a", b"- \xff")).problem == document.NOT_UTF8
    assert read(BLOCK.encode("utf-16")).problem == document.NOT_TEXT
    assert read(b"\0" + BLOCK.encode()).problem == document.NOT_TEXT
