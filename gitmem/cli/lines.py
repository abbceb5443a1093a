"""The lines that views are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gitmem.cli.view import Line, Span

if TYPE_CHECKING:  # its dataclasses take 5 ms to make: not for --help
    from gitmem.model import Memory

Short = Callable[[str], str]
"""Shortens an id."""


def saved_line(short: Short, memory: Memory, done: str, remark: str = "") -> Line:
    """What was done to a memory: its id first."""
    line = [("id", short(memory.id)), ("dim", f" {done}: "), ("", memory.summary)]
    return [*line, ("dim", f" ({remark})")] if remark else line


def memory_line(short: Short, memory: Memory, text: str | None = None) -> Line:
    """One memory, or a passage of it, with what matters about it, on one line."""
    line: list[Span] = [("id", short(memory.id)), ("", " "), ("kind", memory.kind), ("", " ")]
    line.append(("content", memory.body if text is None else text))
    line += [("tag", f" #{tag}") for tag in memory.tags]
    line += [("dim", " ("), (memory.importance.value, memory.importance.value)]
    line.append(("dim", "".join(f", {fact}" for fact in _facts(memory)) + ")"))
    return line


def _facts(memory: Memory) -> Iterator[str]:
    if memory.branch:
        yield memory.branch
    yield memory.created[:10]
    if memory.private:
        yield "private" if memory.scope != "user" else "user"
    if memory.expires:
        yield f"expires {memory.expires[:10]}"
    if memory.held:
        yield "held"
    if memory.proposed:
        yield "a change is proposed"
    if memory.contested:
        yield "contested"
    if memory.stale:
        yield "stale"
    if memory.forgotten:
        yield "forgotten"


def pair(key: str, text: str) -> Line:
    """Return ``key: text``."""
    return [("key", f"{key}:"), ("", f" {text}")]


def item(key: str, text: str) -> Line:
    """Return ``- key: text``, for a list in Markdown."""
    return [("", "- "), *pair(key, text)]


def hint(text: str) -> Line:
    """Return what to do next."""
    return [("dim", f"hint: {text}")]


def spelled(value: Any) -> str:
    """Return a plain value as people read it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {spelled(inner)}" for key, inner in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(spelled, value)) or "none"
    return str(value)


def when(at: str) -> str:
    """Return an event's time to the minute."""
    return at[:16].replace("T", " ")


def target_of(short: Short, target: str) -> str:
    """Return a link's target, shortened if it is a memory's id."""
    is_id = len(target) == 64 and all(char in "0123456789abcdef" for char in target)
    return short(target) if is_id else target
