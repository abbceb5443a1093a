"""A session's start that pulls and its end that pushes, where the settings say so."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gitmem import startup
from tests.sharing import servers
from tests.sharing.support import TRACKING, Team, smuggle, tip
from tests.support import git, run_cli


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Return a remote."""
    return Team(tmp_path)


def start(path: Path) -> str:
    """Begin a session, and return what it is told."""
    done = run_cli("sync", "--start", cwd=path)
    assert done.returncode == 0
    return done.stdout + done.stderr


def end(path: Path, *summary: str) -> str:
    """End a session, and return what was said."""
    done = run_cli("sync", "--end", *summary, cwd=path)
    assert done.returncode == 0
    return done.stdout + done.stderr


def test_off_unless_asked_for(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(one, "Of one")
    assert "arrived" not in end(one, "a summary")
    assert tip(team.remote) == ""
    with team.open(one) as gm:
        gm.push()
    assert "Of one" not in start(two)
    assert tip(two, TRACKING) == ""


def test_a_start_pulls_and_an_end_pushes(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    git(one, "config", "gitmem.autoPush", "true")
    git(two, "config", "gitmem.autoPull", "yes")
    team.remember(one, "Of one")
    said = end(one, "what was done")
    assert "2 events of 2 memories arrived at 'origin'" in said
    assert tip(team.remote) == tip(one)
    told = start(two)
    assert "Of one" in told and "what was done" in told
    team.remember(one, "Of one, later")
    end(one)
    assert "Of one, later" in start(two), "an answer kept from before would not have it"
    with team.open(two) as gm:
        assert gm.status().memories == 3


def test_the_environment_and_the_global_file_may_say_so(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = team.clone("one")
    team.remember(one, "Of one")
    monkeypatch.setenv("GITMEM_AUTO_PUSH", "1")
    assert "arrived" in end(one)
    (one / ".gitmem.yml").write_text("autoPush: true\n")
    monkeypatch.delenv("GITMEM_AUTO_PUSH")
    team.remember(one, "More")
    said = end(one)
    assert "arrived" not in said and "'autoPush' cannot be set there" in said


def test_where_init_was_never_run_nothing_is_fetched_and_nothing_pushed(team: Team) -> None:
    git(team.folder, "config", "--global", "gitmem.autoPull", "true")
    git(team.folder, "config", "--global", "gitmem.autoPush", "true")
    one = team.clone("one")
    team.remember(one, "Of one")
    end(one)
    plain = team.folder / "plain"
    git(team.folder, "clone", "-q", str(team.remote), str(plain))
    before = git(plain, "for-each-ref")
    assert "Of one" not in start(plain)
    end(plain)
    assert git(plain, "for-each-ref") == before


@pytest.mark.parametrize("url", ["nowhere", "git://127.0.0.1:{port}/x.git"])
def test_a_remote_that_fails_is_a_warning(team: Team, url: str) -> None:
    one = team.clone("one")
    git(one, "remote", "set-url", "origin", url.format(port=servers.free_port()))
    for key in ("gitmem.autoPull", "gitmem.autoPush"):
        git(one, "config", key, "true")
    team.remember(one, "Of one")
    told = start(one)
    assert "Of one" in told
    assert "**warning:** nothing was pulled: 'origin' cannot be reached" in told
    assert "**warning:** not pushed: 'origin' cannot be reached" in end(one, "a summary")
    with team.open(one) as gm:
        assert gm.status().unpushed == 2


def test_a_remote_that_hangs_does_not_hang_the_start(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = team.clone("one")
    team.remember(one, "Of one")
    monkeypatch.setattr("gitmem.api.sharing.START_LIMIT", 0.5)
    monkeypatch.setattr("gitmem.api.sharing.END_LIMIT", 0.5)
    with servers.daemon(team.folder) as url, servers.line(url) as (address, cable):
        cable.stalled = True
        git(one, "remote", "set-url", "origin", f"{address}/remote.git")
        for key in ("gitmem.autoPull", "gitmem.autoPush"):
            git(one, "config", key, "true")
        with team.open(one) as gm:
            assert "Of one" in gm.sync_start().markdown
            assert gm.sync_end("a summary").pushed is None
            assert [line for line in gm.warnings if "did not answer within 0.5 seconds" in line]


def test_a_secret_is_not_pushed_at_the_end_either(team: Team) -> None:
    one = team.clone("one")
    git(one, "config", "gitmem.autoPush", "true")
    smuggle(one, "The key is ghp_0123456789abcdefghijABCDEFGHIJ456789")
    assert "not pushed: memory" in end(one)
    assert tip(team.remote) == ""


def kept(path: Path) -> bool:
    """Whether the answer to `sync --start` is kept, and holds."""
    files = path / ".git" / "gitmem" / "start.json"
    if not files.exists():
        return False
    found = json.loads(files.read_text())
    fresh = startup.stamp(str(path), found["config_files"], found["user_dir"])
    return bool(found["stamp"] == repr(fresh))


def settled(path: Path) -> None:
    """Begin sessions until the answer is kept."""
    time.sleep(0.1)  # what changed a moment ago may change again unseen
    for _ in range(2):
        start(path)


def test_a_plain_fetch_that_brought_memories_changes_the_kept_answer(team: Team) -> None:
    one, two = team.clone("one"), team.clone("two")
    team.remember(two, "Of two")
    settled(two)
    assert kept(two)
    git(two, "fetch", "-q")
    assert kept(two), "it brought nothing"
    team.remember(one, "Of one")
    with team.open(one) as gm:
        gm.push()
    git(two, "fetch", "-q")
    assert not kept(two)
    assert "Of one" in start(two)
    git(two, "pack-refs", "--all")
    settled(two)
    assert kept(two)


def test_an_answer_that_a_pull_precedes_is_not_kept(team: Team) -> None:
    one = team.clone("one")
    git(one, "config", "gitmem.autoPull", "true")
    team.remember(one, "Of one")
    settled(one)
    assert not kept(one)
