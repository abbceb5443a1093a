"""A notes ref: every fan-out is read as one, two levels are written, and no writer loses a line."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import Unavailable
from gitmem.journal import notes as notes_module
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend, Git, RefUpdate, TreeEntry
from gitmem.journal.notes import Appended, NotesRef, join, split
from tests.journal.conftest import ADA, KEPT, REF, place
from tests.support import git

NOW = 1_700_000_000
STOCK = REF.removeprefix("refs/notes/")

Notes = dict[str, list[bytes]]


def ref_of(port: Git) -> NotesRef:
    return NotesRef(port, REF, KEPT)


def append(port: Git, additions: Mapping[str, Sequence[bytes]]) -> Appended | None:
    return ref_of(port).append(additions, "remember: x", ADA, NOW)


def content(port: Git, tip: str | None = None) -> Notes:
    """Return the lines of every anchor, sorted."""
    found: Notes = {}
    tip = tip or ref_of(port).tip()
    for anchor, line in ref_of(port).read(tip) if tip else ():
        found.setdefault(anchor, []).append(line)
    return {anchor: sorted(lines) for anchor, lines in found.items()}


def paths(port: Git) -> list[str]:
    """Return the paths of the notes tree, as git lists them."""
    return git(place(port), "ls-tree", "-r", "--name-only", REF).split("\n")


def fanned(anchor: str, fan_out: int) -> str:
    """Return the path of an anchor's note with so many levels of fan-out."""
    parts = [anchor[2 * level : 2 * level + 2] for level in range(fan_out)]
    return "/".join([*parts, anchor[2 * fan_out :]])


def plant(port: Git, files: Mapping[str, bytes]) -> str:
    """Make a notes commit whose tree has exactly these files, without our code."""

    def tree(files: Mapping[str, bytes]) -> str:
        here = [
            TreeEntry(n, 0o100644, port.write_blob(c)) for n, c in files.items() if "/" not in n
        ]
        below: dict[str, dict[str, bytes]] = {}
        for path, data in files.items():
            folder, slash, rest = path.partition("/")
            if slash:
                below.setdefault(folder, {})[rest] = data
        return port.write_tree([*here, *(TreeEntry(n, 0o40000, tree(f)) for n, f in below.items())])

    old = port.ref(REF)
    commit = port.write_commit(tree(files), [old] if old else [], ADA, NOW, "planted")
    port.update_refs([RefUpdate(REF, commit, old)], "planted")
    return commit


@pytest.fixture
def anchors(port: Git) -> list[str]:
    """Return the ids of some objects of the repository that a note may hang on."""
    names = ("HEAD", "HEAD^{tree}", "HEAD:README.md")
    return [git(place(port), "rev-parse", name) for name in names]


# -- on every backend and kind of repository ----------------------------------------------------


def test_nothing_is_there_at_first(port: Git) -> None:
    assert ref_of(port).tip() is None
    assert ref_of(port).added(None, None) == []


def test_an_append_is_one_commit_with_two_levels_of_fan_out(port: Git, anchors: list[str]) -> None:
    first = append(port, {anchors[0]: [b"a", b"b"], anchors[1]: [b"c"]})
    assert first is not None and first.old is None
    assert sorted(first.lines) == sorted(
        [(anchors[0], b"a"), (anchors[0], b"b"), (anchors[1], b"c")]
    )
    second = append(port, {anchors[0]: [b"d"]})
    assert second is not None and (second.old, second.lines) == (first.new, ((anchors[0], b"d"),))
    assert sorted(paths(port)) == sorted(fanned(anchor, 2) for anchor in anchors[:2])
    assert content(port) == {anchors[0]: [b"a", b"b", b"d"], anchors[1]: [b"c"]}
    assert content(port, first.new) == {anchors[0]: [b"a", b"b"], anchors[1]: [b"c"]}
    assert port.ref(KEPT) == port.ref(REF) == second.new
    log = git(place(port), "log", "--format=%P|%an <%ae>|%at|%s", REF).split("\n")
    assert log == [f"{first.new}|{ADA}|{NOW}|remember: x", f"|{ADA}|{NOW}|remember: x"]


def test_stock_git_reads_lists_and_adds(port: Git, anchors: list[str]) -> None:
    append(port, {anchor: [b'{"n":1}', "é\u2028".encode()] for anchor in anchors})
    here = place(port)
    listed = git(here, "notes", "--ref", STOCK, "list").split("\n")
    assert sorted(line.split()[1] for line in listed) == sorted(anchors)
    assert git(here, "notes", "--ref", STOCK, "show", anchors[1]) == '{"n":1}\né\u2028'
    git(here, "notes", "--ref", STOCK, "append", "-m", "a stranger's words", anchors[1])
    append(port, {anchors[1]: [b"z"]})
    lines = [b'{"n":1}', b"a stranger's words", b"z", "é\u2028".encode()]
    assert content(port)[anchors[1]] == sorted(lines)
    git(here, "fsck", "--strict")


