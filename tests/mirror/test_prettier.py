"""Prettier, the real one: reformatting a file of the mirror is no edit, and loses nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gitmem.mirror.parse import parse_block
from gitmem.mirror.reconcile import Base, Revise, reconcile
from gitmem.mirror.render import block_text, long_term
from gitmem.model import Importance, Memory
from tests.mirror.support import DAILY, Desk, FakeView, make, memories, rendered, short

pytestmark = pytest.mark.fresh  # npm installs it where it is not on the path

STYLES = [
    [],
    ["--prose-wrap=always"],
    ["--prose-wrap=never", "--tab-width=4"],
    ["--prose-wrap=always", "--print-width=40", "--use-tabs", "--end-of-line=crlf"],
]

TEXTS = [
    "Use PostgreSQL: the team knows it, and it has *really* good JSON, 5 * 3, a_b and --flags",
    "Fixed #482",
    "Two paragraphs, the first of which is much longer than eighty characters and must be wrapped."
    "\n\nThe second.",
    "```py\ndef f():\n\n    return 1 --2\n```",
    "A list:\n\n* one\n* two\n    1) x\n    2) y\n\nand a table\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "# A heading\n\ntext\n\n***\n\n> a quote that is long enough to be wrapped by a formatter that "
    "wraps at eighty characters,\n> in two lines",
    "__bold__ and _emphasis_ and **bold** <b>html</b> & R&D <https://example.com/a_b_c>",
    "我们使用PostgreSQL做数据库，因为团队熟悉它。",
    "Trailing space  \nhard\\\nbreak [link]( http://x.y ) ![](a.png)",
]


@pytest.fixture(scope="session")
def prettier(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command: the one on the path, or one installed from npm for this run."""
    if found := shutil.which("prettier"):
        return [found]
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("neither prettier nor npm is installed")
    folder = tmp_path_factory.mktemp("prettier")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), "prettier@3"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not install prettier within 90 s")
    if done.returncode:
        pytest.skip(f"npm could not install prettier: {done.stderr.strip()[-200:]}")
    return [str(folder / "node_modules/.bin/prettier")]


def reformat(prettier: list[str], *paths: Path, style: list[str]) -> None:
    """Run prettier over files, with no configuration but the style given."""
    subprocess.run(
        [*prettier, "--write", "--no-config", "--ignore-path=/dev/null", *style, *map(str, paths)],
        check=True,
        capture_output=True,
        env=os.environ | {"HOME": str(paths[0].parent)},
    )


def shown() -> list[Memory]:
    grades = list(Importance)
    return [
        make(text, importance=grades[number % 4], tags=("a-tag", "snake_case"), kind="note")
        for number, text in enumerate(TEXTS)
    ]


@pytest.mark.parametrize("style", STYLES, ids=" ".join)
def test_a_reformatted_file_holds_no_edit(
    prettier: list[str], tmp_path: Path, style: list[str]
) -> None:
    desk = Desk(tmp_path / "work", FakeView(*shown(), entities=["PostgreSQL"]))
    desk.sync()
    reformat(prettier, desk.root / "MEMORY.md", desk.root / DAILY, style=style)
    assert desk.mirror().edits(desk.view).edits == []
    assert desk.sync()[0].held == []
    reformat(prettier, desk.root / "MEMORY.md", style=style)
    desk.change("The second.", "The second, changed.")
    (edit,) = (edit for _, edit in desk.sync()[0].edits)
    assert isinstance(edit, Revise)
    assert edit.text
    assert edit.text.endswith("The second, changed.")
    assert edit.text.startswith("Two paragraphs, the first")


def test_prettier_leaves_short_memories_as_they_are(prettier: list[str], tmp_path: Path) -> None:
    view = FakeView(make(tags=("database",)), make("Fixed #482", importance=Importance.HIGH))
    desk = Desk(tmp_path / "work", view)
    desk.sync()
    before = desk.text()
    reformat(prettier, desk.root / "MEMORY.md", style=[])
    assert desk.text() == before


@settings(
    max_examples=3,
    derandomize=True,
    phases=[Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(memories, min_size=60, max_size=60, unique_by=lambda memory: memory.id))
def test_any_text_reformatted_keeps_its_id(
    prettier: list[str], tmp_path_factory: pytest.TempPathFactory, many: list[Memory]
) -> None:
    """Whatever prettier does to text that is hardly Markdown, no memory is forgotten or doubled."""
    text = block_text(long_term([(memory, rendered(memory)) for memory in many]))
    path = tmp_path_factory.mktemp("any") / "block.md"
    path.write_text(text, encoding="utf-8")
    reformat(prettier, path, style=["--prose-wrap=always"])
    base = Base(parse_block(text), {short(m): [m.id, *m.heads] for m in many})
    edited = parse_block(path.read_text(encoding="utf-8"))
    outcome = reconcile(edited, base, base.block, FakeView(*many))
    assert {type(edit) for edit in outcome.edits} <= {Revise}
