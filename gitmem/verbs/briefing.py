"""The session-start briefing: what matters most, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitmem.model import FileChange, Importance, Memory
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.catalog.rows import Filter
from gitmem.text.budget import tokens
from gitmem.text.fence import inert
from gitmem.verbs.staleness import Staleness

TOPIC = "topic:"
"""Prefix of the tags that group memories by topic."""

WORKING_KINDS = ("context", "episode")
"""Kinds about a session, not about the project: not long-term memory."""

_READ = 50
"""How many memories of one importance are looked at; the budget holds fewer."""

_FILES = 3
"""How many changed files of one memory are named."""

_NEWS = 10
"""How many memories are named that changed since an agent was here; the newest."""


@dataclass(frozen=True, slots=True)
class Guest:
    """Who is briefed: an agent, and what changed since it was here last, newest first."""

    agent: str
    news: Sequence[Memory] = ()


@dataclass(frozen=True, slots=True)
class Briefing:
    """What a session begins with: Markdown for the agent, the compact JSON, and counts."""

    markdown: str
    compact: Mapping[str, Any]
    counts: Mapping[str, int]


def compose(
    catalog: Catalog,
    staleness: Staleness,
    branch: str | None,
    now: str,
    budget: int,
    context: str,
    notices: Sequence[str],
    short: Callable[[str], str],
    guest: Guest | None = None,
) -> Briefing:
    """Compose the briefing as of `now` (an event time), of at most `budget` tokens.

    A `guest` is told who said what, and what is new to it.
    """
    alive = Filter(now=now, held=False)
    counts = {
        "memories": catalog.count(alive),
        "contested": catalog.count(replace(alive, contested=True)),
    }
    topics = {_inert(name): n for name, n in topics_of(catalog.tag_counts(alive)).items()}
    commit = catalog.look.commit
    critical = staleness.marked(_of(catalog, Importance.CRITICAL, alive), commit)
    high = staleness.marked(_of(catalog, Importance.HIGH, alive), commit)
    latest = catalog.select(replace(alive, without_kinds=WORKING_KINDS, limit=5))
    recent = staleness.marked(latest, commit)
    episodes = catalog.select(replace(alive, kind="episode", limit=1))
    changed = [memory for memory in guest.news if not memory.held] if guest else []
    news = staleness.marked(changed[:_NEWS], commit)
    shown = {memory.id for memory in (*critical, *high)}
    told = shown | {memory.id for memory in news}

    def line(memory: Memory) -> str:
        return _line(memory, short) + (_inert(_signature(memory)) if guest else "")

    sections = (
        ("Critical", [line(memory) for memory in critical]),
        ("High", [line(memory) for memory in high]),
        (
            f"Changed since {guest.agent if guest else ''} was last here",
            [
                f"- {short(memory.id)}, above" if memory.id in shown else line(memory)
                for memory in news
            ],
        ),
        ("Working memory", inert(context).split("\n") if context.strip() else []),
        ("Last session", [line(memory) for memory in episodes]),
        ("Latest", [line(memory) for memory in recent if memory.id not in told]),
        (
            "Topics",
            [", ".join(f"{name} {count}" for name, count in topics.items())] if topics else [],
        ),
        ("To look at", [f"- {_inert(notice)}" for notice in notices]),
    )
    place = f"branch {_inert(branch)}" if branch else "no branch"
    known = counts["memories"]
    head = f"# Memory of this repository: {known} {'memory' if known == 1 else 'memories'}, {place}"
    compact = {
        "b": _inert(branch or "HEAD"),
        "t": topics,
        "c": [
            {"id": short(m.id), "s": _inert(m.summary), "t": _inert(m.kind)} for m in critical[:3]
        ],
        "n": counts["memories"],
        "h": [{"id": short(m.id), "s": _inert(m.summary)} for m in high[:2]],
    }
    return Briefing("\n".join(_fit(head, sections, budget)), compact, counts)


def topics_of(tags: Mapping[str, int], most: int = 8) -> dict[str, int]:
    """Return the most used topics; ``topic:NAME`` and a plain tag NAME are one."""
    topics: dict[str, int] = {}
    for tag, count in tags.items():
        name = tag.removeprefix(TOPIC)
        topics[name] = topics.get(name, 0) + count
    return dict(sorted(topics.items(), key=lambda item: (-item[1], item[0]))[:most])


def _of(catalog: Catalog, importance: Importance, alive: Filter) -> list[Memory]:
    return catalog.select(
        replace(alive, importance=importance, without_kinds=WORKING_KINDS, limit=_READ)
    )


def _signature(memory: Memory) -> str:
    gone = " (forgotten)" if memory.forgotten else ""
    return f"{gone} ({memory.author.partition(' <')[0]}, {memory.updated[:10]})"


def _line(memory: Memory, short: Callable[[str], str]) -> str:
    tags = "".join(f" #{tag}" for tag in memory.tags)
    contested = " (contested)" if memory.contested else ""
    line = f"- {short(memory.id)} **{memory.kind}** {memory.summary}{tags}{contested}"
    return _inert(line + _files(memory.stale))


def _inert(text: str) -> str:
    """Return a text as one line that hides nothing and pretends nothing: an agent reads it."""
    return " ".join(inert(text).split("\n"))


def _files(stale: Sequence[FileChange]) -> str:
    more = [f"{len(stale) - _FILES} more"] if len(stale) > _FILES else []
    shown = ", ".join([*map(str, stale[:_FILES]), *more])
    return f" (its files changed: {shown})" if shown else ""


def _fit(head: str, sections: Sequence[tuple[str, Sequence[str]]], budget: int) -> Iterator[str]:
    """Yield lines while the budget lasts; what is left out is said at the end."""
    foot = "`gitmem search WORDS` finds more; `gitmem show ID` tells all."
    left = budget - tokens(head) - tokens(foot) - 10
    omitted = 0
    yield head
    for title, lines in sections:
        opened = False
        for line in lines:
            cost = tokens(line) + 1 + (0 if opened else tokens(title) + 4)
            if cost > left:
                omitted += 1
                continue
            if not opened:
                yield from ("", f"## {title}", "")
                opened = True
            yield line
            left -= cost
    yield from ("", foot + (f" {omitted} more lines did not fit." if omitted else ""))
