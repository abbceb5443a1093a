"""The mirror on a real folder: what is rendered, what is read, and that nothing is lost."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.mirror import state
from gitmem.mirror.mirror import CONTEXT, LONG_TERM, Edits, Mirror
from gitmem.mirror.reconcile import Add, Forget, Revise
from gitmem.model import Importance, Memory
from tests.mirror.support import DAY, FakeView, make, memories, short, spaced_texts

DAILY = f"memory/{DAY}.md"
PG = make("Use PostgreSQL", importance=Importance.HIGH, tags=("database",))
TABS = make("Indent with tabs", kind="preference")


class Desk:
    """A working tree with its mirror and what its branch sees."""

    def __init__(self, root: Path, view: FakeView) -> None:
        self.root = root
        self.view = view
        root.mkdir(parents=True, exist_ok=True)

    def mirror(self) -> Mirror:
        """Open the mirror as a new process would."""
        return Mirror(self.root, self.root / ".git/gitmem/mirror")

    def sync(self, *, accept: bool = False) -> tuple[Edits, list[str]]:
        """Do what every verb does."""
        mirror = self.mirror()
        with mirror.locked():
            found = mirror.edits(self.view, accept=accept)
            self.view.apply(found.edits)
            return found, mirror.render(self.view, days=[DAY])

    def text(self, path: str = LONG_TERM) -> str:
        return (self.root / path).read_bytes().decode()

    def change(self, old: str, new: str, path: str = LONG_TERM) -> None:
        text = self.text(path)
        assert old in text
        (self.root / path).write_bytes(text.replace(old, new).encode())

    def stats(self) -> dict[str, int]:
        paths = [path for path in self.root.rglob("*.md") if ".git" not in path.parts]
        return {str(path): path.stat().st_mtime_ns for path in paths}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path / "work", FakeView(PG, TABS))
    desk.sync()
    return desk


def test_the_files_are_made_from_their_templates(desk: Desk) -> None:
    assert desk.text().startswith("# Memory\n")
    assert (
        f"- **decision** Use PostgreSQL #database <!-- {short(PG)} high main {DAY} -->"
        in desk.text()
    )
    assert "## High\n" in desk.text()
    assert "## Preferences\n" in desk.text()
    assert desk.text(DAILY).startswith(f"# {DAY}\n")
    assert not (desk.root / CONTEXT).exists()


def test_without_change_nothing_is_written(desk: Desk) -> None:
    before = desk.stats()
    assert desk.sync() == (Edits([], [], ()), [])
    assert desk.stats() == before


def test_a_new_memory_is_written_where_it_belongs(desk: Desk) -> None:
    desk.view.memories |= {m.id: m for m in [make("Yesterday's", created="2026-11-19T10:00:00Z")]}
    assert desk.sync()[1] == [LONG_TERM]
    assert "Yesterday's" in desk.text()
    assert "Yesterday's" not in desk.text(DAILY)


def test_an_edit_is_read_once_and_shown_everywhere(desk: Desk) -> None:
    desk.change("Use PostgreSQL", "Use MariaDB")
    found, written = desk.sync()
    assert found.edits == [(LONG_TERM, Revise(PG.id, text="Use MariaDB", seen=PG.heads))]
    assert written == [LONG_TERM, DAILY]
    assert "Use MariaDB" in desk.text(DAILY)
    assert desk.sync()[0].edits == []


def test_the_user_may_write_in_any_file(desk: Desk) -> None:
    desk.change("- **decision**", "- Typed in the daily file #today\n- **decision**", DAILY)
    found, _ = desk.sync()
    assert found.edits == [(DAILY, Add("Typed in the daily file", tags=("today",)))]
    assert "Typed in the daily file #today <!-- " in desk.text()
    assert desk.text(DAILY).count("Typed in") == 1


def test_text_outside_the_block_is_the_users(desk: Desk) -> None:
    mine = "\n\n- **decision** my own bullet\n\ufeff no newline at the end"
    (desk.root / LONG_TERM).write_text(desk.text() + mine)
    desk.view.memories.pop(TABS.id)
    assert desk.sync()[0].edits == []
    assert desk.text().endswith(mine)


def test_a_deleted_file_is_made_anew(desk: Desk) -> None:
    (desk.root / LONG_TERM).unlink()
    (desk.root / DAILY).unlink()
    (desk.root / "memory").rmdir()
    found, written = desk.sync()
    assert (found.edits, written) == ([], [LONG_TERM, DAILY])


def test_a_file_rewritten_whole_is_the_users_and_forgets_nothing(desk: Desk) -> None:
    (desk.root / LONG_TERM).write_text("# Notes\n\n- **decision** Use Redis\n")
    found, written = desk.sync()
    assert (found.edits, written) == ([], [LONG_TERM])
    assert desk.text().startswith("# Notes\n\n- **decision** Use Redis\n\n<!-- gitmem:begin")
    assert "Use PostgreSQL" in desk.text()


def test_a_block_rewritten_by_an_agent_without_ids(desk: Desk) -> None:
    text = re.sub(r" <!-- [0-9a-f]{8} .*? -->", "", desk.text())
    (desk.root / LONG_TERM).write_text(text.replace("tabs", "2 tabs") + "- outside\n")
    found, _ = desk.sync()
    assert found.edits == [(LONG_TERM, Revise(TABS.id, text="Indent with 2 tabs", seen=TABS.heads))]
    assert desk.text().endswith("- outside\n")


def test_line_ends_and_byte_order_mark_stay(desk: Desk) -> None:
    raw = b"\xef\xbb\xbf" + desk.text().replace("\n", "\r\n").encode().rstrip()
    (desk.root / LONG_TERM).write_bytes(raw)
    assert desk.sync() == (Edits([], [], ()), [])
    assert (desk.root / LONG_TERM).read_bytes() == raw
    desk.change("Use PostgreSQL", "Use MariaDB")
    found, _ = desk.sync()
    assert [edit for _, edit in found.edits] == [Revise(PG.id, text="Use MariaDB", seen=PG.heads)]
    content = (desk.root / LONG_TERM).read_bytes()
    assert content.startswith(b"\xef\xbb\xbf# Memory\r\n")
    assert content.endswith(b"<!-- gitmem:end -->")
    assert content.count(b"\n") == content.count(b"\r\n")


def test_what_is_no_memory_moves_below_the_block(desk: Desk) -> None:
    desk.change("## High", "A paragraph of mine.\n\n## High")
    found, _ = desk.sync()
    assert not found.edits
    assert "moves below it" in found.warnings[0]
    assert desk.text().endswith("<!-- gitmem:end -->\n\nA paragraph of mine.\n")
    assert desk.sync()[0].warnings == ()


def test_conflict_markers_stop_reading_and_rendering(desk: Desk) -> None:
    conflict = "<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> other\n"
    desk.change("## High", f"{conflict}\n## High")
    text = desk.text()
    desk.view.memories.pop(TABS.id)
    found, written = desk.sync()
    assert not found.edits
    assert "conflict markers" in found.held[0]
    assert (LONG_TERM in written, desk.text()) == (False, text)
    desk.change(conflict, "")
    assert desk.sync()[1] == [LONG_TERM]
    assert "tabs" not in desk.text()


def test_bytes_in_the_block_that_are_no_text(desk: Desk) -> None:
    raw = desk.text().encode().replace(b"PostgreSQL", b"Postgre\xffSQL")
    (desk.root / LONG_TERM).write_bytes(raw)
    found, _ = desk.sync()
    assert "not UTF-8" in found.held[0]
    assert (desk.root / LONG_TERM).read_bytes() == raw


def test_a_large_deletion_waits_until_it_is_accepted(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "work", FakeView(*(make(f"memory {n}") for n in range(8))))
    desk.sync()
    text = re.sub(r"- .*memory [1-6] .*\n", "", desk.text())
    (desk.root / LONG_TERM).write_text(text)
    found, written = desk.sync()
    assert found.edits == []
    assert found.held == [
        "'MEMORY.md' would forget 6 of 8 memories; 'gitmem sync --accept' applies it"
    ]
    assert written == []
    assert desk.sync()[0].held == found.held
    found, _ = desk.sync(accept=True)
    assert sum(isinstance(edit, Forget) for _, edit in found.edits) == 6
    assert desk.sync()[0] == Edits([], [], ())


def test_an_edit_that_was_committed_is_not_silently_the_users(desk: Desk) -> None:
    desk.change("Use PostgreSQL", "Use MariaDB")
    desk.view.head[LONG_TERM] = desk.text().encode()
    desk.change("with tabs", "with spaces")
    found, written = desk.sync()
    assert not found.edits
    assert "was edited in a commit" in found.held[0]
    assert LONG_TERM not in written
    found, _ = desk.sync(accept=True)
    assert len(found.edits) == 2


def test_a_line_moved_to_another_file_is_not_forgotten(desk: Desk) -> None:
    other = make("Remembered the day before", created="2026-11-19T10:00:00Z", kind="episode")
    desk.view.memories[other.id] = other
    desk.view.long_term = lambda limit: ([PG], 1)  # type: ignore[method-assign]
    mirror = desk.mirror()
    mirror.render(desk.view, days=[DAY, "2026-11-19"])
    (line,) = (line for line in desk.text("memory/2026-11-19.md").split("\n") if "before" in line)
    desk.change(f"{line}\n", "", "memory/2026-11-19.md")
    desk.change("## High\n", f"## High\n\n{line}\n")
    assert desk.mirror().edits(desk.view).edits == []


def test_forgotten_in_one_file_and_revised_in_another_it_stays(desk: Desk) -> None:
    desk.change("Use PostgreSQL", "Use MariaDB")
    text = re.sub(r"- .*PostgreSQL.*\n", "", desk.text(DAILY))
    (desk.root / DAILY).write_text(text)
    assert [type(edit) for _, edit in desk.sync()[0].edits] == [Revise]


def test_the_same_edit_in_two_files_is_one(desk: Desk) -> None:
    desk.change("Use PostgreSQL", "Use MariaDB")
    desk.change("Use PostgreSQL", "Use MariaDB", DAILY)
    assert len(desk.sync()[0].edits) == 1


def test_the_context_is_a_text_and_not_a_list(desk: Desk) -> None:
    desk.view.working = make("Working on --login\n\n<<<<<<< not a conflict", kind="context")
    assert desk.sync()[1] == [CONTEXT]
    assert "Working on -\\-login\n" in desk.text(CONTEXT)
    desk.change("Working on", "Done with", CONTEXT)
    found, _ = desk.sync()
    text = "Done with --login\n\n<<<<<<< not a conflict"
    (head,) = make("Working on --login\n\n<<<<<<< not a conflict").heads
    assert [edit for _, edit in found.edits] == [Revise(head, text=text, seen=(head,))]
    block = re.compile("(?s)(gitmem:begin [0-9a-f]{12} -->).*(<!-- gitmem:end)")
    (desk.root / CONTEXT).write_text(block.sub(r"\1\n\2", desk.text(CONTEXT)))
    assert isinstance(desk.mirror().edits(desk.view).edits[0][1], Forget)
    desk.view.working = None
    desk.sync()
    desk.change("<!-- gitmem:end", "Something new\n<!-- gitmem:end", CONTEXT)
    assert desk.sync()[0].edits == [(CONTEXT, Add("Something new", kind="context"))]


def test_files_in_the_folder_that_are_not_gitmems(desk: Desk) -> None:
    (desk.root / "memory/notes.md").write_text("- mine\n")
    signature = desk.mirror().signature()
    assert [path for path, _ in signature] == [LONG_TERM, DAILY, "memory/notes.md"]
    assert desk.sync() == (Edits([], [], ()), [])


def test_only_what_is_mirrored_is_touched(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / LONG_TERM).write_text("tracked\n")
    mirror = Mirror(root, root / ".git/gitmem/mirror", ["memory"])
    assert mirror.render(FakeView(PG), days=[DAY]) == [DAILY]
    assert (root / LONG_TERM).read_text() == "tracked\n"


def test_an_edit_made_after_reading_is_left_for_the_next_time(desk: Desk) -> None:
    mirror = desk.mirror()
    mirror.edits(desk.view)
    desk.change("Use PostgreSQL", "Use MariaDB")
    desk.view.memories.pop(TABS.id)
    assert LONG_TERM not in mirror.render(desk.view, days=[])
    assert "MariaDB" in desk.text()
    found, written = desk.sync()
    assert len(found.edits) == 1
    assert LONG_TERM in written


def test_a_file_that_waits_is_rendered_when_it_can_be(desk: Desk) -> None:
    (desk.root / DAILY).chmod(0o444)
    desk.view.memories.pop(TABS.id)
    mirror = desk.mirror()
    assert mirror.render(desk.view, days=[DAY]) == [LONG_TERM]
    assert mirror.warnings == [f"'{DAILY}' is read-only; gitmem leaves it as it is"]
    (desk.root / DAILY).chmod(0o644)
    assert desk.mirror().render(desk.view, days=[]) == [DAILY]


def test_links_are_left_alone_with_one_warning(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target").write_text("mine")
    desk = Desk(tmp_path / "work", FakeView(PG))
    (desk.root / LONG_TERM).symlink_to(outside / "target")
    (desk.root / "memory").symlink_to(outside)
    mirror = desk.mirror()
    mirror.edits(desk.view)
    assert mirror.render(desk.view, days=[DAY, "2026-11-19"]) == []
    assert len(mirror.warnings) == 2
    assert os.listdir(outside) == ["target"]
    assert (outside / "target").read_text() == "mine"


def test_a_huge_file_is_left_alone(desk: Desk) -> None:
    with open(desk.root / LONG_TERM, "r+b") as stream:
        stream.truncate(6_000_000)
    found, written = desk.sync()
    assert "larger than 5 MB" in found.warnings[0]
    assert LONG_TERM not in written
    assert (desk.root / LONG_TERM).stat().st_size == 6_000_000


def test_a_lost_state_forgets_nothing(desk: Desk) -> None:
    for path in sorted((desk.root / ".git").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    desk.change("Indent with tabs", "Indent with spaces")
    text = re.sub(r"- .*PostgreSQL.*\n", "", desk.text())
    (desk.root / LONG_TERM).write_text(text)
    found, _ = desk.sync()
    assert found.edits == [(LONG_TERM, Revise(TABS.id, text="Indent with spaces"))]
    assert "PostgreSQL" in desk.text()


def test_a_damaged_state_is_thrown_away(desk: Desk) -> None:
    for path in (desk.root / ".git/gitmem/mirror").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff{")
    text = re.sub(r"- .*PostgreSQL.*\n", "", desk.text())
    (desk.root / LONG_TERM).write_text(text)
    assert desk.sync()[0].edits == []
    assert "PostgreSQL" in desk.text()


def test_twenty_versions_are_kept(desk: Desk) -> None:
    first = desk.text()
    for number in range(state.KEPT + 5):
        desk.view.memories[PG.id] = make(
            "Use PostgreSQL", importance=PG.importance, tags=(f"{number}",)
        )
        desk.sync()
    assert len(list((desk.root / ".git/gitmem/mirror/versions/MEMORY.md").iterdir())) == state.KEPT
    (desk.root / LONG_TERM).write_text(first)
    assert desk.sync()[0].edits == []
    assert "#24" in desk.text()


def test_a_marker_is_no_file_name(tmp_path: Path) -> None:
    versions = state.Versions(tmp_path)
    (tmp_path / "secret").write_text("{}\nx")
    assert versions.get("memory", "../secret") is None


def test_values_are_kept_beside_the_state(desk: Desk) -> None:
    desk.mirror().remember("mark", [1, "a"])
    desk.sync()
    assert desk.mirror().recall("mark") == [1, "a"]
    assert desk.mirror().recall("other") is None


def test_while_another_process_has_the_lock_the_files_wait(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.mirror.files.sleep", lambda seconds: None)
    desk.change("Use PostgreSQL", "Use MariaDB")
    other = desk.mirror()
    with desk.mirror().locked(), other.locked() as mine:
        assert not mine
        assert other.edits(desk.view).edits == []
        assert other.render(desk.view, days=[]) == []
    assert len(desk.sync()[0].edits) == 1


def test_an_edit_that_could_not_be_recorded_stays(desk: Desk) -> None:
    desk.change("Use PostgreSQL", "Use MariaDB")
    mirror = desk.mirror()
    mirror.edits(desk.view)
    mirror.hold(LONG_TERM, "has a text that is too long")
    mirror.render(desk.view, days=[])
    assert "MariaDB" in desk.text()


@pytest.mark.parametrize(
    "mine", [None, b"", b"mine", b"mine\n", b"mine\r\n", b"\xef\xbb\xbfmine\n\n"]
)
def test_removing_the_mirror_leaves_what_was_there(tmp_path: Path, mine: bytes | None) -> None:
    desk = Desk(tmp_path / "work", FakeView(PG, TABS))
    if mine is not None:
        (desk.root / LONG_TERM).write_bytes(mine)
    desk.sync()
    desk.view.memories.pop(TABS.id)
    desk.sync()
    assert desk.mirror().remove() == [LONG_TERM, DAILY]
    assert not (desk.root / "memory").exists()
    if mine is None:
        assert not (desk.root / LONG_TERM).exists()
    else:
        assert (desk.root / LONG_TERM).read_bytes() == mine


def test_a_tracked_file_shows_its_edit_at_once_and_no_other_is_written(desk: Desk) -> None:
    desk.change("- **decision**", "- Typed by hand\n- **decision**", DAILY)
    mirror = desk.mirror()
    desk.view.apply(mirror.edits(desk.view).edits)
    assert mirror.settle(desk.view) == [DAILY]
    assert desk.mirror().edits(desk.view).edits == []
    assert "by hand" not in desk.text()


def test_an_edit_in_a_file_that_cannot_be_written_is_recorded_once(desk: Desk) -> None:
    desk.change("- **decision**", "Some text.\n\n- Typed by hand\n- **decision**", DAILY)
    (desk.root / DAILY).chmod(0o444)
    assert len(desk.sync()[0].edits) == 1
    desk.view.day = lambda date, limit: ([PG], 1)  # type: ignore[method-assign]
    assert desk.sync()[0].edits == []
    (desk.root / DAILY).chmod(0o644)
    assert desk.sync()[1] == [DAILY]
    assert desk.text(DAILY).endswith("<!-- gitmem:end -->\n\nSome text.\n")


def test_what_was_read_and_asks_for_nothing_is_not_read_again(desk: Desk) -> None:
    desk.change("Use PostgreSQL", "Use  PostgreSQL")
    mirror = desk.mirror()
    with mirror.locked():
        mirror.edits(desk.view)
    again = desk.mirror()
    again.edits(desk.view)
    assert again.settle(desk.view) == []
    assert desk.sync()[1] == [LONG_TERM]
    assert "Use  " not in desk.text()


def test_a_text_typed_again_later_has_another_fingerprint(desk: Desk) -> None:
    desk.change("- **decision**", "- Typed by hand\n- **decision**")
    first = desk.mirror().fingerprint(LONG_TERM, "Typed by hand")
    desk.change("- Typed", "- And more\n- Typed")
    assert desk.mirror().fingerprint(LONG_TERM, "Typed by hand") == first
    desk.sync()
    assert desk.mirror().fingerprint(LONG_TERM, "Typed by hand") != first


def test_removing_the_mirror_leaves_an_unread_edit(desk: Desk) -> None:
    desk.change("Use PostgreSQL", "Use MariaDB")
    mirror = desk.mirror()
    assert mirror.remove() == [DAILY]
    assert "holds an edit" in mirror.warnings[0]


def _words(text: str) -> set[str]:
    text = re.sub(r"<!-- (?:gitmem:|[0-9a-f]{4,}).*?-->", " ", text)
    text = re.sub(r"&(?:amp;)*#x[0-9A-F]+;", " ", text)
    return set(re.findall(r"[^\W_]{2,}", text))


changes = st.one_of(
    st.tuples(st.just("delete"), st.integers(0, 50), st.just("")),
    st.tuples(st.just("insert"), st.integers(0, 50), spaced_texts),
    st.tuples(st.just("insert"), st.integers(0, 50), spaced_texts.map("- {}".format)),
    st.tuples(st.just("append"), st.integers(0, 50), spaced_texts),
    st.tuples(st.just("double"), st.integers(0, 50), st.just("")),
    st.tuples(st.just("strip"), st.integers(0, 50), st.just("")),
    st.tuples(st.just("indent"), st.integers(0, 50), st.just("")),
    st.tuples(
        st.just("word"), st.integers(0, 50), st.sampled_from(["new", "#new", "@new", "**new**"])
    ),
)


def _mutate(lines: list[str], change: tuple[str, int, str]) -> None:
    kind, number, text = change
    place = number % max(len(lines), 1)
    line = lines[place] if lines else ""
    if kind == "insert":
        lines.insert(place, text.replace("gitmem:", "x"))
    elif lines and kind == "delete":
        del lines[place]
    elif lines and kind == "double":
        lines.insert(place, line)
    elif lines:
        lines[place] = {
            "append": f"{line} {text.replace('gitmem:', 'x')}",
            "strip": re.sub(r" <!-- .*? -->", "", line),
            "indent": f"  {line}",
            "word": line.replace(" ", f" {text} ", 1),
        }[kind]


@settings(max_examples=150)
@given(
    st.lists(memories, min_size=1, max_size=5, unique_by=lambda memory: memory.id),
    st.lists(changes, min_size=1, max_size=4),
    st.booleans(),
)
def test_no_word_that_was_typed_is_lost(
    tmp_path_factory: pytest.TempPathFactory,
    shown: list[Memory],
    typed: list[tuple[str, int, str]],
    accept: bool,
) -> None:
    desk = Desk(tmp_path_factory.mktemp("desk") / "work", FakeView(*shown))
    desk.sync()
    head, begin, rest = desk.text().partition("\n\n## ")
    lines = (begin + rest).split("\n")
    for change in typed:
        _mutate(lines, change)
    (desk.root / LONG_TERM).write_bytes((head + "\n".join(lines)).encode())
    headings = re.findall(r"(?m)^## (.*)", begin + rest)
    wanted = _words(desk.text()) - _words(" ".join(headings))
    found, _ = desk.sync(accept=accept)
    afterwards = [desk.text(), desk.text(DAILY), *(repr(edit) for _, edit in found.edits)]
    assert wanted <= _words("\n".join(afterwards))
    if not found.held:
        assert desk.mirror().edits(desk.view).edits == []
