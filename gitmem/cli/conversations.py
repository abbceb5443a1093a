"""Conversations: listed, read, tagged, and distilled into cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import options, talk, views
from gitmem.cli.content import content_of
from gitmem.cli.verb import verb
from gitmem.cli.view import View
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from gitmem.api import Gitmem

_ACTIONS = ["list", "show", "log", "tag", "untag"]


@verb(
    "gitmem session list --agent claude-code --since 7d",
    "gitmem session show 5a1c0f54#11-15",
    "gitmem session log 5a1c0f54",
    "gitmem session tag 5a1c0f54 release",
)
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("id", metavar="[ID[#ROUNDS]]", required=False)
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--agent", help="With list: only this agent's.")
@click.option("--tag", "tagged", metavar="TAG", help="With list: only those with this tag.")
@click.option("--since", metavar="DATE|AGE", help="With list: only those that went on since then.")
@options.limit("With list: at most so many.")
def session(
    gm: Gitmem,
    action: str,
    id: str | None,
    tags: tuple[str, ...],
    agent: str | None,
    tagged: str | None,
    since: str | None,
    limit: int | None,
) -> View:
    """List, show or tag imported conversations.

    An id may be shortened, and AGENT/ID names one of two that agents gave the same id. 'log' tells
    the life of a conversation: imported, grown, tagged, cited by cards.
    """
    if action == "list":
        if id is not None:
            raise UsageError("list takes no id", f"gitmem session show {id}")
        found = gm.sessions(agent=agent, tag=tagged, since=since, limit=limit)
        return talk.sessions(found)
    if id is None:
        raise UsageError(f"session {action} needs an id", "'gitmem session list' shows them")
    name, _, rounds = id.partition("#")
    if action == "show":
        return talk.session(gm.session(name, rounds or None))
    if action == "log":
        return talk.life(gm.session_log(name))
    if not tags:
        raise UsageError(f"session {action} needs a tag", f"gitmem session {action} {name} TAG")
    change = gm.tag_session if action == "tag" else gm.untag_session
    return talk.sessions([change(name, *tags)])


@verb(
    'gitmem card \'{"summary": "Pools: 5", "rounds": [{"session": "5a1c", "indexes": "3-7"}]}\'',
    "gitmem card - --kind decision --importance high < card.json",
)
@click.argument("card", metavar="JSON|-")
@options.kind("What kind of memory it is.")
@options.importance("How much it matters: critical, high, normal or low.")
@options.tags("Tags, separated by commas.")
@click.option("--private", is_flag=True, help="Keep it to yourself: it is never pushed.")
def card(
    gm: Gitmem,
    card: str,
    kind: str | None,
    importance: str | None,
    tags: tuple[str, ...],
    private: bool,
) -> View:
    """Distil rounds of conversations into a memory that cites them.

    The summary may have 1,024 tokens. 'gitmem show ID --unfold' prints the cited rounds.
    """
    given = content_of(card)
    if isinstance(given, str):
        raise UsageError(
            "a card is a JSON object",
            '{"summary": "…", "rounds": [{"session": "ID", "indexes": "11-15"}]}',
        )
    memory = gm.card(given, kind=kind, importance=importance, tags=tags, private=private)
    return views.saved(gm, memory, "remembered")
