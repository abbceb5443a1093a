"""Setting a repository up, and the shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli import views
from gitmem.cli.verb import Verb, answer, current, verb
from gitmem.cli.view import View

if TYPE_CHECKING:
    from gitmem.api import Gitmem

NEXT = '\nNext: gitmem remember "what was decided, and why" -k decision -i high'
SHELLS = ("bash", "zsh", "fish")
INSTALLED = (
    'eval "$(gitmem completion bash)"  # in ~/.bashrc',
    'eval "$(gitmem completion zsh)"   # in ~/.zshrc',
    "gitmem completion fish | source     # in ~/.config/fish/config.fish",
)


@verb("gitmem init", "gitmem init --track", "gitmem init --hooks", "gitmem init --trunk develop")
@click.option(
    "--track/--no-track",
    default=None,
    help="Leave MEMORY.md and memory/ to be committed; by default git ignores them.",
)
@click.option(
    "--trunk",
    metavar="BRANCH",
    default="",
    help="The branch that others fork from, where git does not say.",
)
@click.option("--show-notes", is_flag=True, help="Let 'git log' show memories beside commits.")
@click.option(
    "--hooks",
    is_flag=True,
    help="Let git call gitmem after a commit, merge, switch and rewrite, beside other hooks: "
    "MEMORY.md is then right at once, and not at gitmem's next command.",
)
def init(gm: Gitmem, track: bool | None, trunk: str, show_notes: bool, hooks: bool) -> View:
    """Set the repository up; say every change.

    Run it again at any time: what is in place stays. On a terminal it asks one question, else none.
    """
    if track is None:
        track = _ask_track()
    done = gm.init(track=track, trunk=trunk, show_notes=show_notes, hooks=hooks)
    return views.changes(done, "everything is in place", NEXT)


def _ask_track() -> bool:
    if current().json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    click.echo("Memories are kept as git notes. MEMORY.md and memory/ show them as Markdown.")
    return click.confirm("Commit these files with the code, for all to read?", default=False)


@verb("gitmem deinit")
def deinit(gm: Gitmem) -> View:
    """Undo what init did, exactly; the memories stay in git."""
    return views.changes(gm.deinit(), "there is nothing to undo")


@click.command("completion", cls=Verb, examples=INSTALLED)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes gitmem's commands in SHELL."""
    from click.shell_completion import get_completion_class

    from gitmem.cli.main import COMPLETE, PROGRAM, cli

    complete: Any = get_completion_class(shell)
    source = complete(cli, {}, PROGRAM, COMPLETE).source()
    answer(views.passage(source, source))
