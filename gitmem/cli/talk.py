"""What the commands of conversations and imports answer with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.cli.lines import hint, when
from gitmem.cli.view import Line, View

if TYPE_CHECKING:
    from gitmem.model import Memory
    from gitmem.sessions.importing import ImportReport
    from gitmem.sessions.model import Round, Session
    from gitmem.verbs.conversations import SessionEvent, SessionView
    from gitmem.verbs.imports import MemoryReport


def imported(reports: Sequence[ImportReport]) -> View:
    """What was imported, an agent a line, then the sessions that grew and what was left out."""
    lines: list[Line | str] = []
    for report in reports:
        lines += [*_agent(report), *_left_out(report)]
    data = [_report(report) for report in reports]
    return View(data, lines, "no agent keeps conversations of this repository")


def _agent(report: ImportReport) -> Iterator[Line]:
    grown = [one for one in report.sessions if one.new]
    done = "would import" if report.dry_run else "imported"
    said = f" {done} {_count(report.new, 'round')} in {_count(len(grown), 'session')}"
    read = f" ({_count(report.transcripts, 'transcript')} read, {report.unchanged} unchanged"
    apart = f", {report.elsewhere} of other repositories" if report.elsewhere else ""
    yield [("id", report.agent), ("", said), ("dim", f"{read}{apart})")]
    for one in grown:
        title = f" {one.about.title}" if one.about.title else ""
        yield [("", f"- {one.about.id}: {_count(one.new, 'round')}"), ("dim", title)]


def _left_out(report: ImportReport) -> Iterator[Line]:
    for one in report.sessions:
        if one.changed:
            what = f"{_count(one.changed, 'round')} of {one.about.id} read otherwise now"
            yield [("warning", "changed:"), ("", f" {what}; those imported first are kept")]
    for reason, count in report.skipped.items():
        yield [("warning", "skipped:"), ("", f" {count} × {reason}")]
    for rule, count in report.secrets.items():
        yield [("warning", "redacted:"), ("", f" {count} × {rule}")]
    for path, reason in report.unread.items():
        told = reason if path in reason else f"{path}: {reason}"
        yield [("warning", "not read:"), ("", f" {told}")]


def _report(report: ImportReport) -> dict[str, Any]:
    sessions = [
        {"agent": one.about.agent, "id": one.about.id, "title": one.about.title, "new": one.new,
         "known": one.known, "changed": one.changed, "rounds": one.rounds}
        for one in report.sessions
    ]  # fmt: skip
    return {
        "agent": report.agent, "dry_run": report.dry_run, "transcripts": report.transcripts,
        "unchanged": report.unchanged, "elsewhere": report.elsewhere, "rounds": report.new,
        "changed": report.changed, "sessions": sessions, "skipped": dict(report.skipped),
        "redacted": dict(report.secrets), "unread": report.unread,
    }  # fmt: skip


def taken_in(tool: str, report: MemoryReport, dry_run: bool) -> View:
    """What was taken in of another tool's memories."""
    done = "would take in" if dry_run else "took in"
    what = "event" if tool == "gitmem" else "memory"
    said = f" {done} {_count(report.new, what)}"
    rest = f" ({report.found} found, {report.revised} revised, {report.unchanged} unchanged)"
    lines: list[Line | str] = [[("id", tool), ("", said), ("dim", rest)]]
    for id in report.conflicts:
        what = f" {id[:8]} stays as it is here"
        lines.append([("warning", "changed on both sides:"), ("", what)])
    for label, counts in (("skipped:", report.skipped), ("note:", report.remarks)):
        lines += _counted(label, counts)
    return View(report, lines)


def _counted(label: str, counts: Mapping[str, int]) -> Iterator[Line]:
    for reason, count in counts.items():
        yield [("warning", label), ("", f" {count} × {reason}")]


def sessions(found: Sequence[Session]) -> View:
    """One line a session: its id, the agent, when, how long, its title and tags."""
    lines = (_session(one) for one in found)
    return View([_facts(one) for one in found], lines, "no conversation was imported")


def _session(one: Session) -> Line:
    about = one.about
    line = [("id", about.id), ("", " "), ("kind", about.agent)]
    line += [("content", f" {about.title}")] if about.title else []
    line += [("tag", f" #{tag}") for tag in one.tags]
    parts = [when(one.ended or about.started), _count(one.rounds, "round"), about.branch]
    if about.parent:
        parts.append(f"of {about.parent}")
    return [*line, ("dim", f" ({', '.join(part for part in parts if part)})")]


def _facts(one: Session) -> dict[str, Any]:
    about = one.about
    return {
        "agent": about.agent, "id": about.id, "title": about.title, "started": about.started,
        "ended": one.ended, "rounds": one.rounds, "tags": one.tags, "branch": about.branch,
        "cwd": about.cwd, "model": about.model, "parent": about.parent, "source": one.source,
    }  # fmt: skip


def session(view: SessionView) -> View:
    """A session, and rounds of it."""
    lines: list[Line | str] = [_session(view.session), ""]
    for round in view.rounds:
        lines += _round(round)
    data = {**_facts(view.session), "rounds": [_spoken(round) for round in view.rounds]}
    return View(data, lines[:-1] if view.rounds else lines)


def _round(round: Round) -> Iterator[Line | str]:
    turn = round.turn
    who = turn.speaker or turn.role
    yield [("heading", f"{round.index} {who}"), ("dim", f" {when(turn.at)}".rstrip())]
    yield ""
    yield turn.text
    yield ""


def _spoken(round: Round) -> dict[str, Any]:
    turn = round.turn
    return {"index": round.index, "id": turn.id, "role": turn.role, "speaker": turn.speaker,
            "at": turn.at, "text": turn.text}  # fmt: skip


def unfolded(memories: Sequence[tuple[Memory, Sequence[SessionView]]], shown: View) -> View:
    """What a view shows, and below it the rounds that its memories cite."""
    lines: list[Line | str] = [*shown.lines]
    data = []
    for memory, cited in memories:
        for view in cited:
            lines += ["", *session(view).lines]
        missing = len([link for link in memory.links if link.target.startswith("session:")])
        if missing > len(cited):
            lines.append(hint("some cited conversations are not here: they are never pushed"))
        data.append({"memory": memory, "cited": [session(view).data for view in cited]})
    return View(data, lines)


def life(found: Sequence[SessionEvent]) -> View:
    """One line an event, newest first."""
    return View(found, (_event(one) for one in found))


def _event(one: SessionEvent) -> Line:
    return [("dim", f"{when(one.at)} "), ("", one.what), ("dim", f" by {one.by}")]


def _count(number: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"
