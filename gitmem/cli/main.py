"""The command line's entry: commands by name, loaded when called, and the one error mapping."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NoReturn

import click

from gitmem.cli import render
from gitmem.cli.commands import ALIASES, MODULES, SECTIONS
from gitmem.cli.verb import Run, shared_options
from gitmem.errors import GitmemError, Unavailable, UsageError

PROGRAM = "gitmem"
COMPLETE = "_GITMEM_COMPLETE"
"""The variable by which a shell asks for completions."""

INTERRUPTED = 130
"""Exit code after ^C, as shells have it: 128 + SIGINT."""

ENVIRONMENT = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE)
"""Errors of the operating system that say something of the machine, not of gitmem."""

MACHINE_HINT = "check its permissions, and the room on its disk"


class Bug(GitmemError):
    """An exception that gitmem did not expect."""

    code = "bug"
    exit_code = 4


class Interrupted(GitmemError):
    """The user pressed ^C."""

    code = "interrupted"
    exit_code = INTERRUPTED


class CommandLine(click.Group):
    """The group: a command's module is imported when the command is called."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Load a command; None if there is none of that name."""
        if name not in MODULES:
            return None
        module = importlib.import_module(f"gitmem.cli.{MODULES[name]}")
        return next(
            value
            for value in vars(module).values()
            if isinstance(value, click.Command) and value.name == name
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, and say what is near where there is none."""
        args = [ALIASES.get(args[0], args[0]), *args[1:]]
        if not (ctx.resilient_parsing or args[0] in MODULES or args[0].startswith("-")):
            raise UsageError(f"no such command '{args[0]}'", _near(args[0]))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command's name, in the order of the help."""
        return list(MODULES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, about) for name, _, about in rows])

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> Any:
        """Run one command line and exit; every error becomes a message and an exit code here."""
        render.use_utf8()
        if COMPLETE in os.environ:  # the shell asks, on ^I
            super().main(prog_name=PROGRAM, complete_var=COMPLETE)
        argv = list(sys.argv[1:] if args is None else args) or ["--help"]
        try:
            code = self._run(argv)
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            end(error, as_json="--json" in takewhile("--".__ne__, argv))
        sys.exit(code)

    def _run(self, argv: list[str]) -> int:
        try:
            with self.make_context(PROGRAM, list(argv)) as context:  # click empties the list
                self.invoke(context)
        except click.exceptions.Exit as done:
            return done.exit_code
        return 0


def end(error: BaseException, as_json: bool = False) -> NoReturn:
    """Tell of an error and exit with its code: the one place where errors end."""
    if isinstance(error, BrokenPipeError):  # the reader has seen enough: `gitmem list | head -1`
        render.let_go_of_stdout()
        sys.exit(0)
    sys.exit(_fail(_known(error), as_json))


def _fail(error: GitmemError, as_json: bool) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # perhaps the error itself: Python would try again as it exits
        render.let_go_of_stdout()
    try:
        render.failure(error, as_json)
    except (GitmemError, OSError):  # nobody to tell it to; the exit code still says it
        render.let_go_of_stdout()
    return error.exit_code


def _known(error: BaseException) -> GitmemError:
    match error:
        case GitmemError():
            return error
        case KeyboardInterrupt() | click.Abort():
            return Interrupted("interrupted")
        case click.UsageError():
            return UsageError(_sentence(error.format_message()), _usage_hint(error))
        case click.ClickException():
            return Unavailable(_sentence(error.format_message()))
        case OSError() if error.errno in ENVIRONMENT:
            return Unavailable(f"{_sentence(str(error.strerror))}{_file(error)}", MACHINE_HINT)
        case _:
            return Bug(*_bug_report(error))


def _near(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, MODULES, n=1)
    return f"did you mean '{near[0]}'?" if near else f"see '{PROGRAM} --help'"


def _file(error: OSError) -> str:
    return f": '{error.filename}'" if error.filename else ""


def _usage_hint(error: click.UsageError) -> str:
    context = error.ctx
    hint = f"see '{context.command_path if context else 'gitmem'} --help'"
    if isinstance(error, click.NoSuchOption):
        hint += "; text that begins with a dash goes after '--'"
    elif "unexpected extra argument" in error.message:
        hint += "; text of several words is one argument: put it in quotes"
    return hint


def _sentence(message: str) -> str:
    """Put click's message in gitmem's form: lower-case, no full stop, one line."""
    message = " ".join(message.split()).removesuffix(".")
    return message[:1].lower() + message[1:]


def _bug_report(error: BaseException) -> tuple[str, str]:
    import tempfile
    import traceback

    what = f"this is a bug in gitmem: {type(error).__name__}: {error}"
    try:
        descriptor, path = tempfile.mkstemp(prefix="gitmem-bug-", suffix=".log")
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.writelines(traceback.format_exception(error))
    except OSError:  # no place to write: the one line must do
        return what, "please report it"
    return what, f"please report it with '{path}', after reading what it says of your repository"


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from gitmem import __version__

        click.echo(f"{PROGRAM} {__version__}")
        context.exit()


_VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version.",
)


@click.command(
    cls=CommandLine,
    name=PROGRAM,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[*shared_options(), _VERSION],
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Long-term memory in this repository's own git: what was decided, why, on which branch.

    A memory is a git note, and MEMORY.md shows what the current branch sees.
    """
    context.ensure_object(Run)


def run(argv: Sequence[str] | None = None) -> None:
    """Run the command line on `argv` (default: the process's own) and exit."""
    cli.main(argv)
