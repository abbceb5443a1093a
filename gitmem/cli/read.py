"""Reading memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem.cli import detail, options, views
from gitmem.cli.verb import verb
from gitmem.cli.view import View

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@verb(
    "gitmem show 1a2b3c4d",
    "gitmem show 1a2b3c4d 5e6f7a8b --json",
    "gitmem show 1a2b3c4d --branch main",
    "gitmem show 1a2b3c4d --at HEAD~1",
    "gitmem show 1a2b3c4d --unfold",
)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@options.branch("As seen from there.")
@options.at("As it was known at that commit.")
@click.option("--unfold", is_flag=True, help="Print the rounds that a card cites, too.")
def show(
    gm: Gitmem, ids: tuple[str, ...], branch: str | None, at: str | None, unfold: bool
) -> View:
    """Show memories whole.

    That is text, tags, links, notes, and the sides of what is contested."""
    memories = [gm.show(id, branch=branch, at=at) for id in ids]
    shown = detail.details(gm.short, memories)
    if not unfold:
        return shown
    from gitmem.cli import talk

    return talk.unfolded([(memory, gm.cited(memory)) for memory in memories], shown)


@verb(
    "gitmem list",
    "gitmem list -k decision -t database --since 30d",
    "gitmem list --forgotten",
    "gitmem list --branch feature/login",
    "gitmem list --at v1.2",
)
@options.kind("Only this kind.")
@options.tags("Only with all of these tags.")
@options.importance("Only this importance.")
@click.option("--author", metavar="NAME", help="Only by this author: a part of name or e-mail.")
@click.option("--scope", type=click.Choice(["branch", "repo", "user"]), help="Only this scope.")
@click.option("--private/--shared", default=None, help="Only what is never, or may be, pushed.")
@click.option("--since", metavar="WHEN", help="Only from then on: 2026-12-31, or 30d ago.")
@click.option("--until", metavar="WHEN", help="Only up to then.")
@click.option("--forgotten", is_flag=True, help="Those forgotten, instead of those remembered.")
@click.option("--contested", is_flag=True, help="Only those whose last writers contradict.")
@options.held()
@click.option("--stale", is_flag=True, help="Only those whose files have changed or gone since.")
@options.branch("What is seen from there, instead of from HEAD.")
@options.at("What was known at that commit.")
@options.limit("At most so many.")
def list_(gm: Gitmem, **filters: Any) -> View:
    """List memories, newest first, one a line."""
    return views.memories(gm.short, gm.list(**filters))


@verb("gitmem log", "gitmem log -n 20", "gitmem log 1a2b3c4d")
@click.argument("id", required=False)
@options.limit("At most so many events.")
def log(gm: Gitmem, id: str | None, limit: int | None) -> View:
    """Show what happened; with ID, the life of one memory.

    That is every event, on whichever branch: the commits whose notes hold it, and if it is not seen
    from here.
    """
    if id is None:
        return detail.events(gm.short, gm.log(limit=limit))
    return detail.life(gm.short, gm.history(id)[:limit])


@verb("gitmem get storage")
@click.argument("topic")
def get(gm: Gitmem, topic: str) -> View:
    """List a topic's memories: those with the tag topic:TOPIC."""
    return views.memories(gm.short, gm.topic(topic), f"no memory under '{topic}'")
