"""What the tools that read do with an open memory."""

from __future__ import annotations

from collections.abc import Container, Iterator
from difflib import get_close_matches

import gitmem
from gitmem.agents.mcp import rows, wording
from gitmem.agents.mcp.shapes import History, Memories, Rounds, Search, Spoken, State, Step
from gitmem.agents.mcp.wording import Answer
from gitmem.api import Gitmem
from gitmem.errors import NotFound, UsageError
from gitmem.model import KINDS, Memory, Said
from gitmem.search.semantic.pins import cache_folder, model_folder
from gitmem.verbs import content
from gitmem.verbs.branches import Life

MOST = 20
"""Results of one call."""

LONGEST = 4_000
"""Characters of a query."""

ROOM = 40_000
"""Characters of all texts that one call returns whole."""

COMPARED = 500
"""Memories, the newest, whose ids an unknown one is compared with."""

LISTED = 30
"""Tags that a status names, the most used."""


def search(gm: Gitmem, query: str, kind: str, tags: list[str], branch: str, limit: int) -> Answer:
    """Return the memories that fit best; without a query the newest."""
    words, word, before = checked(query), kind_of(kind), set(gm.warnings)
    if words:
        result = gm.search(
            words, limit=limit + 1, within=["memories"], kind=word, tags=tags, branch=branch or None
        )
        by = list(result.searched)
        hits = [
            rows.listed(gm, hit.memory, hit.snippet, hit.score) for hit in result.hits if hit.memory
        ]
    else:
        newest = gm.list(kind=word, tags=tags, branch=branch or None, limit=limit + 1)
        by, hits = [], [rows.listed(gm, memory) for memory in newest]
    data = Search(hits=hits[:limit], truncated=len(hits) > limit, searched=by)
    if not hits and (note := _why(gm, word, tags)):
        data["note"] = note
    if new := warned(gm, before):
        data["warnings"] = new
    return Answer(wording.searched(data, words), data)


