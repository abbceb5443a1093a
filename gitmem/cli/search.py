"""Searching, on purpose and in passing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem.cli import content, found, options
from gitmem.cli.verb import verb
from gitmem.cli.view import View
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@verb(
    "gitmem search which database",
    'gitmem search "rate limit" -k decision -n 3 --explain',
    "gitmem search cache eviction --in memories,sessions",
    'gitmem search deploy --where "tag IN (ops, ci) AND created_at > 30d"',
)
@click.argument("query", nargs=-1, required=True)
@options.limit("At most so many results.", default=10)
@options.within()
@options.kind("Only memories of this kind.")
@options.tags("Only what has all of these tags.")
@options.held()
@click.option("--session", metavar="ID", help="Only rounds of this conversation.")
@click.option("--where", metavar="CONDITION", help="Only what it holds for; see docs/search.md.")
@options.branch("Among the memories seen from there.")
@click.option("--explain", is_flag=True, help="Say what each score is made of.")
def search(gm: Gitmem, query: tuple[str, ...], explain: bool, **asked: Any) -> View:
    """Find memories, rounds of conversations and files, best first.

    By words and, where the model is installed, by meaning."""
    words = " ".join(query)
    if not words.strip():
        raise UsageError("the query is empty", "give the words to look for")
    return found.hits(gm.short, words, gm.search(words, **asked), explain)


@verb(
    "gitmem recall why do we pin the version of the index",
    "echo PROMPT | gitmem recall - --session 1a2b",
)
@click.argument("prompt", nargs=-1, required=True)
@click.option("--session", metavar="ID", default="", help="Nothing twice within it, for a while.")
@options.limit("At most so many.", default=3)
@click.option(
    "--threshold", type=float, metavar="SCORE", help="The least score; see docs/search.md."
)
def recall(
    gm: Gitmem, prompt: tuple[str, ...], session: str, limit: int, threshold: float | None
) -> View:
    """Print what to know before a prompt is answered, or nothing.

    That is a command a line, with what it shows. '-' reads the prompt from standard input."""
    text = content.text_of(" ".join(prompt))
    hits = gm.recall(text, session=session, limit=limit, threshold=threshold)
    return found.recalled(gm.short, hits)
