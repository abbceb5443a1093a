"""Every way git has to reach a remote, against real servers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gitmem.errors import Unavailable
from tests.sharing import servers
from tests.sharing.support import SHARED, Team, cli, lines, tip
from tests.support import git

WAYS = ("path", "file", "relative", "daemon", "ssh", "http", "auth", "quoted", "insteadOf")


class Way:
    """A remote reached in one way; `settle` sets a clone up for it."""

    def __init__(self, team: Team, url: str, *settings: tuple[str, str]) -> None:
        self.team = team
        self.url = url
        self.settings = settings

    def clone(self, name: str) -> Path:
        """Clone by path, then turn to the address under test."""
        path = self.team.clone(name)
        git(path, "remote", "set-url", "origin", self.url)
        for key, value in self.settings:
            git(path, "config", key, value)
        return path


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A remote that its owner lets everybody push to, over HTTP and git daemon too."""
    monkeypatch.setenv("no_proxy", servers.HOST)
    return Team(tmp_path)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, team: Team) -> Iterator[Way]:
    """Yield a remote for each way."""
    with ExitStack() as stack:
        yield _ways(team, stack)[request.param]()


def _ways(team: Team, stack: ExitStack) -> dict[str, Callable[[], Way]]:
    folder = team.folder

    def ssh() -> Way:
        server = stack.enter_context(servers.sshd(folder))
        return Way(team, f"{server.url}/remote.git", ("core.sshCommand", server.command))

    def auth() -> Way:
        url = stack.enter_context(servers.http(folder, auth=True))
        helper = (
            f'!f() {{ echo "username={servers.USER}"; echo "password={servers.PASSWORD}"; }}; f'
        )
        return Way(team, f"{url}/remote.git", ("credential.helper", helper))

    def quoted() -> Way:
        place = folder / "the 'team' repo; ünï$HOME"
        team.remote = team.remote.rename(place)
        return Way(team, str(place))

    return {
        "path": lambda: Way(team, str(team.remote)),
        "file": lambda: Way(team, team.remote.as_uri()),
        "relative": lambda: Way(team, "../remote.git"),
        "daemon": lambda: Way(team, f"{stack.enter_context(servers.daemon(folder))}/remote.git"),
        "ssh": ssh,
        "http": lambda: Way(team, f"{stack.enter_context(servers.http(folder))}/remote.git"),
        "auth": auth,
        "quoted": quoted,
        "insteadOf": lambda: Way(
            team, "mine:remote.git", (f"url.{folder}/.insteadOf", "mine:")
        ),
    }  # fmt: skip


def test_two_clones_exchange_memories(way: Way) -> None:
    team = way.team
    one, two = way.clone("one"), way.clone("two")
    first = team.remember(one, "Of one")
    assert cli("push", cwd=one)["memories"] == first
    second = team.remember(two, "Of two")
    done = cli("push", cwd=two)
    assert (done["memories"], done["received"]) == (second, first)
    assert cli("pull", cwd=one)["memories"] == second
    assert team.texts(one) == team.texts(two) == {"Of one", "Of two"}
    assert lines(one) == lines(team.remote) == lines(two)
    assert tip(one) == tip(two) == tip(team.remote)


@pytest.fixture
def one(team: Team) -> Path:
    """Return a clone with a memory to push."""
    path = team.clone("one")
    team.remember(path, "Of one")
    return path


def refused(one: Path, *said: str, command: str = "push") -> dict[str, str]:
    """Run a command that cannot be done now: everything is kept, and what was said is returned."""
    before = tip(one)
    error = cli(command, cwd=one, code=4)
    told = f"{error['message']}\n{error['hint']}"
    assert all(part in told for part in said), told
    assert "Traceback" not in told
    assert tip(one) == before
    assert cli("status", cwd=one)["unpushed"] == 1
    dict_error: dict[str, str] = error
    return dict_error


def test_a_wrong_password_is_said_and_never_shown(team: Team, one: Path) -> None:
    with servers.http(team.folder, auth=True) as url:
        wrong = url.replace("//", "//ada:wrong%20horse@") + "/remote.git"
        git(one, "remote", "set-url", "origin", wrong)
        for command in ("push", "pull"):
            error = refused(one, "Authentication failed", command=command)
            assert "wrong" not in str(error)
        assert "wrong" not in str(cli("remote", cwd=one))
        right = url.replace("//", "//ada:correct%20horse@") + "/remote.git"
        git(one, "remote", "set-url", "origin", right)
        assert cli("push", cwd=one)["events"] == 1


def test_without_credentials_nobody_is_asked(team: Team, one: Path) -> None:
    with servers.http(team.folder, auth=True) as url:
        git(one, "remote", "set-url", "origin", f"{url}/remote.git")
        refused(one, "could not read Username", "credential helper")


