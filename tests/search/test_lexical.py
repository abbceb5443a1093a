"""The lexical index on disk: damage, crashes, races, permissions, versions, and what it imports."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitmem.search.base import Change, Document, IndexMoved, IndexUnusable, Removed, Seen, catch_up
from gitmem.search.lexical import index as lexical
from gitmem.search.lexical import sealed
from gitmem.search.lexical.index import Lexical
from gitmem.search.lexical.sealed import LOCK, SEAL

EVERYTHING = [Document(str(n), f"common word{n}", tags=("tag",)) for n in range(30)]
NOW = {"shared": "c2"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of an index that was written twice."""
    path = tmp_path / "gitmem" / "lexical"
    index = Lexical(path)
    index.apply(EVERYTHING[:-1], {"shared": "c1"}, {})
    index.apply(EVERYTHING[-1:], NOW, {"shared": "c1"})
    return path


def catch_up_with_everything(index: Lexical) -> bool:
    return catch_up(index, NOW, lambda since: [] if since else EVERYTHING)


def holds_everything(index: Lexical) -> bool:
    found = {hit.id for hit in index.search("common", 100)}
    return found == {document.id for document in EVERYTHING} and index.seen() == NOW


def files(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.name != LOCK)


# -- damage -----------------------------------------------------------------------------------


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def overwrite(file: Path) -> None:
    file.write_bytes(os.urandom(file.stat().st_size))


def change_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGE = [truncate, empty, overwrite, change_a_byte, Path.unlink, become_a_folder]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_an_index_with_any_file_damaged_is_made_again(
    folder: Path, damage: Callable[[Path], None]
) -> None:
    names = [file.name for file in files(folder) if file.stat().st_size]
    assert len(names) >= 3
    for name in names:
        damage(next(file for file in files(folder) if kind(file.name) == kind(name)))
        index = Lexical(folder)
        assert index.seen() == {}
        assert name == SEAL or index.warnings == ["the lexical index was damaged and is rebuilt"]
        with pytest.raises(IndexUnusable):
            index.search("common", 10)
        assert catch_up_with_everything(index)
        assert holds_everything(index)
        index.close()


def kind(name: str) -> str:
    return name.rpartition(".")[2]


def test_damage_under_an_open_index_is_noticed_when_it_is_written_again(folder: Path) -> None:
    index = Lexical(folder)
    assert holds_everything(index)
    for file in files(folder):
        file.rename(file.with_suffix(".old"))
        file.write_bytes(b"something else")
    assert index.seen() == {}
    with pytest.raises(IndexMoved):
        index.apply([], {"shared": "c3"}, NOW)
    assert catch_up_with_everything(index)
    assert holds_everything(index)


def test_damage_that_the_seal_does_not_show_is_said_and_mended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed.SealedFolder, "_intact", lambda self, seal: True)
    monkeypatch.setattr(lexical, "_PAUSE", 0)
    segment = next(folder.glob("*.seg"))
    segment.write_bytes(os.urandom(segment.stat().st_size))
    index = Lexical(folder)
    with pytest.raises(IndexUnusable, match="damaged"):
        index.search("common", 10)
    assert index.seen() == {}
    assert catch_up_with_everything(index)
    assert holds_everything(index)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff", b'{"made": 1}', b'{"made": null, "seen": 3}']
)
def test_a_seal_that_is_none_counts_as_missing(folder: Path, content: bytes) -> None:
    (folder / SEAL).write_bytes(content)
    assert Lexical(folder).seen() == {}
    assert catch_up_with_everything(Lexical(folder))
    assert holds_everything(Lexical(folder))


def test_an_index_of_another_version_is_replaced(folder: Path) -> None:
    seal = json.loads((folder / SEAL).read_text())
    (folder / SEAL).write_text(json.dumps({**seal, "made": "lexical 99"}))
    (folder / "unheard.of").write_text("of a later version")
    later = Lexical(folder)
    assert later.seen() == {} and later.warnings == []
    assert catch_up_with_everything(Lexical(folder))
    assert holds_everything(Lexical(folder))
    assert not (folder / "unheard.of").exists()


def test_a_seal_with_malformed_entries_counts_as_missing(folder: Path) -> None:
    seal = json.loads((folder / SEAL).read_text())
    for entries in ({"x": 1}, {"x": []}, {"../x": [1, 2, 3]}, [], "x", {"x": [None, 2, 3]}):
        (folder / SEAL).write_text(json.dumps({**seal, "files": entries}))
        assert Lexical(folder).seen() == {}
    assert catch_up_with_everything(Lexical(folder))


