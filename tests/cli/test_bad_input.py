"""Bad input and bad places: one line that says what, a hint, the documented exit code, no trace."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Gitmem
from tests.support import git, run_cli

BAD = "\udcff\udcfe"
"""Bytes that are not UTF-8, as Python hands them over."""


def state(repo: Path) -> dict[str, str]:
    """Return the refs and the user's files, to see that nothing was written."""
    files = (path for path in sorted(repo.rglob("*")) if path.is_file())
    seen = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if ".git" not in path.relative_to(repo).parts
    }
    return seen | {"refs": git(repo, "for-each-ref")}


def told(stderr: str) -> str:
    """Check that an error was told in the house style, and return its message."""
    assert "Traceback" not in stderr
    lines = [line for line in stderr.splitlines() if not line.startswith("**warning:**")]
    assert 1 <= len(lines) <= 2, stderr
    match = re.fullmatch(r"\*\*error:\*\* (.+)", lines[0])
    assert match, stderr
    assert len(lines[0]) < 600
    assert lines[1].startswith("hint: ") and len(lines[1]) > len("hint: "), stderr
    return match[1]


REFUSED = {
    "empty": (["remember", ""], None, "nothing to remember"),
    "blank": (["remember", " \n\t"], None, "nothing to remember"),
    "empty object": (["remember", "{}"], None, "nothing to remember"),
    "empty standard input": (["remember", "-"], b"", "nothing to remember"),
    "a mebibyte": (["remember", "-"], b"x" * (1 << 20), "a memory holds"),
    "ten mebibytes": (["remember", "-"], "é".encode() * (5 << 20), "a memory holds"),
    "one byte too many": (["remember", "-"], b"x" * (64 * 1024 + 1), "a memory holds"),
    "NUL": (["remember", "-"], b"a\0b", "NUL"),
    "NUL in an object": (["remember", '{"a": "x\\u0000y"}'], None, "NUL"),
    "invalid UTF-8": (["remember", "-"], b"caf\xe9", "not UTF-8 text, at byte 3"),
    "UTF-16": (["remember", "-"], "text".encode("utf-16"), "not UTF-8"),
    "invalid argument": (["remember", f"caf{BAD}"], None, "'content' is not UTF-8"),
    "invalid tag": (["remember", "x", "-t", BAD], None, "'tags' is not UTF-8"),
    "lone surrogate": (["remember", '{"a": "\\ud800"}'], None, "half of a character"),
    "lone surrogate in a key": (["remember", '{"\\udfff": 1}'], None, "half of a character"),
    "long tag": (["remember", "x", "-t", "t" * 10_000], None, "longer than 100 characters"),
    "tag with a space": (["remember", "x", "-t", "a b"], None, "has a space"),
    "tag with a line end": (["remember", "x", "-t", "a\nb"], None, "has a space"),
    "tag with a direction mark": (["remember", "x", "-t", "a\u202eb"], None, "control character"),
    "importance": (["remember", "x", "-i", "huge"], None, "unknown importance 'huge'"),
    "kind": (["remember", "x", "-k", "two words"], None, "not one word"),
    "scope": (["remember", "x", "--scope", "galaxy"], None, "not one of"),
    "expiry": (["remember", "x", "--expires", "tomorrow"], None, "no date"),
    "expiry that is no day": (["remember", "x", "--expires", "2026-02-31"], None, "no date"),
    "expiry out of this calendar": (["remember", "x", "--expires", "99999y"], None, "no date"),
    "note": (["evolve", "{id}", ""], None, "nothing to"),
    "context": (["context", "set", ""], None, "nothing to"),
    "empty tag": (["tag", "{id}", ""], None, ""),
    "empty query": (["search", ""], None, ""),
    "empty target": (["link", "{id}", ""], None, ""),
    "long relation": (["link", "{id}", "x", "--rel", "r" * 10_000], None, "not one word"),
    "since": (["list", "--since", "yore"], None, "no date"),
    "since before this calendar": (["list", "--since", "99999y"], None, "no date"),
    "update to nothing": (["update", "{id}", ""], None, "nothing to"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_exit_code_1_and_nothing_is_written(
    name: str, gitmem: Gitmem, remember: Callable[..., str], repo: Path
) -> None:
    args, given, message = REFUSED[name]
    if "{id}" in args:
        args = [arg.replace("{id}", remember("here before")) for arg in args]
    before = state(repo)
    result = gitmem(*args, input=given, code=1)
    assert message in told(result.stderr)
    assert result.stdout == ""
    assert state(repo) == before
    error = json.loads(gitmem(*args, "--json", input=given, code=1).stdout)["error"]
    assert error["code"] == "usage" and error["hint"]


ACCEPTED = {
    "64 KiB": "x" * (64 * 1024),
    "controls": "bell \a, escape \x1b[31m, delete \x7f, next line \x85",
    "line ends": "one\ntwo\r\nthree\rfour\u2028five\u2029six\x0bseven\x0ceight",
    "direction marks": "\u202eevil\u202c \u200fשלום\u200e \u2067x\u2069",
    "emoji": "👨‍👩‍👧 👍🏽 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "zero width": "a\u200bb\u200c\u200d\ufeffc",
    "markdown": "# h\n- **b** <!-- gitmem:end --> --> `c`\n\n    code",
    "comment ends": "<!-- 1a2b3c4d --> -- -->",
    "dashes": "--json",
    "not normalised": "e\u0301 \u212b",
    "noncharacters": "\ufffe \uffff \U0010ffff",
    "conflict markers": "<<<<<<< ours\n=======\n>>>>>>> theirs",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_stored_as_typed(name: str, gitmem: Gitmem) -> None:
    text = ACCEPTED[name]
    gitmem("init")
    if name != "64 KiB":  # also more than one argument may have
        gitmem("remember", "--", text)
    result = gitmem("remember", "-", "--json", input=text.encode())
    memory = json.loads(result.stdout)["data"]
    assert memory["text"] == text
    listed = gitmem("list").stdout
    assert listed.count("\n") == (1 if name == "64 KiB" else 2)
    gitmem("sync", "--start")
    again = json.loads(gitmem("show", memory["id"], "--json").stdout)["data"][0]
    assert again["text"] == text, "the Markdown files were read back without a change"
    assert json.loads(gitmem("doctor", "--json").stdout)["data"]["clean"]


UNKNOWN = ("0123abcd", "f" * 64, "nonsense", "", "g" * 10_000, "../../etc", "ünï", "0123 abcd")


@pytest.mark.parametrize("id", UNKNOWN)
def test_an_unknown_id(id: str, gitmem: Gitmem) -> None:
    assert told(gitmem("show", id, code=2).stderr)


@pytest.mark.parametrize(
    "args",
    ["update {} x", "edit {}", "evolve {} x", "forget {}", "restore {}", "tag {} x", "untag {} x",
     "link {} x", "unlink {} x", "log {}", "remember x --supersedes {}"],
)  # fmt: skip
def test_every_verb_says_that_an_id_is_unknown(args: str, gitmem: Gitmem, repo: Path) -> None:
    before = state(repo)
    result = gitmem(*args.format("0123abcd").split(), code=2)
    assert told(result.stderr) == "no memory has the id '0123abcd'"
    assert state(repo) == before


def event_line(**fields: str) -> str:
    """Return an event as another clone may have written it."""
    event = {"at": "2026-01-02T03:04:05.678901Z", "by": "Eve <eve@example.com>", "kind": "note",
             "op": "remember", "text": "hers", "v": 1} | fields  # fmt: skip
    return json.dumps(event, sort_keys=True, separators=(",", ":"))


def two_alike() -> tuple[str, str, str]:
    """Return two events whose ids begin with the same four digits, and those digits."""
    seen: dict[str, str] = {}
    for number in range(100_000):
        line = event_line(text=f"memory {number}")
        prefix = hashlib.sha256(line.encode()).hexdigest()[:4]
        if prefix in seen:
            return seen[prefix], line, prefix
        seen[prefix] = line
    raise AssertionError("a hundred thousand ids, no two alike")


def test_an_ambiguous_id_lists_the_candidates(gitmem: Gitmem, repo: Path) -> None:
    one, other, prefix = two_alike()
    git(repo, "notes", "--ref=gitmem/shared", "append", "-m", one)
    git(repo, "notes", "--ref=gitmem/shared", "append", "-m", other)
    result = gitmem("show", prefix, code=1)
    assert told(result.stderr) == f"'{prefix}' is ambiguous"
    for line in (one, other):
        assert hashlib.sha256(line.encode()).hexdigest()[:8] in result.stderr
    error = json.loads(gitmem("forget", prefix, "--json", code=1).stdout)["error"]
    assert error["code"] == "ambiguous-id"


def test_no_identity(repo: Path, hermetic: Path) -> None:
    run_cli("remember", "before", cwd=repo)
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    before = state(repo)
    done = run_cli("remember", "x", cwd=repo)
    assert done.returncode == 1
    told(done.stderr)
    assert "git config" in done.stderr
    assert state(repo) == before
    code = json.loads(run_cli("remember", "x", "--json", cwd=repo).stdout)["error"]["code"]
    assert code == "no-identity"
    assert run_cli("list", cwd=repo).returncode == 0, "reading needs no identity"


@pytest.mark.parametrize("args", [["list"], ["remember", "x"], ["init"], ["sync", "--start"]])
def test_not_a_repository(args: list[str], tmp_path: Path) -> None:
    done = run_cli(*args, cwd=tmp_path)
    assert done.returncode == 3
    told(done.stderr)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


@pytest.mark.parametrize("place", ["nowhere", "file", "nul\0byte", "x" * 300, BAD])
def test_a_place_that_is_none(place: str, tmp_path: Path, gitmem: Gitmem) -> None:
    (tmp_path / "file").write_text("")
    result = gitmem("-C", str(tmp_path / place), "list", code=1)
    assert "is not a directory" in told(result.stderr)


def test_a_bare_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    bare = tmp_path / "bare.git"
    done = run_cli("init", cwd=bare)
    assert done.returncode == 3
    assert "bare" in told(done.stderr)
    short = run_cli("remember", "Use PostgreSQL", cwd=bare).stdout.split()[0]
    assert run_cli("list", cwd=bare).stdout.startswith(short)
    for args in (["sync", "--start"], ["status"], ["doctor"], ["search", "postgresql"]):
        assert run_cli(*args, cwd=bare).returncode == 0


def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository to another user")


def test_a_repository_of_another_user(repo: Path) -> None:
    as_root()
    for path in [repo, *repo.rglob("*")]:
        os.chown(path, 65534, 65534)
    done = run_cli("list", cwd=repo)
    assert done.returncode == 3
    assert "another user owns it" in told(done.stderr)
    assert "safe.directory" in done.stderr


CAPABILITIES = (1, 2, 3)
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: by these root is never refused."""


def give_up_roots_power() -> None:
    """Drop, before exec, what lets root read and write everywhere."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for capability in CAPABILITIES:
        if prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
            raise OSError(ctypes.get_errno(), "prctl")


def run_refused(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user whom permissions bind."""
    try:
        return subprocess.run(
            [sys.executable, "-m", "gitmem", *args],
            cwd=cwd, capture_output=True, text=True, check=False,
            preexec_fn=give_up_roots_power if os.geteuid() == 0 else None,
        )  # fmt: skip
    except (subprocess.SubprocessError, AttributeError):
        pytest.skip("root's power cannot be given up here")


@pytest.fixture(params=["indexed", "nothing derived"])
def locked(request: pytest.FixtureRequest, repo: Path) -> Iterator[Path]:
    """Return a repository with one memory that may be read and not written."""
    run_cli("init", cwd=repo)
    run_cli("remember", "Use PostgreSQL", cwd=repo)
    if request.param == "nothing derived":
        shutil.rmtree(repo / ".git" / "gitmem")
    subprocess.run(["chmod", "-R", "a-w", repo], check=True)
    yield repo
    subprocess.run(["chmod", "-R", "u+w", repo], check=True)


def test_no_permission_to_write(locked: Path) -> None:
    before = git(locked, "for-each-ref")
    for line in ("remember x", "remember x --private", "sync --end x", "init", "deinit"):
        done = run_refused(*line.split(), cwd=locked)
        if done.stdout in ("everything is in place\n", "there is nothing to undo\n"):
            continue
        assert done.returncode == 4, (line, done)
        told(done.stderr)
    assert git(locked, "for-each-ref") == before


def test_reading_needs_no_permission_to_write(locked: Path) -> None:
    for line in (
        "list", "log", "search postgresql", "sync --start", "status", "tags", "entities", "stats",
        "doctor", "export",
    ):  # fmt: skip
        done = run_refused(*line.split(), cwd=locked)
        assert done.returncode == 0, done
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) <= 2, done.stderr
        if line.startswith(("list", "log", "search", "sync")):
            assert "Use PostgreSQL" in done.stdout


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a repository on a disk of 2 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        git(place, "init", "-q", "repo")
        git(place / "repo", "commit", "-q", "--allow-empty", "-m", "first")
        yield place / "repo"
    finally:
        subprocess.run(["umount", "-l", place], check=False)


@pytest.mark.parametrize(
    ("initialised", "room"), [(True, 0), (True, 8), (True, 24), (True, 64), (False, 0), (False, 24)]
)
def test_a_full_disk(initialised: bool, room: int, small_disk: Path) -> None:
    repo = small_disk
    if initialised:
        run_cli("init", cwd=repo)
    short = run_cli("remember", "before", cwd=repo).stdout.split()[0]
    ballast = fill(repo.parent, room * 1024)
    kept = git(repo, "for-each-ref", "refs/notes")
    done = run_cli("remember", "while it is full", cwd=repo)
    if done.returncode:
        assert done.returncode == 4, done
        told(done.stderr)
        assert git(repo, "for-each-ref", "refs/notes") == kept
    listed = run_cli("list", cwd=repo)
    assert (listed.returncode, short in listed.stdout) == (0, True), listed
    ballast.unlink()
    texts = {
        memory["text"] for memory in json.loads(run_cli("list", "--json", cwd=repo).stdout)["data"]
    }
    assert texts == {"before"} | ({"while it is full"} if done.returncode == 0 else set())
    assert run_cli("remember", "afterwards", cwd=repo).returncode == 0
    assert json.loads(run_cli("doctor", "--json", cwd=repo).stdout)["data"]["clean"]


def fill(place: Path, room: int) -> Path:
    """Fill a disk but for `room` bytes."""
    ballast = place / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
        file.truncate(max(0, file.tell() - room))
    return ballast


def test_an_event_of_the_year_9999(
    gitmem: Gitmem, remember: Callable[..., str], repo: Path
) -> None:
    short = remember("of today")
    line = event_line(at="9999-12-31T23:59:59.999999Z", text="from the future")
    git(repo, "notes", "--ref=gitmem/shared", "append", "-m", line)
    assert "from the future" in gitmem("list").stdout
    result = gitmem("remember", "after it", "--json")
    assert json.loads(result.stdout)["data"]["created"] < "9999"
    future = gitmem("list", "--author", "eve").stdout.split()[0]
    gitmem("tag", future, "odd")
    gitmem("update", short, "still writable")
    result = gitmem("doctor")
    assert "1 events are dated more than a day ahead" in result.stdout


def test_broken_lines_are_kept_skipped_and_counted(
    gitmem: Gitmem, remember: Callable[..., str], repo: Path
) -> None:
    remember("before")
    broken = ["{not json", "plain words", '{"at":"nonsense"}', "[1]", "\ufeff{}"]
    for line in broken:
        git(repo, "notes", "--ref=gitmem/shared", "append", "-m", line)
    remember("after")
    assert len(gitmem("list").stdout.splitlines()) == 2
    assert "5 lines in the notes are no events" in gitmem("doctor").stdout
    note = git(repo, "notes", "--ref=gitmem/shared", "show", "HEAD")
    for line in broken:
        assert line in note.split("\n")


@pytest.mark.parametrize("kept", ["blob:none", "tree:0"])
def test_a_partial_clone_that_lacks_the_journal_says_how_to_get_it(
    repo: Path, tmp_path: Path, kept: str
) -> None:
    run_cli("remember", "one", cwd=repo)
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    notes = "refs/notes/gitmem/shared"
    git(tmp_path, "clone", "-q", f"--filter={kept}", "--no-checkout", f"file://{repo}", str(clone))
    git(clone, "fetch", "-q", "origin", f"{notes}:{notes}")
    for command in (["list"], ["remember", "two"], ["doctor"]):
        done = run_cli(*command, cwd=clone)
        assert done.returncode == 4 and "is not in this clone" in done.stderr
    how = done.stderr.split("get all of it: ")[1].split()
    git(clone, *how[1:], "-q")
    assert "one" in run_cli("list", cwd=clone).stdout
