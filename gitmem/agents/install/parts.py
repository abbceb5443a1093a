"""What gitmem puts into one file of an agent's: each part knows its own, and leaves all else.

A text is None where there is no file. What an agent or a person wrote there is never valid by
assumption: a part reads before it edits, and reads what it edited before that is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from gitmem.agents.install import jsontext, tomltext

SERVER = "gitmem"
"""The name of the MCP server in an agent's settings."""


class Part(Protocol):
    """Something of gitmem's in the file at `path`; several may go into one file.

    `put` and `take` raise ValueError where the text is not what it should be.
    """

    local: ClassVar[bool]
    """Whether it names paths of this machine."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    def holds(self, text: str | None) -> bool:
        """Whether it is there, as it should be."""
        ...

    def put(self, text: str | None) -> str | None:
        """Return the text with it; what is there of it already is changed in place."""
        ...

    def take(self, text: str | None) -> str | None:
        """Return the text without it."""
        ...


def unsure() -> ValueError:
    """Return what to raise where an edit did not do what it should: nothing is written."""
    return ValueError("it cannot be edited safely; make the change by hand ('--dry-run' shows it)")


def is_server(entry: object) -> bool:
    """Whether an entry of an agent's MCP servers starts gitmem's, as `install` writes it."""
    args = entry.get("args") if isinstance(entry, Mapping) else None
    return isinstance(args, list) and args[-3:] == ["-m", "gitmem", "mcp"]


@dataclass(frozen=True, slots=True)
class JsonServer:
    """The MCP server in JSON: ``{"mcpServers": {"gitmem": {"command": …, "args": […]}}}``.

    One of the same name that somebody else put there is theirs, and stays.
    """

    local: ClassVar[bool] = True
    path: Path
    entry: Mapping[str, Any]

    def holds(self, text: str | None) -> bool:
        """Whether a server of that name is there, and is not an outdated one of gitmem's."""
        there = self._servers(text).get(SERVER)
        return there is not None and (not is_server(there) or dict(self.entry) == there)

    def put(self, text: str | None) -> str | None:
        """Add the server, or mend it."""
        if self.holds(text):
            return text
        before, path = text or "", ("mcpServers", SERVER)
        after = (jsontext.replace if SERVER in self._servers(text) else jsontext.insert)(
            before, path, dict(self.entry)
        )
        return self._checked(before, after)

    def take(self, text: str | None) -> str | None:
        """Take the server out, and the object that held only it."""
        servers = self._servers(text)
        if text is None or not is_server(servers.get(SERVER)):
            return text
        path = ("mcpServers", SERVER) if len(servers) > 1 else ("mcpServers",)
        return self._checked(text, jsontext.delete(text, path))

    def _servers(self, text: str | None) -> dict[str, Any]:
        servers = settings(text, comments=True).get("mcpServers", {})
        if not isinstance(servers, dict):
            raise ValueError("its 'mcpServers' is no object")
        return servers

    def _checked(self, before: str, after: str) -> str:
        if self._rest(before) != self._rest(after):
            raise unsure()
        return after

    def _rest(self, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        servers = {name: at for name, at in self._servers(text).items() if name != SERVER}
        rest = settings(text, comments=True)
        return {key: value for key, value in rest.items() if key != "mcpServers"}, servers


@dataclass(frozen=True, slots=True)
class TomlServer:
    """The MCP server in TOML: a table ``[mcp_servers.gitmem]``.

    Codex adds tables below it, with what the user allowed: those are kept as long as it is there.
    """

    local: ClassVar[bool] = True
    path: Path
    entry: Mapping[str, tomltext.Plain]

    TABLE: ClassVar[str] = f"mcp_servers.{SERVER}"

    def holds(self, text: str | None) -> bool:
        """Whether a server of that name is there, and is not an outdated one of gitmem's."""
        there = self._servers(text).get(SERVER)
        return there is not None and (not is_server(there) or self._current(there))

    def put(self, text: str | None) -> str | None:
        """Add the server, or mend it."""
        if self.holds(text):
            return text
        before = text or ""
        edit = tomltext.update if SERVER in self._servers(text) else tomltext.insert
        after = edit(before, self.TABLE, self.entry)
        self._check(before, after)
        if not self.holds(after):
            raise unsure()
        return after

    def take(self, text: str | None) -> str | None:
        """Take the server out, with the tables below it."""
        if text is None or not is_server(self._servers(text).get(SERVER)):
            return text
        after = tomltext.delete(text, self.TABLE)
        self._check(text, after)
        if SERVER in self._servers(after):
            raise unsure()
        return after

    def _current(self, there: Mapping[str, Any]) -> bool:
        return all(there.get(key) == self.entry[key] for key in ("command", "args"))

    def _servers(self, text: str | None) -> dict[str, Any]:
        servers = tomltext.parse(text or "").get("mcp_servers", {})
        if not isinstance(servers, dict):
            raise ValueError("its 'mcp_servers' is no table")
        return servers

    def _check(self, before: str, after: str) -> None:
        try:
            if self._rest(before) == self._rest(after):
                return
        except ValueError:  # a table that is closed: `mcp_servers = {…}`
            pass
        raise unsure()

    def _rest(self, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        servers = {name: at for name, at in self._servers(text).items() if name != SERVER}
        rest = tomltext.parse(text)
        return {key: value for key, value in rest.items() if key != "mcp_servers"}, servers


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines at the end of a file of patterns; the first of them says whose they are."""

    local: ClassVar[bool] = False
    path: Path
    lines: tuple[str, ...]

    def holds(self, text: str | None) -> bool:
        """Whether every line is there."""
        return set(self.lines) <= set((text or "").split("\n"))

    def put(self, text: str | None) -> str | None:
        """Add the lines."""
        if self.holds(text):
            return text
        text = self.take(text) or ""
        gap = "" if not text or text.endswith("\n") else "\n"
        return text + gap + "".join(f"{line}\n" for line in self.lines)

    def take(self, text: str | None) -> str | None:
        """Take the lines out."""
        if text is None:
            return None
        return "\n".join(line for line in text.split("\n") if line not in self.lines)


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that is gitmem's as a whole; one that somebody changed is theirs."""

    local: ClassVar[bool] = False
    path: Path
    content: str

    def holds(self, text: str | None) -> bool:
        """Whether it is there."""
        return text == self.content

    def put(self, text: str | None) -> str | None:
        """Write it where there is none."""
        return self.content if text is None else text

    def take(self, text: str | None) -> str | None:
        """Delete it if nobody changed it."""
        return None if text == self.content else text


def settings(text: str | None, comments: bool = False) -> dict[str, Any]:
    """Return what a file of settings in JSON holds.

    Raises:
        ValueError: that is no object.
    """
    found = jsontext.parse(text or "", comments)
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found
