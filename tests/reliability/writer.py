"""A writer in a process of its own: ``python -m tests.reliability.writer '{"repo": …}'``.

It opens the repository, says so, waits for a line on its standard input, and writes. A line is
printed only after gitmem has returned: whatever was printed must be there, whatever happens next.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import gitmem
from gitmem import Gitmem, GitmemError
from gitmem.verbs import record

KINDS = ("decision", "fact", "lesson", "note")
VERBS = {"remember": 8, "update": 4, "forget": 3, "start": 4, "end": 1}


def say(word: str, *rest: str) -> None:
    """Tell the parent, at once."""
    print(word, *rest, flush=True)


def remember(gm: Gitmem, job: dict[str, Any]) -> None:
    """Remember `count` texts that nobody else writes."""
    for number in range(job["count"]):
        text = f"{job['name']} remembers number {number}"
        say("stored", gm.remember(text, private=job["private"]).id)


def live(gm: Gitmem, job: dict[str, Any]) -> None:
    """Remember, update, forget and sync until killed; say what is about to happen, and what has."""
    chosen = random.Random(job["name"])
    mine: list[str] = []
    for number in range(10**9):
        word = chosen.choices(list(VERBS), list(VERBS.values()))[0]
        text = f"{job['name']} says number {number}"
        if word == "remember" or (word in ("update", "forget") and not mine):
            say("remembering", text)
            mine.append(gm.remember(text, kind=chosen.choice(KINDS), tags=["kill"]).id)
            say("remembered", mine[-1], text)
        elif word == "update":
            id = chosen.choice(mine)
            say("updating", id, text)
            gm.update(id, text)
            say("updated", id, text)
        elif word == "forget":
            id = mine.pop(chosen.randrange(len(mine)))
            say("forgetting", id)
            gm.forget(id)
            say("forgotten", id)
        elif word == "start":
            gm.sync_start()
        else:
            gm.sync_end(f"{job['name']} ends at number {number}" if chosen.random() < 0.2 else "")


def main() -> None:
    """Do the job that the argument describes."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    record.PACK_EVERY = job["pack_every"]
    with gitmem.open(job["repo"], backend=job["backend"]) as gm:
        say("ready")
        sys.stdin.readline()
        try:
            {"remember": remember, "live": live}[job["verb"]](gm, job)
        except GitmemError as error:
            say("failed", f"{type(error).__name__}: {error.message}")
            raise SystemExit(1) from None
        for warning in gm.warnings:
            say("warned", warning)


if __name__ == "__main__":
    main()
