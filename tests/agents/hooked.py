"""An agent as its hooks see it: what it says, and what it makes of the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent.parent / "data" / "hooks"
AGENTS = ("claude-code", "codex", "gemini")

EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "PreToolUse": "post-tool",
    "PostToolUse": "post-tool",
    "AfterTool": "post-tool",
    "Stop": "stop",
    "AfterAgent": "stop",
    "PreCompact": "pre-compact",
    "PreCompress": "pre-compact",
    "SessionEnd": "session-end",
}
"""What is called with each event of an agent's."""

FOLDERS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def hook(
    cwd: Path, event: str, said: object, agent: str = "", env: dict[str, str] | None = None
) -> str:
    """Run a hook in a fresh process and return its answer; it ends well and says nothing else."""
    content = said if isinstance(said, bytes) else json.dumps(said).encode()
    kept = {name: value for name, value in os.environ.items() if name not in FOLDERS}
    done = subprocess.run(
        [sys.executable, "-m", "gitmem", "hook", event, *(["--agent", agent] if agent else [])],
        cwd=cwd, input=content, capture_output=True, check=False, env={**kept, **(env or {})},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
    return done.stdout.decode()


def context(answer: str, event: str = "SessionStart") -> str:
    """Return what the model is shown of an answer that is exactly what all three agents take."""
    if not answer:
        return ""
    assert len(answer) <= 8_000
    found = json.loads(answer)
    assert set(found) == {"hookSpecificOutput"}
    assert set(found["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert found["hookSpecificOutput"]["hookEventName"] == event
    text = str(found["hookSpecificOutput"]["additionalContext"])
    assert text.startswith("<gitmem-memory>\n") and text.endswith("\n</gitmem-memory>")
    return text


def samples(agent: str, repo: Path) -> Iterator[dict[str, Any]]:
    """Yield what an agent says in a session, in a repository."""
    for line in (SAMPLES / f"{agent}.jsonl").read_text().splitlines():
        filled = line.replace("{repo}", str(repo)).replace("{home}", os.environ["HOME"])
        yield json.loads(filled)


def sample(agent: str, repo: Path, event: str, **said: Any) -> dict[str, Any]:
    """Return what an agent says at one of gitmem's events, with something said otherwise."""
    found = (one for one in samples(agent, repo) if EVENTS[one["hook_event_name"]] == event)
    return {**next(found), **said}


def log(repo: Path) -> str:
    """Return what hooks noted in a repository."""
    place = repo / ".git" / "gitmem" / "hooks" / "hooks.log"
    return place.read_text() if place.exists() else ""


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def environment(folder: Path) -> Path:
    """Make a virtual environment that has what this one has; return its interpreter.

    A link to another environment's interpreter would have nothing: Python looks beside the link.
    """
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").write_text(f"home = {sys.base_exec_prefix}/bin\n")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    site.mkdir(parents=True)
    (site / "all.pth").write_text("\n".join([str(SAMPLES.parents[2]), *filter(None, sys.path)]))
    return python
