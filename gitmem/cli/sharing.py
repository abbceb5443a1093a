"""Sharing: push, pull, and which remote."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gitmem.cli import views
from gitmem.cli.verb import current, verb
from gitmem.cli.view import Line, View
from gitmem.errors import Refused

if TYPE_CHECKING:
    from gitmem.api import Gitmem
    from gitmem.journal.sharing.transfer import Progress
    from gitmem.verbs.sharing import Pulled, Pushed, RemoteState


@verb("gitmem push", "gitmem push upstream", "gitmem push --allow-secret 1a2b3c4d")
@click.argument("remote", required=False)
@click.option(
    "--allow-secret", "allowed", metavar="ID", multiple=True,
    help="Push this memory though it looks like a secret; that is recorded.",
)  # fmt: skip
def push(gm: Gitmem, remote: str | None, allowed: tuple[str, ...]) -> View:
    """Push the shared memories; say what the remote then has.

    Nothing else is pushed, and nothing is forced: what others pushed meanwhile is merged first.
    """
    with _progress() as tell:
        done = gm.push(remote, allow_secrets=allowed, terminal=_terminal(), progress=tell)
    return View(done, receipt(done))


@verb("gitmem pull", "gitmem pull upstream")
@click.argument("remote", required=False)
@click.option("--yes", is_flag=True, help="Purge here, too, what somebody else purged there.")
def pull(gm: Gitmem, remote: str | None, yes: bool) -> View:
    """Fetch a remote's memories and merge them with those here.

    Nothing is overwritten: the journal has every event of both sides afterwards.
    """
    try:
        return _pulled(_pull(gm, remote, yes))
    except Refused as refused:
        if yes or current().json or not _terminal():
            raise
        click.echo(refused.message)
        if not click.confirm("Purge it here, too? It cannot be undone.", default=False):
            raise
    return _pulled(_pull(gm, remote, True))


def _pull(gm: Gitmem, remote: str | None, yes: bool) -> Pulled:
    with _progress() as tell:
        return gm.pull(remote, accept_purge=yes, terminal=_terminal(), progress=tell)


@verb("gitmem remote", "gitmem remote upstream")
@click.argument("name", required=False)
def remote(gm: Gitmem, name: str | None) -> View:
    """List the remotes, or set the one to share with.

    The numbers are as of the last push, pull or fetch: this asks nobody.
    """
    if name is not None:
        gm.set_remote(name)
        return views.sentence({"remote": name}, f"memories are shared with '{name}'")
    states = gm.remotes()
    return View(states, map(_remote, states), "there is no remote to share memories with")


def receipt(done: Pushed) -> list[Line | str]:
    """What the remote has got, and what came back from it."""
    if not done.tip:
        return [[("", "there is nothing to push")]]
    if done.memories:
        said = f"{_events(done.events)} of {_memories(len(done.memories))} arrived at"
    else:
        said = "everything was already at" if not done.received else "nothing new for"
    lines: list[Line | str] = [[("", f"{said} '{done.remote}'"), ("dim", f" ({done.tip[:12]})")]]
    if done.received:
        lines.append([("", f"{_memories(len(done.received))} by others merged on the way")])
    return lines


def _pulled(done: Pulled) -> View:
    if not done.tip:
        return views.sentence(done, f"'{done.remote}' has no memories yet")
    if not done.events:
        return views.sentence(done, f"nothing new at '{done.remote}'")
    said = f"{_events(done.events)} of {_memories(len(done.memories))} from '{done.remote}'"
    return views.sentence(done, said)


def _remote(state: RemoteState) -> Line:
    line = [("key", state.name), ("", f" {state.url}")]
    facts = ["default"] if state.default else []
    facts.append(f"{_memories(state.unpushed)} to push" if state.unpushed else "nothing to push")
    if not state.fetched:
        facts.append("not fetched by 'git fetch': gitmem init")
    return [*line, ("dim", f" ({', '.join(facts)})")]


def _terminal() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show what git does, on a terminal, and only once it says so: it may have to ask first."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True, auto_refresh=False)
    task = bar.add_task("")

    def tell(step: str, done: int, total: int) -> None:
        bar.start()
        bar.update(task, description=step, completed=done, total=total or None, refresh=True)

    try:
        yield tell
    finally:
        bar.stop()


def _memories(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def _events(number: int) -> str:
    return f"{number:,} {'event' if number == 1 else 'events'}"
