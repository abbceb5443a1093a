"""A transcript that grew: what was taken in is not cleaned again, and nothing is missed for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gitmem
from gitmem import Gitmem
from gitmem.sessions import intake
from gitmem.sessions.known import FOLDER, Known, Turns
from gitmem.sessions.model import Turn
from tests.sessions.test_importing import OLD, record, said, take, transcript
from tests.support import git

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
NUMBERS = st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 2**64 - 1))


@pytest.fixture
def gm(repo: Path) -> Iterator[Gitmem]:
    """Return the memory of a repository."""
    with gitmem.open(repo) as opened:
        yield opened


@pytest.fixture
def cleaned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that are cleaned from now on."""
    texts: list[str] = []
    clean = intake.clean

    def counted(turn: Turn) -> tuple[Turn | None, tuple[str, ...]]:
        texts.append(turn.text)
        return clean(turn)

    monkeypatch.setattr(intake, "clean", counted)
    return texts


def grown(place: Path, *lines: str) -> Path:
    """Write a transcript that is longer now."""
    return transcript(place, *lines, age=place.stat().st_mtime + 9 if place.exists() else OLD)


def test_only_the_turns_that_are_new_are_cleaned(
    gm: Gitmem, tmp_path: Path, cleaned: list[str]
) -> None:
    first = [record("1", "one"), record("2", f"<private>{TOKEN}</private>"), record("3", "three")]
    place = grown(tmp_path / "s1.jsonl", *first)
    take(gm, place)
    assert len(cleaned) == 3
    cleaned.clear()
    grown(place, *first, record("4", f"four {TOKEN}"))
    report = take(gm, place)
    assert cleaned == [f"four {TOKEN}"] and report.new == 1 and sum(report.secrets.values()) == 1
    assert [growth.known for growth in report.sessions] == [2]
    assert said(gm, "s1") == ["one", "three", "four [redacted: github-token]"]


def test_a_changed_earlier_turn_is_still_reported_and_the_first_kept(
    gm: Gitmem, tmp_path: Path
) -> None:
    place = grown(tmp_path / "s1.jsonl", record("1", "one"), record("2", "two"))
    take(gm, place)
    for number in range(3, 5):
        lines = [record(str(n), f"more {n}") for n in range(3, number + 1)]
        grown(place, record("1", "ONE"), record("2", "two"), *lines)
        report = take(gm, place)
        assert (report.new, report.changed) == (1, 1)
    assert said(gm, "s1") == ["one", "two", "more 3", "more 4"]


def test_what_was_left_out_and_says_more_now_is_taken_in(gm: Gitmem, tmp_path: Path) -> None:
    place = grown(tmp_path / "s1.jsonl", record("1", "one"), record("2", "<private>x</private>"))
    take(gm, place)
    grown(place, record("1", "one"), record("2", "<private>x</private> two"))
    assert take(gm, place).new == 1 and said(gm, "s1") == ["one", "two"]


def test_a_torn_last_line_is_taken_in_once_it_is_whole(gm: Gitmem, tmp_path: Path) -> None:
    whole = record("2", "two")
    place = tmp_path / "s1.jsonl"
    place.write_text(f"{record('1', 'one')}\n{whole[:40]}")
    take(gm, place)
    assert said(gm, "s1") == ["one"]
    place.write_text(f"{record('1', 'one')}\n{whole}\n")
    assert take(gm, place).new == 1 and said(gm, "s1") == ["one", "two"]


def _gone(file: Path) -> None:
    file.unlink()


def _flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("damage", [_gone, _flipped, _cut, _folder])
def test_lost_or_damaged_digests_only_cost_time(
    gm: Gitmem, tmp_path: Path, cleaned: list[str], damage: Callable[[Path], None]
) -> None:
    place = grown(tmp_path / "s1.jsonl", record("1", "one"))
    take(gm, place)
    (file,) = (gm._folder / FOLDER).iterdir()
    damage(file)
    cleaned.clear()
    grown(place, record("1", "one"), record("2", "two"))
    assert take(gm, place).new == 1 and cleaned == ["one", "two"]
    assert said(gm, "s1") == ["one", "two"]


def test_conversations_that_are_gone_are_read_again(gm: Gitmem, tmp_path: Path) -> None:
    place = grown(tmp_path / "s1.jsonl", record("1", "one"))
    take(gm, place)
    git(gm._folder / "private.git", "update-ref", "-d", "refs/gitmem/sessions")
    assert take(gm, place).new == 1 and said(gm, "s1") == ["one"]


def test_digests_of_other_rounds_do_not_hold(tmp_path: Path) -> None:
    known = Known(tmp_path)
    known.save("a/b", "0" * 40, Turns({1: 2}, {1: 3}))
    assert known.load("a/b", "0" * 40) == Turns({1: 2}, {1: 3})
    assert known.load("a/b", "1" * 40) is None and known.load("a/c", "0" * 40) is None


def test_two_imports_at_once_lose_nothing(gm: Gitmem, repo: Path, tmp_path: Path) -> None:
    place = grown(tmp_path / "s1.jsonl", record("1", "one"))
    take(gm, place)
    twin = grown(tmp_path / "twin" / "s1.jsonl", record("1", "one"), record("2", "two"))
    with gitmem.open(repo) as other:
        take(other, twin)
    grown(place, record("1", "one"), record("3", "three"))
    assert take(gm, place).new == 1 and said(gm, "s1") == ["one", "two", "three"]


@given(NUMBERS, NUMBERS)
def test_digests_are_read_as_they_were_written(
    written: dict[int, int], kept: dict[int, int]
) -> None:
    assert Turns.decode(Turns(written, kept).encode()) == Turns(written, kept)