def test_a_credential_program_of_the_user_is_asked(
    team: Team, one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    askpass = team.folder / "askpass"
    askpass.write_text(
        f"#!/bin/sh\ncase $1 in User*) echo {servers.USER};;"
        f" *) echo {shlex.quote(servers.PASSWORD)};; esac\n"
    )
    askpass.chmod(0o755)
    monkeypatch.setenv("GIT_ASKPASS", str(askpass))
    with servers.http(team.folder, auth=True) as url:
        git(one, "remote", "set-url", "origin", f"{url}/remote.git")
        assert cli("push", cwd=one)["events"] == 1
        # A session's end, which nobody waits for, opens no window.
        with team.open(one) as gm, pytest.raises(Unavailable, match="could not read Username"):
            gm.pull(limit=20)


def test_a_remote_that_one_may_only_read(team: Team, one: Path) -> None:
    two = team.clone("two")
    team.remember(two, "Of two")
    cli("push", cwd=two)
    with servers.http(team.folder, may_write=False) as url:
        git(one, "remote", "set-url", "origin", f"{url}/remote.git")
        assert cli("pull", cwd=one)["events"] == 1
        refused(one, "403")
    assert team.texts(one) == {"Of one", "Of two"}


def test_ssh_that_lets_nobody_in(team: Team, one: Path) -> None:
    with servers.sshd(team.folder) as server:
        git(one, "remote", "set-url", "origin", f"{server.url}/remote.git")
        git(one, "config", "core.sshCommand", server.command)
        (server.keys / "authorized_keys").write_text("")
        refused(one, "Permission denied (publickey", "ssh-add")
        (server.keys / "known_hosts").write_text("")
        refused(one, "Host key verification failed", "connect once")


@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_a_hook_that_refuses_is_quoted(team: Team, one: Path, hook: str) -> None:
    path = team.remote / "hooks" / hook
    path.write_text("#!/bin/sh\necho 'memories are frozen until Monday' >&2\nexit 1\n")
    path.chmod(0o755)
    error = refused(one, "'origin' does not take", "memories are frozen until Monday")
    assert "hook declined" in error["message"]
    path.unlink()
    assert cli("push", cwd=one)["events"] == 1


def test_a_hook_that_lets_some_refs_pass(team: Team, one: Path) -> None:
    """An update hook for branches alone, as many servers have, is in nobody's way."""
    path = team.remote / "hooks" / "update"
    path.write_text('#!/bin/sh\ncase "$1" in refs/heads/*) exit 1;; esac\n')
    path.chmod(0o755)
    assert cli("push", cwd=one)["events"] == 1


def test_a_remote_that_has_vanished(team: Team, one: Path) -> None:
    away = team.remote.rename(team.folder / "away.git")
    refused(one, "cannot be reached", "git remote -v")
    refused(one, "cannot be reached", command="pull")
    away.rename(team.remote)
    assert cli("push", cwd=one)["events"] == 1


def test_a_server_that_is_down(team: Team, one: Path) -> None:
    git(
        one, "remote", "set-url", "origin", f"git://{servers.HOST}:{servers.free_port()}/remote.git"
    )
    refused(one, "cannot be reached")


def test_a_host_that_nobody_knows(team: Team, one: Path) -> None:
    git(one, "remote", "set-url", "origin", "git://memories.invalid/remote.git")
    refused(one, "cannot be reached")


def test_a_transfer_cut_in_the_middle_leaves_all_as_it_was(team: Team, one: Path) -> None:
    with team.open(one) as gm:  # enough that it takes more than a packet
        for number in range(200):
            gm.remember(f"{number}: " + "".join(chr(97 + number * k % 26) for k in range(300)))
    two = team.clone("two")
    with servers.daemon(team.folder) as url, servers.line(url) as (address, cable):
        for clone in (one, two):
            git(clone, "remote", "set-url", "origin", f"{address}/remote.git")
        for budget in (0, 200, 1000, 5000):
            cable.budget = budget
            assert cli("push", cwd=one, code=4)["code"] == "unavailable"
            assert tip(team.remote) == ""
            assert cli("status", cwd=one)["unpushed"] == 201
        cable.budget = None
        assert cli("push", cwd=one)["events"] == 201
        for budget in (0, 100):
            cable.budget = budget
            assert cli("pull", cwd=two, code=4)["code"] == "unavailable"
            assert tip(two) == ""
        cable.budget = None
        assert cli("pull", cwd=two)["events"] == 201
    assert lines(one) == lines(two)
    git(team.remote, "fsck", "--strict")


@pytest.mark.parametrize("watched", [False, True])
def test_a_server_that_never_answers_is_given_up(team: Team, one: Path, watched: bool) -> None:
    with servers.daemon(team.folder) as url, servers.line(url) as (address, cable):
        git(one, "remote", "set-url", "origin", f"{address}/remote.git")
        cable.stalled = True
        with (
            team.open(one) as gm,
            pytest.raises(Unavailable, match="did not answer within 0.5 sec"),
        ):
            gm.pull(limit=0.5, progress=(lambda *_: None) if watched else None)


def test_who_watches_is_told_how_far_git_is(team: Team, one: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with team.open(one) as gm:
        gm.remember("Use PostgreSQL")
        gm.push(progress=lambda *step: told.append(step))
    steps = {step: (done, of) for step, done, of in told}
    assert steps["sending"][0] == steps["sending"][1] > 3
    told.clear()
    with team.open(team.clone("two")) as gm:
        assert gm.pull(progress=lambda *step: told.append(step)).events == 0
    assert told == [], "init has fetched them all"


def test_what_a_remote_says_it_took_is_read_back(team: Team, one: Path) -> None:
    """A server that takes a push and loses it: the receipt does not say that it arrived."""
    path = team.remote / "hooks" / "post-receive"
    path.write_text(f"#!/bin/sh\ngit update-ref -d {SHARED}\n")
    path.chmod(0o755)
    refused(one, "took 1 event", "has 0 of them")


def test_a_push_url_of_its_own(team: Team, one: Path) -> None:
    """Read from a mirror, written elsewhere: what is read back is what was written to."""
    git(team.folder, "clone", "-q", "--mirror", str(team.remote), "mirror.git")
    git(one, "remote", "set-url", "origin", str(team.folder / "mirror.git"))
    git(one, "remote", "set-url", "--push", "origin", str(team.remote))
    assert cli("push", cwd=one)["tip"] == tip(team.remote) == tip(one)
