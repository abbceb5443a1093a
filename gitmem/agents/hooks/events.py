"""What each event does, once the short way has no answer: brief, recall, capture, import."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase

from gitmem.agents.hooks.call import Call
from gitmem.agents.hooks.limit import TimeIsUp, within
from gitmem.agents.hooks.recall import recalled
from gitmem.agents.hooks.transcripts import Ended, take_in
from gitmem.api import Gitmem
from gitmem.api import open as open_gitmem

PATIENCE = {"session-start": 8.0, "prompt": 4.0, "session-end": 1.0}
"""Seconds that an event may take while its agent waits; the others run beside it, or at its end."""

LONGEST = 60.0


def respond(call: Call) -> None:
    """Do what an event asks for; an excluded agent and a repository not set up get nothing."""
    gc.set_threshold(100_000)  # what imports make is no garbage: 7 ms of a short command
    patience = PATIENCE.get(call.event, LONGEST)
    with within(patience), open_gitmem(call.start, backend="program") as gm:
        if not gm.initialised:
            call.outcome = "not set up"
        elif excluded(call, gm.settings["gitmem.excludeAgents"]):
            call.outcome = "excluded"
        else:
            HANDLERS[call.event](call, gm)


def excluded(call: Call, globs: tuple[str, ...]) -> bool:
    """Whether the user wants an agent left alone: by its name, or ``name/role`` of a subagent."""
    names = [call.agent, f"{call.agent}/{call.role}"][: 2 if call.role else 1]
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def session_start(call: Call, gm: Gitmem) -> None:
    """Tell what matters; after a compaction too, when what was told is gone."""
    call.answer(gm.greet(call.agent))


def prompt(call: Call, gm: Gitmem) -> None:
    """Recall what the prompt is about, and capture what it says."""
    asked = call.dialect.prompt(call.said)
    with suppress(TimeIsUp), within(gm.settings["gitmem.recallTimeout"] / 1e3):
        call.answer(recalled(gm, asked, call.session))


def stop(call: Call, gm: Gitmem) -> None:
    """Take in what was said so far; nothing is printed, or the agent would go on."""
    ended = Ended(call.folder)
    ended.take_in(gm)
    grown = take_in(gm, call.agent, call.dialect.transcripts(call.said))
    call.outcome = f"{sum(growth.new for growth in grown)} rounds"
    catch_up = getattr(gm, "catch_up", None)
    if catch_up:
        catch_up()
    gm.leave(call.agent)


def session_end(call: Call, gm: Gitmem) -> None:
    """Leave a mark: an agent that ends gives a second and a half to all hooks together."""
    Ended(call.folder).add(call.agent, call.dialect.transcripts(call.said))
    gm.leave(call.agent)


def post_tool(call: Call, gm: Gitmem) -> None:
    """Do nothing: what tools did is in the transcript."""


HANDLERS: dict[str, Callable[[Call, Gitmem], None]] = {
    "session-start": session_start,
    "prompt": prompt,
    "stop": stop,
    "pre-compact": stop,
    "session-end": session_end,
    "post-tool": post_tool,
}
