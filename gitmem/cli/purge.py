"""Purge: asked about first, for it cannot be undone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gitmem.cli.lines import hint
from gitmem.cli.verb import current, verb
from gitmem.cli.view import Line, View
from gitmem.errors import NotFound, Refused
from gitmem.model import ID_LENGTH

if TYPE_CHECKING:
    from gitmem.api import Gitmem
    from gitmem.verbs.purge import Purge


@verb("gitmem purge 1a2b3c4d --yes")
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@click.option("--push", is_flag=True, help="Force the rewritten journal onto the remote, too.")
@click.option("--remote", metavar="NAME", help="The remote to push to; origin by default.")
def purge(gm: Gitmem, id: str, yes: bool, push: bool, remote: str | None) -> View:
    """Make a memory never have been: rewrite the journal without it.

    Unlike forget it cannot be undone. It says what it could not reach.
    """
    if not yes:
        _ask(gm, id, push)
    there = sys.stdin.isatty() and sys.stderr.isatty()
    return _view(gm.purge(id, push=push or bool(remote), remote=remote, terminal=there))


def _ask(gm: Gitmem, id: str, push: bool) -> None:
    if current().json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("a purge cannot be undone, and there is nobody to ask", "add --yes")
    try:
        memory = gm.show(id)
        click.echo(f"{gm.short(memory.id)} {memory.summary} ({memory.author})")
    except NotFound:  # purged already, and something is left to do
        click.echo(id)
    where = " here and at the remote, for everybody" if push else ""
    if not click.confirm(f"Take it out of history{where}? It cannot be undone.", default=False):
        raise Refused("nothing was purged")


def _view(done: Purge) -> View:
    lines: list[Line | str] = [
        [
            ("id", done.id[:ID_LENGTH]),
            ("", f" purged: {_count(done.events, 'event')} in {_count(done.commits, 'commit')}"),
            ("", f" rewritten away, {_count(done.objects, 'object')} deleted"),
        ]
    ]
    if done.pushed:
        lines.append([("", f"pushed to {done.pushed}")])
    lines += [[("warning", "left:"), ("", f" {line}")] for line in done.left]
    if any("--push" in line for line in done.left):
        lines.append(hint("until then a fetch brings the old journal back into this clone"))
    return View(done, lines)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
