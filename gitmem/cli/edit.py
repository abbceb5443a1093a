"""Editing a memory in the user's editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import views
from gitmem.cli.content import content_of
from gitmem.cli.verb import verb
from gitmem.cli.view import View
from gitmem.errors import GitmemError, Unavailable, UsageError

if TYPE_CHECKING:
    from gitmem.api import Gitmem
    from gitmem.model import Memory


@verb("gitmem edit 1a2b3c4d", "EDITOR='code --wait' gitmem edit 1a2b3c4d")
@click.argument("id")
def edit(gm: Gitmem, id: str) -> View:
    """Open a memory in $VISUAL or $EDITOR, and store what is saved."""
    memory = gm.show(id)
    text = _ask_editor(memory)
    if text is None:
        return views.saved(gm, memory, "unchanged")
    try:
        return views.saved(gm, gm.update(memory.id, content_of(text)), "updated")
    except GitmemError as error:  # what was typed must not go with the editor's file
        error.hint = f"your text is kept in '{_keep(text)}'; {error.hint}".removesuffix("; ")
        raise


def _ask_editor(memory: Memory) -> str | None:
    """Return what was typed, or None if nothing was changed."""
    before = _editable(memory) + "\n"
    extension = ".md" if memory.data is None else ".json"
    try:
        saved = click.edit(before.encode(), require_save=False, extension=extension)
    except click.ClickException as error:
        raise Unavailable(error.format_message(), "set $EDITOR to an editor that waits") from None
    try:
        after = (saved or b"").decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UsageError("what the editor saved is not UTF-8 text", "set its encoding") from None
    return None if after == before else after.rstrip("\n")


def _editable(memory: Memory) -> str:
    if memory.data is None:
        return memory.body
    import json

    return json.dumps(dict(memory.data), ensure_ascii=False, indent=2)


def _keep(text: str) -> str:
    import tempfile

    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="gitmem-edit-", suffix=".md", delete=False
    ) as file:
        file.write(text)
    return file.name
