"""Trust: whose memories agents are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli.verb import verb
from gitmem.cli.view import Line, View
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.api import Gitmem
    from gitmem.verbs.authors import AuthorInfo


@verb(
    "gitmem trust --list",
    "gitmem trust",
    "gitmem trust bob@example.com",
    "gitmem trust --revoke bob@example.com",
)
@click.argument("author", required=False)
@click.option("--list", "only_list", is_flag=True, help="Change nothing; say who is trusted.")
@click.option("--revoke", is_flag=True, help="Trust AUTHOR no more; without AUTHOR, nobody.")
def trust(gm: Gitmem, author: str | None, only_list: bool, revoke: bool) -> View:
    """Trust AUTHOR, or all who have commits on the trunk, in this clone.

    The memories of others are held: they are found, and marked, but agents are not shown them
    unasked, and what others change in a memory is only proposed.
    """
    if only_list and (author or revoke):
        raise UsageError("--list changes nothing", "leave AUTHOR and --revoke out")
    if only_list:
        return _view(gm.authors())
    return _view(gm.revoke(author) if revoke else gm.trust(author))


def _view(found: Sequence[AuthorInfo]) -> View:
    return View(found, map(_line, found), "nobody has written shared memories yet")


def _line(row: AuthorInfo) -> Line:
    count = f"{row.memories:,} {'memory' if row.memories == 1 else 'memories'}"
    how = ("key", "trusted") if row.trusted else ("warning", "held")
    return [how, ("", f" {row.author} "), ("dim", f"({row.why.value}, {count})")]
