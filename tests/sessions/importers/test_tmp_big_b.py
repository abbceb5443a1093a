"""What holds of importers of whole documents, of text and of databases, whatever the bytes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sessions.importers.test_laws import changed, imported, json_values
from tests.sessions.importers.transcripts import ids
from tests.sessions.samples import OWN, SHARED

FILES = {  # {agent: (folder of samples, the name of a transcript)}
    "aider": ("aider", "*.md"),
    "amp": ("amp", "*.json"),
    "continue": ("continue", "*.json"),
    "letta": ("letta", "*.af"),
}
ROOTS = [OWN, *([SHARED / "transcripts"] if SHARED else [])]
SAMPLES = [
    (agent, path)
    for root in ROOTS
    for agent, (folder, pattern) in FILES.items()
    for path in sorted((root / folder).rglob(pattern))
]
HISTORIES = [path for agent, path in SAMPLES if agent == "aider"]
DOCUMENTS = [(agent, path) for agent, path in SAMPLES if agent != "aider"]
SCHEMA = f"BEGIN;{(OWN / 'opencode' / 'schema.sql').read_text()}COMMIT;"


def named(samples: list[tuple[str, Path]]) -> list[str]:
    return [f"{agent}:{path.name}" for agent, path in samples]


any_bytes = st.binary() | st.text().map(str.encode) | json_values.map(json.dumps).map(str.encode)


@pytest.mark.parametrize("agent", [*FILES, "opencode"])
@given(content=any_bytes)
@settings(max_examples=700)
def test_any_bytes(tmp_path: Path, agent: str, content: bytes) -> None:
    for name in ("a.json", "a.md"):
        (tmp_path / name).write_bytes(content)
        imported(agent, tmp_path / name)


@pytest.mark.parametrize(("agent", "sample"), SAMPLES, ids=named(SAMPLES))
@given(data=st.data())
@settings(max_examples=700)
def test_cut_anywhere(tmp_path: Path, agent: str, sample: Path, data: st.DataObject) -> None:
    content = sample.read_bytes()
    path = tmp_path / sample.name
    path.write_bytes(content)
    whole = ids(agent, path)
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    imported(agent, path)
    assert ids(agent, path) <= whole


@pytest.mark.parametrize("sample", HISTORIES, ids=lambda path: path.name)
@given(data=st.data())
@settings(max_examples=700)
def test_lines_dropped_doubled_and_shuffled(
    tmp_path: Path, sample: Path, data: st.DataObject
) -> None:
    lines = sample.read_bytes().splitlines(keepends=True)
    picked = data.draw(st.lists(st.sampled_from(lines), max_size=2 * len(lines)))
    (tmp_path / sample.name).write_bytes(b"".join(picked))
    imported("aider", tmp_path / sample.name)


@pytest.mark.parametrize(("agent", "sample"), DOCUMENTS, ids=named(DOCUMENTS))
@given(data=st.data())
@settings(max_examples=700)
def test_anything_where_something_else_is_expected(
    tmp_path: Path, agent: str, sample: Path, data: st.DataObject
) -> None:
    document = json.loads(sample.read_text())
    for _ in range(data.draw(st.integers(1, 8))):
        document = changed(document, data)
    (tmp_path / sample.name).write_text(json.dumps(document))
    imported(agent, tmp_path / sample.name)


@given(data=st.data())
@settings(max_examples=700)
def test_a_database_of_anything(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "opencode.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        database.text_factory = lambda content: content.decode(errors="replace")
        for table in ("message", "part"):
            for id, content in database.execute(f"SELECT id, data FROM {table}").fetchall():
                value: Any = content
                if data.draw(st.booleans()):
                    value = json.dumps(changed(parsed(content), data))
                if not data.draw(st.integers(0, 9)):
                    value = data.draw(st.integers(-9, 9) | st.binary() | st.text())
                database.execute(f"UPDATE {table} SET data = ? WHERE id = ?", [value, id])
        database.commit()
    imported("opencode", path)


def parsed(content: object) -> object:
    try:
        return json.loads(str(content))
    except ValueError:  # one row is torn on purpose
        return {}


@given(data=st.data())
@settings(max_examples=700)
def test_a_broken_database(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "opencode.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
    content = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=30)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    imported("opencode", path)


@given(data=st.data())
@settings(max_examples=700)
def test_files_of_anything(tmp_path: Path, data: st.DataObject) -> None:
    """Any file of opencode's older storage may say anything."""
    for file in (OWN / "opencode" / "storage").rglob("*.json"):
        copy = tmp_path / file.relative_to(OWN / "opencode")
        copy.parent.mkdir(parents=True, exist_ok=True)
        content = file.read_bytes()
        if not data.draw(st.integers(0, 3)):
            content = json.dumps(changed(json.loads(content), data)).encode()
        copy.write_bytes(content)
    for name in ("ses_shop01", "ses_till01"):
        imported("opencode", tmp_path / "storage" / "message" / name)
