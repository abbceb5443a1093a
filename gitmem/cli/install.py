"""gitmem in agents' settings: in, and out again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from gitmem.agents.install.agent import AGENTS, KINDS
from gitmem.cli.verb import Verb, answer, current
from gitmem.cli.view import Line, View
from gitmem.errors import NotARepository, UsageError

if TYPE_CHECKING:
    from gitmem.agents.install.place import Place
    from gitmem.agents.install.run import Done

NAMES = (*AGENTS, "git")
IN_A_REPOSITORY = ("agents-md", "git")
"""What has no place in a home directory."""


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--dry-run", is_flag=True, help="Print a diff, and write nothing."),
        click.option(
            "--project",
            "scope",
            flag_value="project",
            help="In this repository alone, for you alone: git is told to ignore the files.",
        ),
        click.option(
            "--user",
            "scope",
            flag_value="user",
            help="For all repositories; hooks do nothing where 'gitmem init' was not run.",
        ),
        click.argument("agent", type=click.Choice(NAMES)),
    ):
        function = option(function)
    return function


@click.command(
    "install",
    cls=Verb,
    examples=(
        "gitmem install claude-code",
        "gitmem install codex --dry-run",
        "gitmem install gemini --project --without mcp",
        "gitmem install agents-md",
        "gitmem install git",
    ),
)
@_options
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(KINDS),
    help="Leave a part out, or take it out again; may be repeated.",
)
def install(agent: str, scope: str | None, dry_run: bool, without: tuple[str, ...]) -> None:
    """Make gitmem the memory of an agent: hooks, skill, MCP server.

    What others wrote in its settings stays as it is. Run it again after gitmem has moved or was
    updated. By default it is for all repositories (--user); 'git' (hooks of git's own) and
    'agents-md' (a block in AGENTS.md, for agents without hooks) are for one.
    """
    from gitmem.agents.install import run

    scope = scope or ("project" if agent in IN_A_REPOSITORY else "user")
    if scope == "user" and agent in IN_A_REPOSITORY:
        raise UsageError(f"'{agent}' is for one repository", "leave '--user' out")
    if agent == "git":
        answer(_view(_git("install", dry_run)))
    else:
        answer(_view(run.install(agent, _place(scope), without, dry_run)))


@click.command(
    "uninstall",
    cls=Verb,
    examples=("gitmem uninstall claude-code", "gitmem uninstall codex --project --dry-run"),
)
@_options
def uninstall(agent: str, scope: str | None, dry_run: bool) -> None:
    """Take gitmem out of an agent's settings; memories stay in git.

    Without --user or --project, out of both. A file that nobody changed since gets the bytes back
    that it had; out of others goes what is gitmem's, and nothing else.
    """
    from gitmem.agents.install import run

    if agent == "git":
        answer(_view(_git("uninstall", dry_run)))
        return
    done = [run.uninstall(agent, place, dry_run) for place in _places(agent, scope)]
    answer(_view(*done))


def _view(*done: Done) -> View:
    """What was changed, one line each, what was left alone, and what to do next."""
    changes = [line for one in done for line in one.changes]
    left = [line for one in done for line in one.left]
    todo = [line for one in done for line in one.next]
    diff = "\n".join(one.diff for one in done if one.diff)
    data = {"changes": changes, "left": left, "next": todo, "diff": diff}
    lines: list[Line | str] = [[("", f"- {line}")] for line in changes + left]
    lines += [diff] if diff else []
    lines += [[("key", "Next:"), ("", f" {line}")] for line in todo]
    return View(data, lines or [[("", "everything is in place")]])


def _place(scope: str) -> Place:
    from gitmem.agents.install import place

    if scope == "project":
        return place.of_project(current().repo, os.environ, sys.executable)
    return place.of_user(os.environ, sys.executable)


def _places(agent: str, scope: str | None) -> list[Place]:
    if scope or agent in IN_A_REPOSITORY:
        return [_place(scope or "project")]
    found = [_place("user")]
    try:
        found.append(_place("project"))
    except NotARepository:
        pass
    return found


def _git(action: str, dry_run: bool) -> Done:
    from gitmem.agents.install import git

    do = git.install if action == "install" else git.uninstall
    return do(current().repo, dry_run)
