"""The server as a process: over real pipes, with bad input, and at its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp import Client

import gitmem
from tests.agents.mcp.clients import COMMAND, ERAS, Pipes, alive, call, over_pipes, refused
from tests.support import git, run_cli

PATIENCE = 60.0
"""Seconds that a machine under load may take for what takes two."""


def gone(group: int) -> bool:
    """Wait for the last process of a group to end."""
    end = time.monotonic() + PATIENCE
    while alive(group) and time.monotonic() < end:
        time.sleep(0.1)
    return alive(group) == 0


@pytest.mark.parametrize("era", ERAS)
def test_over_real_pipes(kept: Path, era: str) -> None:
    async def said(client: Client) -> None:
        assert client.server_info.name == "gitmem"
        assert "memory_search" in (client.instructions or "")
        added = await call(client, "memory_add", text="Pin the index", tags=["index"])
        (hit,) = (await call(client, "memory_search", query="index"))["hits"]
        assert hit["id"] == added["id"]
        assert "no memory has the id" in await refused(client, "memory_get", id="abcdef12")
        index = (await client.read_resource("gitmem://index")).contents[0]
        assert hit["id"] in index.text

    over_pipes(kept, said, era=era)
    assert "Pin the index" in run_cli("list", cwd=kept).stdout


def test_what_others_do_between_two_calls_is_seen(kept: Path) -> None:
    with Pipes(kept) as server:

        def found(query: str) -> list[str]:
            data = server.call("memory_search", query=query)["structuredContent"]
            return [hit["text"] for hit in data["hits"]]

        assert found("nomad") == []
        assert run_cli("remember", "Deploy with Nomad", cwd=kept).returncode == 0
        assert found("nomad") == ["Deploy with Nomad"]
        git(kept, "gc", "-q", "--prune=now")
        assert run_cli("undo", cwd=kept).returncode == 0
        assert found("nomad") == []
        git(kept, "switch", "-q", "-c", "feature")
        assert run_cli("remember", "Feature flags are in flags.toml", cwd=kept).returncode == 0
        assert found("flags") != []
        git(kept, "switch", "-q", "main")
        assert found("flags") == []
        status = server.call("memory_status")["structuredContent"]
        assert (status["branch"], status["waiting"]) == ("main", {"feature": 1})


def test_standard_output_is_the_protocols(kept: Path) -> None:
    """Whatever prints, and by whichever way, prints elsewhere."""
    code = """
import os, sys
from pathlib import Path
from gitmem.agents.mcp import asking, server
ask = asking.search
def noisy(*given):
    print("noise", flush=True)
    os.write(1, b"from a library in C")
    os.system("echo from a child")
    return ask(*given)