def get(gm: Gitmem, ids: list[str]) -> Answer:
    """Return memories whole."""
    if not 0 < len(ids) <= MOST:
        raise UsageError(f"{len(ids)} ids were given", f"give 1 to {MOST}, from memory_search")
    found = list({memory.id: memory for memory in (one(gm, id) for id in ids)}.values())
    memories = [rows.whole(gm, memory, ROOM // len(found)) for memory in found]
    return Answer(wording.whole(memories), Memories(memories=memories))


def history(gm: Gitmem, id: str, limit: int) -> Answer:
    """Return the life of a memory."""
    memory = one(gm, id)
    life = gm.history(memory.id)
    steps = [_step(step) for step in life[:limit]]
    short = gm.short(memory.id)
    data = History(id=short, events=steps, truncated=len(life) > limit)
    return Answer(wording.history(short, steps), data)


def status(gm: Gitmem) -> Answer:
    """Return how things stand."""
    now, tags = gm.status(), gm.tags()
    model = model_folder(cache_folder(gm.settings["gitmem.cacheDir"]))
    data = State(
        branch=now.branch and rows.line(now.branch),
        memories=now.memories,
        forgotten=now.forgotten,
        contested=now.contested,
        expired=now.expired,
        kinds=dict(gm.stats().by_kind),
        tags={rows.line(tag): count for tag, count in list(tags.items())[:LISTED]},
        conversations=len(gm.sessions()),
        meaning=model.exists(),
        indexed=now.indexed,
        held=[rows.line(edit) for edit in now.held],
        waiting={rows.line(name): count for name, count in now.waiting.items()},
        orphaned={rows.line(name): count for name, count in now.orphaned.items()},
        version=gitmem.__version__,
    )
    if gm.warnings:
        data["warnings"] = [rows.line(warning) for warning in gm.warnings]
    return Answer(wording.state(data), data)


def talk(gm: Gitmem, query: str, session: str, limit: int) -> Answer:
    """Return the rounds that fit best, or without a query those of one session."""
    words, before = checked(query), set(gm.warnings)
    if words:
        place = session.partition("#")[0] or None
        result = gm.search(words, limit=limit + 1, within=["sessions"], session=place)
        found = [rows.heard(hit.said, hit.snippet, hit.score) for hit in result.hits if hit.said]
        data = Rounds(
            rounds=found[:limit], truncated=len(found) > limit, searched=list(result.searched)
        )
    elif session.strip():
        data = _said(gm, session, limit)
    else:
        raise UsageError("there is nothing to look for", _sessions(gm))
    if new := warned(gm, before):
        data["warnings"] = new
    return Answer(wording.talk(data, words or session), data)


def one(gm: Gitmem, id: str) -> Memory:
    """Return the memory of an id.

    Raises:
        NotFound: there is none; the hint names those that are near. AmbiguousId: there are several.
    """
    try:
        return gm.show(id)
    except NotFound as error:
        known = {gm.short(memory.id): memory for memory in gm.list(limit=COMPARED)}
        near = get_close_matches(id.strip().lower()[:16], known, n=3, cutoff=0.6)
        if not near:
            raise NotFound(error.message, "memory_search finds memories and their ids") from None
        named = ", ".join(f"{short} ({rows.line(known[short].summary)})" for short in near)
        raise NotFound(error.message, f"near it: {named}; memory_search finds more") from None


def kind_of(word: str) -> str | None:
    """Return a kind, None for none.

    Raises:
        UsageError: it is no word; the hint lists the kinds there are.
    """
    try:
        return content.kind(word.strip() or None)
    except UsageError as error:
        raise UsageError(error.message, f"one of {', '.join(KINDS)}, or a word of yours") from None


def checked(query: str) -> str:
    """Return a query.

    Raises:
        UsageError: it is too long to be one.
    """
    if len(query) > LONGEST:
        raise UsageError(
            f"the query has {len(query):,} characters, and may have {LONGEST:,}",
            "two or three words find most",
        )
    return query.replace("\0", " ").strip()


def warned(gm: Gitmem, before: Container[str]) -> list[str]:
    """Return what went wrong since, a line each."""
    return [rows.line(warning) for warning in gm.warnings if warning not in before]


def _why(gm: Gitmem, kind: str | None, tags: list[str]) -> str:
    """Return why nothing may have matched: a kind or a tag that no memory has."""
    kinds, known = gm.stats().by_kind, gm.tags()
    if kind and kind not in kinds:
        return f"No memory is of the kind '{kind}'; there are: {', '.join(kinds) or 'none'}."
    missing = [tag for tag in content.tags(tags) if tag not in known]
    if missing:
        near = get_close_matches(missing[0], known, n=3, cutoff=0.5) or list(known)[:10]
        there = ", ".join(map(rows.line, near))
        return f"No memory has the tag '{rows.line(missing[0])}'; there are: {there or 'none'}."
    return ""


def _step(life: Life) -> Step:
    event = life.event
    step = Step(
        op=event.op, at=event.at[:16], by=rows.line(event.by.partition(" <")[0]), seen=life.visible
    )
    if event.branch:
        step["branch"] = rows.line(event.branch)
    if life.commits:
        step["commits"] = [commit[:8] for commit in life.commits]
    if said := "; ".join(_said_by(life)):
        step["said"] = said
    return step


def _said_by(life: Life) -> Iterator[str]:
    fields, event = life.event.fields, life.event
    if event.text:
        yield rows.safe(event.text[: rows.WHOLE])
    if "target" in fields:
        yield f"{rows.line(str(fields.get('rel')))} {rows.line(str(fields['target']))}"
    for name in ("kind", "importance", "expires", "tag"):
        if fields.get(name):
            yield f"{name} {rows.line(str(fields[name]))}"
    if event.reason:
        yield rows.safe(event.reason[: rows.WHOLE])


def _said(gm: Gitmem, session: str, limit: int) -> Rounds:
    """Return the last rounds of a session, or those that ``ID#11-15`` names."""
    id, _, which = session.removeprefix("session:").partition("#")
    view = gm.session(id, which or None)
    about = view.session.about
    chosen = view.rounds[:limit] if which else view.rounds[-limit:]
    room = ROOM // max(len(chosen), 1)
    found: list[Spoken] = []
    for round in chosen:
        turn = round.turn
        said = Said(
            f"{about.agent}/{about.id}", round.index, turn.role, turn.text, turn.at, turn.speaker
        )
        found.append(rows.spoken(said, turn.text[:room], len(turn.text) > room))
    return Rounds(rounds=found, truncated=len(view.rounds) > limit)


def _sessions(gm: Gitmem) -> str:
    latest = [session.about.id for session in gm.sessions(limit=5)]
    if not latest:
        return "no conversation was imported here: 'gitmem import' does it"
    return f"give a few words, or a session; the latest: {', '.join(map(rows.line, latest))}"