def test_a_line_that_is_there_is_not_added(port: Git, anchors: list[str]) -> None:
    append(port, {anchors[0]: [b"a", b"b"]})
    before = port.ref(REF)
    assert append(port, {anchors[0]: [b"b", b"a"]}) is None
    assert append(port, {anchors[0]: []}) is None
    assert append(port, {}) is None
    assert port.ref(REF) == before
    done = append(port, {anchors[0]: [b"c", b"a", b"c"], anchors[1]: [b"a", b"a"]})
    assert done is not None
    assert sorted(done.lines) == sorted([(anchors[0], b"c"), (anchors[1], b"a")])
    assert content(port) == {anchors[0]: [b"a", b"b", b"c"], anchors[1]: [b"a"]}


@pytest.mark.parametrize("fan_out", [0, 1, 2, 3, 5])
def test_every_fan_out_is_read_and_written_back_as_one_entry(
    port: Git, anchors: list[str], fan_out: int
) -> None:
    plant(port, {fanned(anchor, fan_out): b"old\n" for anchor in anchors})
    assert content(port) == {anchor: [b"old"] for anchor in anchors}
    append(port, {anchors[0]: [b"new"]})
    assert content(port) == {
        anchors[0]: [b"new", b"old"],
        anchors[1]: [b"old"],
        anchors[2]: [b"old"],
    }
    untouched = [fanned(anchor, fan_out) for anchor in anchors[1:]]
    assert sorted(paths(port)) == sorted([fanned(anchors[0], 2), *untouched])
    git(place(port), "fsck", "--strict")
    assert "new" in git(place(port), "notes", "--ref", STOCK, "show", anchors[0])


def test_one_object_at_several_fan_outs_is_one_set_of_lines(port: Git, anchors: list[str]) -> None:
    """C git aborts a merge on such a tree; after our write there is one entry again."""
    anchor, other, _ = anchors
    several = {fanned(anchor, level): b"same\n%d\n" % level for level in range(5)}
    old = plant(port, {**several, fanned(other, 0): b"x\n", fanned(other, 3): b"x\n"})
    lines = sorted({b"same", *(b"%d" % level for level in range(5))})
    assert sorted(set(content(port)[anchor])) == lines
    assert append(port, {anchor: [b"same", b"3"], other: [b"x"]}) is None
    done = append(port, {anchor: [b"same", b"new"], other: [b"y"]})
    assert done is not None and set(done.lines) == {(anchor, b"new"), (other, b"y")}
    assert content(port) == {anchor: sorted([*lines, b"new"]), other: [b"x", b"y"]}
    assert sorted(paths(port)) == sorted([fanned(anchor, 2), fanned(other, 2)])
    assert {(anchor, b"new"), (other, b"y")} == set(ref_of(port).added(old, done.new))
    here = place(port)
    git(here, "fsck", "--strict")
    git(here, "notes", "--ref", "theirs", "add", "-m", "a stranger's", anchor)
    git(here, "notes", "--ref", STOCK, "merge", "-q", "-s", "cat_sort_uniq", "theirs")
    assert content(port)[anchor] == sorted([*lines, b"new", b"a stranger's"])


def test_an_empty_note_beside_another_entry_is_one_entry_afterwards(
    port: Git, anchors: list[str]
) -> None:
    plant(port, {fanned(anchors[0], level): b"" for level in (0, 1, 3)})
    append(port, {anchors[0]: [b"a"]})
    assert paths(port) == [fanned(anchors[0], 2)]


def test_foreign_files_stay(port: Git, anchors: list[str]) -> None:
    anchor = anchors[0]
    foreign = {
        "README": b"about these notes\n",
        anchor[:2] + "/notes.txt": b"x\n",
        anchor[:2] + "/" + anchor[2:4] + "/deep/er": b"y\n",
        anchor[:3] + "/" + anchor[3:]: b"no fan-out that git knows\n",
        anchor[:-1]: b"too short\n",
        anchor + "0": b"too long\n",
        anchor.upper() if anchor.upper() != anchor else "A" * len(anchor): b"in capitals\n",
    }
    plant(port, {**foreign, fanned(anchor, 1): b"a\n"})
    assert content(port) == {anchor: [b"a"]}
    tip = ref_of(port).tip()
    append(port, {anchor: [b"b"]})
    assert sorted(paths(port)) == sorted([*foreign, fanned(anchor, 2)])
    assert ref_of(port).added(tip, ref_of(port).tip()) == [(anchor, b"b")]
    for path, data in foreign.items():
        assert git(place(port), "show", f"{REF}:{path}") + "\n" == data.decode()