asking.search = noisy
server.serve(Path("."), False)
"""
    with Pipes(kept, code=code) as server:
        for _ in range(2):
            assert not server.call("memory_search", query="x").get("isError")
            assert server.ask("ping")["result"] == {}
        assert server.process.stdin and server.process.stderr
        server.process.stdin.close()
        told = server.process.stderr.read()
        for noise in (b"noise", b"from a library in C", b"from a child"):
            assert told.count(noise) == 2


NO_REQUESTS = (
    b"",
    b"{",
    b"\xff\xfe\x00",
    b"[]",
    b'{"jsonrpc": "2.0", "id": 77, "method": "no/such"}',
    b'{"jsonrpc": "2.0", "id": 78, "method": "tools/call", "params": {"name": "no_such"}}',
    b'{"jsonrpc": "2.0", "id": 79, "method": "tools/call", "params": {"name": "memory_search",'
    b' "arguments": {"query": "\\ud800 \\u0000 x"}}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
)


def test_a_line_that_is_no_request_ends_nothing(kept: Path) -> None:
    with Pipes(kept) as server:
        for line in NO_REQUESTS:
            server.write(line)
            assert server.ask("ping")["result"] == {}
        assert not server.call("memory_status").get("isError")


def test_huge_and_odd_texts(kept: Path) -> None:
    huge = "x" * 2**20
    with Pipes(kept) as server:
        for tool, given, told in (
            ("memory_search", {"query": huge}, "1,048,576 characters"),
            ("memory_search", {"query": "x", "kind": huge}, "is not one word"),
            ("memory_search", {"query": "x", "tag": [huge]}, "longer than 100"),
            ("memory_search", {"query": "x", "branch": huge}, "at most 300"),
            ("memory_search", {"query": "x", "limit": 0}, "greater than or equal to 1"),
            ("memory_search", {"query": "x", "limit": 1000}, "less than or equal to 20"),
            ("memory_search", {"query": "x", "limit": "many"}, "integer"),
            ("memory_search", {"query": {"not": "text"}}, "string"),
            ("memory_search", {"q": "x"}, "no argument 'q'; it takes query, kind, tag, branch"),
            ("memory_status", {huge: "x"}, "it takes none"),
            ("memory_get", {"id": [huge]}, "is no memory id"),
            ("memory_get", {"id": []}, "1 to 20"),
            ("memory_get", {"id": ["abcdef"] * 21}, "1 to 20"),
            ("memory_get", {}, "required"),
            ("memory_history", {"id": "ab\0cd"}, "is no memory id"),
            ("memory_add", {"text": huge}, "a memory holds 65,536"),
            ("memory_add", {"text": "a\0b"}, "NUL"),
            ("memory_add", {"text": " "}, "nothing to remember"),
            ("memory_add", {"text": "x", "tags": ["two words"]}, "has a space"),
            ("memory_add", {"text": "x", "scope": "world"}, "branch, repo or user"),
            ("conversation_search", {"session": huge}, "at most 300"),
            ("conversation_search", {"query": "x", "session": "../.."}, "session"),
        ):
            result = server.call(tool, **given)
            said = result["content"][0]["text"]
            assert result["isError"] and told in said, (tool, said[:300])
            assert "Traceback" not in said and len(said) < 3_000
        assert server.call("memory_search", query="a\0b 日本語 🧠 \u202e")["isError"] is False
    with gitmem.open(kept) as gm:
        assert len(gm.list()) == 3


def test_many_calls_at_once_from_two_servers(kept: Path) -> None:
    servers = [Pipes(kept), Pipes(kept)]
    for name, server in enumerate(servers):
        for number in range(100, 115):
            given = {"name": "memory_add", "arguments": {"text": f"of {name} number {number}"}}
            asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": given}
            server.write(json.dumps(asked).encode())
    end = time.monotonic() + PATIENCE
    for server in servers:
        known = 0
        while known < 3 + 30 and time.monotonic() < end:
            known = server.call("memory_status")["structuredContent"]["memories"]
        with server:
            pass
    with gitmem.open(kept) as gm:
        assert len({memory.text for memory in gm.list()}) == 3 + 30


def test_it_ends_at_the_end_of_its_input(kept: Path) -> None:
    server = Pipes(kept)
    assert not server.call("memory_search", query="database").get("isError")
    group = server.process.pid
    assert alive(group) >= 1
    with server:
        pass
    assert server.process.returncode == 0
    assert gone(group)


def test_it_ends_when_its_input_ends_in_the_midst_of_a_call(kept: Path) -> None:
    server = Pipes(kept)
    for number in range(100, 110):
        given = {"name": "memory_add", "arguments": {"text": f"number {number}"}}
        asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": given}
        server.write(json.dumps(asked).encode())
    with server:
        pass
    assert server.process.returncode == 0
    assert gone(server.process.pid)
    assert "clean" in run_cli("doctor", cwd=kept).stdout


PARENT = """
import subprocess, sys, time
server = subprocess.Popen(
    sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
)
server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\\n')
server.stdin.flush()
server.stdout.readline()
if sys.argv[1] == "shared":  # somebody else keeps the server's input open
    subprocess.Popen(["sleep", "600"], close_fds=False, pass_fds=[server.stdin.fileno()])
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("pipe", ["its own", "shared"])
def test_it_ends_when_its_parent_is_killed(kept: Path, pipe: str) -> None:
    command = [sys.executable, "-c", PARENT, pipe, sys.executable, *COMMAND]
    with subprocess.Popen(
        command, cwd=kept, stdout=subprocess.PIPE, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        try:
            assert alive(server) >= 1
            parent.kill()
            parent.wait()
            assert gone(server)
        finally:
            os.killpg(parent.pid, signal.SIGKILL) if alive(parent.pid) else None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_a_traceback(kept: Path, number: signal.Signals) -> None:
    server = Pipes(kept)
    server.call("memory_status")
    server.process.send_signal(number)
    assert server.process.stderr is not None
    told = server.process.stderr.read().decode()
    with server:
        pass
    assert server.process.returncode == -number
    assert "Traceback" not in told


def test_a_client_that_stops_listening_ends_it(kept: Path) -> None:
    server = Pipes(kept)
    assert server.process.stdout and server.process.stderr
    server.process.stdout.close()
    server.write(b'{"jsonrpc": "2.0", "id": 5, "method": "ping"}')
    assert "Traceback" not in server.process.stderr.read().decode()
    assert gone(server.process.pid)
    with server:
        pass


# -- where there is no memory ---------------------------------------------------------------------


def test_outside_a_repository_it_says_so(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    with Pipes(nowhere) as server:
        for tool, given in (("memory_status", {}), ("memory_add", {"text": "x"})):
            result = server.call(tool, **given)
            assert result["isError"] and "no repository" in result["content"][0]["text"]
        answer = server.ask("resources/read", uri="gitmem://index")
        assert "no repository" in answer["error"]["message"]
    assert list(nowhere.iterdir()) == []


def test_a_repository_that_was_not_set_up_stays_as_it_is(repo: Path) -> None:
    def everything() -> set[Path]:
        return set(repo.rglob("*"))

    before = everything()
    with Pipes(repo) as server:
        for tool, given in (
            ("memory_status", {}),
            ("memory_search", {"query": "x"}),
            ("memory_add", {"text": "x"}),
        ):
            result = server.call(tool, **given)
            assert result["isError"] and "gitmem init" in result["content"][0]["text"]
        server.ask("tools/list")
        assert everything() == before
        assert run_cli("init", cwd=repo).returncode == 0
        assert not server.call("memory_add", text="Now there is one").get("isError")
        assert run_cli("deinit", cwd=repo).returncode == 0
        assert server.call("memory_status")["isError"]


def test_another_directory_is_named(kept: Path, tmp_path: Path) -> None:
    with Pipes(tmp_path, "-C", str(kept)) as server:
        found = server.call("memory_search", query="database")["structuredContent"]
        assert len(found["hits"]) == 1


def test_a_repository_made_anew_under_it(kept: Path) -> None:
    import shutil

    with Pipes(kept) as server:
        assert server.call("memory_status")["structuredContent"]["memories"] == 3
        shutil.rmtree(kept / ".git")
        assert server.call("memory_status")["isError"]
        git(kept, "init", "-q")
        git(kept, "commit", "-q", "--allow-empty", "-m", "anew")
        assert run_cli("init", cwd=kept).returncode == 0
        assert not server.call("memory_add", text="Anew").get("isError")
        assert server.call("memory_search", query="anew")["structuredContent"]["hits"]
