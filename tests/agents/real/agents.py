"""The agents, as a user starts them: where they are, how they are told of the model, one prompt."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.agents.real.model import Model

FOLDER = Path(
    os.environ.get("GITMEM_AGENTS")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "gitmem", "agents")
)
"""Where npm has put them."""

PATIENCE = 120
"""Seconds that a session may take, which ends by itself after a few."""

HOW = "npm install --prefix {} @openai/codex@0.169.0 @google/gemini-cli@0.61.0"


def missing(program: str) -> str:
    """Return why an agent cannot be run here; empty where it can."""
    if not shutil.which("node"):
        return "the agents want Node.js 20 or later, as 'node' on the path"
    if not (FOLDER / "node_modules" / ".bin" / program).exists():
        return f"no {program} in {FOLDER} (GITMEM_AGENTS says where else): {HOW.format(FOLDER)}"
    return ""


@dataclass(frozen=True, slots=True)
class Agent:
    """One of them: what a user once writes into its settings, and how a prompt is given.

    `approving` are arguments that stand for a person who approves; `trust` trusts a repository.
    """

    name: str
    settle: Callable[[Path, Model], None]
    trust: Callable[[Path, Path], None]
    arguments: tuple[str, ...]
    approving: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    def ask(
        self, prompt: str, repo: Path, model: Model, trusted: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Start it in a repository with one prompt, and wait until it has ended."""
        flags = self.approving if trusted else ()
        program = str(FOLDER / "node_modules" / ".bin" / self.name)
        with subprocess.Popen(
            [program, *flags, *self.arguments, prompt],
            cwd=repo,
            env={**os.environ, **_no_network(model), **_gemini(model)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # its children too hold the pipes
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _no_network(model: Model) -> dict[str, str]:
    """Whatever goes to a host but this one is asked of the model, which has nothing there."""
    return {"HTTP_PROXY": model.url, "HTTPS_PROXY": model.url, "NO_PROXY": "127.0.0.1"}


def _gemini(model: Model) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "none"}


def _settle_codex(home: Path, model: Model) -> None:
    """Name the model as one names a provider of one's own."""
    place = home / ".codex" / "config.toml"
    place.parent.mkdir()
    place.write_text(
        'model = "scripted"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n\n'
        "[analytics]\nenabled = false\n\n"
        '[model_providers.scripted]\nname = "scripted"\nwire_api = "responses"\n'
        f'base_url = "{model.url}/v1"\n'
    )


def _settle_gemini(home: Path, model: Model) -> None:
    """Choose the key as the way in, as one does at the first start."""
    place = home / ".gemini" / "settings.json"
    place.parent.mkdir()
    chosen = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    place.write_text(json.dumps(chosen))


def _trust_codex(home: Path, repo: Path) -> None:
    with (home / ".codex" / "config.toml").open("a") as file:
        file.write(f'\n[projects."{repo}"]\ntrust_level = "trusted"\n')


def _trust_gemini(home: Path, repo: Path) -> None:
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(repo): "TRUST_FOLDER"}))


CODEX = Agent("codex", _settle_codex, _trust_codex, ("exec",), ("--dangerously-bypass-hook-trust",))
GEMINI = Agent(
    "gemini",
    _settle_gemini,
    _trust_gemini,
    ("--model", "gemini-2.5-flash", "--prompt"),
    ("--skip-trust",),
)
AGENTS = {agent.name: agent for agent in (CODEX, GEMINI)}
