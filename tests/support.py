"""What tests of every layer share: a real git, and the command line in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def git(cwd: Path, *args: str, input: str | None = None, check: bool = True) -> str:
    """Run git in `cwd` and return its standard output, without the final newline."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, input=input, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
    return done.stdout.rstrip("\n")


def run_cli(
    *args: str, cwd: Path, input: str | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m gitmem ARGS`` in a fresh process, with `env` on top of the environment."""
    return subprocess.run(
        [sys.executable, "-m", "gitmem", *args],
        cwd=cwd,
        input=input,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
    )
