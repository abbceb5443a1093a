"""The file of the catalog: damaged, locked, unwritable, killed over, used by many at once."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitmem.journal.codec import decode
from gitmem.journal.journals import Place
from gitmem.search import database
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter
from tests.journal.histories import remember, write
from tests.search.stack import Stack, ask_everything, from_scratch, opened, stored

# -- a file that cannot be used -----------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY", 0.05)


def wal(path: Path) -> list[Path]:
    return [Path(f"{path}-wal"), Path(f"{path}-shm")]


def _deleted(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("this was a database\n" * 1000)


def _short_text(path: Path) -> None:
    path.write_text("x")


def _garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def _half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _header_alone(path: Path) -> None:
    os.truncate(path, 100)


def _no_header(path: Path) -> None:
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])


def _old_schema(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=0")
        db.execute("DROP TABLE tags")
        db.execute("CREATE TABLE older(x)")
    db.close()


def _other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE memories(x)")
        db.execute("INSERT INTO memories VALUES (1)")
    db.close()


def _no_table(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE memories")
    db.close()


def _garbled_bodies(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE memories SET body = replace(body, '\"importance\"', '\"imp')")
    db.close()


def _garbled_lines(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET line = x'00'")
    db.close()


def _garbled_tips(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '{\"sha'")
    db.close()


QUIET = [_deleted, _empty, _short_text, _old_schema, _other_database]
LOUD = [
    _text, _garbage, _half, _header_alone, _no_header, _no_table,
    _garbled_bodies, _garbled_lines, _garbled_tips,
]  # fmt: skip


@pytest.mark.parametrize("damage", [*QUIET, *LOUD], ids=lambda damage: damage.__name__[1:])
def test_damage_is_mended_and_said_in_one_line(
    source: Stack, path: Path, damage: Callable[[Path], None]
) -> None:
    opened(path, source).close()
    damage(path)
    root = next(decode(p.line) for p in source.places if p.line.startswith(b"{"))
    source.push(write(10**5, "tag", memory=root.id, base=[root.id], tag="new"))
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert len(catalog.warnings) == (damage in LOUD), catalog.warnings
    assert all("\n" not in line and path.name in line for line in catalog.warnings)
    catalog.close()
    again = opened(path, source)
    assert stored(again) == from_scratch(source.places) and again.warnings == []
    again.close()


def test_damage_that_comes_while_it_is_open(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    catalog.close()
    catalog = opened(path, source)
    for damage in (_garbled_bodies, _garbled_lines):
        damage(path)
        ask_everything(catalog, source)
    assert len(catalog.warnings) == 2
    catalog.close()


def test_damage_met_halfway_through_a_list(source: Stack, path: Path) -> None:
    catalog = opened(path, source)
    expected = list(catalog.events())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET line = x'00' WHERE id = ?", (expected[40].id,))
    db.close()
    assert list(catalog.events()) == expected
    assert len(catalog.warnings) == 1
    catalog.close()


@pytest.mark.parametrize("seed", range(25))
def test_bytes_overwritten_anywhere(source: Stack, path: Path, seed: int) -> None:
    """SQLite notices much, not all; what remains is an answer, never a stack trace."""
    rng = random.Random(seed)
    opened(path, source).close()
    content = bytearray(path.read_bytes())
    start, length = rng.randrange(len(content)), rng.choice((1, 16, 512, 4096))
    content[start : start + length] = rng.randbytes(length)
    path.write_bytes(content)
    source.push(remember(10**5, "after"))
    catalog = opened(path, source)
    for memory in stored(catalog).values():
        assert catalog.memory(memory.id)
    list(catalog.events()), list(catalog.placed()), catalog.tag_counts(Filter())
    catalog.anomalies("2027"), catalog.check(), catalog.changed_since(None)
    assert len(catalog.warnings) <= 2
    catalog.rebuild()
    ask_everything(catalog, source)
    catalog.close()


def test_a_folder_where_the_file_should_be(source: Stack, path: Path) -> None:
    path.mkdir(parents=True)
    catalog = opened(path, source)
    ask_everything(catalog, source)
    catalog.rebuild()
    ask_everything(catalog, source)
    assert len(catalog.warnings) == 1


def test_a_file_where_its_folder_should_be(source: Stack, path: Path) -> None:
    path.parent.write_text("")
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert len(catalog.warnings) == 1


@pytest.mark.usefixtures("impatient")
def test_locked_by_another_connection(source: Stack, path: Path) -> None:
    opened(path, source).close()
    inode = path.stat().st_ino
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    catalog = opened(path, source)
    assert catalog.warnings == [], "who has nothing to write does not mind"
    catalog.set_entities({next(iter(stored(catalog))): [("Redis", "x")]}, catalog.mark())
    assert catalog.entity_counts(Filter()) == [("Redis", "x", 1)]
    for second in (10**5, 10**5 + 1):
        source.push(remember(second, "new"))
        catalog.catch_up()
        ask_everything(catalog, source)
    assert len(catalog.warnings) == 1 and "locked" in catalog.warnings[0]
    assert path.stat().st_ino == inode, "it is not thrown away"
    catalog.close()
    other.execute("ROLLBACK")
    other.close()
    again = opened(path, source)
    ask_everything(again, source)
    assert again.warnings == []
    again.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("there", [False, True])
def test_locked_against_all(source: Stack, path: Path, there: bool) -> None:
    if there:
        opened(path, source).close()
    path.parent.mkdir(exist_ok=True)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert len(catalog.warnings) == 1
    catalog.close()
    other.close()


# -- other processes ----------------------------------------------------------------------------


def in_child(work: Callable[[], object]) -> int:
    """Run in a forked child and return its exit code, negative for a signal; 0 is success."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


