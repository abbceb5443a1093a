"""What was recalled is not recalled again, for a while, in one session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.search.recalled import SESSIONS, Recalled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where it is noted."""
    return tmp_path / "recalled.json"


def test_nothing_twice_in_a_session(path: Path) -> None:
    assert Recalled(path).take("s", ["a", "b", "c"], 2) == ["a", "b"]
    assert Recalled(path).take("s", ["b", "a", "c"], 2) == ["c"]
    assert Recalled(path).take("s", ["a"], 2) == []
    assert Recalled(path).take("another", ["a", "a"], 2) == ["a"]


def test_after_the_window_it_may_be_said_again(path: Path) -> None:
    recalled = Recalled(path, window=3)
    assert recalled.take("s", ["a"], 1) == ["a"]
    assert [recalled.take("s", ["a"], 1) for _ in range(3)] == [[], [], ["a"]]


def test_sessions_of_long_ago_are_forgotten(path: Path) -> None:
    recalled = Recalled(path)
    recalled.take("first", ["a"], 1)
    for number in range(SESSIONS):
        recalled.take(str(number), ["a"], 1)
    assert recalled.take("first", ["a"], 1) == ["a"]
    assert recalled.take(str(SESSIONS - 1), ["a"], 1) == []


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"s": 7}', '{"s": [1, {"a": "x"}]}', "\xff"])
def test_damage_is_forgotten(path: Path, damage: str) -> None:
    path.write_text(damage, encoding="latin-1")
    assert Recalled(path).take("s", ["a"], 1) == ["a"]
    assert Recalled(path).take("s", ["a"], 1) == []


def test_where_nothing_can_be_written_everything_is_said(tmp_path: Path) -> None:
    nowhere = Recalled(tmp_path / "no such folder" / "recalled.json")
    assert nowhere.take("s", ["a"], 1) == nowhere.take("s", ["a"], 1) == ["a"]


def test_processes_at_once_say_each_thing_once(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gitmem.search.recalled import Recalled\n"
        "for n in range(20): print(*Recalled(Path(sys.argv[1]), 10**6).take('s', [str(n)], 1))"
    )
    command = [sys.executable, "-c", code, str(path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [word for one in running for word in one.communicate()[0].split()]
    assert sorted(said, key=int) == [str(number) for number in range(20)]


@given(st.lists(st.lists(st.sampled_from("abcde")), max_size=12), st.integers(1, 5))
def test_the_window_holds(
    tmp_path_factory: pytest.TempPathFactory, prompts: list[list[str]], window: int
) -> None:
    recalled = Recalled(tmp_path_factory.mktemp("r") / "recalled.json", window)
    said = [recalled.take("s", ids, 3) for ids in prompts]
    for number, ids in enumerate(said):
        before = {id for earlier in said[max(0, number - window + 1) : number] for id in earlier}
        wanted = [id for id in dict.fromkeys(prompts[number]) if id not in before]
        assert ids == wanted[:3]
