"""The command line in this process: many variants for the price of one interpreter."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gitmem.cli.main import cli

Gitmem = Callable[..., Result]


def invoke(*args: str, input: str | bytes | None = None) -> Result:
    """Run the command line on `args`, wherever they lead."""
    return CliRunner().invoke(cli, args, input=input)


@pytest.fixture
def gitmem(repo: Path) -> Gitmem:
    """Run a command in the test's repository; it must end with the exit code `code`."""

    def run(*args: str, input: str | bytes | None = None, code: int = 0) -> Result:
        result = invoke("-C", str(repo), *args, input=input)
        assert result.exit_code == code, f"{args}: {result.exit_code}\n{result.output}"
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def ask(gitmem: Gitmem) -> Callable[..., Any]:
    """Run a command with ``--json`` and return its data."""

    def run(*args: str, input: str | bytes | None = None) -> Any:
        return json.loads(gitmem(*args, "--json", input=input).stdout)["data"]

    return run


@pytest.fixture
def remember(gitmem: Gitmem) -> Callable[..., str]:
    """Store a memory and return its short id."""

    def run(text: str = "Use PostgreSQL: the team knows it", *args: str) -> str:
        return gitmem("remember", *args, "--", text).stdout.split()[0]

    return run
