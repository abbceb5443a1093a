"""Where output leaves: colour on a terminal, Markdown in a pipe, JSON with ``--json``."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any, TextIO

from gitmem.cli.inert import in_json, one_line, visible
from gitmem.cli.view import Line, View
from gitmem.errors import GitmemError, Unavailable

MARKDOWN = {
    "heading": "## {}",
    "kind": "**{}**",
    "error": "**{}**",
    "warning": "**{}**",
    "info": "**{}**",
}
"""Styles that show in Markdown; all others are colour alone."""

LONGEST_MESSAGE = 400
"""Characters of an error message that are shown: it may quote ten thousand of the user's."""


def answer(command: str, view: View, warnings: Sequence[str], as_json: bool) -> None:
    """Print what a command answers, and the warnings that came up."""
    if as_json:
        _write_json({"ok": True, "command": command, "data": view.data, "warnings": warnings})
        return
    lines = iter(view.lines)
    first = next(lines, None)
    if first is None and view.none:
        _write([view.none], sys.stdout if sys.stdout.isatty() else sys.stderr)
    elif first is not None:
        _write(chain([first], lines), sys.stdout)
    warn(warnings)


def warn(warnings: Iterable[str]) -> None:
    """Print warnings to standard error, each once."""
    for warning in dict.fromkeys(warnings):
        _write([[("warning", "warning:"), ("", f" {warning}")]], sys.stderr)


def failure(error: GitmemError, as_json: bool) -> None:
    """Print an error: what, then what to do."""
    message = _cut(error.message)
    if as_json:
        told = {"code": error.code, "message": message, "hint": error.hint}
        _write_json({"ok": False, "error": told})
        return
    lines: list[Line] = [[("error", "error:"), ("", f" {message}")]]
    if error.hint:  # the caret of a condition stands in a second line, below its column
        first, *more = error.hint.split("\n")
        lines.append([("dim", "hint:"), ("", f" {first}")])
        lines += [[("", f"      {line}")] for line in more]
    _write(lines, sys.stderr)


def coloured(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that wants colour."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def use_utf8() -> None:
    """Make standard output and error write UTF-8 whatever the locale says, and never fail at it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller: `gitmem … >&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def let_go_of_stdout() -> None:
    """Point standard output to nowhere, so that Python does not complain when it closes it."""
    with contextlib.suppress(OSError):  # not a file: a test reads it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain(value: Any) -> Any:
    """Turn a value into what JSON knows; the `default` of `json.dumps`."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    return str(value)


def _write_json(envelope: Mapping[str, Any]) -> None:
    import json

    text = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"), default=plain)
    _write([in_json(text)], sys.stdout)


def _write(lines: Iterable[Line | str], stream: TextIO) -> None:
    try:
        if coloured(stream):
            from gitmem.cli.terminal import write_coloured

            write_coloured(lines, stream)
        else:
            spell = _terminal_text if stream.isatty() else _pipe_text
            stream.writelines(spell(line) + "\n" for line in lines)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        let_go_of_stdout()
        message = f"the output cannot be written: {error.strerror}"
        raise Unavailable(message, "check where it goes, and the room there") from error


def _pipe_text(line: Line | str) -> str:
    return line.rstrip("\n") if isinstance(line, str) else one_line(_markdown(line))


def _terminal_text(line: Line | str) -> str:
    if isinstance(line, str):
        return "\n".join(visible(part) for part in line.rstrip("\n").split("\n"))
    return visible(_markdown(line))


def _markdown(line: Line) -> str:
    return "".join(MARKDOWN.get(style, "{}").format(text) for style, text in line)


def _cut(message: str) -> str:
    if len(message) <= LONGEST_MESSAGE:
        return message
    half = LONGEST_MESSAGE // 2
    return f"{message[:half]} … {message[-half:]}"
