"""A model that says what it is told to, in the ways that Codex and Gemini CLI ask for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast

USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
"""As Codex counts."""


class Model(ThreadingHTTPServer):
    """A server on this machine: it answers every question with `says`, and keeps what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.says = "Done."
        self.asked: list[str] = []
        self.unknown: list[str] = []

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self.server_port}"

    def take(self) -> str:
        """Return what it was asked since the last time, as one text."""
        asked, self.asked = self.asked, []
        return "\n\n".join(asked)


@contextmanager
def serving() -> Iterator[Model]:
    """Run a model beside the test."""
    with Model() as model:
        thread = Thread(target=model.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield model
        finally:
            model.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # a stream ends with its connection

    def do_POST(self) -> None:
        """Answer a question of either agent; anything else is not there, and is noted."""
        model = cast(Model, self.server)
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        way = self.path.partition("?")[0].rpartition(":" if ":" in self.path else "/")[2]
        if way not in _WAYS:
            return self._unknown()
        model.asked.append("\n".join(_texts(said)))
        stream, content = _WAYS[way](model.says)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
        self.end_headers()
        self.wfile.write(content.encode())

    def do_GET(self) -> None:
        """Note it: nothing is to be had that way."""
        self._unknown()

    def _unknown(self) -> None:
        cast(Model, self.server).unknown.append(f"{self.command} {self.path}")
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _responses(text: str) -> tuple[bool, str]:
    """OpenAI's Responses API, streamed."""
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    response = {"id": "resp_1", "usage": USAGE}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "item": message},
        {"type": "response.completed", "response": response},
    ]
    return True, "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)


def _generated(text: str) -> tuple[bool, str]:
    """Google's generateContent."""
    content = {"role": "model", "parts": [{"text": text}]}
    counts = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return False, json.dumps({"candidates": [candidate], "usageMetadata": counts})


def _streamed(text: str) -> tuple[bool, str]:
    return True, f"data: {_generated(text)[1]}\n\n"


_WAYS = {
    "responses": _responses,
    "generateContent": _generated,
    "streamGenerateContent": _streamed,
    "countTokens": lambda text: (False, json.dumps({"totalTokens": 1})),
}
"""{last step of the path: (whether it streams, the answer)}."""


def _texts(said: object) -> Iterator[str]:
    """Yield every text of a question, wherever it stands."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, dict | list):
        for inner in said.values() if isinstance(said, dict) else said:
            yield from _texts(inner)
