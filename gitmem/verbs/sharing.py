"""Sharing as the verbs see it: which remote, what may leave this clone, and what was done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from typing import TYPE_CHECKING

from gitmem.config import Settings
from gitmem.errors import NotFound, Refused, UsageError
from gitmem.journal.codec import BrokenLine, Event, decode
from gitmem.journal.git.port import Git
from gitmem.journal.journals import Journal
from gitmem.journal.tracking import Config, refspec, remotes, tracking
from gitmem.model import ID_LENGTH, Memory
from gitmem.text.secret_glance import may_hold_each
from gitmem.verbs.redaction import allowed_by, rules_in, strings

if TYPE_CHECKING:  # loaded by what needs it
    from gitmem.journal.purging.purge import Meeting

_NO_TEXT = frozenset("at base events line memory op v".split())
_USER = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did, as the remote says: the memories of which it got `events`.

    `received` are memories that others had pushed, merged on the way. `tries` is 0 where the remote
    had everything before.
    """

    remote: str
    tip: str | None
    memories: Sequence[str]
    events: int
    tries: int
    received: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull brought: the memories that `events` new here are about."""

    remote: str
    tip: str | None
    memories: Sequence[str]
    events: int


@dataclass(frozen=True, slots=True)
class RemoteState:
    """A remote, and how it and this clone differed when it was last fetched or pushed to.

    `fetched` says that a plain ``git fetch`` brings its memories.
    """

    name: str
    url: str
    default: bool
    fetched: bool
    tip: str | None
    unpushed: int


def choose(config: Config, settings: Settings, name: str | None = None) -> str:
    """Return the remote to share with: the one named, or set, or ``origin``, or the only one.

    Raises:
        NotFound: there is none of that name, or none at all.
        UsageError: there are several, and nothing says which.
    """
    known = remotes(config)
    wanted = name or settings["gitmem.remote"]
    if wanted and wanted not in known:
        raise NotFound(f"there is no remote '{wanted}'", f"there is {_listed(known)}")
    if not known:
        raise NotFound("there is no remote to share memories with", "git remote add origin URL")
    if wanted or len(known) == 1:
        return wanted or known[0]
    if "origin" in known:
        return "origin"
    raise UsageError(
        f"there are several remotes: {_listed(known)}", "name one, or set it: gitmem remote NAME"
    )


def pushed_to(config: Config, remote: str) -> Sequence[str]:
    """Return the addresses a remote is pushed to, where it is not fetched from there."""
    addresses = config.get(f"remote.{remote}.url", ())
    return config.get(f"remote.{remote}.pushurl") or (addresses if len(addresses) > 1 else ())


def take_in(journal: Journal, remote: str, tip: str, author: str, now: datetime) -> str:
    """Merge what was fetched, unless the journals differ by a purge: then say what to do."""
    from gitmem.journal.sharing.merging import Merged, merge

    found = merge(journal, tip, remote, author, int(now.timestamp()))
    if isinstance(found, Merged):
        return ""
    return "{} ({})".format(*met(found, remote, author, [*journal.purged(journal.notes.tip())]))


def met(meeting: Meeting, remote: str, author: str, purged: Sequence[str] = ()) -> tuple[str, str]:
    """Say how two journals differ by a purge, and what to do about it."""
    if foreign := meeting.foreign(author):
        names = ", ".join(sorted({event.by for event in foreign}))
        return (
            f"{names} purged {_count(len(foreign))} at '{remote}': nothing of it was merged",
            f"to purge it here too: gitmem pull {remote} --yes",
        )
    if meeting.unseen:
        return f"you purged {_count(len(meeting.unseen))} at '{remote}'", f"gitmem pull {remote}"
    id = purged[0][:ID_LENGTH] if purged else "ID"
    return f"'{remote}' has what is purged here", f"gitmem purge {id} --push --remote {remote}"


def states(git: Git, journal: Journal, default: str | None) -> list[RemoteState]:
    """Return every remote, as of the last time it was talked to."""
    config = git.config()
    return [
        RemoteState(
            name,
            shown(config.get(f"remote.{name}.url", config.get(f"remote.{name}.pushurl", [""]))[0]),
            name == default,
            refspec(name) in config.get(f"remote.{name}.fetch", ()),
            git.ref(tracking(name)),
            len(unpushed(journal, name)),
        )
        for name in remotes(config)
    ]


def shown(url: str) -> str:
    """Return an address without the user, password or token in it."""
    return _USER.sub("", url)


def unpushed(journal: Journal, remote: str) -> list[str]:
    """Return the memories of which a remote, as last seen, lacks something."""
    tip, known = journal.notes.tip(), journal.git.ref(tracking(remote))
    if known and not journal.git.has(known):
        known = None
    return memories(line for _, line in journal.notes.added(known, tip))


def memories(lines: Iterable[bytes]) -> list[str]:
    """Return the ids of the memories that lines tell of, in their order, each once."""
    told = (event for event in events(lines) if event.op != "purge")
    return list(dict.fromkeys(event.memory for event in told if event.memory))


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events among lines."""
    for line in lines:
        try:
            yield decode(line)
        except BrokenLine:
            continue


