"""Fail the n-th operation, check, n + 1, until it runs through."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem import Gitmem, GitmemError
from gitmem.mirror import document
from tests.reliability.faults import Fault, Mode, faulty_files, faulty_git
from tests.support import git

ABOVE = b"# Notes of the team\n\nkept *as typed*  \r\n\n"
BELOW = b"\n\nand below\n"

NEW = "written while something fails"
PRESSING = "never deploy on a Friday"
OLD, REVISED = "the cache holds an hour", "the cache holds a day"
TYPED = "typed by hand into the file"
GONE = "forgotten before"


@dataclass(frozen=True)
class Verb:
    """What is tried, and what it leaves: the texts that are new, and the one that is no more."""

    run: Callable[[Gitmem], object]
    adds: str = ""
    takes: str = ""


def _id(gm: Gitmem, text: str) -> str:
    return next(memory.id for memory in gm.list() if memory.text == text)


VERBS = {
    "remember": Verb(lambda gm: gm.remember(NEW, tags=["new"], importance="high"), adds=NEW),
    "private": Verb(lambda gm: gm.remember(NEW, private=True), adds=NEW),
    "update": Verb(lambda gm: gm.update(_id(gm, PRESSING), NEW), adds=NEW, takes=PRESSING),
    "forget": Verb(lambda gm: gm.forget(_id(gm, PRESSING)), takes=PRESSING),
    "start": Verb(lambda gm: gm.sync_start()),
    "end": Verb(lambda gm: gm.sync_end(NEW), adds=NEW),
    "init": Verb(lambda gm: gm.init()),
}

VERBS["supersede"] = Verb(lambda gm: gm.remember(NEW, supersedes=[_id(gm, PRESSING)]), adds=NEW)

BRIEF = {("remember", "once"), ("update", "late"), ("forget", "lasting")}
"""What runs by default; all of it takes minutes."""


def _cases(*modes: Mode) -> list[Any]:
    return [
        pytest.param(name, mode, marks=[] if (name, mode) in BRIEF else pytest.mark.long)
        for name in VERBS
        for mode in modes
    ]


Faulty = Callable[[Fault], AbstractContextManager[None]]


@pytest.fixture
def template(repo: Path) -> Path:
    """Return a repository with memories, and with two hand edits that nobody has read yet."""
    with gitmem.open(repo) as gm:
        gm.init()
        gm.remember(PRESSING, importance="critical", kind="decision")
        gm.remember(OLD, tags=["cache"])
        gm.forget(gm.remember(GONE).id)
    path = repo / "MEMORY.md"
    lines = path.read_bytes().replace(OLD.encode(), REVISED.encode()).split(b"\n")
    lines.insert(len(lines) - lines[::-1].index(b"<!-- gitmem:end -->") - 1, f"- {TYPED}".encode())
    path.write_bytes(ABOVE + b"\n".join(lines) + BELOW)
    return repo


@pytest.mark.parametrize(("name", "mode"), _cases("once", "lasting", "late"))
def test_an_operation_of_git_fails(template: Path, name: str, mode: Mode) -> None:
    assert _fail_each(template, VERBS[name], faulty_git, mode) > 10


@pytest.mark.parametrize(("name", "mode"), _cases("once", "lasting"))
def test_an_operation_on_a_file_fails(template: Path, name: str, mode: Mode) -> None:
    assert _fail_each(template, VERBS[name], faulty_files, mode) > 10


@pytest.mark.parametrize("faulty", [faulty_git, faulty_files])
@pytest.mark.parametrize("mode", ["once", pytest.param("lasting", marks=pytest.mark.long)])
def test_init_fails_and_is_tried_again(repo: Path, faulty: Faulty, mode: Mode) -> None:
    (repo / "MEMORY.md").write_bytes(ABOVE)
    (repo / ".git" / "info" / "exclude").write_bytes(b"# mine\n*.log")
    before = _outside_git(repo)
    for at in range(1, 1000):
        copy = repo.parent / f"{at}"
        shutil.copytree(repo, copy)
        fault = Fault(at, mode)
        with suppress(GitmemError), faulty(fault), gitmem.open(copy) as gm:
            gm.init()
        with gitmem.open(copy) as gm:
            gm.init()
            assert git(copy, "status", "--short") == ""
            assert git(copy, "config", "--get-all", "notes.rewriteRef") == "refs/notes/gitmem/*"
            assert gm.init() == []
            gm.deinit()
        assert _outside_git(copy) == before, at
        if not fault.fired:
            assert at > 10
            return
        shutil.rmtree(copy)


def _outside_git(repo: Path) -> dict[str, bytes | str]:
    """Return what init may touch, and must leave as it was."""
    files = [path for path in repo.iterdir() if path.is_file()]
    return {
        **{path.name: path.read_bytes() for path in files},
        "exclude": (repo / ".git" / "info" / "exclude").read_bytes().rstrip(b"\n"),
        "config": git(repo, "config", "--local", "--list"),
    }


def _fail_each(template: Path, verb: Verb, faulty: Faulty, mode: Mode) -> int:
    """Fail every operation in turn, each in a fresh copy; return how many there were."""
    at = 0
    while True:
        at += 1
        repo = template.parent / f"{at}"
        shutil.copytree(template, repo, symlinks=True)
        try:
            fired = _fail_one(repo, verb, faulty, Fault(at, mode))
        except BaseException as error:
            error.add_note(f"operation {at} failed, {mode}")
            raise
        shutil.rmtree(repo)
        if not fired:
            return at - 1


def _fail_one(repo: Path, verb: Verb, faulty: Faulty, fault: Fault) -> bool:
    """Fail one operation of a verb, and see that the next command finds all of it or nothing."""
    try:
        with faulty(fault), gitmem.open(repo) as gm:
            verb.run(gm)
            allowed = [_after(verb)]
    except GitmemError:  # anything else is a bug
        allowed = [_before(), _after(verb)] if fault.mode == "late" else [_before()]
    with gitmem.open(repo) as gm:
        gm.sync_start()
        found = _there(gm)
        assert found in allowed
        assert [finding.message for finding in gm.doctor().findings] == []
        _check_file(repo)
        if found == _before():
            verb.run(gm)
            assert _there(gm) == _after(verb)
            _check_file(repo)
    return fault.fired


def _before() -> Counter[str]:
    """Return the memories as they are without the verb, the hand edits being read."""
    return Counter([PRESSING, REVISED, TYPED, f"forgotten: {GONE}"])


def _after(verb: Verb) -> Counter[str]:
    """Return the memories as they are once the verb is done."""
    after = _before() + Counter([verb.adds] if verb.adds else [])
    if verb.takes:
        after -= Counter([verb.takes])
        after += Counter([] if verb.adds else [f"forgotten: {verb.takes}"])
    return after


def _there(gm: Gitmem) -> Counter[str]:
    forgotten = Counter(f"forgotten: {memory.text}" for memory in gm.list(forgotten=True))
    return forgotten + Counter(str(memory.text) for memory in gm.list())


def _check_file(repo: Path) -> None:
    """See that the user's text is as typed, and gitmem's block as rendered, each memory once."""
    content = (repo / "MEMORY.md").read_bytes()
    assert content.startswith(ABOVE)
    assert content.endswith(BELOW)
    read = document.read(content)
    assert len(read.regions) == 1 and not read.edited
    assert all(content.count(text.encode()) == 1 for text in (REVISED, TYPED))
    assert sorted(path.name for path in repo.iterdir()) == [
        ".git",
        "MEMORY.md",
        "README.md",
        "memory",
    ]
