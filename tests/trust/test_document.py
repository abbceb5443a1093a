"""Every command of docs/sharing.md, as it stands there, in two fresh clones."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support import git

DOCUMENT = Path(__file__).parents[2] / "docs" / "sharing.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
_PROMPT = re.compile(r"(ada|grace)\$ (.*)")
_ID = re.compile(r"\b[0-9a-f]{8}\b")


def steps() -> Iterator[tuple[str, str, list[str]]]:
    """Yield (who, command, what it is shown to answer) for each command of the document."""
    for block in _BLOCK.findall(DOCUMENT.read_text()):
        rows = block.splitlines()
        starts = [n for n, row in enumerate(rows) if _PROMPT.match(row)]
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            match = _PROMPT.match(rows[start])
            assert match
            yield match[1], match[2], rows[start + 1 : end]


def test_what_the_document_says_is_what_happens(tmp_path: Path) -> None:
    seed, remote = tmp_path / "seed", tmp_path / "team.git"
    git(tmp_path, "init", "-q", str(seed))
    git(seed, "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path, "clone", "-q", "--bare", str(seed), str(remote))
    for who in ("ada", "grace"):
        git(tmp_path, "clone", "-q", str(remote), who)
        git(tmp_path / who, "config", "user.name", who.title())
        git(tmp_path / who, "config", "user.email", f"{who}@example.com")
        run(tmp_path / who, "gitmem init")
    run(tmp_path / "grace", "gitmem trust ada@example.com")
    ids: dict[str, str] = {}
    done = 0
    for who, command, shown in steps():
        for told, real in ids.items():
            command = command.replace(told, real)
        answer = run(tmp_path / who, command).replace(str(remote), "/srv/team.git")
        if command.startswith("gitmem remember"):
            ids[shown[0][:8]] = answer[:8]
        for row in shown:
            row = _ID.sub(lambda id: ids.get(id[0], id[0]), row).replace("**", "")
            assert row in answer, command
        done += 1
    assert done > 25


def run(cwd: Path, command: str) -> str:
    """Run a line of the document as a shell would, and return all it prints."""
    shell = f'gitmem() {{ "{sys.executable}" -m gitmem "$@"; }}\n{command} 2>&1'
    answer = subprocess.run(
        ["sh", "-c", shell], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, (command, answer.stdout)
    return answer.stdout.replace("**", "")
