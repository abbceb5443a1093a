from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import Unreadable
from gitmem.sessions.importers import records as reading
from gitmem.sessions.importers.records import document, files, lines, records, utc
from gitmem.sessions.model import Skipped


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_lines_come_without_their_ends(tmp_path: Path) -> None:
    path = written(tmp_path / "a", b"\xef\xbb\xbfone\r\n\ntwo \nthree")
    assert list(lines(path)) == [b"one", b"", b"two ", b"three"]


def test_lines_with_their_ends_tell_whether_the_last_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"one\r\n\ntw")
    assert list(lines(path, ends=True)) == [b"one\r\n", b"\n", b"tw"]


def test_a_line_too_long_is_skipped_and_the_rest_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST", 2**20)
    path = written(tmp_path / "a", b"one\n" + b"x" * (3 * 2**20 + 5) + b"\ntwo\n" + b"y" * 2**20)
    first, skipped, *rest = lines(path)
    assert (first, skipped) == (b"one", Skipped("a line longer than 1 MB"))
    assert rest == [b"two", b"y" * 2**20]


def test_one_endless_line_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST", 2**20)
    path = written(tmp_path / "a", b'{"text": "' + b"x" * 2**23)
    found = records(path)
    assert next(found) == Skipped("a line longer than 1 MB")
    with pytest.raises(Unreadable, match="has no line that is a JSON object"):
        next(found)


def test_odd_lines_are_counted_and_the_rest_read(tmp_path: Path) -> None:
    odd = b'{"a": 1}\n\n[1]\nnull\n{"b"\n{"c": "\xff"}\n' + b"[" * 100_000 + b'\n{"d": 2}\n'
    assert list(records(written(tmp_path / "a", odd))) == [
        {"a": 1},
        Skipped("a line that is no JSON object"),
        Skipped("a line that is no JSON object"),
        Skipped("a line that is no JSON"),
        Skipped("a line that is not UTF-8"),
        Skipped("a line that is no JSON"),
        {"d": 2},
    ]


@pytest.mark.parametrize("torn", [b'{"b": 2', b'{"b": "\xc3', b'{"b": 2}'])
def test_a_torn_last_line_waits_until_it_is_whole(tmp_path: Path, torn: bytes) -> None:
    path = written(tmp_path / "a", b'{"a": 1}\n' + torn)
    assert list(records(path)) == [{"a": 1}, *([{"b": 2}] if torn.endswith(b"}") else [])]


def test_a_file_that_was_just_begun_has_nothing_yet(tmp_path: Path) -> None:
    assert list(records(written(tmp_path / "a", b'{"type": "sess'))) == []


@pytest.mark.parametrize(
    "content",
    [b'[{"a": 1}]', b"[\n  1\n]\n", b"\x89PNG\r\n\x1a\n\0", '{"a": 1}\n'.encode("utf-16")],
)
def test_what_is_no_file_of_json_lines_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Unreadable, match="'.*/a' has no line that is a JSON object"):
        list(records(written(tmp_path / "a", content)))


def test_half_a_surrogate_pair_can_be_written_again(tmp_path: Path) -> None:
    path = written(tmp_path / "a", rb'{"a": ["x\uD83D", {"\udc00": "\ud83d\ude00"}]}' + b"\n")
    (found,) = records(path)
    assert found == {"a": ["x\ufffd", {"\ufffd": "\U0001f600"}]}


