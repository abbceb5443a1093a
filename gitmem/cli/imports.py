"""What agents said and what other tools remember, taken in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from gitmem.cli import talk
from gitmem.cli.verb import current, verb
from gitmem.cli.view import View
from gitmem.errors import GitmemError, NotFound, UsageError

if TYPE_CHECKING:
    from gitmem.api import Gitmem
    from gitmem.sessions.importing import ImportReport

OWN = "gitmem"


@verb(
    "gitmem import claude-code",
    "gitmem import --all --dry-run",
    "gitmem import codex --from rollouts --since 7d",
    "gitmem import mem0 --from memories.json",
    "gitmem import gitmem --from export.jsonl",
)
@click.argument("source", required=False)
@click.option("--from", "path", metavar="PATH", help="A file or folder in the source's format.")
@click.option("--since", metavar="DATE|AGE", help="Only transcripts written to since then.")
@click.option("--all", "every", is_flag=True, help="The transcripts of every agent found here.")
@click.option("--dry-run", is_flag=True, help="Say what would be imported; write nothing.")
@click.option("--shared", is_flag=True, help="A tool's memories: for everybody, not private.")
def import_(
    gm: Gitmem,
    source: str | None,
    path: str | None,
    since: str | None,
    every: bool,
    dry_run: bool,
    shared: bool,
) -> View:
    """Import conversations of agents, or what another tool remembers.

    Agents: claude-code, codex, gemini, openclaw, cursor, copilot, aider, opencode, droid, amp,
    continue, windsurf, letta, and jsonl, a general form. Without --from: the conversations that
    were held in this repository. They are private and never pushed; importing again adds only what
    is new.

    Tools: git-notes-memory, zircote-git-notes, claude-memory, basic-memory, mem0, openmemory,
    letta-memfs, openclaw-memory, memsearch, mcp-memory; and gitmem, its own export.
    """
    if every == bool(source):
        raise UsageError("import takes a source, or --all", "see 'gitmem import --help'")
    if source is None:
        return talk.imported(_all(gm, since, dry_run))
    from gitmem.imports import TOOLS
    from gitmem.sessions.importers import AGENTS

    if source in AGENTS:
        if path is None and source == "jsonl":
            raise UsageError("a file of turns may be anywhere", "name it: --from FILE")
        return talk.imported([_agent(gm, source, path, since, dry_run)])
    if source in (*TOOLS, OWN):
        report = gm.import_memories(source, path, shared=shared or None, dry_run=dry_run)
        return talk.taken_in(source, report, dry_run)
    raise NotFound(f"unknown source '{source}'", "'gitmem import --help' lists them")


def _all(gm: Gitmem, since: str | None, dry_run: bool) -> list[ImportReport]:
    """Import every agent that keeps something here; one that fails keeps no other from it."""
    reports = []
    for agent in gm.agents_here():
        try:
            reports.append(_agent(gm, agent, None, since, dry_run))
        except GitmemError as error:
            current().warnings.append(f"{agent}: {error.message}")
    return reports


def _agent(
    gm: Gitmem, agent: str, path: str | None, since: str | None, dry_run: bool
) -> ImportReport:
    tell = partial(gm.progress, f"import {agent}")
    return gm.import_transcripts(agent, path=path, since=since, dry_run=dry_run, progress=tell)
