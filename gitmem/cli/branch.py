"""Branches: what each knows, compared, and carried by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import compared
from gitmem.cli.verb import verb
from gitmem.cli.view import View

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@verb("gitmem branches", "gitmem branches --json")
def branches(gm: Gitmem) -> View:
    """List what each branch knows, the current one first.

    Its own memories were written on it, inherited ones reach it by its history. Those that wait are
    not seen from the trunk yet; when their branch is gone, they wait for 'gitmem adopt'.
    """
    return compared.branches(gm.branches())


@verb("gitmem diff main..feature/login", "gitmem diff v1.2..HEAD")
@click.argument("span", metavar="A..B")
def diff(gm: Gitmem, span: str) -> View:
    """Compare what two branches know.

    A line begins with '<' if only A knows it so, with '>' if only B does. A and B may be commits.
    """
    return compared.sides(gm.short, span, gm.diff(span))


@verb("gitmem adopt feature/login", "gitmem merge-branch feature/login")
@click.argument("branch")
def adopt(gm: Gitmem, branch: str) -> View:
    """Make a branch's memories seen from HEAD; its code stays where it is.

    A merge does that by itself, and so does a squash merge. This is for what git cannot tell: the
    branch is gone, or was squashed with conflicts. 'merge-branch' is another name for it.
    """
    return compared.adopted(gm.short, branch, gm.adopt(branch))
