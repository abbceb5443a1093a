"""What commands answer with: each function turns the library's values into a `View`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from gitmem.cli.lines import Short, hint, memory_line, pair, saved_line, spelled
from gitmem.cli.view import Line, View
from gitmem.errors import Unavailable

if TYPE_CHECKING:
    from gitmem.api import Gitmem
    from gitmem.model import Memory
    from gitmem.search.naming import EntityCount, EntityPage
    from gitmem.verbs.care import Report, Status
    from gitmem.verbs.undo import Undone

NO_MATCH = "no memory matches"


def saved(gm: Gitmem, memory: Memory, done: str) -> View:
    """One line: the id, what was done, and to what; from where it is seen, if not as usual."""
    return View(memory, [saved_line(gm.short, memory, done, gm.remark)])


def undone(short: Short, undo: Undone) -> View:
    """One line: the id, and what was taken back."""
    return View(undo, [saved_line(short, undo.memory, f"took back '{undo.op}'")])


def memories(short: Short, found: Sequence[Memory], none: str = NO_MATCH) -> View:
    """One line a memory, each whole."""
    return View(found, (memory_line(short, memory) for memory in found), none)


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
            lines.append(hint(finding.hint))
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
    return View(values, [pair(key, spelled(value)) for key, value in _flat(found)])


def status(values: Status) -> View:
    """How things stand, and what to do for memories whose branch is gone."""
    view = pairs(values)
    if not values.orphaned:
        return view
    adopt = hint(f"if the work was taken over: gitmem adopt {next(iter(values.orphaned))}")
    return View(values, [*view.lines, adopt])


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