NOBODY = 65534


@pytest.fixture
def guarded(source: Stack) -> Iterator[Path]:
    """Return where a catalog may be in a folder that another user can be kept out of."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # that of pytest is closed to other users
    yield folder / "catalog.sqlite"
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_nobody(work: Callable[[], Catalog]) -> int:
    """Return the number of warnings of a catalog used without root's privileges."""

    def child() -> None:
        if os.geteuid() == 0:  # root is never refused
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        os._exit(len(work().warnings))

    return in_child(child)


@pytest.mark.parametrize("there", ["nothing", "an older file", "a damaged file"])
def test_a_folder_that_cannot_be_written(source: Stack, guarded: Path, there: str) -> None:
    def work() -> Catalog:
        catalog = opened(guarded, source)
        ask_everything(catalog, source)
        catalog.rebuild()
        ask_everything(catalog, source)
        return catalog

    if there != "nothing":
        opened(guarded, source).close()
        source.push(remember(10**5, "new"))
    if there == "a damaged file":
        _text(guarded)
    guarded.parent.chmod(0o555)
    for file in guarded.parent.iterdir():
        file.chmod(0o444)
    assert as_nobody(work) == 1


@pytest.mark.parametrize("damage", [None, _garbled_bodies])
def test_a_folder_that_cannot_be_written_any_more(
    source: Stack, guarded: Path, damage: Callable[[Path], None] | None
) -> None:
    def work() -> Catalog:
        catalog = opened(guarded, source)
        if damage:
            damage(guarded)
        guarded.parent.chmod(0o555)
        if not damage:
            catalog.rebuild()
        ask_everything(catalog, source)
        return catalog

    if os.geteuid() == 0:
        os.chown(guarded.parent, NOBODY, NOBODY)
    assert as_nobody(work) == 1


@pytest.mark.parametrize("after", [0, 1, 30, 70])
def test_killed_in_the_middle_of_catching_up(source: Stack, path: Path, after: int) -> None:
    first = Stack(source.places[:20])
    opened(path, first).close()

    class Deadly(Stack):
        def added(self, old: Mapping[str, str], new: Mapping[str, str]) -> Any:
            return self._dying(super().added(old, new))

        def _dying(self, places: Sequence[Place]) -> Iterator[Place]:
            yield from places[:after]
            os.kill(os.getpid(), signal.SIGKILL)

    monkeyed = Deadly(source.places)
    assert in_child(lambda: _in_batches_of(10, lambda: opened(path, monkeyed))) == -signal.SIGKILL
    catalog = opened(path, first)
    assert stored(catalog) == from_scratch(first.places), "as if it had not begun"
    catalog.close()
    catalog = opened(path, source)
    ask_everything(catalog, source)
    assert catalog.warnings == []
    catalog.close()


def _in_batches_of(size: int, work: Callable[[], object]) -> None:
    from gitmem.search.catalog import events

    events.BATCH = size
    work()


def test_batches_of_any_size(source: Stack, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 2, 7, 100):
        monkeypatch.setattr("gitmem.search.catalog.events.BATCH", size)
        catalog = opened(None, source)
        ask_everything(catalog, source)
        assert catalog.mark().changed == 1


@pytest.mark.parametrize("there", [False, True], ids=["no file yet", "an older file"])
def test_processes_that_catch_up_at_once(source: Stack, path: Path, there: bool) -> None:
    if there:
        opened(path, Stack(source.places[:20])).close()
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(4)

    def work() -> None:
        gate.wait()
        catalog = opened(path, source)
        ask_everything(catalog, source)
        catalog.close()
        os._exit(len(catalog.warnings))

    children = [context.Process(target=work) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4
    catalog = opened(path, source)
    ask_everything(catalog, source)
    catalog.close()
