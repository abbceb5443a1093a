"""Start-up cost is a feature: what a command does not need, it does not load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("spacy chromadb whoosh numpy onnxruntime tokenizers mcp git yaml rich pygit2 filelock "
         "platformdirs sqlite3 json importlib.metadata").split()  # fmt: skip

PROBE = """
import json, sys
sys.argv[1:] = json.loads(sys.argv[1])
try:
    from gitmem.cli.main import run
    run()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*args: str, cwd: Path) -> set[str]:
    """Return the modules that a command line has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(args)], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_the_entry_loads_click_and_little_else(tmp_path: Path) -> None:
    before = "import sys; before = set(sys.modules); import gitmem.cli.main; "
    probe = before + "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - sys.stdlib_module_names == {"click", "gitmem"}


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    modules = loaded("--help", cwd=tmp_path) | loaded("remember", "--help", cwd=tmp_path)
    assert not modules & set(HEAVY) - {"json"}  # the probe loads json
    assert not modules & {"gitmem.api", "gitmem.model"}


@pytest.mark.parametrize(
    "args", [("remember", "Use PostgreSQL"), ("sync", "--start"), ("list",), ("list", "--json")]
)
def test_a_pipe_loads_no_colour_and_no_engine(args: tuple[str, ...], repo: Path) -> None:
    never = {"rich", "yaml", "pygit2", "spacy", "chromadb", "numpy", "onnxruntime", "whoosh", "git"}
    assert not loaded(*args, cwd=repo) & never
