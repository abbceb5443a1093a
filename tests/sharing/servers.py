"""Real servers of git repositories, on this machine: git daemon, sshd, smart HTTP, and a bad line.

Each is a context manager that yields the address of the folder that holds the repositories.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support import git

HOST = "127.0.0.1"
USER, PASSWORD = "ada", "correct horse"


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    """Run a server until the end of the block; it has answered before that begins."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
                break
            if process.poll() is not None:
                assert process.stdout
                raise AssertionError(f"{command[0]}: {process.stdout.read().decode()}")
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.communicate()


@contextlib.contextmanager
def daemon(folder: Path) -> Iterator[str]:
    """Serve by `git daemon`, which knows no users: whoever comes may write."""
    backend = Path(git(folder, "--exec-path")) / "git-daemon"
    if not backend.exists():
        pytest.skip("no git daemon: 'apt-get install git' has it")
    port = free_port()
    command = [
        str(backend), "--reuseaddr", "--export-all", "--enable=receive-pack",
        "--informative-errors", f"--base-path={folder}", f"--listen={HOST}", f"--port={port}",
        str(folder),
    ]  # fmt: skip
    with _running(command, port):
        yield f"git://{HOST}:{port}"


class Sshd:
    """What a client of the server below needs: `command` is for ``core.sshCommand``."""

    def __init__(self, url: str, command: str, keys: Path) -> None:
        self.url = url
        self.command = command
        self.keys = keys


@contextlib.contextmanager
def sshd(folder: Path) -> Iterator[Sshd]:
    """Serve by an sshd with keys of its own, for the user who runs the tests."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if server is None or shutil.which("ssh") is None:
        pytest.skip("NOT TESTED over ssh: no sshd ('apt-get install openssh-server' has it)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    place = folder / "sshd"
    place.mkdir()
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)]
        subprocess.run(command, check=True)
    shutil.copy(place / "user.pub", place / "authorized_keys")
    port = free_port()
    settings = {
        "Port": port, "ListenAddress": HOST, "HostKey": place / "host", "PidFile": "none",
        "AuthorizedKeysFile": place / "authorized_keys", "StrictModes": "no", "UsePAM": "no",
        "PermitRootLogin": "prohibit-password", "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no", "AllowTcpForwarding": "no",
    }  # fmt: skip
    config = place / "config"
    config.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    key = (place / "host.pub").read_text().split()
    (place / "known_hosts").write_text(f"[{HOST}]:{port} {key[0]} {key[1]}\n")
    options = f"-F none -i {place}/user -o IdentitiesOnly=yes -o IdentityAgent=none"
    with _running([server, "-D", "-e", "-f", str(config)], port):
        client = f"ssh {options} -o UserKnownHostsFile={place}/known_hosts"
        yield Sshd(f"ssh://{HOST}:{port}{folder}", client, place)


@contextlib.contextmanager
def http(folder: Path, *, auth: bool = False, may_write: bool = True) -> Iterator[str]:
    """Serve by `git http-backend`; with `auth` to `USER` alone, and for reading or writing."""

    class Handler(_Backend):
        pass

    Handler.folder, Handler.auth, Handler.may_write = folder, auth, may_write
    server = ThreadingHTTPServer((HOST, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Backend(BaseHTTPRequestHandler):
    """Hands a request to git's own CGI program."""

    folder: Path
    auth: bool
    may_write: bool

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            return self._serve(b"".join(iter(self._chunk, b"")))
        self._serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline(), 16)
        content = self.rfile.read(size)
        self.rfile.readline()
        return content

    def _serve(self, body: bytes) -> None:
        known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.auth and self.headers.get("Authorization") != f"Basic {known}":
            return self._refuse(401, {"WWW-Authenticate": 'Basic realm="git"'})
        path, _, query = self.path.partition("?")
        if "git-receive-pack" in path + query and not self.may_write:
            return self._refuse(403, {})
        environ = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": USER,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": HOST,
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=environ, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200 OK").split(" ")[0])
        self._answer(status, headers, content)

    def _refuse(self, status: int, headers: dict[str, str]) -> None:
        self._answer(status, headers, b"")

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Line:
    """A connection to a server that can be cut: `budget` bytes go to the server, then none."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.budget: int | None = None
        self.stalled = False
        self._server = socket.create_server((HOST, 0))
        self.own_port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            server = socket.create_connection((HOST, self.port))
            self._pump(client, server, lambda data: self._allow(len(data)))
            self._pump(server, client, lambda data: not self.stalled)

    def _allow(self, size: int) -> bool:
        if self.budget is not None:
            self.budget -= size
        return self.budget is None or self.budget >= 0

    def _pump(
        self, source: socket.socket, target: socket.socket, allow: Callable[[bytes], bool]
    ) -> None:
        def run() -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(512):
                    if not allow(data):
                        if self.stalled:
                            continue
                        break
                    target.sendall(data)
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=run, daemon=True).start()


@contextlib.contextmanager
def line(url: str) -> Iterator[tuple[str, Line]]:
    """Yield an address that leads to another by a `Line`."""
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    cut = Line(int(host.rpartition(":")[2]))
    try:
        yield f"{scheme}://{HOST}:{cut.own_port}/{path}".rstrip("/"), cut
    finally:
        cut.close()
