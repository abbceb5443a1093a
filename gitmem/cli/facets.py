"""What memories speak of: tags and entities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import views
from gitmem.cli.verb import verb
from gitmem.cli.view import View

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@verb("gitmem tags")
def tags(gm: Gitmem) -> View:
    """List the tags, and how many memories have each."""
    return views.tags(gm.tags())


@verb("gitmem entities")
def entities(gm: Gitmem) -> View:
    """List what memories name: technologies, people, files, issues."""
    return views.entities(gm.entities())


@verb("gitmem entity PostgreSQL")
@click.argument("name")
def entity(gm: Gitmem, name: str) -> View:
    """Show who and what is named beside NAME, and in which memories."""
    return views.entity_page(gm.short, gm.entity(name))
