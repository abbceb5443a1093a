"""The tools that keep files: every sample is pinned, what is left out with its reason.

A case is a sample with its ``expected.json``: the fields of its memories that are set, and what is
left out. Times that are the file's own are not there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gitmem.imports.model import Foreign
from gitmem.sessions.importers import records
from tests.imports.support import DATA, foreign, skipped
from tests.sessions.samples import collected, needs_samples

CASES = {
    "claude-memory": "claude-memory",
    "basic-memory": "basic-memory",
    "mem0": "mem0/get_all.json",
    "openmemory": "openmemory/memories.jsonl",
    "letta-memfs": "letta-memfs",
    "letta-af": "letta-af/agent.af",
    "openclaw-memory": "openclaw-memory",
    "memsearch": "memsearch",
    "mcp-memory": "mcp-memory/memory.jsonl",
}
TOOLS = {"letta-af": "letta-memfs"}


def pinned(memory: Foreign, place: Path) -> dict[str, Any]:
    """Return the fields that are set, but for the times of files."""
    fields = {name: value for name, value in asdict(memory).items() if value}
    times = {records.utc(file.stat().st_mtime) for file in place.rglob("*")}
    return {name: value for name, value in fields.items() if str(value) not in times}


@pytest.mark.parametrize("case", CASES)
def test_a_sample(case: str) -> None:
    tool, place = TOOLS.get(case, case), DATA / CASES[case]
    expected = json.loads((DATA / case / "expected.json").read_text())
    found = [pinned(memory, place) for memory in foreign(tool, place).values()]
    assert json.loads(json.dumps(found)) == expected["memories"]
    assert skipped(tool, place) == expected["skipped"]


COLLECTED: dict[
    str, tuple[str, dict[str, tuple[str, str, int]], list[str]]
] = {  # {sample: (tool, {key: (kind, digest of the text, links)}, what is left out)}
    "_synthetic/claude-auto-memory": (
        "claude-memory",
        {
            "feedback_use-uv.md": ("preference", "a8952cfc", 1),
            "project_release-freeze.md": ("fact", "83932c2a", 0),
            "reference_tracker.md": ("", "cbcb769c", 0),
        },
        [],
    ),
    "_synthetic/basic-memory": (
        "basic-memory",
        {"decisions/use-uv": ("note", "be096213", 3)},
        [],
    ),
    "_synthetic/mem0/get_all.json": (
        "mem0",
        {"0b6f6c9e-0000-4000-8000-000000000001": ("", "5d37602b", 0)},
        [],
    ),
    "_synthetic/openmemory/memories.jsonl": (
        "openmemory",
        {"0b6f6c9e-0000-4000-8000-000000000001": ("", "5d37602b", 0)},
        ["a memory that is deleted"],
    ),
    "_synthetic/letta-memfs": (
        "letta-memfs",
        {"reference/release.md": ("", "a75c399d", 0), "system/project.md": ("", "a37dc304", 1)},
        [],
    ),
    "_synthetic/openclaw-workspace": (
        "openclaw-memory",
        {
            "2026-11-19-release-plan.md#55b2dc808da4c65b": ("episode", "ecde9540", 0),
            "2026-11-19.md#870e6fcf19b35097": ("episode", "870e6fcf", 0),
            "MEMORY.md#3f0c8022911c3999": ("", "3f0c8022", 0),
        },
        [],
    ),
    "_synthetic/memsearch": (
        "memsearch",
        {"7b8c9d00-0000-4000-8000-000000000002": ("episode", "8b88ca7d", 0)},
        [],
    ),
    "mcp-memory-server/memory.jsonl": (
        "mcp-memory",
        {"alice": ("fact", "098be029", 1), "gitmem": ("fact", "3522fd1b", 0)},
        [],
    ),
    "letta/evie.af": (
        "letta-memfs",
        {
            "Evie/about_me": ("", "db9cd260", 0),
            "Evie/community_authority_figures": ("", "04412651", 0),
            "Evie/discord_message_formats": ("", "626c8319", 0),
            "Evie/guardrails": ("", "c2cb5aa4", 0),
            "Evie/likeability_system": ("", "f7ed7f08", 0),
            "Evie/memory_editing_rules": ("", "d4fc6783", 0),
            "companion-sleeptime_copy/memory_persona": ("", "ae42ff89", 0),
            "Evie/persona": ("", "e36f1985", 0),
            "Evie/persona_rules": ("", "90f97244", 0),
            "Evie/server_rules": ("", "b6347dac", 0),
            "Evie/social_scores": ("", "d85a0cdb", 0),
            "Evie/source_management": ("", "24dc1878", 0),
            "Evie/title_registry": ("", "1c8b4e86", 0),
        },
        [],
    ),
    "letta/memgpt_agent_with_convo.af": (
        "letta-memfs",
        {"memgpt_agent/human": ("", "1ee999e9", 0), "memgpt_agent/persona": ("", "c98eae8a", 0)},
        [],
    ),
}


def brief(memory: Foreign) -> tuple[str, str, int]:
    return memory.kind, hashlib.sha256(memory.text.encode()).hexdigest()[:8], len(memory.links)


@needs_samples
@pytest.mark.parametrize("sample", COLLECTED)
def test_a_collected_sample(sample: str) -> None:
    tool, expected, left_out = COLLECTED[sample]
    place = collected(sample)
    assert {key: brief(memory) for key, memory in foreign(tool, place).items()} == expected
    assert skipped(tool, place) == left_out
