"""One memory whole, and what happened to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.lines import Short, hint, item, spelled, target_of, when
from gitmem.cli.view import Line, View

if TYPE_CHECKING:
    from gitmem.journal.codec import Event
    from gitmem.model import Memory
    from gitmem.verbs.branches import Life


def details(short: Short, found: Sequence[Memory]) -> View:
    """Everything about each memory."""
    return View(found, (line for memory in found for line in _detail(short, memory)))


def _detail(short: Short, memory: Memory) -> Iterator[Line | str]:
    yield [("heading", f"{short(memory.id)} {memory.kind}")]
    yield ""
    yield memory.body
    yield ""
    yield from (item(key, value) for key, value in _properties(memory))
    for link in memory.links:
        yield item(link.rel, f"{target_of(short, link.target)} {link.comment}".rstrip())
    for note in memory.notes:
        yield item("note", f"{note.text} ({note.by}, {when(note.at)})")
    for side in memory.contested:
        value = "forgotten" if side.value is None else spelled(side.value)
        yield item(f"contested {side.field}", f"{value} ({side.by}, {when(side.at)})")
    for side in memory.proposed:
        value = "" if side.value is None else f": {spelled(side.value)}"
        yield item(f"proposed {side.field}", f"{value} ({side.by}, {when(side.at)})".lstrip(": "))
    if memory.held or memory.proposed:
        yield hint("whom to trust: gitmem trust --list")
    if memory.proposed:
        yield hint(f"keep it as it is: gitmem restore {short(memory.id)}")
    if memory.contested:
        yield hint(f"settle it: gitmem update {short(memory.id)} TEXT")
    if memory.stale:
        yield hint(f"if it still holds, say it anew: gitmem update {short(memory.id)} TEXT")
    if memory.forgotten:
        yield hint(f"bring it back: gitmem restore {short(memory.id)}")
    if memory.updated != memory.created:
        yield hint(f"its history: gitmem log {short(memory.id)}")
    yield ""


def _properties(memory: Memory) -> Iterator[tuple[str, str]]:
    yield "id", memory.id
    yield "importance", memory.importance.value
    yield "by", memory.author
    yield "remembered", when(memory.created)
    if memory.updated != memory.created:
        yield "changed", when(memory.updated)
    yield "scope", memory.scope.value
    optional = {
        "branch": memory.branch,
        "tags": " ".join(f"#{tag}" for tag in memory.tags),
        "expires": memory.expires and when(memory.expires),
        "held": memory.held and "yes: nobody trusted wrote it",
        "private": memory.private and "yes: it is never pushed",
        "source": spelled(memory.source),
        "paths": ", ".join(memory.paths),
        "stale": ", ".join(map(str, memory.stale)),
    }
    yield from ((key, str(value)) for key, value in optional.items() if value)


def events(short: Short, found: Sequence[Event]) -> View:
    """One line an event."""
    data = [{"id": event.id, **event.fields} for event in found]
    return View(data, (_event(short, event) for event in found), "nothing has happened yet")


def life(short: Short, found: Sequence[Life]) -> View:
    """One line an event: what happened, where it stands, and if it is not seen from here."""
    data = [
        {"id": step.event.id, **step.event.fields, "commits": step.commits, "visible": step.visible}
        for step in found
    ]
    return View(data, (_step(short, step) for step in found))


def _step(short: Short, step: Life) -> Line:
    at = [oid[:8] for oid in step.commits]
    facts = [f"at {', '.join(at)}"] if at else []
    facts += [] if step.visible else ["not seen from here"]
    return [*_event(short, step.event), ("dim", f" [{'; '.join(facts)}]")]


def _event(short: Short, event: Event) -> Line:
    subject = short(event.memory) if event.memory else event.id[:8]
    where = f" on {event.branch}" if event.branch else ""
    line = [("id", subject), ("dim", f" {when(event.at)} "), ("kind", event.op)]
    line.append(("dim", f" by {event.by}{where}"))
    if changes := " ".join(_changes(short, event)):
        line += [("dim", ": "), ("content", changes)]
    return line


def _changes(short: Short, event: Event) -> Iterator[str]:
    field = event.fields
    if event.text is not None:
        yield event.text
    elif "data" in field:
        yield spelled(field["data"])
    if "target" in field:
        yield f"{field.get('rel', '')} {target_of(short, field['target'])}"
    yield from (f"#{tag}" for tag in [*field.get("tags", ()), field.get("tag")] if tag)
    facts = [str(field[key]) for key in ("kind", "importance", "scope") if key in field]
    if "expires" in field:
        facts.append(f"expires {field['expires'][:10]}")
    if event.reason:
        facts.append(event.reason)
    if facts:
        yield f"({', '.join(facts)})"
