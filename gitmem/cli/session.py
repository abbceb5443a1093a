"""The session's bracket, and its working memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import options, views
from gitmem.cli.content import summary_of, text_of
from gitmem.cli.verb import verb
from gitmem.cli.view import Line, View
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@verb(
    "gitmem sync --start",
    "gitmem sync --start --format compact",
    "gitmem sync --start --branch feature/login",
    'gitmem sync --end \'{"summary": "moved the pool to src/db.py"}\'',
    "gitmem sync --accept",
)
@click.option("--start", "step", flag_value="start", help="Tell what matters at a session's start.")
@click.option("--end", "step", flag_value="end", help="Close a session; store SUMMARY if given.")
@click.option("--accept", "step", flag_value="accept", help="Apply hand edits that are held.")
@click.option(
    "--format",
    type=click.Choice(["markdown", "compact"]),
    default="markdown",
    show_default=True,
    help="How --start answers; compact is one JSON object.",
)
@options.branch("With --start: brief as if on that branch; nothing is written.")
@click.argument("summary", metavar="[SUMMARY|JSON|-]", default="")
def sync(gm: Gitmem, step: str | None, format: str, branch: str | None, summary: str) -> View:
    """Open or close a session, or accept a large hand edit."""
    if step is None:
        raise UsageError("sync needs a step", "say --start, --end or --accept")
    if summary and step != "end":
        raise UsageError("a summary goes with --end", "see 'gitmem sync --help'")
    if branch is not None and step != "start":
        raise UsageError("--branch goes with --start", "see 'gitmem sync --help'")
    if step == "accept":
        return views.memories(gm.short, gm.accept(), "no edit is held")
    return _start(gm, format, branch) if step == "start" else _end(gm, summary_of(summary))


def _start(gm: Gitmem, format: str, branch: str | None) -> View:
    briefing = gm.sync_start(branch=branch)
    if format == "markdown":
        return views.passage(briefing, briefing.markdown)
    import json

    return views.passage(briefing.compact, json.dumps(briefing.compact, ensure_ascii=False))


def _end(gm: Gitmem, summary: str) -> View:
    end = gm.sync_end(summary)
    done: list[Line | str] = [[("", "the session is closed")]]
    if end.episode:
        done = [*views.saved(gm, end.episode, "remembered").lines]
    if end.archived:
        done += views.saved(gm, end.archived, "archived").lines
    if end.pushed:
        from gitmem.cli.sharing import receipt

        done += receipt(end.pushed)
    return View(end, done)


@verb(
    "gitmem context",
    'gitmem context set "moving the connection pool; tests in tests/db"',
    "gitmem context clear",
)
@click.argument("action", type=click.Choice(["show", "set", "clear"]), default="show")
@click.argument("text", metavar="[TEXT|-]", required=False)
def context(gm: Gitmem, action: str, text: str | None) -> View:
    """Show, set or clear the working memory of the session at hand.

    'gitmem sync --end' keeps it in the day's file as a private episode, and clears it."""
    if action == "show":
        shown = gm.context()
        return views.passage({"text": shown}, shown, "there is no working memory")
    if action == "clear":
        gm.clear_context()
        return views.sentence({"text": ""}, "the working memory is empty")
    if text is None:
        raise UsageError("there is nothing to set", "give a text, or '-' to read it")
    stored = gm.set_context(text_of(text))
    return views.sentence({"text": stored}, "the working memory is set")
