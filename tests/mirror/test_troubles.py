"""What goes wrong around the mirror: each trouble has an outcome that loses nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gitmem.mirror import versions
from gitmem.mirror.document import digest
from gitmem.mirror.mirror import LONG_TERM
from gitmem.mirror.reconcile import Revise
from tests.mirror.support import DAILY, DAY, PG, TABS, Desk, FakeView, make


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


def test_the_last_versions_are_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each file: a day's, rendered once, is there after hundreds of another's."""
    monkeypatch.setattr(versions, "SLACK", 0)
    first = desk.text()
    for number in range(versions.KEPT * 3):
        desk.view.memories[PG.id] = make(
            "Use PostgreSQL", importance=PG.importance, tags=(f"{number}",)
        )
        desk.sync()
    kept = (desk.root / ".git/gitmem/mirror/renderings").read_text().split("\n")[1:]
    assert [line for line in kept if line.startswith(DAILY)]
    assert len(kept) < versions.KEPT * 3
    (desk.root / LONG_TERM).write_text(first)
    assert desk.sync()[0].edits == []
    assert "#59" in desk.text()


def test_a_marker_finds_what_was_rendered_alone(tmp_path: Path) -> None:
    kept = versions.Versions(tmp_path / "mirror" / "renderings")
    kept.put("MEMORY.md", "\n- a\u2028b\t\n", {"12345678": ["1234567890"]})
    (tmp_path / "mirror" / "renderings").open("a").write("\nMEMORY.md\tcut o")
    kept.put("memory/2026-11-20.md", "other", {})
    mark = digest("\n- a\u2028b\t\n")
    assert kept.get("MEMORY.md", mark) == ("\n- a\u2028b\t\n", {"12345678": ["1234567890"]})
    assert kept.get("memory/2026-11-20.md", digest("other")) == ("other", {})
    for path, name in (("memory/2026-11-20.md", mark), ("MEMORY.md", ""), ("MEMORY.md", "cut o")):
        assert kept.get(path, name) is None


def test_what_is_dropped_is_gone(tmp_path: Path) -> None:
    kept = versions.Versions(tmp_path / "renderings")
    for text in ("one", "two", '"Kwyjibo"\nthree'):
        kept.put("MEMORY.md", text, {})
    kept.drop(lambda name, content: b'"Kwyjibo"\nthree' in content or name == digest("one"))
    found = [kept.get("MEMORY.md", digest(text)) for text in ("one", "two", '"Kwyjibo"\nthree')]
    assert found == [None, ("two", {}), None]
    assert b"Kwyjibo" not in (tmp_path / "renderings").read_bytes()


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


def test_a_file_that_shows_the_same_is_looked_at_once_it_was_touched(desk: Desk) -> None:
    desk.view.memories.pop(PG.id)  # not shown: the caller says that nothing changed
    assert desk.mirror().render(desk.view, days=(), same=True) == []
    assert "PostgreSQL" in desk.text()
    (desk.root / LONG_TERM).unlink()
    assert desk.mirror().render(desk.view, days=(), same=True) == [LONG_TERM]
    assert "PostgreSQL" not in desk.text()
