"""`gitmem model`: what it says and where it looks; what it fetches is in tests/search."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitmem.search.semantic.pins import MINILM
from tests.cli.conftest import Gitmem, invoke
from tests.support import git

NAME = "models/all-MiniLM-L6-v2"


def half_a_model(cache: Path) -> int:
    """Put a file of the right size and the wrong content where the model belongs."""
    size = MINILM["config.json"].size
    (cache / NAME).mkdir(parents=True)
    (cache / NAME / "config.json").write_text("x" * size)
    return size


def test_status_needs_no_repository(
    tmp_path: Path, hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("model")
    assert done.exit_code == 0
    path = done.stdout.splitlines()[0].removeprefix("path: ")
    assert Path(path).is_relative_to(hermetic) and path.endswith(NAME)
    assert "installed: no" in done.stdout


def test_a_setting_of_the_user_counts_outside_repositories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "config", "--global", "gitmem.cacheDir", str(tmp_path / "configured"))
    assert f"path: {tmp_path / 'configured' / NAME}" in invoke("model").stdout


def test_the_folder_is_a_setting(
    repo: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git(repo, "config", "gitmem.cacheDir", str(tmp_path / "configured"))
    size = half_a_model(tmp_path / "configured")
    path = str(tmp_path / "configured" / NAME)
    assert ask("model", "status") == {
        "path": path,
        "installed": True,
        "verified": False,
        "size": size,
    }
    monkeypatch.setenv("GITMEM_CACHE_DIR", str(tmp_path / "other"))
    assert ask("model", "status")["path"] == str(tmp_path / "other" / NAME)


def test_install_refuses_another_model(gitmem: Gitmem, tmp_path: Path) -> None:
    half_a_model(tmp_path)
    done = gitmem("model", "install", "--from", str(tmp_path / NAME), code=5)
    assert done.stdout == "" and "'config.json' is another file" in done.stderr
    answer = json.loads(
        gitmem("model", "install", "--from", str(tmp_path / NAME), "--json", code=5).stdout
    )
    assert answer["error"]["code"] == "refused"
    assert "installed: no" in gitmem("model").stdout


def test_install_says_what_a_source_lacks(gitmem: Gitmem, tmp_path: Path) -> None:
    assert "does not exist" in gitmem("model", "install", "--from", "/no/where", code=2).stderr
    assert "has no 'config.json'" in gitmem("model", "install", "--from", ".", code=2).stderr


def test_remove(gitmem: Gitmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITMEM_CACHE_DIR", str(tmp_path))
    assert gitmem("model", "remove").stdout == "there was no model\n"
    half_a_model(tmp_path)
    assert gitmem("model", "remove").stdout.startswith("removed, ")
    assert not (tmp_path / NAME).exists()


def test_a_source_goes_with_install(gitmem: Gitmem) -> None:
    assert "--from goes with install" in gitmem("model", "--from", ".", code=1).stderr
