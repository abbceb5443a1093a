"""The tools: each asks the memory one thing, and answers with data and its text.

Their docstrings and the descriptions of their parameters are what a model reads of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import getdoc, signature
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BeforeValidator, Field

from gitmem.agents.mcp import asking, writing
from gitmem.agents.mcp.opened import SPEAKER, Opened
from gitmem.agents.mcp.shapes import History, Memories, Rounds, Saved, Search, State
from gitmem.agents.mcp.wording import Answer, told
from gitmem.api import Gitmem
from gitmem.errors import GitmemError

READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
TAKES_AWAY = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

NAME = 300
"""Characters of a branch's or a session's name."""


def _words(value: object) -> object:
    """Take words separated by commas for a list: models write both."""
    if not isinstance(value, str):
        return value
    return [word for part in value.split(",") if (word := part.strip())]


Words = Annotated[list[str], BeforeValidator(_words)]
Limit = Annotated[int, Field(ge=1, le=asking.MOST, description="At most so many.")]
Kind = Annotated[
    str,
    Field(description="decision, preference, fact, lesson, task, episode, note, or your own word."),
]
Id = Annotated[str, Field(description="Its id, or the first 4 or more digits of it.")]
Importance = Annotated[
    str,
    Field(description="critical (every session must see it), high, normal or low."),
]
Expires = Annotated[
    str, Field(description="When it stops to count: 2026-12-31, or an age such as 30d.")
]

Tool = Callable[..., Awaitable[CallToolResult]]


class Tools:
    """The tools over one memory."""

    def __init__(self, memory: Opened) -> None:
        self._memory = memory

    async def memory_search(
        self,
        query: Annotated[str, Field(description="A few words; empty: the newest memories.")] = "",
        kind: Annotated[str, Field(description="Only this kind, such as decision.")] = "",
        tag: Annotated[Words, Field(description="Only with all of these tags.")] = [],  # noqa: B006
        branch: Annotated[
            str,
            Field(max_length=NAME, description="What is seen there, not on the current branch."),
        ] = "",
        limit: Limit = 10,
    ) -> Annotated[CallToolResult, Search]:
        """Search what was decided, learned and agreed in this repository, by words and by meaning.

        Use it before you choose between ways, when the user refers to something earlier, and when
        something fails that may have failed before. Two or three different words find more than a
        sentence. Nothing matched means that nobody recorded it, not that it is untrue.
        """
        return await self._ask(lambda gm: asking.search(gm, query, kind, tag, branch, limit))

    async def memory_get(
        self,
        id: Annotated[Words, Field(description="One id or several, at most 20, from a search.")],
    ) -> Annotated[CallToolResult, Memories]:
        """Read memories whole: text, notes, links, contradictions, and where they come from."""
        return await self._ask(lambda gm: asking.get(gm, id))

    async def memory_add(
        self,
        text: Annotated[
            str,
            Field(description="One thing: first what holds, then why, readable on its own."),
        ],
        kind: Kind = "",
        importance: Importance = "",
        tags: Annotated[Words, Field(description="One to three words.")] = [],  # noqa: B006
        scope: Annotated[
            str,
            Field(
                description="branch (seen there until git merges it; the default), repo (on every"
                " branch) or user (for this user, in every repository)."
            ),
        ] = "",
        private: Annotated[bool, Field(description="Never leaves this clone.")] = False,
        supersedes: Annotated[
            Words,
            Field(description="Ids of memories that this one replaces."),
        ] = [],  # noqa: B006
        expires: Expires = "",
    ) -> Annotated[CallToolResult, Saved]:
        """Remember something for the next session and the next agent.

        That is a decision with its reason, a preference, a correction, a lesson, a lasting fact:
        what a colleague would need in a month and cannot read from the code. Search first: what is
        there is updated, not added again. Never a password, a key or a token.
        """
        new = writing.New(text, kind, importance, tags, scope, private, supersedes, expires)
        speaker = SPEAKER.get()
        return await self._ask(lambda gm: writing.add(gm, new, speaker))

    async def memory_update(
        self,
        id: Id,
        text: Annotated[str, Field(description="The new text; empty: as it is.")] = "",
        note: Annotated[str, Field(description="News that is added; the text stays.")] = "",
        kind: Kind = "",
        importance: Importance = "",
        tags: Annotated[Words, Field(description="All tags it has then; empty: as they are.")] = [],  # noqa: B006
        expires: Annotated[str, Field(description="A date, an age such as 30d, or never.")] = "",
    ) -> Annotated[CallToolResult, Saved]:
        """Change a memory: give its new text, or a note to add, or new properties.

        What it was stays in its history.
        """
        change = writing.Change(text, note, kind, importance, tags, expires)
        return await self._ask(lambda gm: writing.update(gm, id, change))

    async def memory_forget(
        self,
        id: Id,
        reason: Annotated[str, Field(description="Why, for whoever reads its history.")] = "",
        confirm: Annotated[
            bool, Field(description="The user wants a critical memory forgotten.")
        ] = False,
    ) -> Annotated[CallToolResult, Saved]:
        """Stop showing a memory that was wrong or is not wanted; one that only changed is updated.

        Its history stays, and 'gitmem restore ID' brings it back. One of critical importance needs
        confirm=true: ask the user first.
        """
        return await self._ask(lambda gm: writing.forget(gm, id, reason, confirm))

    async def memory_history(
        self, id: Id, limit: Limit = asking.MOST
    ) -> Annotated[CallToolResult, History]:
        """Show how a memory came to be: who wrote what, when, on which branch, newest first."""
        return await self._ask(lambda gm: asking.history(gm, id, limit))

    async def memory_status(self) -> Annotated[CallToolResult, State]:
        """Show how things stand: the branch, how many memories of which kinds, what to look at."""
        return await self._ask(asking.status)

    async def conversation_search(
        self,
        query: Annotated[str, Field(description="A few words.")] = "",
        session: Annotated[
            str,
            Field(
                max_length=NAME,
                description="Only this conversation, by its id; without a query its last rounds,"
                " or with ID#11-15 those.",
            ),
        ] = "",
        limit: Limit = 10,
    ) -> Annotated[CallToolResult, Rounds]:
        """Search what was said in earlier conversations with agents about this repository.

        It is the raw record: look in memories first. To read on around a hit ID#12, ask for the
        session ID#10-14 without a query.
        """
        return await self._ask(lambda gm: asking.talk(gm, query, session, limit))

    async def _ask(self, work: Callable[[Gitmem], Answer]) -> CallToolResult:
        """Answer, or say what is wrong: the one place where gitmem's errors become a tool's."""
        try:
            answer = await self._memory.ask(work)
        except GitmemError as error:
            raise ToolError(told(error)) from error
        text = TextContent(type="text", text=answer.text)
        return CallToolResult(content=[text], structured_content=dict(answer.data))


def add_tools(server: MCPServer, memory: Opened, aliases: bool) -> None:
    """Add the tools to a server; `aliases` adds two under the names that others give them."""
    tools = Tools(memory)
    every: list[tuple[Tool, str, str, ToolAnnotations]] = [
        (tools.memory_search, "memory_search", "Search memory", READS),
        (tools.memory_get, "memory_get", "Read memories", READS),
        (tools.memory_add, "memory_add", "Remember", ADDS),
        (tools.memory_update, "memory_update", "Change a memory", CHANGES),
        (tools.memory_forget, "memory_forget", "Forget a memory", TAKES_AWAY),
        (tools.memory_history, "memory_history", "Life of a memory", READS),
        (tools.memory_status, "memory_status", "Status of the memory", READS),
        (tools.conversation_search, "conversation_search", "Search conversations", READS),
    ]
    if aliases:
        every.append((tools.memory_search, "memory_recall", "Search memory", READS))
        every.append((tools.memory_add, "memory_store", "Remember", ADDS))
    for tool, name, title, honest in every:
        server.add_tool(tool, name, title=title, description=getdoc(tool), annotations=honest)
    server.middleware.append(
        _refusing({name: [*signature(tool).parameters] for tool, name, *_ in every})
    )


def _refusing(parameters: Mapping[str, Sequence[str]]) -> ServerMiddleware[Any]:
    """Return what refuses arguments that a tool does not have: the SDK drops them in silence.

    A search for ``q`` was answered with the newest memories, as one without a query is.
    """

    async def refuse(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        asked = ctx.params if ctx.method == "tools/call" and ctx.params else {}
        takes, given = parameters.get(str(asked.get("name"))), asked.get("arguments")
        if takes is None or not isinstance(given, dict) or set(given) <= set(takes):
            return await call_next(ctx)
        unknown = next(name for name in given if name not in takes)
        said = f"there is no argument '{unknown[:NAME]}'; it takes {', '.join(takes) or 'none'}."
        return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)

    return refuse
