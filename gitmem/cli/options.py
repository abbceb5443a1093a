"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.content import tags_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

KINDS = ("decision", "preference", "fact", "lesson", "task", "context", "episode", "note")
SOURCES = ("memories", "sessions", "files")
IMPORTANCES = ("critical", "high", "normal", "low")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _known(words: tuple[str, ...]) -> Callable[..., list[CompletionItem[str]]]:
    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in words if word.startswith(begun)]

    return complete


def kind(help: str) -> Decorator:
    """Take ``-k``: one of an open vocabulary, so any word does."""
    return click.option("-k", "--kind", metavar="KIND", shell_complete=_known(KINDS), help=help)


def importance(help: str) -> Decorator:
    """Take ``-i``: a name or its first letter, checked by the library."""
    known = _known(IMPORTANCES)
    return click.option("-i", "--importance", metavar="C|H|N|L", shell_complete=known, help=help)


def tags(help: str) -> Decorator:
    """Take ``-t a,b``, any number of times."""
    return click.option(
        "-t",
        "--tag",
        "tags",
        metavar="TAGS",
        multiple=True,
        callback=lambda _context, _parameter, values: tags_of(values),
        help=help,
    )


def expires(help: str) -> Decorator:
    """Take ``--expires``: a date, a time or an age."""
    return click.option("--expires", metavar="WHEN", help=help)


def allow_secret() -> Decorator:
    """Take ``--allow-secret``."""
    return click.option(
        "--allow-secret", is_flag=True, help="Keep what looks like a secret, and that it was meant."
    )


def branch(help: str) -> Decorator:
    """Take ``--branch``: look from there, without switching."""
    return click.option("--branch", metavar="BRANCH", help=help)


def held() -> Decorator:
    """Take ``--held`` and ``--trusted``."""
    about = "Only what nobody trusted wrote, or only the rest."
    return click.option("--held/--trusted", default=None, help=about)


def at(help: str) -> Decorator:
    """Take ``--at``: look back."""
    return click.option("--at", metavar="COMMIT", help=help)


def limit(help: str, default: int | None = None) -> Decorator:
    """Take ``-n``."""
    count = click.IntRange(min=1)
    return click.option(
        "-n", "--limit", type=count, default=default, show_default=default is not None, help=help
    )


def within() -> Decorator:
    """Take ``--in a,b``: where to search, checked by the library."""
    return click.option(
        "--in",
        "within",
        metavar="PLACES",
        default=",".join(SOURCES),
        show_default=True,
        callback=lambda _context, _parameter, value: tags_of((value,)),
        help="Where to look, separated by commas.",
    )
