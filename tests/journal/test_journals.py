"""A journal: what was in it stays in it, whatever stock git does to its ref."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Git, RefUpdate
from gitmem.journal.journals import Journal
from gitmem.model import JournalName
from tests.journal.conftest import ADA, KEPT, REF
from tests.journal.test_notes import fanned, plant
from tests.support import git

NOW = 1_700_000_000
AT = datetime.fromtimestamp(NOW, UTC)
STOCK = REF.removeprefix("refs/notes/")
ONE, TWO = "1" * 40, "2" * 40


def append(journal: Journal, anchor: str, *lines: bytes) -> None:
    assert journal.append({anchor: lines}, "x", ADA, NOW)


def settle(journal: Journal) -> int:
    return journal.settle(ADA, NOW)


def lines(journal: Journal, commit: str | None = None) -> set[tuple[str, bytes]]:
    tip = commit or journal.notes.tip()
    return set(journal.notes.read(tip)) if tip else set()


def move(port: Git, new: str, ref: str = REF) -> None:
    """Move a ref behind gitmem's back."""
    port.update_refs([RefUpdate(ref, new, port.ref(ref))], "moved")


@pytest.fixture
def journal(plain: Git) -> Journal:
    return Journal(JournalName.SHARED, plain)


@pytest.fixture
def head(plain: Git, repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD")


# -- lines that vanish come back ----------------------------------------------------------------


def test_settling_what_is_settled_does_nothing(journal: Journal, repo: Path) -> None:
    assert journal.settled and settle(journal) == 0
    assert journal.notes.tip() is None
    append(journal, ONE, b"a")
    assert journal.settled
    before = git(repo, "for-each-ref"), git(repo, "count-objects")
    assert settle(journal) == 0
    assert (git(repo, "for-each-ref"), git(repo, "count-objects")) == before


def test_notes_remove(journal: Journal, repo: Path, head: str) -> None:
    append(journal, head, b"a", b"b")
    append(journal, ONE, b"c")
    git(repo, "notes", "--ref", STOCK, "remove", head)
    assert lines(journal) == {(ONE, b"c")} and not journal.settled
    assert settle(journal) == 2
    assert lines(journal) == {(head, b"a"), (head, b"b"), (ONE, b"c")}
    assert journal.settled
    assert git(repo, "notes", "--ref", STOCK, "show", head) == "a\nb"


def test_notes_prune_after_history_was_rewritten(journal: Journal, repo: Path, head: str) -> None:
    append(journal, head, b"a")
    git(repo, "commit", "-q", "--amend", "-m", "rewritten")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    git(repo, "notes", "--ref", STOCK, "prune")
    assert lines(journal) == set()
    assert settle(journal) == 1
    assert lines(journal) == {(head, b"a")}
    assert not journal.git.has(head), "a missing anchor is no error"


def test_a_writer_that_rewrites_the_ref_it_read_before(journal: Journal, repo: Path) -> None:
    """`git commit --amend` with rewriteRef reads the notes, and later moves the ref by force."""
    append(journal, ONE, b"a")
    read = journal.notes.tip()
    append(journal, ONE, b"b")
    append(journal, TWO, b"c")
    assert read is not None
    move(journal.git, read)
    git(repo, "notes", "--ref", STOCK, "append", "-m", "copied", "HEAD")
    assert settle(journal) == 2
    assert {line for _, line in lines(journal)} == {b"a", b"b", b"c", b"copied"}


@pytest.mark.parametrize("both", [False, True], ids=["loose", "packed"])
def test_the_ref_is_deleted(journal: Journal, repo: Path, both: bool) -> None:
    append(journal, ONE, b"a", b"b")
    tip = journal.notes.tip()
    if both:
        git(repo, "pack-refs", "--all")
    git(repo, "update-ref", "-d", REF)
    assert journal.notes.tip() is None
    assert settle(journal) == 2
    assert journal.notes.tip() == tip and journal.settled


def test_the_ref_is_deleted_and_written_to_at_once(journal: Journal, repo: Path) -> None:
    append(journal, ONE, b"a")
    git(repo, "update-ref", "-d", REF)
    append(journal, ONE, b"b")
    assert lines(journal) == {(ONE, b"a"), (ONE, b"b")} and journal.settled


def test_the_ref_is_reset_to_another_history(journal: Journal) -> None:
    append(journal, ONE, b"a", b"b")
    tree = journal.git.commit(plant(journal.git, {fanned(ONE, 0): b"b\nc\n"})).tree
    move(journal.git, journal.git.write_commit(tree, [], ADA, NOW, "an orphan"))
    assert settle(journal) == 1
    assert lines(journal) == {(ONE, b"a"), (ONE, b"b"), (ONE, b"c")}


def test_a_fast_forward_that_lacks_lines(journal: Journal) -> None:
    """By ancestry nothing is lost: the tip that lacks the line descends from one that has it."""
    append(journal, ONE, b"a")
    plant(journal.git, {fanned(TWO, 2): b"b\n"})
    assert settle(journal) == 1
    assert lines(journal) == {(ONE, b"a"), (TWO, b"b")}


def test_what_a_stranger_appends_is_taken_in(journal: Journal, repo: Path, head: str) -> None:
    append(journal, head, b"a")
    git(repo, "notes", "--ref", STOCK, "append", "-m", "by hand", head)
    assert not journal.settled
    assert settle(journal) == 0
    assert journal.settled and lines(journal) == {(head, b"a"), (head, b"by hand")}
    git(repo, "notes", "--ref", STOCK, "remove", head)
    assert settle(journal) == 2


def test_the_kept_ref_is_deleted(journal: Journal, repo: Path) -> None:
    append(journal, ONE, b"a")
    git(repo, "update-ref", "-d", KEPT)
    append(journal, ONE, b"b")
    assert journal.settled and lines(journal) == {(ONE, b"a"), (ONE, b"b")}


def test_a_line_that_another_entry_of_the_object_still_holds_has_not_vanished(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comparing changed entries alone would restore it for ever."""
    rounds: Iterator[int] = iter(range(3))
    attempt = journal.notes.append_at

    def counted(*args: object) -> object:
        next(rounds)
        return attempt(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(journal.notes, "append_at", counted)
    plant(journal.git, {fanned(ONE, 0): b"a\n", fanned(ONE, 2): b"a\n"})
    settle(journal)
    plant(journal.git, {fanned(ONE, 2): b"a\n"})
    assert settle(journal) == 0
    assert journal.settled and lines(journal) == {(ONE, b"a")}


# -- any sequence of writers, strangers and accidents -------------------------------------------

ACTS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 1), st.sampled_from((ONE, TWO))),
    st.tuples(st.just("raced"), st.integers(0, 1), st.integers(0, 20)),
    st.tuples(st.just("rewind"), st.integers(0, 20), st.just(0)),
    st.tuples(st.just("drop"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("delete"), st.just(0), st.just(0)),
    st.tuples(st.just("settle"), st.integers(0, 1), st.just(0)),
)


@settings(max_examples=60)
@given(acts=st.lists(ACTS, max_size=15))
def test_nothing_acknowledged_is_ever_lost(
    repo: Path, acts: Sequence[tuple[str, int, int]]
) -> None:
    ports = [open_repository(repo, backend) for backend in ("program", "libgit2")]
    for ref in (REF, KEPT):
        ports[0].delete_ref(ref)
    journals = [Journal(JournalName.SHARED, port) for port in ports]
    acknowledged: set[tuple[str, bytes]] = set()
    tips: list[str] = []
    held: set[tuple[str, bytes]] = set()
    for number, (act, which, more) in enumerate(acts):
        journal = journals[which % 2]
        if act in ("append", "raced"):
            anchor, line = (more if act == "append" else ONE), b"%d" % number
            with_race = _rewinding(journal.git, tips, more) if act == "raced" else None
            append(journal, str(anchor), line)
            if with_race:
                with_race()
            acknowledged.add((str(anchor), line))
        elif act == "rewind" and tips:
            move(ports[0], tips[which % len(tips)])
        elif act == "drop" and journal.notes.tip():
            rest = sorted(lines(journal))[which:]
            plant(ports[0], {fanned(anchor, 2): line + b"\n" for anchor, line in rest})
        elif act == "delete" and journal.notes.tip():
            ports[0].delete_ref(REF)
        elif act == "settle":
            settle(journal)
        tips += [tip for tip in (journal.notes.tip(),) if tip]
        kept = journal.git.ref(KEPT)
        now_held = lines(journal, kept) if kept else set()
        assert held <= now_held, "the kept ref moves only to what holds all it held"
        assert acknowledged <= now_held | lines(journal)
        held = now_held
    settle(journals[0])
    assert acknowledged | held <= lines(journals[1])
    assert journals[1].settled
    for port in ports:
        port.close()


def _rewinding(port: Git, tips: Sequence[str], which: int) -> Callable[[], None]:
    """Let somebody rewind the ref just after it moves; returns what puts the port back in order."""
    honest = port.update_refs

    def raced(updates: Sequence[RefUpdate], message: str) -> None:
        honest(updates, message)
        port.update_refs = honest  # type: ignore[method-assign]
        if tips and any(update.ref == REF for update in updates):
            move(port, tips[which % len(tips)])

    port.update_refs = raced  # type: ignore[method-assign]

    def restore() -> None:
        port.update_refs = honest  # type: ignore[method-assign]

    return restore


def test_the_ref_changes_while_lines_are_brought_back(journal: Journal) -> None:
    """The tip that is kept is the one that was compared, not one that came since and lacks more."""
    append(journal, ONE, b"a")
    first = journal.notes.tip()
    append(journal, ONE, b"b")
    append(journal, TWO, b"c")
    assert first is not None
    plant(journal.git, {fanned(ONE, 2): b"a\nb\n"})
    restore = _rewinding(journal.git, [first], 0)
    settle(journal)
    restore()
    settle(journal)
    assert lines(journal) == {(ONE, b"a"), (ONE, b"b"), (TWO, b"c")}


def test_the_ref_changes_between_the_comparison_and_the_move(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(journal, ONE, b"a")
    first = journal.notes.tip()
    append(journal, ONE, b"b")
    plant(journal.git, {fanned(ONE, 2): b"a\nb\nc\n"})
    compare = journal.notes.added

    def raced(old: str | None, new: str | None) -> list[tuple[str, bytes]]:
        found = compare(old, new)
        assert first is not None
        move(journal.git, first)
        return found

    monkeypatch.setattr(journal.notes, "added", raced)
    settle(journal)
    kept = journal.git.ref(KEPT)
    assert lines(journal, kept) == {(ONE, b"a"), (ONE, b"b"), (ONE, b"c")}


# -- care ---------------------------------------------------------------------------------------


def test_packing_leaves_every_line(journal: Journal, repo: Path) -> None:
    for number in range(12):
        append(journal, ONE, b"%d" % number)
    before = lines(journal)
    assert not journal.pack(at_least=20)
    assert journal.pack(at_least=10)
    assert int(git(repo, "count-objects").split()[0]) < 12
    assert not journal.pack(at_least=1), "nothing came since"
    append(journal, ONE, b"more")
    assert journal.pack(at_least=1)
    assert lines(journal) == before | {(ONE, b"more")}
    git(repo, "fsck", "--strict")


def test_locks_are_listed(journal: Journal) -> None:
    append(journal, ONE, b"a")
    assert journal.locks() == []
    lock = journal.git.layout.common_dir / f"{KEPT}.lock"
    lock.touch()
    assert journal.locks() == [lock]
