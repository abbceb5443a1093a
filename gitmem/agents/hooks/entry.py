"""The way in: who speaks, where, whether the answer is at hand; the rest is loaded if it is not.

An agent waits for its hooks, and takes a failing one for its own failure: whatever happens here,
the process ends with 0 and has printed an answer that the agent understands, or nothing.
"""

from __future__ import annotations

import os
import time

from gitmem import startup
from gitmem.agents.hooks import log, stdin
from gitmem.agents.hooks.call import Call
from gitmem.agents.hooks.dialect import Said, dialect, text

EVENTS = ("session-start", "prompt", "stop", "pre-compact", "session-end", "post-tool")
USAGE = f"usage: gitmem hook {'|'.join(EVENTS)} [--agent NAME] < what the agent says, as JSON\n"
PROJECTS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def run(arguments: list[str]) -> None:
    """Run a hook: `arguments` are the event's name and ``--agent NAME``."""
    began, call, folder = time.perf_counter(), None, None
    outcome = "nothing understood"
    try:
        if {"-h", "--help"} & set(arguments):
            os.write(1, USAGE.encode())
            return
        said = stdin.read(0)
        start, found = _start(said)
        folder = _folder(start)
        call = _call(arguments, said, start, folder or "")
        if call and folder is not None:
            outcome = _respond(call) if found else "no repository"
    except BaseException as error:  # ^C and a broken pipe too: an agent is never failed
        outcome = _told(error)
    if folder is not None:
        who = call.agent if call else "-"
        took = (time.perf_counter() - began) * 1e3
        log.write(folder, f"{who} {' '.join(arguments[:1])[:40]}: {outcome} ({took:.0f} ms)")


def _call(arguments: list[str], said: Said, start: str, folder: str) -> Call | None:
    if not arguments or arguments[0] not in EVENTS or not said:
        return None
    named = " ".join(arguments[1:]).replace("--agent=", "--agent ").split()
    agent = named[-1] if named[:-1] == ["--agent"] else ""
    speaker = dialect(agent.removeprefix("auto"), said, dict(os.environ))
    return Call(arguments[0], speaker, said, start, folder) if speaker else None


def _respond(call: Call) -> str:
    if call.event == "post-tool":  # what tools did is in the transcript
        return "nothing to do"
    if call.event == "session-end":
        from gitmem.agents.hooks import ended

        ended.add(call.folder, call.agent, call.dialect.transcripts(call.said))
        return "noted"
    if call.event == "session-start" and not call.role:
        kept = startup.load(call.start, startup.name_for(call.agent))
        if kept is not None:
            call.answer(str(kept["context"]))
            return f"kept{call.outcome}"
    from gitmem.agents.hooks.events import respond

    respond(call)
    return call.outcome.strip() or "nothing to say"


def _start(said: Said) -> tuple[str, bool]:
    """Return where the session is, and whether there is, or may be, a repository.

    That is its directory, or the project's where that one is no repository's.
    """
    places = [text(said, "cwd"), *(os.environ.get(name, "") for name in PROJECTS), _here()]
    known = [place for place in places if os.path.isabs(place) and os.path.isdir(place)]
    for place in known:
        try:
            startup.locate(place)
            return place, True
        except startup.Unusual:
            continue
    return known[0], "GIT_DIR" in os.environ  # only git can tell then


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return os.sep


def _folder(start: str) -> str | None:
    """Return the folder of hooks; None in a repository that nobody set up: nothing is done there.

    Outside of any it is a folder of the user's cache.
    """
    try:
        _, git_dir, common_dir = startup.locate(start)
    except startup.Unusual:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return os.path.join(cache, "gitmem")
    if not os.path.exists(os.path.join(common_dir, "gitmem", "init.json")):
        return None
    return os.path.join(git_dir, "gitmem", startup.HOOKS)


def _told(error: BaseException) -> str:
    """Return an error as one line, with the places it came through."""
    places, trace = [], error.__traceback__
    while trace:
        name = os.path.basename(trace.tb_frame.f_code.co_filename)
        places.append(f"{name}:{trace.tb_lineno}")
        trace = trace.tb_next
    said = " ".join(str(error).split())[:200]
    return f"failed: {type(error).__name__}: {said} at {' '.join(places[-8:])}"
