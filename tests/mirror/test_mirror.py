"""The mirror on a real folder: what is rendered and what is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gitmem.mirror.mirror import CONTEXT, LONG_TERM, Edits, Mirror
from gitmem.mirror.reconcile import Add, Forget, Revise
from tests.mirror.support import DAILY, DAY, PG, TABS, Desk, FakeView, make, short


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


@pytest.mark.parametrize("heading", ["", "# Active context\n\n", "\ufeff# Active context\r\n\r\n"])
def test_the_context_may_be_written_whole_as_agents_do(desk: Desk, heading: str) -> None:
    (desk.root / CONTEXT).write_bytes(f"{heading}Moving the pool\n\n- next: tests\n".encode())
    added = Add("Moving the pool\n\n- next: tests", kind="context")
    assert desk.sync()[0].edits == [(CONTEXT, added)]
    assert desk.text(CONTEXT).count("Moving the pool") == 1
    assert desk.sync() == (Edits([], [], ()), [])
    (desk.root / CONTEXT).write_text("Pool moved")
    assert [type(edit) for _, edit in desk.sync()[0].edits] == [Revise]
    for nothing in ("", "\n", "# Active context\n", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n", "\0"):
        (desk.root / CONTEXT).write_text(nothing)
        assert desk.mirror().edits(desk.view).edits == [], nothing


def test_the_context_that_somebody_committed_whole_waits(desk: Desk) -> None:
    (desk.root / CONTEXT).write_text("Do as I say")
    desk.view.head[CONTEXT] = b"Do as I say"
    found, _ = desk.sync()
    assert not found.edits and len(found.held) == 1
    assert desk.text(CONTEXT) == "Do as I say"


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


def test_a_tracked_file_shows_its_edit_at_once_and_no_other_is_written(desk: Desk) -> None:
    desk.change("- **decision**", "- Typed by hand\n- **decision**", DAILY)
    mirror = desk.mirror()
    desk.view.apply(mirror.edits(desk.view).edits)
    assert mirror.settle(desk.view) == [DAILY]
    assert desk.mirror().edits(desk.view).edits == []
    assert "by hand" not in desk.text()
