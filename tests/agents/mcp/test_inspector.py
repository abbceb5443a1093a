"""The server as MCP's own inspector sees it, a program of another language.

It is run where it is installed, with the node of the same folder (it wants 22.19 or later)::

    npm install --prefix DIR node@22 @modelcontextprotocol/inspector@2
    GITMEM_TEST_INSPECTOR=DIR pytest tests/agents/mcp/test_inspector.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.mcp.clients import COMMAND

# Found at import: a test has a home of its own, and no GITMEM_* variables.
FOLDER = Path(
    os.environ.get("GITMEM_TEST_INSPECTOR", Path.home() / ".cache" / "gitmem-tests" / "inspector")
)
NODE = FOLDER / "node_modules/node/bin/node"
LAUNCHER = FOLDER / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
TOOL_FAILED = 5
"""The inspector's exit code where a tool says that it failed."""

pytestmark = pytest.mark.skipif(
    not (NODE.is_file() and LAUNCHER.is_file()),
    reason=f"no inspector in '{FOLDER}': npm install --prefix '{FOLDER}' node@22"
    " @modelcontextprotocol/inspector@2, or name its folder in GITMEM_TEST_INSPECTOR",
)


def inspect(repo: Path, method: str, *arguments: str, code: int = 0) -> Any:
    """Return what the inspector prints of one request."""
    python = ["-e", f"PYTHONPATH={os.environ['PYTHONPATH']}", sys.executable]
    done = subprocess.run(
        [NODE, LAUNCHER, "--cli", *python, *COMMAND, "--method", method, *arguments],
        cwd=repo, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_no_client_refuses_the_schemas(kept: Path, era: str) -> None:
    found = inspect(kept, "tools/list", "--strict", "--protocol-era", era)
    assert len(found["tools"]) == 8


def test_what_it_calls_and_reads(kept: Path) -> None:
    added = inspect(
        kept, "tools/call", "--tool-name", "memory_add",
        "--tool-args-json", '{"text": "Pin the index 日本語", "tags": ["index"]}',
    )  # fmt: skip
    id = added["structuredContent"]["id"]
    search = ("tools/call", "--tool-name", "memory_search", "--tool-arg", "query=index", "limit=3")
    found = inspect(kept, *search)
    assert [hit["id"] for hit in found["structuredContent"]["hits"]] == [id]
    assert "日本語" in found["content"][0]["text"]
    get = ("tools/call", "--tool-name", "memory_get", "--tool-arg")
    assert inspect(kept, *get, f"id={id}")["structuredContent"]["memories"][0]["id"] == id
    assert inspect(kept, *get, "id=abcdef12", code=TOOL_FAILED)["isError"]
    index = inspect(kept, "resources/read", "--uri", "gitmem://index")["contents"][0]["text"]
    assert id in index
    assert len(inspect(kept, "prompts/list")["prompts"]) == 2