def test_an_anchor_that_is_no_object_here(port: Git) -> None:
    anchor = "f" * port.layout.hex_length
    append(port, {anchor: [b"a"]})
    assert content(port) == {anchor: [b"a"]}
    assert anchor in git(place(port), "notes", "--ref", STOCK, "list")


# -- what a note holds --------------------------------------------------------------------------


def test_lines_end_at_the_newline_byte_alone(plain: Git) -> None:
    lines = [
        "a\u2028b\u2029c\x85d".encode(),
        b"e\x0bf\x0cg\x1ch",
        b"cr\r",
        b" x ",
        b"\xff\xfe",
        b"\0",
    ]
    anchor = "1" * 40
    append(plain, {anchor: lines})
    assert content(plain) == {anchor: sorted(lines)}
    plant(plain, {fanned(anchor, 2): b"\n\na\n\n\nb\r\n\n"})
    assert content(plain) == {anchor: [b"a", b"b\r"]}
    plant(plain, {fanned(anchor, 0): b"a\nb"})  # without its last newline
    append(plain, {anchor: [b"c"]})
    assert content(plain) == {anchor: [b"a", b"b", b"c"]}


@given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line)))
def test_split_takes_apart_what_join_put_together(lines: list[bytes]) -> None:
    assert split(join(lines)) == lines


# -- what came between two tips -----------------------------------------------------------------


def test_added_lines_of_one_object(plain: Git) -> None:
    one, two, three = ("1" * 40, "2" * 40, "3" * 40)
    old = plant(
        plain, {fanned(one, 2): b"a\nb\n", fanned(two, 2): b"c\n", fanned(three, 0): b"d\n"}
    )
    new = plant(plain, {fanned(one, 2): b"b\ne\n", fanned(three, 1): b"d\n"})
    notes = ref_of(plain)
    assert notes.added(old, new) == [(one, b"e")]
    assert sorted(notes.added(new, old)) == [(one, b"a"), (two, b"c")]
    assert sorted(notes.added(None, new)) == [(one, b"b"), (one, b"e"), (three, b"d")]
    assert notes.added(old, None) == notes.added(old, old) == []


def test_a_line_that_moved_to_another_object_came_there(plain: Git) -> None:
    """So `git commit --amend` with rewriteRef looks: the note is copied, or moved by hand."""
    old = plant(plain, {fanned("1" * 40, 2): b"a\n"})
    new = plant(plain, {fanned("2" * 40, 2): b"a\n"})
    assert ref_of(plain).added(old, new) == [("2" * 40, b"a")]


def test_an_unknown_tip_is_a_key_error(plain: Git) -> None:
    tip = plant(plain, {fanned("1" * 40, 2): b"a\n"})
    for old, new in ((tip, "d" * 40), ("d" * 40, tip)):
        with pytest.raises(KeyError):
            ref_of(plain).added(old, new)


OBJECTS = [digit * 38 + "ab" for digit in "1234"] + ["1" * 38 + "cd"]
LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=4)
TREES = st.dictionaries(st.tuples(st.sampled_from(OBJECTS), st.integers(0, 3)), LINES, max_size=6)
Tree = Mapping[tuple[str, int], list[bytes]]


def _planted(port: Git, tree: Tree) -> tuple[str, Notes]:
    held: dict[str, set[bytes]] = {}
    for (anchor, _), lines in tree.items():
        held.setdefault(anchor, set()).update(lines)
    tip = plant(
        port, {fanned(anchor, level): join(lines) for (anchor, level), lines in tree.items()}
    )
    return tip, {anchor: sorted(lines) for anchor, lines in held.items() if lines}


