"""Labels and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import views
from gitmem.cli.content import tags_of
from gitmem.cli.verb import verb
from gitmem.cli.view import View

if TYPE_CHECKING:
    from gitmem.api import Gitmem

_rel = click.option(
    "--rel",
    metavar="REL",
    default="relates",
    show_default=True,
    help="supersedes, relates, depends, contradicts, derived, or your own.",
)


@verb("gitmem tag 1a2b3c4d database", "gitmem tag 1a2b3c4d topic:storage team")
@click.argument("id")
@click.argument("tags", nargs=-1, required=True)
def tag(gm: Gitmem, id: str, tags: tuple[str, ...]) -> View:
    """Add tags to a memory; topic:NAME puts it under a topic."""
    return views.saved(gm, gm.tag(id, *tags_of(tags)), "tagged")


@verb("gitmem untag 1a2b3c4d database")
@click.argument("id")
@click.argument("tags", nargs=-1, required=True)
def untag(gm: Gitmem, id: str, tags: tuple[str, ...]) -> View:
    """Take tags off a memory."""
    return views.saved(gm, gm.untag(id, *tags_of(tags)), "untagged")


@verb(
    "gitmem link 1a2b3c4d 5e6f7a8b --rel depends",
    'gitmem link 1a2b3c4d src/db.py --comment "the pool is set up here"',
)
@click.argument("id")
@click.argument("target")
@_rel
@click.option("--comment", metavar="TEXT", default="", help="What the link says.")
def link(gm: Gitmem, id: str, target: str, rel: str, comment: str) -> View:
    """Link a memory to a memory's id, a path, a commit or a URL."""
    return views.saved(gm, gm.link(id, target, rel=rel, comment=comment), "linked")


@verb("gitmem unlink 1a2b3c4d src/db.py")
@click.argument("id")
@click.argument("target")
@_rel
def unlink(gm: Gitmem, id: str, target: str, rel: str) -> View:
    """Take a link back."""
    return views.saved(gm, gm.unlink(id, target, rel=rel), "unlinked")
