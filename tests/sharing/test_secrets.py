"""What looks like a secret does not leave this clone, unless its author says that it may."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.errors import Refused
from gitmem.journal.codec import encode
from gitmem.verbs.sharing import stop_secrets
from tests.sharing.support import SHARED, Team, cli, lines, smuggle, tip
from tests.support import git, run_cli
from tests.text.secret_corpus import secrets

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789"


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Return a remote."""
    return Team(tmp_path)


@pytest.fixture
def one(team: Team) -> Path:
    """Return a clone."""
    return team.clone("one")


def test_it_is_refused_with_the_memory_and_the_rule(team: Team, one: Path) -> None:
    team.remember(one, "Harmless")
    id = smuggle(one, f"The deploy key is {TOKEN}")
    error = cli("push", cwd=one, code=5)
    assert error["code"] == "refused"
    assert error["message"] == f"memory '{id[:8]}' holds what looks like a secret (github-token)"
    assert f"gitmem push --allow-secret {id[:8]}" in error["hint"]
    assert TOKEN not in str(error)
    assert tip(team.remote) == ""
    assert cli("status", cwd=one)["unpushed"] == 2


def test_it_may_leave_when_somebody_says_so_and_that_is_recorded(team: Team, one: Path) -> None:
    id = smuggle(one, f"The example in the manual is {TOKEN}")
    assert cli("push", "--allow-secret", id[:8], cwd=one)["memories"] == [id]
    assert TOKEN in "".join(lines(team.remote))
    (said,) = [line for line in lines(one) if '"op":"revise"' in line]
    assert '"secrets":["github-token"]' in said and "on purpose" in said
    with team.open(one) as gm:
        assert gm.show(id).text == f"The example in the manual is {TOKEN}"
        gm.tag(id, "later")
        assert gm.push().events == 1, "it is not asked again"
        smuggle(one, f"And npm_{'a1B2' * 9} too")
        with pytest.raises(Refused, match="npm"):
            gm.push()


def test_one_that_holds_none_is_only_pushed(team: Team, one: Path) -> None:
    (id,) = team.remember(one, "Harmless")
    assert cli("push", "--allow-secret", id, cwd=one)["events"] == 1


def test_a_broken_line_is_looked_at_too(team: Team, one: Path) -> None:
    team.remember(one, "Harmless")
    git(one, "notes", "--ref", SHARED, "append", "-m", f"broken {TOKEN}", "HEAD")
    error = cli("push", cwd=one, code=5)
    assert error["message"] == "a broken line holds what looks like a secret (github-token)"


@pytest.mark.parametrize("key", ["data", "reason", "tags", "source"])
def test_it_is_found_wherever_it_stands(team: Team, one: Path, key: str) -> None:
    value = {"data": {"keys": [{"deploy": TOKEN}]}, "tags": [TOKEN], "source": {"at": TOKEN}}
    fields = {"at": "2026-11-20T10:11:12.345678Z", "by": "one <one@example.com>", "op": "remember"}
    line = encode({**fields, "text": "Harmless", key: value.get(key, TOKEN)}).line.decode()
    git(one, "notes", "--ref", SHARED, "append", "-m", line, "HEAD")
    with team.open(one) as gm, pytest.raises(Refused, match="github-token"):
        gm.push()


def test_in_json_the_key_says_that_it_is_one(team: Team, one: Path) -> None:
    fields = {"at": "2026-11-20T10:11:12.345678Z", "by": "one <one@example.com>", "op": "remember"}
    line = encode({**fields, "data": {"db": {"password": "Tr0ub4dor&3"}}}).line.decode()
    git(one, "notes", "--ref", SHARED, "append", "-m", line, "HEAD")
    with team.open(one) as gm, pytest.raises(Refused, match="password"):
        gm.push()


def test_every_secret_of_the_corpus_is_stopped() -> None:
    """Whoever wrote it by stock git: `find` is tried on texts, this on lines as they leave."""
    fields = {"at": "2026-11-20T10:11:12.345678Z", "by": "one <one@example.com>", "op": "remember"}
    passed = []
    for secret in secrets():
        try:
            stop_secrets([encode({**fields, "text": secret.text}).line], lambda _: ())
            passed.append(secret)
        except Refused as refused:
            assert secret.secret not in f"{refused.message} {refused.hint}"
    assert passed == []


def test_a_private_key_over_several_lines_is_found(team: Team, one: Path) -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"] * 4)
    head, foot = (f"-----{word} PRIVATE KEY-----" for word in ("BEGIN", "END"))
    smuggle(one, f"{head}\n{body}\n{foot}")
    assert "private-key" in cli("push", cwd=one, code=5)["message"]


def test_what_the_remote_has_already_is_not_looked_at_again(team: Team, one: Path) -> None:
    """A colleague without gitmem pushed one: that does not stop everybody else."""
    two = team.clone("two")
    smuggle(two, f"The deploy key is {TOKEN}")
    git(two, "push", "-q", "origin", SHARED)
    (id,) = team.remember(one, "Of one")
    assert cli("push", cwd=one)["memories"] == [id]


def test_a_purge_makes_the_way_free(team: Team, one: Path) -> None:
    id = smuggle(one, f"The deploy key is {TOKEN}")
    cli("push", cwd=one, code=5)
    assert run_cli("purge", id[:8], "--yes", cwd=one).returncode == 0
    cli("push", cwd=one)
    git(team.remote, "gc", "-q", "--prune=now")
    listed = git(team.remote, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    assert not [oid for oid in listed.split() if TOKEN in git(team.remote, "cat-file", "-p", oid)]
