"""An export read back: the same memories in an empty clone, the union elsewhere, and no more."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gitmem
from gitmem import Gitmem
from gitmem.errors import Unreadable, UsageError
from gitmem.journal.codec import Event
from gitmem.model import JournalName, Memory
from tests.imports.support import NOW, opened, texts, tips
from tests.journal.histories import histories, remember, write
from tests.support import git

ADA = "Ada <ada@example.com>"
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
ABSENT = "ab" * 20

Placed = Sequence[tuple[str, int, Event]]
"""Events with their journal, and the number of their anchor."""


class Clones:
    """Clones of one code repository with two commits, each with a user journal of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._count = 0
        self._code = folder / "code"
        self._code.mkdir()
        git(self._code, "init", "-q")
        self.anchors = [EMPTY, ABSENT, *(self._commit(name) for name in ("one", "two"))]

    def _commit(self, name: str) -> str:
        git(self._code, "commit", "-q", "--allow-empty", "-m", name)
        return git(self._code, "rev-parse", "HEAD")

    def new(self, *events: tuple[str, int, Event]) -> Gitmem:
        """Open a clone whose journals hold some events."""
        self._count += 1
        path = self.folder / str(self._count)
        shutil.copytree(self._code, path)
        environ = {**os.environ, "GITMEM_USER_DIR": str(self.folder / f"user-{self._count}")}
        gm = self._stack.enter_context(
            gitmem.open(path, backend="program", environ=environ, now=lambda: NOW)
        )
        lines: dict[str, dict[str, list[bytes]]] = defaultdict(lambda: defaultdict(list))
        for journal, anchor, event in events:
            lines[journal][self.anchors[anchor]].append(event.line)
        for name, additions in lines.items():
            gm._journals.writable(JournalName(name)).append(additions, "test", ADA, 0)
        return gm

    def exported(self, gm: Gitmem) -> Path:
        """Write a clone's export to a file."""
        file = self.folder / f"export-{self._count}.jsonl"
        file.write_text("".join(f"{line}\n" for line in gm.export()))
        return file


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clones]:
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for variable in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{variable}_NAME", "Ada")
            patch.setenv(f"GIT_{variable}_EMAIL", "ada@example.com")
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        yield Clones(tmp_path_factory.mktemp("clones"), stack)


def placed(purges: bool = False) -> st.SearchStrategy[Placed]:
    """Draw a history, each event on an anchor, each memory in a journal."""
    journal = st.sampled_from(tuple(JournalName))

    def put(history: list[Event]) -> st.SearchStrategy[Placed]:
        memories = sorted({event.memory or "" for event in history})
        where = st.tuples(*(journal for _ in memories))
        anchors = st.lists(st.integers(0, 3), min_size=len(history), max_size=len(history))
        return st.builds(
            lambda names, numbers: [
                (names[memories.index(event.memory or "")].value, number, event)
                for event, number in zip(history, numbers, strict=True)
            ],
            where,
            anchors,
        )

    return histories(purges).flatmap(put)


def lines(gm: Gitmem) -> set[str]:
    """Return what the journals hold."""
    return set(gm.export())


def known(gm: Gitmem) -> list[Memory]:
    """Return all that is seen, forgotten or not."""
    return [*gm.list(), *gm.list(forgotten=True)]


@given(placed(purges=True))
@settings(max_examples=20)
def test_into_an_empty_clone(clones: Clones, history: Placed) -> None:
    source, target = clones.new(*history), clones.new()
    report = target.import_memories("gitmem", clones.exported(source))
    assert (lines(target), known(target)) == (lines(source), known(source))
    assert (report.new, report.skipped) == (len(lines(source)), {})


@given(placed(), placed())
@settings(max_examples=12)
def test_into_one_with_memories_of_its_own(clones: Clones, one: Placed, other: Placed) -> None:
    apart = {event.id for _, _, event in one}
    rest = [each for each in other if each[2].id not in apart]
    source, target, both = clones.new(*one), clones.new(*rest), clones.new(*one, *rest)
    target.import_memories("gitmem", clones.exported(source))
    assert (lines(target), known(target)) == (lines(both), known(both))


@given(placed())
@settings(max_examples=6)
def test_twice_changes_nothing(clones: Clones, history: Placed) -> None:
    source, target = clones.new(*history), clones.new()
    file = clones.exported(source)
    target.import_memories("gitmem", file)
    before = tips(clones.folder / str(clones._count))
    report = target.import_memories("gitmem", file)
    assert (report.new, report.unchanged) == (0, len(lines(source)))
    assert tips(clones.folder / str(clones._count)) == before


