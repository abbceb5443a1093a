"""What is ranked: a memory, a round of a conversation, or a passage of a file. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class Document(NamedTuple):
    """One thing that can be found.

    Attributes:
        key: ``memory:ID``, ``session:AGENT/ID#INDEX`` or ``file:PATH#LINE``.
        text: what it says.
        at: when, a UTC string as in events; empty where that is not known.
        author: who wrote or said it.
        group: the conversation it is a part of; empty where it stands alone.
        position: its place in its group. Places may be missing: a turn without text is no document.
    """

    key: str
    text: str
    at: str = ""
    author: str = ""
    group: str = ""
    position: int = 0


def previous(documents: Iterable[Document]) -> dict[str, str]:
    """Return {key: key of the document before it in its group}, for those that have one."""
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        if document.group:
            groups[document.group].append(document)
    before: dict[str, str] = {}
    for members in groups.values():
        members.sort(key=lambda member: member.position)
        before |= {b.key: a.key for a, b in zip(members, members[1:], strict=False)}
    return before
