"""A transcript that is read on where its reading stopped says what it says when read at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem import Gitmem
from gitmem.errors import Unreadable
from gitmem.sessions import bookmarks
from gitmem.sessions.bookmarks import Bookmarks
from gitmem.sessions.importers import importer, records
from gitmem.sessions.importing import STATE
from gitmem.sessions.model import About, Bookmark, Record, Resumable, Turn
from tests.sessions.samples import OWN, SHARED
from tests.sessions.test_importing import record, said, take
from tests.support import git

AGENTS = ("claude-code", "codex")
FOLDERS = [OWN, *([SHARED / "transcripts"] if SHARED else [])]
PLACES = [
    (agent, place)
    for agent in AGENTS
    for folder in FOLDERS
    for place in sorted((folder / agent).rglob("*.jsonl"))
]


def resumable(agent: str) -> Resumable:
    """Return an importer that can go on."""
    found = importer(agent)
    assert hasattr(found, "resume")
    return found  # type: ignore[return-value]


def parted(all: Iterable[Record | Bookmark]) -> tuple[list[Record], Bookmark | None]:
    """Return what comes before a bookmark, and the bookmark."""
    before: list[Record] = []
    for one in all:
        if isinstance(one, Bookmark):
            return before, one
        before.append(one)
    return before, None


def told(all: Iterable[Record | Bookmark]) -> tuple[list[Turn], dict[str, About]]:
    """Return the turns, and what is known in the end of each session."""
    kept = list(all)
    turns = [one for one in kept if isinstance(one, Turn)]
    return turns, {one.id: one for one in kept if isinstance(one, About)}


@pytest.mark.parametrize(("agent", "place"), PLACES, ids=[f"{a}-{p.name}" for a, p in PLACES])
def test_read_in_two_parts_it_says_the_same(agent: str, place: Path, tmp_path: Path) -> None:
    reader, lines = resumable(agent), place.read_bytes().splitlines(keepends=True)
    begun = tmp_path / place.name
    try:
        turns, abouts = told(reader.read(place))
    except Unreadable:
        return
    marks = 0
    for count in range(1, len(lines), max(1, len(lines) // 12)):
        begun.write_bytes(b"".join(lines[:count]))
        try:
            before, bookmark = parted(reader.resume(begun, None))
        except Unreadable:
            continue
        if bookmark is None:
            continue
        marks += 1
        assert bookmark.offset == sum(map(len, lines[:count]))
        state = json.loads(json.dumps(bookmark.state))
        rest, known = told(reader.resume(place, Bookmark(bookmark.offset, state)))
        assert [*told(before)[0], *rest] == turns, count
        assert all(known[id].title == abouts[id].title for id in known)
    assert marks or agent == "codex" or len(turns) < 2


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("state", [{}, {"talks": 7}, {"talk": {}}, {"talks": [{"about": 1}]}])
def test_a_bookmark_of_another_kind_is_said(
    agent: str, state: dict[str, object], tmp_path: Path
) -> None:
    place = tmp_path / "s1.jsonl"
    place.write_text(record("1", "one") + "\n")
    with pytest.raises(ValueError):
        list(resumable(agent).resume(place, Bookmark(0, state)))


# -- the import -------------------------------------------------------------------------------


@pytest.fixture
def gm(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gitmem]:
    """Return the memory of a repository, where every transcript is long enough."""
    monkeypatch.setattr(bookmarks, "LONG", 0)
    with gitmem.open(repo) as opened:
        yield opened


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the lines that are parsed from now on."""
    lines: list[bytes] = []
    parse = records.parsed

    def counted(content: bytes) -> object:
        lines.append(content)
        return parse(content)

    monkeypatch.setattr(records, "parsed", counted)
    return lines


def write(place: Path, *lines: str) -> None:
    place.write_text("".join(f"{line}\n" for line in lines))


ONE, TWO, THREE = (record(str(number), f"turn {number}") for number in (1, 2, 3))


