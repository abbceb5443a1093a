"""What every command shares: ``--json`` and ``-C``, examples in its help, an open `Gitmem`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli import progress, render
from gitmem.cli.view import View
from gitmem.errors import GitmemError, UsageError

if TYPE_CHECKING:
    from gitmem.api import Gitmem


@dataclass
class Run:
    """What was asked of this run, before or after the command's name."""

    repo: str = "."
    json: bool = False
    warnings: list[str] = field(default_factory=list)


def current() -> Run:
    """Return the run that is going on."""
    return click.get_current_context().ensure_object(Run)


def answer(view: View, gm: Gitmem | None = None) -> None:
    """Print what the current command answers, and leave with its exit code if it has one."""
    context = click.get_current_context()
    run = current()
    warnings = [*(gm.warnings if gm else ()), *run.warnings]
    render.answer(str(context.info_name), view, warnings, run.json)
    if view.exit_code:
        context.exit(view.exit_code)


def shared_options() -> list[click.Parameter]:
    """Return ``-C`` and ``--json``, which stand before or after the command's name."""
    return [
        click.Option(
            ["-C", "--repo"],
            metavar="DIR",
            expose_value=False,
            callback=_keep("repo"),
            help="Work in the repository that DIR is in.",
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=_keep("json"),
            help="Answer with one JSON object.",
        ),
    ]


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.ensure_object(Run), name, value)

    return keep


class Verb(click.Command):
    """A command with the shared options, and with examples at the end of its help."""

    def __init__(self, *args: Any, examples: tuple[str, ...] = (), **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.params += shared_options()
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, one a line, never wrapped."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"  {example}\n")


def verb(*examples: str) -> Callable[[Callable[..., View]], Verb]:
    """Make a command of a function that takes an open `Gitmem` and returns what to show."""

    def wrap(function: Callable[..., View]) -> Verb:
        @functools.wraps(function)
        def run(**params: Any) -> None:
            with open_here() as gm:
                try:
                    with progress.shown(not current().json) as gm.progress:
                        view = function(gm, **typed(params))
                    answer(view, gm)
                except GitmemError:
                    render.warn([*gm.warnings, *current().warnings])
                    raise

        name = function.__name__.rstrip("_")
        return click.command(name, cls=Verb, examples=examples)(run)

    return wrap


def open_here() -> Gitmem:
    """Open the repository that was asked for, by the backend that is quickest for one command."""
    from gitmem.api import open as open_gitmem  # loads git: not for --help

    return open_gitmem(current().repo, backend="program")


def typed(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as text.

    Raises:
        UsageError: the bytes of one are not UTF-8.
    """
    return {name: _text(value, name) for name, value in params.items()}


def _text(value: Any, name: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_text(item, name) for item in value)
    if not isinstance(value, str) or value.isascii():
        return value
    try:  # bytes that the locale cannot read arrive as lone surrogates, UTF-8 or not
        return os.fsencode(value).decode("utf-8")
    except ValueError:
        raise UsageError(
            f"'{name}' is not UTF-8 text", "convert it first, for example with iconv"
        ) from None