@settings(max_examples=60)
@given(TREES, TREES, st.dictionaries(st.sampled_from(OBJECTS), LINES, max_size=3))
def test_trees_of_any_shape(plain: Git, before: Tree, after: Tree, new: Notes) -> None:
    """Nothing that came is missed, nothing is invented, and an append adds and keeps."""
    old, had = _planted(plain, before)
    tip, has = _planted(plain, after)
    found = set(ref_of(plain).added(old, tip))
    assert _pairs(has) - _pairs(had) <= found <= _pairs(has)
    done = append(plain, new)
    assert _pairs(content(plain)) == _pairs(has) | _pairs(new)
    if done is None:
        assert _pairs(new) <= _pairs(has)
        return
    assert set(done.lines) == _pairs(new) - _pairs(has)
    assert set(done.lines) <= set(ref_of(plain).added(tip, done.new))
    entries = Counter(path.replace("/", "") for path in paths(plain))
    assert all(entries[anchor] == 1 for anchor in new)


def _pairs(notes: Notes) -> set[tuple[str, bytes]]:
    return {(anchor, line) for anchor, lines in notes.items() for line in lines}


# -- many writers -------------------------------------------------------------------------------


def _write(path: Path, backend: Backend, writer: int, spread: bool, gate: object) -> None:
    port = open_repository(path, backend)
    gate.wait()  # type: ignore[attr-defined]
    for n in range(10):
        anchor = f"{writer * 10 + n if spread else 1:040x}"
        line = f'{{"writer":{writer},"n":{n}}}'.encode()
        assert ref_of(port).append({anchor: [line]}, f"{writer} {n}", ADA, NOW) is not None
    port.close()
    os._exit(0)


@pytest.mark.parametrize("spread", [False, True], ids=["one anchor", "many anchors"])
@pytest.mark.parametrize("backend", ["program", "libgit2"])
def test_six_processes_lose_nothing(repo: Path, backend: Backend, spread: bool) -> None:
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(6)
    writers = [
        context.Process(target=_write, args=(repo, backend, writer, spread, gate))
        for writer in range(6)
    ]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0] * 6
    port = open_repository(repo, backend)
    lines = [line for lines in content(port).values() for line in lines]
    expected = [f'{{"writer":{w},"n":{n}}}'.encode() for w in range(6) for n in range(10)]
    assert sorted(lines) == sorted(expected)
    assert git(repo, "rev-list", "--count", REF) == "60", "one commit a write, one parent each"
    git(repo, "fsck", "--strict")
    port.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes_module, "PATIENCE", 0.3)
    monkeypatch.setattr(notes_module, "STUCK", 0.2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("locked", [REF, KEPT])
def test_a_lock_left_behind_is_named(plain: Git, locked: str) -> None:
    append(plain, {"1" * 40: [b"a"]})
    before = plain.ref(REF), plain.ref(KEPT)
    lock = plain.layout.common_dir / f"{locked}.lock"
    lock.touch()
    with pytest.raises(Unavailable, match=r"\.lock") as raised:
        append(plain, {"1" * 40: [b"b"]})
    assert "remove" in raised.value.hint
    assert (plain.ref(REF), plain.ref(KEPT)) == before
    lock.unlink()
    assert append(plain, {"1" * 40: [b"b"]}) is not None


@pytest.mark.usefixtures("impatient")
def test_one_attempt_at_another_tip_writes_nothing(plain: Git) -> None:
    first = append(plain, {"1" * 40: [b"a"]})
    append(plain, {"1" * 40: [b"b"]})
    before = plain.ref(REF)
    assert first is not None
    with pytest.raises(notes_module.RefMoved):
        ref_of(plain).append_at(first.new, {"1" * 40: [b"c"]}, "x", ADA, NOW)
    assert plain.ref(REF) == before


def test_a_race_is_run_again_on_the_new_tip(plain: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer comes between reading the tip and moving the ref, three times."""
    other = open_repository(plain.layout.git_dir, "program")
    races: Iterator[int] = iter(range(3))
    honest = plain.update_refs

    def raced(updates: Sequence[RefUpdate], message: str) -> None:
        if (n := next(races, None)) is not None:
            append(other, {"1" * 40: [b"other %d" % n]})
        honest(updates, message)

    monkeypatch.setattr(plain, "update_refs", raced)
    append(plain, {"1" * 40: [b"mine"]})
    assert content(plain) == {"1" * 40: [b"mine", *(b"other %d" % n for n in range(3))]}
    assert plain.ref(KEPT) == plain.ref(REF)
    other.close()


@pytest.mark.parametrize("packed", ["pack-refs", "gc"])
def test_packed_refs_and_objects(plain: Git, packed: str) -> None:
    append(plain, {"1" * 40: [b"a"]})
    args = (
        ("pack-refs", "--all", "--prune") if packed == "pack-refs" else ("gc", "-q", "--prune=now")
    )
    git(place(plain), *args)
    append(plain, {"1" * 40: [b"b"]})
    assert content(plain) == {"1" * 40: [b"a", b"b"]}