def test_only_what_is_new_is_read(gm: Gitmem, tmp_path: Path, parsed: list[bytes]) -> None:
    place = tmp_path / "s1.jsonl"
    write(place, ONE, TWO)
    take(gm, place)
    parsed.clear()
    write(place, ONE, TWO, THREE)
    assert take(gm, place).new == 1 and parsed == [f"{THREE}\n".encode()]
    assert said(gm, "s1") == ["turn 1", "turn 2", "turn 3"]
    assert gm.sessions()[0].about.title == "turn 1", "which stands in what was not read again"
    parsed.clear()
    assert take(gm, place).new == 0 and parsed == []


def test_what_changed_before_the_bookmark_is_seen(gm: Gitmem, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    write(place, ONE, TWO)
    take(gm, place)
    write(place, ONE.replace("turn 1", "TURN 1"), TWO, THREE)
    report = take(gm, place)
    assert (report.new, report.changed) == (1, 1)
    assert said(gm, "s1") == ["turn 1", "turn 2", "turn 3"]
    write(place, THREE)
    assert take(gm, place).new == 0, "a shorter file is another one"


def test_a_torn_line_is_read_again(gm: Gitmem, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    for torn in (TWO[:30], TWO):  # without its end, whole as it may be
        place.write_text(f"{ONE}\n{torn}")
        take(gm, place)
    write(place, ONE, TWO, THREE)
    take(gm, place)
    assert said(gm, "s1") == ["turn 1", "turn 2", "turn 3"]


def test_a_bookmark_is_void_when_the_conversations_are_gone(gm: Gitmem, tmp_path: Path) -> None:
    place = tmp_path / "s1.jsonl"
    write(place, ONE, TWO)
    take(gm, place)
    git(gm._folder / "private.git", "update-ref", "-d", "refs/gitmem/sessions")
    assert take(gm, place).new == 2


def test_what_is_not_ours_is_taken_in_whole_when_it_is_asked_for(
    gm: Gitmem, hermetic: Path
) -> None:
    place = hermetic / ".claude" / "projects" / "x" / "s1.jsonl"
    place.parent.mkdir(parents=True)
    write(place, record("1", "theirs", cwd="/elsewhere"))
    assert gm.import_transcripts("claude-code").elsewhere == 1
    assert take(gm, place).new == 1


@pytest.mark.parametrize(
    "damage",
    [7, [], {"x": 1}, {"*": [10**9, "", {}]}, {"*": [0, "", 7]}, {"*": ["a", "b", "c"]}, {"*": []}],
)
def test_damaged_bookmarks_only_cost_time(gm: Gitmem, tmp_path: Path, damage: object) -> None:
    place = tmp_path / "s1.jsonl"
    write(place, ONE)
    take(gm, place)
    state = json.loads((gm._folder / STATE).read_text())
    (name,) = state["bookmarks"]
    if isinstance(damage, dict):
        damage = {name if key == "*" else key: value for key, value in damage.items()}
    (gm._folder / STATE).write_text(json.dumps({**state, "bookmarks": damage}))
    write(place, ONE, TWO)
    assert take(gm, place).new == 1 and said(gm, "s1") == ["turn 1", "turn 2"]


def test_few_are_kept_and_none_of_a_short_file(tmp_path: Path) -> None:
    marks = Bookmarks(None)
    place = tmp_path / "s1.jsonl"
    place.write_bytes(b"x" * bookmarks.LONG + b"\n")
    for number in range(bookmarks.MOST + 5):
        marks.note(str(number), place, Bookmark(bookmarks.LONG + 1, {}))
    assert list(marks.saved()) == [str(number) for number in range(5, bookmarks.MOST + 5)]
    marks.note("24", place, Bookmark(10, {}))
    marks.note("23", place, Bookmark(bookmarks.LONG, {}))  # no line ends there
    assert not {"23", "24"} & set(marks.saved())
    kept = Bookmarks(marks.saved())
    assert kept.of("9", place) == Bookmark(bookmarks.LONG + 1, {})
    assert kept.of("9", tmp_path / "gone") is None
