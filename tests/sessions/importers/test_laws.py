"""What holds of every importer, whatever the bytes: no exception but `Unreadable`, stable ids."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import Unreadable
from gitmem.sessions.importers import importer
from gitmem.sessions.model import About, Skipped, Turn
from tests.sessions.importers.transcripts import ids
from tests.sessions.samples import OWN, SHARED

AGENTS = {  # {agent: its folder of collected samples}
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "openclaw": "openclaw-pi",
    "cursor": "cursor",
    "copilot": "copilot-cli",
    "droid": "droid",
    "windsurf": "windsurf",
    "jsonl": "jsonl",
}
DOCUMENTS = ("amp", "continue", "letta")  # one JSON a transcript; folders of the same names
ROOTS = {OWN: {agent: agent for agent in AGENTS}}
if SHARED:
    ROOTS[SHARED / "transcripts"] = AGENTS
SAMPLES = [
    (agent, root, path.relative_to(root))
    for root, folders in ROOTS.items()
    for agent, folder in folders.items()
    for path in sorted((root / folder).rglob("*.jsonl"))
]
NAMES = [f"{agent}:{path.name}" for agent, _, path in SAMPLES]
WHOLE = [
    (agent, path)
    for root in ROOTS
    for agent in DOCUMENTS
    for path in sorted(importer(agent).transcripts(root / agent))
]
every_sample = pytest.mark.parametrize(("agent", "root", "name"), SAMPLES, ids=NAMES)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def imported(agent: str, path: Path) -> list[Turn]:
    """Read a transcript however it is; what it yields can be kept."""
    try:
        records = list(importer(agent).read(path))
    except Unreadable as error:
        assert re.match(r"'.*' \S", str(error), re.DOTALL)
        return []
    assert all(isinstance(record, About | Turn | Skipped) for record in records)
    found = [record for record in records if isinstance(record, Turn)]
    for turn in found:
        assert (
            turn.id and turn.text.strip() and turn.role in ("user", "assistant", "tool", "summary")
        )
        assert re.fullmatch(r"(\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z)?", turn.at)
        turn.text.encode()
    for about in (record for record in records if isinstance(record, About)):
        assert about.id and about.agent == agent and (not about.parent or about.parent != about.id)
        repr(about).encode()
    return found


@pytest.mark.parametrize("agent", [*AGENTS, *DOCUMENTS])
@given(
    content=st.binary() | st.text().map(str.encode) | json_values.map(json.dumps).map(str.encode)
)
@settings(max_examples=40)
def test_any_bytes(tmp_path: Path, agent: str, content: bytes) -> None:
    for name in ("a.jsonl", "a.json", "openclaw-agent.sqlite"):
        (tmp_path / name).write_bytes(content)
        imported(agent, tmp_path / name)


@every_sample
def test_every_line_more_adds_to_what_there_was(
    tmp_path: Path, agent: str, root: Path, name: Path
) -> None:
    """Imported at any moment of its growth, and again: the ids are those of the whole."""
    lines = (root / name).read_bytes().splitlines(keepends=True)
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines))
    whole = ids(agent, path)
    for count in range(len(lines)):
        path.write_bytes(b"".join(lines[:count]) + lines[count][: len(lines[count]) // 2])
        assert ids(agent, path) <= whole


@every_sample
@given(data=st.data())
@settings(max_examples=12)
def test_cut_anywhere(
    tmp_path: Path, agent: str, root: Path, name: Path, data: st.DataObject
) -> None:
    content = (root / name).read_bytes()
    path = tmp_path / name.name
    path.write_bytes(content)
    whole = {turn.id for turn in imported(agent, path)}
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    assert {turn.id for turn in imported(agent, path)} <= whole


@every_sample
@given(data=st.data())
@settings(max_examples=12)
def test_lines_dropped_doubled_and_shuffled(
    tmp_path: Path, agent: str, root: Path, name: Path, data: st.DataObject
) -> None:
    lines = (root / name).read_bytes().splitlines(keepends=True)
    picked = data.draw(st.lists(st.sampled_from(lines), max_size=2 * len(lines)))
    (tmp_path / name.name).write_bytes(b"".join(picked))
    imported(agent, tmp_path / name.name)


@every_sample
@given(data=st.data())
@settings(max_examples=12)
def test_anything_where_something_else_is_expected(
    tmp_path: Path, agent: str, root: Path, name: Path, data: st.DataObject
) -> None:
    lines = [line for line in (root / name).read_bytes().splitlines() if len(line) < 20_000]
    records = [json.loads(line) for line in lines if line.endswith(b"}")]
    for place in data.draw(st.lists(st.integers(0, len(records) - 1), min_size=1, max_size=8)):
        records[place] = changed(records[place], data)
    path = tmp_path / name.name
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    imported(agent, path)


@pytest.mark.parametrize(
    ("agent", "path"), WHOLE, ids=[f"{agent}:{path.name}" for agent, path in WHOLE]
)
@given(data=st.data())
@settings(max_examples=25)
def test_anything_in_a_document(
    tmp_path: Path, agent: str, path: Path, data: st.DataObject
) -> None:
    value = json.loads(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        value = changed(value, data)
    (tmp_path / path.name).write_text(json.dumps(value))
    imported(agent, tmp_path / path.name)


def changed(value: Any, data: st.DataObject) -> Any:
    """Return a JSON value with something else somewhere in it."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 9)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = data.draw(st.sampled_from(list(keys)))
        value = value.copy()
        value[key] = changed(value[key], data)
        return value
    return data.draw(json_values)