def test_a_copied_index_is_as_good(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copy)  # which keeps no times
    assert holds_everything(Lexical(copy))


def test_what_a_dead_writer_left_is_swept(folder: Path) -> None:
    (folder / "MAIN_0123456789abcdef.pst").write_text("half a segment")
    (folder / "MAIN.tmp").mkdir()
    (folder / "MAIN.tmp" / "run").write_text("")
    Lexical(folder).apply([], {"shared": "c3"}, NOW)
    assert not list(folder.glob("MAIN.tmp")) + list(folder.glob("*.pst"))


# -- whose folder it is -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "use", [Lexical.seen, lambda i: i.search("x", 1), catch_up_with_everything]
)
def test_a_folder_that_others_control_is_refused(
    folder: Path, use: Callable[[Lexical], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    link, file = folder.with_name("link"), folder.with_name("file")
    link.symlink_to(folder)
    file.write_text("")
    for path in (link, file):
        with pytest.raises(IndexUnusable, match="is not a folder"):
            use(Lexical(path))
    folder.chmod(0o770)
    with pytest.raises(IndexUnusable, match="written by others"):
        use(Lexical(folder))
    folder.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(IndexUnusable, match="written by others"):
        use(Lexical(folder))


def test_nobody_else_can_read_it(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Yield a folder and give up root meanwhile, which is never refused anything."""
    Lexical(Path("/nonexistent/nowhere")).seen()
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        yield base
    finally:
        if root:
            os.seteuid(0)
        for path in (base, *base.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(base)


def test_a_read_only_index_is_searched_and_not_written(folder: Path) -> None:
    assert holds_everything(Lexical(folder))  # imports what root alone may be able to read
    with unprivileged() as base:
        copy = base / "lexical"
        catch_up_with_everything(Lexical(copy))
        for path in (*copy.iterdir(), copy, base):
            path.chmod(0o500)
        assert holds_everything(Lexical(copy))
        with pytest.raises(IndexUnusable, match="cannot be written: Permission denied"):
            Lexical(copy).apply([], {"shared": "c3"}, NOW)
        with pytest.raises(IndexUnusable, match="cannot be cleared: Permission denied"):
            Lexical(copy).clear()
        assert holds_everything(Lexical(copy))


def test_an_index_that_is_neither_there_nor_can_be_made_is_unusable(folder: Path) -> None:
    with unprivileged() as base:
        base.chmod(0o500)
        index = Lexical(base / "gitmem" / "lexical")
        assert index.seen() == {}
        with pytest.raises(IndexUnusable, match="there is no usable lexical index"):
            index.search("common", 10)
        with pytest.raises(IndexUnusable, match="cannot be written: Permission denied"):
            catch_up_with_everything(index)


def test_a_full_disk_leaves_the_index_as_it_was(folder: Path) -> None:
    index = Lexical(folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, before[1]))
    try:
        with pytest.raises(IndexUnusable, match="cannot be written: File too large"):
            index.apply([Document("big", "word " * 9999)] * 9, {"shared": "c3"}, NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert holds_everything(index)
    index.apply([Document("after", "common")], {"shared": "c4"}, NOW)
    assert len(index.search("common", 100)) == 31


# -- interruption, other processes ------------------------------------------------------------


def test_an_interrupted_write_changes_nothing(folder: Path) -> None:
    def changes() -> Iterator[Change]:
        yield Removed("0")
        raise KeyboardInterrupt

    index = Lexical(folder)
    with pytest.raises(KeyboardInterrupt):
        index.apply(changes(), {"shared": "c3"}, NOW)
    assert holds_everything(index)
    index.apply([Removed("0")], {"shared": "c3"}, NOW)
    assert len(index.search("common", 100)) == 29


WRITER = """
import sys
from pathlib import Path
from gitmem.search.base import Document, IndexMoved
from gitmem.search.lexical.index import Lexical

name, folder, turns = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
index = Lexical(folder)
print("ready", flush=True)
for turn in range(turns):
    while True:
        since = index.seen()
        document = Document(f"{name}{turn}", f"common word from {name}", at=str(turn))
        try:
            index.apply([document], {**since, name: str(turn)}, since)
            break
        except IndexMoved:
            continue
"""


def writer(name: str, folder: Path, turns: int) -> subprocess.Popen[str]:
    """Start a process that adds one document after another."""
    command = [sys.executable, "-c", WRITER, name, str(folder), str(turns)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def test_two_writers_lose_nothing_and_a_reader_beside_them_never_fails(tmp_path: Path) -> None:
    folder = tmp_path / "lexical"
    # Who has seen nothing makes the index anew, with all there is; these have but one each.
    Lexical(folder).apply([], {"begun": "1"}, {})
    writers = [writer(name, folder, 12) for name in "ab"]
    reader, most = Lexical(folder), 0
    while any(process.poll() is None for process in writers):
        found = len(reader.search("common", 100))
        assert found >= most
        most = found
    assert [process.wait() for process in writers] == [0, 0]
    assert {hit.id for hit in reader.search("common", 100)} == {
        f"{name}{turn}" for name in "ab" for turn in range(12)
    }
    assert reader.seen() == {"begun": "1", "a": "11", "b": "11"}


def test_a_writer_killed_at_any_moment_leaves_a_usable_index(folder: Path) -> None:
    for turn in range(12):
        process = writer("k", folder, 10_000)
        time.sleep(0.013 * turn)
        process.send_signal(signal.SIGKILL)
        process.wait()
        index = Lexical(folder)
        seen = index.seen()
        if seen:  # it has all that it says it has
            last = int(seen.get("k", -1))
            own = {f"k{n}" for n in range(last + 1)} | {document.id for document in EVERYTHING}
            found = {hit.id for hit in index.search("common", 10_000)}
            assert own <= found <= own | {f"k{last + 1}"}  # killed between writing and sealing
        else:
            with pytest.raises(IndexUnusable):
                index.search("common", 10_000)
        index.apply(EVERYTHING, {**NOW, "again": str(turn)}, {})
        assert {hit.id for hit in index.search("common", 1000)} == {d.id for d in EVERYTHING}


def test_a_lock_that_is_held_is_said_and_does_not_hinder_a_search(
    folder: Path,
) -> None:
    with sealed.SealedFolder(folder, lexical.MADE).writing():
        assert holds_everything(Lexical(folder))
        with pytest.raises(IndexUnusable, match="being written by another process"):
            Lexical(folder, patience=0.1).apply([], {"shared": "c3"}, NOW)


def test_work_that_another_did_while_this_one_waited_is_not_done_again(folder: Path) -> None:
    asked: list[Seen] = []

    def changes(since: Seen) -> list[Change]:
        asked.append(since)
        Lexical(folder).apply([Document("new", "common")], {"shared": "c3"}, since)
        return [Document("twice", "common")]

    assert catch_up(Lexical(folder), {"shared": "c3"}, changes)
    assert asked == [NOW]
    assert len(Lexical(folder).search("common", 100)) == 31


# -- upkeep -----------------------------------------------------------------------------------


def test_many_small_writes_leave_few_files(tmp_path: Path) -> None:
    index, since = Lexical(tmp_path / "lexical"), {}
    for turn in range(40):
        seen = {"j": str(turn)}
        index.apply([Document(str(turn % 7), f"common {turn}")], seen, since)
        since = seen
    assert len(list((tmp_path / "lexical").iterdir())) < 16
    assert {hit.id for hit in index.search("common", 100)} == set("0123456")
    assert [hit.id for hit in index.search("39", 100)] == ["4"]


def test_an_open_index_sees_what_another_process_writes(folder: Path) -> None:
    index = Lexical(folder)
    assert holds_everything(index)
    Lexical(folder).apply([Document("new", "common")], {"shared": "c3"}, NOW)
    assert len(index.search("common", 100)) == 31
    Lexical(folder).clear()
    assert index.search("common", 100) == []


# -- what it costs a process that starts ------------------------------------------------------


def run(code: str, folder: Path, pycache: Path, *options: str) -> str:
    """Run `code` in a fresh process where nothing is compiled yet; return what it printed."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(pycache)}
    code = f"import sys\nfrom pathlib import Path\nfolder = Path({str(folder)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_whoosh_is_not_imported_to_see_whether_there_is_work(folder: Path, tmp_path: Path) -> None:
    code = """
from gitmem.search.lexical.index import Lexical
print(Lexical(folder).seen(), any(name.startswith("whoosh") for name in sys.modules))
"""
    assert run(code, folder, tmp_path / "pyc") == f"{NOW} False\n"


def test_whoosh_is_imported_quietly_and_without_the_network(folder: Path, tmp_path: Path) -> None:
    code = """
from gitmem.search.base import Document
from gitmem.search.lexical.index import Lexical
index = Lexical(folder)
index.apply([Document("new", "common")], {"shared": "c3"}, index.seen())
print(len(index.search('common "word1" -tag:x wor*', 10)), "http.client" in sys.modules)
import urllib.request
print(urllib.request.urlretrieve.__name__)
"""
    said = run(code, folder, tmp_path / "pyc", "-W", "always::SyntaxWarning")
    assert said == "1 False\nurlretrieve\n"