def held(events: Iterable[Event]) -> list[str]:
    """Return the rules that find secrets in the events of a memory."""
    return sorted({rule for event in events for rule in _rules(event.line)})


def unheeded(lines: Iterable[bytes], heeds: Callable[[Event], bool], remote: str) -> Iterator[str]:
    """Yield a warning for each purge among new lines that is not carried out, for want of trust."""
    for event in events(line for line in lines if b'"op":"purge"' in line):
        if event.op == "purge" and event.memory and not heeds(event):
            id = event.memory[:ID_LENGTH]
            yield (
                f"{event.by} purged '{id}' at '{remote}', and is not trusted: nothing of it was"
                f" purged here (gitmem purge {id} --push; or, to keep it, gitmem restore {id})"
            )


def stop_return(
    lines: Iterable[bytes], gone: Mapping[str, Event], fold: Callable[[str], Memory | None]
) -> None:
    """Stop lines about purged memories, `gone`, unless somebody decided to keep the memory.

    `fold` makes a memory of all its events: a purge that is only proposed is answered by a restore.

    Raises:
        Refused: a memory is not to be brought back.
    """
    for id in memories(lines):
        memory = fold(id)
        if memory is None or any(side.field == "purged" for side in memory.proposed):
            short = id[:ID_LENGTH]
            keep = f"; or, to keep it, gitmem restore {short}" if memory else ""
            raise Refused(
                f"{gone[id].by} has purged '{short}', and this would bring it back",
                f"gitmem purge {short} --push{keep}",
            )


def stop_secrets(lines: Sequence[bytes], allowed: Callable[[str], Iterable[Event]]) -> None:
    """Look for secrets in lines that are about to leave; `allowed` yields a memory's events.

    Raises:
        Refused: there is one that its author has not let pass.
    """
    for line in _suspicious(lines):
        found = _rules(line)
        if not found:
            continue
        event = next(events([line]), None)
        memory = event.memory if event else None
        passed = {
            rule for one in (allowed(memory) if memory else ()) for rule in allowed_by(one.fields)
        }
        if left := [rule for rule in found if rule not in passed]:
            raise Secret(memory, left)


def _suspicious(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the lines that may hold a secret: most need not be parsed to see that they do not.

    A line without an escape has its texts as they were typed, and no mark of a rule could stand on
    two of them, or on a key and its text.
    """
    typed = [_text(line) if b"\\" in line else line.decode("utf-8", "replace") for line in lines]
    yield from compress(lines, may_hold_each(typed))


class Secret(Refused):
    """A secret on its way to a remote: `memory` has what the `rules` found."""

    def __init__(self, memory: str | None, rules: Sequence[str]) -> None:
        self.memory, self.rules = memory, tuple(rules)
        short = memory[:ID_LENGTH] if memory else ""
        where = f"memory '{short}'" if short else "a broken line"
        hint = (
            f"gitmem purge {short}; or, if it is none, gitmem push --allow-secret {short}"
            if short
            else "'gitmem doctor' tells of broken lines"
        )
        super().__init__(f"{where} holds what looks like a secret ({', '.join(rules)})", hint)


def _rules(line: bytes) -> list[str]:
    """Return the rules that find a secret in a line."""
    return rules_in(_text(line))


def _text(line: bytes) -> str:
    """Return every text that a line holds, as typed; of a broken one, all of it."""
    try:
        fields = decode(line).fields
    except BrokenLine:
        return line.decode("utf-8", "replace")
    return "\n".join(strings({key: fields[key] for key in fields if key not in _NO_TEXT}))


def _count(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