def test_a_backup_of_everything(old: Path, tmp_path: Path) -> None:
    """Branches, private and user memories, forgotten ones: into a fresh clone."""
    with opened(old) as gm:
        gm.remember("of the trunk", tags=["x"])
        gm.remember("mine alone", private=True)
        gm.remember("mine everywhere", scope="user")
        gm.forget(gm.remember("forgotten").id)
        git(old, "switch", "-q", "-c", "f")
        (old / "f.txt").write_text("work\n")
        git(old, "add", "-A")
        git(old, "commit", "-q", "-m", "work")
        gm.remember("of the branch")
        git(old, "switch", "-q", "main")
        file = tmp_path / "backup.jsonl"
        file.write_text("".join(f"{line}\n" for line in gm.export()))
        before = known(gm)
    shutil.rmtree(tmp_path / "home" / ".local", ignore_errors=True)
    git(tmp_path, "clone", "-q", old.as_uri(), "copy")
    with opened(tmp_path / "copy") as gm:
        assert gm.import_memories("gitmem", file, dry_run=True).new == 6
        assert texts(gm) == []
        assert gm.import_memories("gitmem", file).new == 6
        assert known(gm) == before
        git(tmp_path / "copy", "switch", "-q", "f")
        assert "of the branch" in texts(gm)


# -- what a file may not do -----------------------------------------------------------------------

GOOD = remember(0, "good")


def record(event: bytes | str | Event = GOOD, **changes: Any) -> dict[str, Any]:
    line = event.line if isinstance(event, Event) else event
    text = line.decode() if isinstance(line, bytes) else line
    return {"anchor": EMPTY, "event": text, "journal": "shared", **changes}


def written(folder: Path, *rows: Mapping[str, Any] | str) -> Path:
    file = folder / "export.jsonl"
    file.write_text(
        "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    )
    return file


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("not json\n", "a line that is no {"),
        ("[]\n", "a line that is no {"),
        ('{"anchor": "torn', "a line that is no {"),
        (record(journal="../x"), "a line that is no {"),
        (record(anchor=7), "a line that is no {"),
        (record(event="{}"), "a line whose event is broken"),
        (record(event="free text"), "a line whose event is broken"),
        (record(event=GOOD.line.decode() + "\nfree text"), "a line whose event is broken"),
        (record(event=GOOD.line.decode().replace(",", ",\n")), "a line whose event is broken"),
        (record(event=GOOD.line.decode().replace("good", "\ud800")), "a line whose event is brok"),
        (record(anchor="HEAD"), "a line with an anchor"),
        (record(anchor="../" * 13 + "a"), "a line with an anchor"),
        (record(anchor="ab" * 32), "a line with an anchor"),
        (record(write(1, "remember", text="x"), journal="user") | {"event": remember(
            1, "x").line.decode().replace("Ada <ada@", "Eve <eve@")}, "a memory of another person"),
    ],
)  # fmt: skip
def test_lines_that_do_not_come_in(gm: Gitmem, tmp_path: Path, row: Any, reason: str) -> None:
    report = gm.import_memories("gitmem", written(tmp_path, record(), row))
    assert report.new == 1 and texts(gm) == ["good"]
    ((said, count),) = report.skipped.items()
    assert said.startswith(reason) and count == 1
    assert [json.loads(line)["event"] for line in gm.export()] == [GOOD.line.decode()]


def test_a_purge_of_what_is_here(gm: Gitmem, tmp_path: Path) -> None:
    id = gm.remember("kept").id
    purge = write(0, "purge", memory=id)
    report = gm.import_memories("gitmem", written(tmp_path, record(purge)))
    assert report.new == 0 and texts(gm) == ["kept"]
    assert list(report.skipped) == ["a purge of a memory that is here"]


def test_what_is_private_here_is_not_made_shared(gm: Gitmem, tmp_path: Path) -> None:
    gm.remember("mine", private=True)
    rows = [json.loads(line) | {"journal": "shared"} for line in gm.export()]
    report = gm.import_memories("gitmem", written(tmp_path, *rows))
    assert report.skipped == {"a line that is private here": 1}
    assert gm.list()[0].private


def test_no_export(gm: Gitmem, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="is no export"):
        gm.import_memories("gitmem", written(tmp_path, '{"some": "json"}\n'))
    with pytest.raises(UsageError, match="anywhere"):
        gm.import_memories("gitmem")