def test_a_document(tmp_path: Path) -> None:
    assert document(written(tmp_path / "a", b'\xef\xbb\xbf {"a": [1]}\n')) == {"a": [1]}


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{", "is no JSON, or torn"), (b"[" * 10**5, "is no JSON"), (b'"\xff"', "is not UTF-8")],
)
def test_what_is_no_document(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        document(written(tmp_path / "a", content))


def test_a_document_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST", 2**20)
    with pytest.raises(Unreadable, match="is longer than 1 MB"):
        document(written(tmp_path / "a", b" " * (2**20 + 1)))


def no_files(folder: Path) -> dict[str, Path]:
    """Return paths below a folder that are no readable regular file, by what is said of them."""
    (folder / "d").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "empty").touch()
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(folder)  # the name of a socket must be short
        listening.bind("s")
    return {
        "is a folder": folder / "d",
        "is a FIFO": folder / "fifo",
        "cannot be read: too many levels of symbolic links": folder / "loop",
        "cannot be read: no such file": folder / "dangling",
        "is empty": folder / "empty",
        "cannot be read: no such device": folder / "s",
        "cannot be read: embedded null byte": folder / "a\0b",
        "cannot be read: file name too long": folder / ("x" * 300),
    }


def test_what_is_no_regular_file_says_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for said, path in no_files(tmp_path).items():
        for read in (lambda p: list(lines(p)), lambda p: list(records(p)), document):
            with pytest.raises(Unreadable, match=said):
                read(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a", b"{}\n")
    path.chmod(0)
    with pytest.raises(Unreadable, match="cannot be read: permission denied"):
        list(lines(path))


def test_files_below_a_folder_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/c.jsonl", "a/subagents/agent-1.jsonl", "a/c.json", "x.jsonl.zst"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [str(path.relative_to(tmp_path)) for path in files(tmp_path, "*.jsonl")]
    assert found == ["a/c.jsonl", "a/subagents/agent-1.jsonl", "b.jsonl"]
    assert list(files(tmp_path, "subagents/*.jsonl", "*.zst")) == [
        tmp_path / "a/subagents/agent-1.jsonl",
        tmp_path / "x.jsonl.zst",
    ]


def test_a_file_is_its_own_place_whatever_its_name(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", b"")
    assert list(files(path, "*.jsonl")) == [path]
    assert list(files(tmp_path / "none", "*.jsonl")) == []


def test_links_are_followed_once_and_what_is_odd_is_left_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.jsonl").touch()
    (tmp_path / "real" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "same").symlink_to("real", target_is_directory=True)
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    assert [p.name for p in files(tmp_path, "*.jsonl")] == ["loop.jsonl", "a.jsonl"]
    assert list(files(tmp_path / "loop.jsonl", "*.jsonl")) == [tmp_path / "loop.jsonl"]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-11-18T09:00:00.123Z", "2026-11-18T09:00:00.123000Z"),
        ("2026-11-18T09:00:00.123456789Z", "2026-11-18T09:00:00.123456Z"),
        ("2026-11-18T10:30:00+01:30", "2026-11-18T09:00:00.000000Z"),
        ("2026-11-18 09:00:00", "2026-11-18T09:00:00.000000Z"),
        (1774951801000, "2026-03-31T10:10:01.000000Z"),
        (1774951801, "2026-03-31T10:10:01.000000Z"),
        ("1774951801", "2026-03-31T10:10:01.000000Z"),
        (1774951801.25, "2026-03-31T10:10:01.250000Z"),
        (1774951801000000, "2026-03-31T10:10:01.000000Z"),
        (1774951801000000000, "2026-03-31T10:10:01.000000Z"),
        (0, "1970-01-01T00:00:00.000000Z"),
    ],
)
def test_times(moment: object, expected: str) -> None:
    assert utc(moment) == expected


@pytest.mark.parametrize(
    "moment",
    ["", "yesterday", "2026-02-31", None, True, {}, -1, 1e30, 10**400, float("nan"), float("inf"),
     "0001-01-01T00:00:00+14:00", "9" * 400],
)  # fmt: skip
def test_what_is_no_time(moment: object) -> None:
    assert utc(moment) == ""


@given(content=st.binary())
def test_any_bytes_give_records_or_one_error(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path / "a", content)
    for read in (lambda p: list(records(p)), lambda p: list(lines(p)), document):
        try:
            read(path)
        except Unreadable as error:
            assert str(error).startswith(f"'{path}' ")


@given(values=st.lists(st.dictionaries(st.text(), st.integers() | st.text())), cut=st.floats(0, 1))
def test_a_prefix_gives_a_prefix(
    tmp_path: Path, values: list[dict[str, object]], cut: float
) -> None:
    content = "".join(f"{json.dumps(value)}\n" for value in values).encode()
    part = written(tmp_path / "a", content[: round(len(content) * cut)])
    if part.stat().st_size:
        found = list(records(part))
        assert found == values[: len(found)]
        assert len(found) >= part.read_bytes().count(b"\n")


@given(moment=st.text() | st.integers() | st.floats() | st.datetimes().map(str))
def test_a_time_is_an_events_or_none(moment: object) -> None:
    assert utc(moment) == "" or len(utc(moment)) == 27
