"""Care: how the memory is, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import views
from gitmem.cli.verb import verb
from gitmem.cli.view import View

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@verb("gitmem status", "gitmem status --json")
def status(gm: Gitmem) -> View:
    """Show where memories are kept, and what waits for you."""
    return views.status(gm.status())


@verb("gitmem stats")
def stats(gm: Gitmem) -> View:
    """Count memories by kind, importance, author and month."""
    return views.pairs(gm.stats())


@verb("gitmem doctor", "gitmem doctor --repair")
@click.option("--repair", is_flag=True, help="Mend what can be mended without loss.")
def doctor(gm: Gitmem, repair: bool) -> View:
    """Check the journal, the indexes and the Markdown files."""
    return views.findings(gm.doctor(repair=repair))


@verb("gitmem reindex")
def reindex(gm: Gitmem) -> View:
    """Build everything that is derived from the journal anew."""
    count = gm.reindex()
    return views.sentence(
        {"indexed": count}, f"indexed {count} {'memory' if count == 1 else 'memories'}"
    )


@verb("gitmem export > memories.jsonl", "gitmem export --format markdown")
@click.option(
    "--format",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="One JSON object a line, or Markdown.",
)
def export(gm: Gitmem, format: str) -> View:
    """Print every memory that is seen from here."""
    lines = gm.export(format)
    return View(lines, lines)
