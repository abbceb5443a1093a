"""The store of conversations: real repositories, odd names, several writers, failing git."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import AmbiguousId, GitmemError, NotFound
from gitmem.journal.git.opening import open_repository
from gitmem.journal.git.port import Backend, Git
from gitmem.sessions import REF, spool, store
from gitmem.sessions.intake import Intake
from gitmem.sessions.model import About, Turn
from gitmem.sessions.store import SessionStore
from tests.reliability.faults import Fault, faulty_git
from tests.support import git

ADA = "Ada <ada@example.com>"
NOW = "2026-11-20T12:00:00.000000Z"


def bare(path: Path, *options: str) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", *options)
    return path


@pytest.fixture(params=["program", "libgit2", "sha256"])
def port(request: pytest.FixtureRequest, tmp_path: Path) -> Git:
    """Return an empty repository behind each backend."""
    options = ["--object-format=sha256"] if request.param == "sha256" else []
    backend: Backend = "libgit2" if request.param == "libgit2" else "program"
    return open_repository(bare(tmp_path / "private.git", *options), backend)


def about(id: str = "s", agent: str = "codex", **said: str) -> About:
    return About(agent, id, **said)


def turns(*texts: str, role: str = "user") -> list[Turn]:
    return [Turn(f"id-{text}", "user", text, f"2026-11-20T10:00:{n:02}.000000Z")
            for n, text in enumerate(texts)]  # fmt: skip


def write(port: Git, of: About, said: Iterable[Turn], now: str = NOW) -> Intake:
    with Intake(SessionStore(port), now) as intake:
        intake.session(of)
        for turn in said:
            intake.add(of, turn)
        intake.commit(ADA, 1_000, "import")
    return intake


def texts(port: Git, name: str = "s") -> list[str]:
    sessions = SessionStore(port)
    _, entry = sessions.find(name)
    rounds = list(sessions.rounds(entry))
    assert [round.index for round in rounds] == list(range(1, len(rounds) + 1))
    return [round.turn.text for round in rounds]


def test_an_empty_place(port: Git) -> None:
    assert SessionStore(port).sessions() == [] and SessionStore(port).tip() is None
    with pytest.raises(NotFound):
        SessionStore(port).find("s")
    assert write(port, about(), []).growth["codex/s"].new == 0
    assert SessionStore(port).tip() is None, "a conversation in which nothing is said is none"


def test_what_is_kept_reads_with_git(port: Git) -> None:
    of = about("5a1c", started="2026-02-03T04:05:06.000000Z", title="Pools", branch="main")
    write(port, of, [Turn("u1", "user", "Zeile\nzwei ü", "2026-02-03T04:05:07.000000Z", "Ada")])
    place = "codex/2026/02/5a1c"
    rounds = git(port.layout.git_dir, "show", f"{REF}:{place}/rounds.jsonl")
    assert json.loads(rounds) == {
        "at": "2026-02-03T04:05:07.000000Z", "id": "u1", "index": 1, "role": "user",
        "speaker": "Ada", "text": "Zeile\nzwei ü",
    }  # fmt: skip
    meta = json.loads(git(port.layout.git_dir, "show", f"{REF}:{place}/meta.json"))
    assert meta["title"] == "Pools" and meta["rounds"] == 1 and meta["branch"] == "main"
    assert git(port.layout.git_dir, "log", "--format=%an %s", REF) == "Ada import"
    git(port.layout.git_dir, "fsck", "--strict")


def test_a_session_only_grows(port: Git) -> None:
    first = write(port, about(), turns("a", "b")).growth["codex/s"]
    assert (first.new, first.known, first.changed, first.rounds) == (2, 0, 0, 2)
    tip = SessionStore(port).tip()
    again = write(port, about(), turns("a", "b")).growth["codex/s"]
    assert (again.new, again.known) == (0, 2) and SessionStore(port).tip() == tip
    more = write(port, about(), [*turns("a"), Turn("id-b", "user", "B!"), *turns("c")])
    assert (more.growth["codex/s"].new, more.growth["codex/s"].changed) == (1, 1)
    assert texts(port) == ["a", "b", "c"]


def test_what_is_learned_later_is_added_and_a_title_may_change(port: Git) -> None:
    write(port, about(title="first", cwd="/a"), turns("a"))
    write(port, about(title="second", cwd="/b", branch="main"), [])
    (kept,) = SessionStore(port).sessions()
    assert (kept.about.title, kept.about.cwd, kept.about.branch) == ("second", "/a", "main")
    assert kept.rounds == 1 and texts(port) == ["a"]


def test_two_agents_may_have_sessions_of_one_id(port: Git) -> None:
    write(port, about("s", "codex"), turns("codex says"))
    write(port, about("s", "gemini"), turns("gemini says"))
    assert texts(port, "gemini/s") == ["gemini says"]
    with pytest.raises(AmbiguousId) as error:
        SessionStore(port).find("s")
    assert error.value.candidates == ("codex/s", "gemini/s")


def test_a_beginning_of_an_id_will_do_and_the_whole_one_comes_first(port: Git) -> None:
    for id in ("abcd", "abcdef", "xyz"):
        write(port, about(id), turns(id))
    assert texts(port, "xy") == ["xyz"] and texts(port, "abcd") == ["abcd"]
    assert texts(port, "codex/x") == ["xyz"]
    for name in ("ab", "codex/ab"):
        with pytest.raises(AmbiguousId):
            SessionStore(port).find(name)


ODD = ["../../etc/passwd", ".git", ".", "..", "a/b", "a%2Fb", "ä ö", "x" * 10_000, "~", "%", " ",
       "con\n", "\udc80", "A", "a"]  # fmt: skip


def test_odd_ids_stay_apart_and_inside(port: Git) -> None:
    for id in ODD:
        write(port, about(id), turns(f"said in {id[:20]!r}"))
    found = SessionStore(port).sessions()
    assert len(found) == len(ODD)
    paths = git(port.layout.git_dir, "ls-tree", "-r", "--name-only", "-z", REF).split("\0")
    assert all(path.startswith("codex/2026/11/") and path.count("/") == 4 for path in paths if path)
    assert all(len(part) <= store.LONGEST_NAME for path in paths for part in path.split("/"))
    git(port.layout.git_dir, "fsck", "--strict")


def test_a_month_never_changes(port: Git) -> None:
    write(port, about(), turns("a"), now="2026-11-30T00:00:00.000000Z")
    write(port, about(started="2025-01-01T00:00:00.000000Z"), turns("b"))
    assert [entry.path for entry in SessionStore(port).entries(SessionStore(port).tip()).values()] \
        == ["codex/2026/11/s"]  # fmt: skip
    assert texts(port) == ["a", "b"]


def test_many_rounds_go_by_way_of_a_file(port: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 100)
    monkeypatch.setattr(spool, "MANY", 3)
    said = [f"round {number}" for number in range(50)]
    write(port, about(), turns(*said[:30]))
    assert write(port, about(), turns(*said)).growth["codex/s"].known == 30
    assert texts(port) == said


def test_tags(port: Git) -> None:
    write(port, about(), turns("a"))
    sessions = SessionStore(port)
    for change, tags in (
        (lambda had: [*had, "x", "y", "x"], ("x", "y")),
        (lambda had: [tag for tag in had if tag != "x"], ("y",)),
    ):
        assert store.retag(sessions, "s", change, ADA, 2_000, "session tag").tags == tags
    write(port, about(), turns("a", "b"))
    (kept,) = sessions.sessions()
    assert kept.tags == ("y",) and kept.rounds == 2
    steps = sessions.steps(sessions.find("s")[1])
    assert [step.rounds for step in steps] == [2, 1, 1, 1]
    assert [step.message for step in steps][1:] == ["session tag", "session tag", "import"]


def test_who_comes_second_keeps_what_came_first(port: Git) -> None:
    write(port, about(), turns("a"))
    sessions = SessionStore(port)
    with Intake(sessions, NOW) as mine, Intake(sessions, NOW) as theirs:
        for turn in turns("a", "b", "both"):
            mine.add(about(), turn)
        mine.add(about("of mine"), *turns("m"))
        for turn in turns("a", "c", "both"):
            theirs.add(about(), turn)
        theirs.commit(ADA, 1, "theirs")
        store.retag(sessions, "s", lambda had: [*had, "kept"], ADA, 2, "tag")
        mine.commit(ADA, 3, "mine")
    assert texts(port) == ["a", "c", "both", "b"] and texts(port, "of mine") == ["m"]
    assert sessions.find("s")[0].tags == ("kept",)


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=5))
def test_in_any_pieces_it_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[list[str]]
) -> None:
    port = open_repository(bare(tmp_path_factory.mktemp("r") / "p.git"), "libgit2")
    said = [text for piece in pieces for text in piece]
    for piece in pieces:
        write(port, about(), turns(*piece))
    if said:
        assert texts(port) == list(dict.fromkeys(said))


def _import(path: Path, name: str) -> None:
    port = open_repository(path, "program")
    for number in range(5):
        write(port, about("shared"), turns(*(f"{name}{n}" for n in range(number + 1))))
        write(port, about(f"{name}{number}"), turns(name))


def test_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = bare(tmp_path / "private.git")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_import, args=(path, name)) for name in "wxyz"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    port = open_repository(path)
    assert sorted(texts(port, "shared")) == sorted(f"{n}{i}" for n in "wxyz" for i in range(5))
    assert len(SessionStore(port).sessions()) == 21


@pytest.mark.parametrize("mode", ["once", "lasting"])
def test_whatever_fails_it_is_wholly_there_or_not_at_all(tmp_path: Path, mode: str) -> None:
    path = bare(tmp_path / "private.git")
    write(open_repository(path), about(), turns("a"))
    for at in range(1, 200):
        fault = Fault(at, mode)  # type: ignore[arg-type]
        more = turns("a", f"b{at}", f"c{at}")
        done = True
        with faulty_git(fault):
            try:
                port = _opened(path)
                write(port, about(), more)
            except GitmemError:
                done = False
        there = set(texts(open_repository(path)))
        assert ({f"b{at}", f"c{at}"} <= there) if done else not {f"b{at}", f"c{at}"} & there
        if not fault.fired:
            assert at > 5
            return
    raise AssertionError("it never ran through")


def _opened(path: Path) -> Git:
    import gitmem.api.core

    return gitmem.api.core.open_repository(path, "libgit2")


WRITER = """
import sys
from pathlib import Path
from gitmem.journal.git.opening import open_repository
from tests.sessions.test_store import about, turns, write
port, number = open_repository(Path(sys.argv[1]), "program"), 0
print("ready", flush=True)
while True:
    number += 1
    write(port, about(), turns(f"a{number}", f"b{number}"))
"""


def test_a_writer_killed_at_any_moment_leaves_whole_imports(tmp_path: Path) -> None:
    path = bare(tmp_path / "private.git")
    for turn in range(8):
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            time.sleep(0.02 + 0.017 * turn)
            os.killpg(process.pid, signal.SIGKILL)
        (path / f"{REF}.lock").unlink(missing_ok=True)
        port = open_repository(path)
        if SessionStore(port).tip():
            said = texts(port)
            assert {text[1:] for text in said if text[0] == "a"} == {
                text[1:] for text in said if text[0] == "b"
            }
