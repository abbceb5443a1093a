"""Writing: a memory is made, changed, forgotten, brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import options, views
from gitmem.cli.content import content_of, text_of
from gitmem.cli.verb import verb
from gitmem.cli.view import View

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@verb(
    'gitmem remember "Use PostgreSQL: the team knows it" -k decision -i high -t database',
    'gitmem remember \'{"decision": "PostgreSQL", "reason": "the team knows it"}\'',
    "git log -1 --format=%B | gitmem remember - -t release,notes",
    'gitmem remember "Answer in French" -k preference --scope user',
    'gitmem remember "The freeze ends on Friday" --expires 7d --private',
)
@click.argument("content", metavar="TEXT|JSON|-")
@options.tags("Labels, separated by commas; may be repeated.")
@options.importance("critical, high, normal or low.")
@options.kind("decision, preference, fact, lesson, task, context, episode, note, or your own.")
@click.option(
    "--scope",
    type=click.Choice(["branch", "repo", "user"]),
    help="Who sees it: its branch, every branch, or you in every repository.",
)
@click.option("--private", is_flag=True, help="Keep it in this clone: it is never pushed.")
@click.option("--supersedes", metavar="ID", multiple=True, help="A memory that this one replaces.")
@options.expires("When it stops to count: 2026-12-31, or an age such as 30d.")
@options.allow_secret()
def remember(
    gm: Gitmem,
    content: str,
    tags: tuple[str, ...],
    importance: str | None,
    kind: str | None,
    scope: str | None,
    private: bool,
    supersedes: tuple[str, ...],
    expires: str | None,
    allow_secret: bool,
) -> View:
    """Store a text, a JSON object, or standard input (-).

    The answer begins with the new memory's id.
    """
    memory = gm.remember(
        content_of(content),
        tags=tags,
        importance=importance,
        kind=kind,
        scope=scope,
        private=private,
        supersedes=supersedes,
        expires=expires,
        allow_secret=allow_secret,
    )
    return views.saved(gm, memory, "remembered")


@verb(
    'gitmem update 1a2b3c4d "Use PostgreSQL 17"',
    "gitmem update 1a2b3c4d -i critical -t database,storage",
    "gitmem update 1a2b3c4d --expires never",
)
@click.argument("id")
@click.argument("content", metavar="[TEXT|JSON|-]", required=False)
@options.tags("Replace the tags by these.")
@options.importance("critical, high, normal or low.")
@options.kind("A new kind.")
@options.expires("When it stops to count; 'never' takes an expiry back.")
@options.allow_secret()
def update(
    gm: Gitmem,
    id: str,
    content: str | None,
    tags: tuple[str, ...],
    importance: str | None,
    kind: str | None,
    expires: str | None,
    allow_secret: bool,
) -> View:
    """Change a memory; its history stays."""
    memory = gm.update(
        id,
        None if content is None else content_of(content),
        importance=importance,
        kind=kind,
        tags=tags or None,
        expires=expires,
        allow_secret=allow_secret,
    )
    return views.saved(gm, memory, "updated")


@verb('gitmem evolve 1a2b3c4d "Confirmed under load: 2,000 writes a second"')
@click.argument("id")
@click.argument("note", metavar="NOTE|-")
def evolve(gm: Gitmem, id: str, note: str) -> View:
    """Add a note to a memory; its text stays as it is."""
    return views.saved(gm, gm.evolve(id, text_of(note)), "evolved")


@verb("gitmem forget 1a2b3c4d", 'gitmem forget 1a2b3c4d --reason "we moved to SQLite"')
@click.argument("id")
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever reads its history.")
def forget(gm: Gitmem, id: str, reason: str) -> View:
    """Stop showing a memory; restore brings it back."""
    return views.saved(gm, gm.forget(id, reason=reason), "forgot")


@verb("gitmem restore 1a2b3c4d")
@click.argument("id")
def restore(gm: Gitmem, id: str) -> View:
    """Bring a forgotten memory back, or keep one against proposals."""
    return views.saved(gm, gm.restore(id), "restored")


@verb("gitmem undo")
def undo(gm: Gitmem) -> View:
    """Take back the last thing you wrote; again, the one before it."""
    return views.undone(gm.short, gm.undo())
