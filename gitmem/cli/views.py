"""What commands answer with: each function turns the library's values into a `View`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from gitmem.cli.render import Line, Span, View
from gitmem.errors import Unavailable
from gitmem.model import Hit, Memory

if TYPE_CHECKING:
    from gitmem.api import EntityCount, EntityPage, Report, Undone
    from gitmem.journal.codec import Event

Short = Callable[[str], str]
"""Shortens an id."""

NO_MATCH = "no memory matches"
WHOLE = 400
"""Characters up to which a found memory is printed whole; of a longer one, what matched."""


def saved(short: Short, memory: Memory, done: str) -> View:
    """One line: the id, what was done, and to what."""
    return View(memory, [_saved(short, memory, done)])


def undone(short: Short, undo: Undone) -> View:
    """One line: the id, and what was taken back."""
    return View(undo, [_saved(short, undo.memory, f"took back '{undo.op}'")])


def _saved(short: Short, memory: Memory, done: str) -> Line:
    return [("id", short(memory.id)), ("dim", f" {done}: "), ("", memory.summary)]


def memories(short: Short, found: Sequence[Memory], none: str = NO_MATCH) -> View:
    """One line a memory, each whole."""
    return View(found, (memory_line(short, memory) for memory in found), none)


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
    if memory.contested:
        yield "contested"
    if memory.forgotten:
        yield "forgotten"


def hits(short: Short, query: str, found: Sequence[Hit], searched: Sequence[str]) -> View:
    """One line a hit, best first, and what was searched."""
    data = {"query": query, "hits": found, "searched": searched}
    how = f"searched: {', '.join(searched)}"
    if not found:
        return View(data, [[("", f"nothing matched '{query}' "), ("dim", f"({how})")]])
    lines: list[Line] = [_hit(short, hit) for hit in found]
    count = f"{len(found)} {'hit' if len(found) == 1 else 'hits'}"
    return View(data, [*lines, [("dim", f"({count}; {how})")]])


def _hit(short: Short, hit: Hit) -> Line:
    body = hit.memory.body
    return memory_line(short, hit.memory, body if len(body) <= WHOLE else hit.snippet)


def details(short: Short, found: Sequence[Memory]) -> View:
    """Everything about each memory."""
    return View(found, (line for memory in found for line in _detail(short, memory)))


def _detail(short: Short, memory: Memory) -> Iterator[Line | str]:
    yield [("heading", f"{short(memory.id)} {memory.kind}")]
    yield ""
    yield memory.body
    yield ""
    yield from (_item(key, value) for key, value in _properties(memory))
    for link in memory.links:
        target = short(link.target) if _is_id(link.target) else link.target
        yield _item(link.rel, f"{target} {link.comment}".rstrip())
    for note in memory.notes:
        yield _item("note", f"{note.text} ({note.by}, {_when(note.at)})")
    for side in memory.contested:
        value = side.value if side.value is not None else "forgotten"
        yield _item(f"contested {side.field}", f"{value} ({side.by}, {_when(side.at)})")
    if memory.contested:
        yield _hint(f"settle it: gitmem update {short(memory.id)} TEXT")
    if memory.forgotten:
        yield _hint(f"bring it back: gitmem restore {short(memory.id)}")
    if memory.updated != memory.created:
        yield _hint(f"its history: gitmem log {short(memory.id)}")
    yield ""


def _properties(memory: Memory) -> Iterator[tuple[str, str]]:
    yield "id", memory.id
    yield "importance", memory.importance.value
    yield "by", memory.author
    yield "remembered", _when(memory.created)
    if memory.updated != memory.created:
        yield "changed", _when(memory.updated)
    yield "scope", memory.scope.value
    optional = {
        "branch": memory.branch,
        "tags": " ".join(f"#{tag}" for tag in memory.tags),
        "expires": memory.expires and _when(memory.expires),
        "private": memory.private and "yes: it is never pushed",
        "source": _value(memory.source),
        "paths": ", ".join(memory.paths),
    }
    yield from ((key, str(value)) for key, value in optional.items() if value)


def events(short: Short, found: Sequence[Event]) -> View:
    """One line an event."""
    data = [{"id": event.id, **event.fields} for event in found]
    return View(data, (_event(short, event) for event in found), "nothing has happened yet")


def _event(short: Short, event: Event) -> Line:
    subject = short(event.memory) if event.memory else event.id[:8]
    where = f" on {event.branch}" if event.branch else ""
    return [
        ("id", subject),
        ("dim", f" {_when(event.at)} "),
        ("kind", event.op),
        ("dim", f" by {event.by}{where}"),
        ("content", "".join(f" {part}" for part in _changes(event))),
    ]


def _changes(event: Event) -> Iterator[str]:
    field = event.fields
    for key in ("kind", "importance", "expires", "scope"):
        if field.get(key):
            yield f"{key}={field[key]}"
    yield from (f"#{tag}" for tag in field.get("tags", ()))
    if "tag" in field:
        yield f"#{field['tag']}"
    if "target" in field:
        yield f"{field.get('rel', '')} {field['target']}"
    if event.reason:
        yield f"({event.reason})"
    if event.text is not None:
        yield f": {event.text}"
    elif "data" in field:
        yield f": {_value(field['data'])}"


def tags(found: Mapping[str, int]) -> View:
    """One line a tag: the tag, and how many memories have it."""
    lines = ([("tag", tag), ("dim", f" {count}")] for tag, count in found.items())
    return View(found, lines, "no memory has a tag")


def entities(found: Sequence[EntityCount]) -> View:
    """One line an entity: name, type, and how many memories name it."""
    return View(found, map(_entity, found), "no memory names an entity")


def _entity(entity: EntityCount) -> Line:
    return [("key", entity.name), ("dim", f" ({entity.type}) {entity.memories}")]


def entity_page(short: Short, page: EntityPage) -> View:
    """An entity: the memories that name it, and what is named beside it."""
    lines: list[Line | str] = [[("heading", f"{page.name} ({page.type})")], ""]
    lines += [memory_line(short, memory) for memory in page.memories]
    if page.related:
        lines += ["", [("heading", "Named beside it")], "", *map(_entity, page.related)]
    return View(page, lines)


def findings(report: Report) -> View:
    """What `doctor` found and mended; an error that is left is exit code 4."""
    lines: list[Line] = [[("key", "repaired"), ("", f": {line}")] for line in report.repaired]
    for finding in report.findings:
        line = [(finding.level, f"{finding.level}:"), ("", f" {finding.message}")]
        lines.append([*line, ("dim", f" ({finding.code})")])
        if finding.hint:
            lines.append(_hint(finding.hint))
    if report.clean:
        lines.append([("", "clean")])
    data = {"clean": report.clean, "findings": report.findings, "repaired": report.repaired}
    wrong = any(finding.level == "error" for finding in report.findings)
    return View(data, lines, exit_code=Unavailable.exit_code if wrong else 0)


def changes(done: Sequence[str], nothing: str, *after: str) -> View:
    """What was changed, one line each, and what to do next."""
    lines: list[Line | str] = [[("", f"- {line}")] for line in done] or [[("", nothing)]]
    return View({"changes": done}, [*lines, *(after if done else ())])


def pairs(values: Any) -> View:
    """The fields of a value, as ``key: value`` lines."""
    found = {field.name: getattr(values, field.name) for field in fields(values)}
    return View(values, [_pair(key, _value(value)) for key, value in _flat(found)])


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key} ")
        elif is_dataclass(value):
            inner = {field.name: getattr(value, field.name) for field in fields(value)}
            yield from _flat(inner, f"{prefix}{key} ")
        else:
            yield f"{prefix}{key}".replace("_", " "), value


def passage(data: Any, text: str, none: str = "") -> View:
    """Markdown as it stands."""
    return View(data, [text] if text.strip() else [], none)


def sentence(data: Any, text: str) -> View:
    """One line that says what was done."""
    return View(data, [[("", text)]])


def _pair(key: str, value: str) -> Line:
    return [("key", f"{key}:"), ("", f" {value}")]


def _item(key: str, value: str) -> Line:
    return [("", "- "), *_pair(key, value)]


def _hint(text: str) -> Line:
    return [("dim", f"hint: {text}")]


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_value(item)}" for key, item in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(_value, value)) or "none"
    return str(value)


def _when(at: str) -> str:
    return at[:16].replace("T", " ")


def _is_id(target: str) -> bool:
    return len(target) == 64 and all(char in "0123456789abcdef" for char in target)
