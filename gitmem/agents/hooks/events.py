"""What each event does, once the short way has no answer: brief, recall, capture, import.

An agent waits: each loads what it needs, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase

from gitmem.agents.hooks.call import Call
from gitmem.agents.hooks.limit import TimeIsUp, within
from gitmem.api import Gitmem
from gitmem.api import open as open_gitmem
from gitmem.errors import GitmemError
from gitmem.text.triggers import find

PATIENCE = {"session-start": 8.0, "prompt": 4.0, "stop": 60.0, "pre-compact": 60.0}
"""Seconds that an event may take; an agent waits for the first two."""

INDEXING = 10.0
"""Seconds that a stop indexes: a first import of 10 MB took a minute, and some agents wait. What is
embedded by then is kept; the next stop goes on from there."""


def respond(call: Call) -> None:
    """Do what an event asks for; an excluded agent and a repository not set up get nothing."""
    with within(PATIENCE[call.event]), open_gitmem(call.start, backend="program") as gm:
        if not gm.initialised:
            call.outcome = "not set up"
        elif excluded(call.agent, call.role, gm):
            call.outcome = "excluded"
        else:
            HANDLERS[call.event](call, gm)


def excluded(agent: str, role: str, gm: Gitmem) -> bool:
    """Whether the user wants an agent left alone: by its name, or ``name/role`` of a subagent."""
    names = [agent, f"{agent}/{role}"][: 2 if role else 1]
    globs = gm.settings["gitmem.excludeAgents"]
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def session_start(call: Call, gm: Gitmem) -> None:
    """Tell what matters; after a compaction too, when what was told is gone."""
    call.answer(gm.greet(call.agent))


def prompt(call: Call, gm: Gitmem) -> None:
    """Capture what the prompt says, and recall what it is about."""
    from gitmem.agents.hooks.recall import recalled

    asked, kept = call.dialect.prompt(call.said), frozenset[str]()
    if call.dialect.by_person(call.said) and find(asked):
        from gitmem.agents.capture import Capture

        with noted(call):
            kept = Capture(gm, call.agent, call.session, call.folder).prompt(asked)
            call.outcome += f" {len(kept)} kept"
    with suppress(TimeIsUp), within(gm.settings["gitmem.recallTimeout"] / 1e3):
        call.answer(recalled(gm, asked, call.session, kept))
        return
    call.outcome += " too slow"


def stop(call: Call, gm: Gitmem) -> None:
    """Take in what was said so far; nothing is printed, or the agent would go on."""
    from gitmem.agents.capture import Capture
    from gitmem.agents.hooks import ended
    from gitmem.agents.hooks.transcripts import take_in

    for agent, place in ended.take(call.folder):
        if not excluded(agent, "", gm):
            with noted(call):
                take_in(gm, agent, [place])
    with noted(call):
        grown = take_in(gm, call.agent, call.dialect.transcripts(call.said))
        call.outcome += f" {sum(growth.new for growth in grown)} rounds"
        # What is said to a subagent, its agent says.
        for growth in (one for one in grown if not one.about.parent):
            capture = Capture(gm, growth.about.agent, growth.about.id, call.folder)
            kept = capture.turns(growth.latest)
            call.outcome += f" {len(kept)} kept" if kept else ""
    with noted(call), suppress(TimeIsUp), within(INDEXING):
        gm.catch_up()
    gm.leave(call.agent)


@contextmanager
def noted(call: Call) -> Iterator[None]:
    """Note an error of what is inside and go on: what follows is worth having without it."""
    try:
        yield
    except GitmemError as error:
        call.outcome += f" ({error.message})"


HANDLERS: dict[str, Callable[[Call, Gitmem], None]] = {
    "session-start": session_start,
    "prompt": prompt,
    "stop": stop,
    "pre-compact": stop,
}
