"""What the mirror's tests share: memories out of thin air, and a view over a dictionary of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from gitmem.mirror.edits import Add, Edit, Forget, Revise
from gitmem.mirror.mirror import LONG_TERM, Edits, Mirror
from gitmem.mirror.parse import Item, parse_block
from gitmem.mirror.render import render_memory
from gitmem.model import Importance, Memory

DAY = "2026-11-20"


def make(text: str = "Use PostgreSQL: the team knows it", **fields: Any) -> Memory:
    """Return a memory whose id follows from its text and whose head is its id."""
    id = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    values: dict[str, Any] = {
        "id": id,
        "created": f"{DAY}T10:11:12.345678Z",
        "updated": f"{DAY}T10:11:12.345678Z",
        "author": "Ada <ada@example.com>",
        "text": text,
        "kind": "decision",
        "branch": "main",
        "heads": (id,),
    }
    return Memory(**values | fields)


def item_of(line: str) -> Item:
    """Parse one rendered memory."""
    (item,) = parse_block(line).items
    return item


def short(memory: Memory) -> str:
    """Return the id as the files show it."""
    return memory.id[:8]


def rendered(memory: Memory, *entities: str) -> str:
    """Render one memory as the files show it."""
    return render_memory(memory, short(memory), entities)


class FakeView:
    """A view over memories in a dictionary, with the edits applied as the library would."""

    def __init__(self, *memories: Memory, entities: Sequence[str] = ()) -> None:
        self.memories = {memory.id: memory for memory in memories}
        self.names = entities
        self.head: dict[str, bytes] = {}
        self.working: Memory | None = None
        self.serial = 0

    def short(self, id: str) -> str:
        return id[:8]

    def long_term(self, limit: int) -> tuple[list[Memory], int]:
        memories = sorted(self._seen(), key=lambda memory: (memory.importance.rank, memory.kind))
        return memories[:limit], len(memories)

    def day(self, date: str, limit: int) -> tuple[list[Memory], int]:
        memories = [memory for memory in self._seen() if memory.created.startswith(date)]
        return sorted(memories, key=lambda memory: memory.created)[:limit], len(memories)

    def context(self) -> Memory | None:
        return self.working

    def resolve(self, prefix: str) -> Memory | None:
        ids = [id for id in self.memories if id.startswith(prefix)]
        return self.memories[ids[0]] if len(ids) == 1 else None

    def entities(self, id: str) -> Sequence[str]:
        return self.names

    def committed(self, path: str) -> bytes | None:
        return self.head.get(path)

    def apply(self, edits: Iterable[tuple[str, Edit]]) -> None:
        """Do what the edits ask for."""
        for path, edit in edits:
            match edit:
                case Add() if edit.kind == "context":
                    self.working = make(edit.text, kind="context")
                case Add():
                    self._add(edit)
                case Forget():
                    self._change(edit.id, forgotten=True)
                case Revise() if path.endswith("active-context.md"):
                    self.working = make(edit.text or "", kind="context")
                case Revise():
                    self._revise(edit)

    def _add(self, edit: Add) -> None:
        self.serial += 1
        memory = make(
            edit.text,
            id=hashlib.sha256(f"{self.serial} {edit.text}".encode()).hexdigest(),
            kind=edit.kind or "note",
            importance=Importance(edit.importance or "normal"),
            tags=edit.tags,
            created=f"{DAY}T11:00:00.{self.serial:06}Z",
        )
        self.memories[memory.id] = memory

    def _revise(self, edit: Revise) -> None:
        memory = self.memories[edit.id]
        tags = [*(tag for tag in memory.tags if tag not in edit.tags_removed), *edit.tags_added]
        content = {"text": memory.text, "data": memory.data}
        if edit.text is not None or edit.data is not None:
            content = {"text": edit.text, "data": edit.data}
        self._change(
            edit.id,
            **content,
            kind=edit.kind or memory.kind,
            importance=Importance(edit.importance or memory.importance),
            tags=tuple(tags),
            contested=(),
        )

    def _change(self, id: str, **fields: Any) -> None:
        self.memories[id] = replace(self.memories[id], **fields)

    def _seen(self) -> list[Memory]:
        return [memory for memory in self.memories.values() if not memory.forgotten]


DAILY = f"memory/{DAY}.md"
PG = make("Use PostgreSQL", importance=Importance.HIGH, tags=("database",))
TABS = make("Indent with tabs", kind="preference")


class Desk:
    """A working tree with its mirror and what its branch sees."""

    def __init__(self, root: Path, view: FakeView) -> None:
        self.root = root
        self.view = view
        root.mkdir(parents=True, exist_ok=True)

    def mirror(self) -> Mirror:
        """Open the mirror as a new process would."""
        return Mirror(self.root, self.root / ".git/gitmem/mirror")

    def sync(self, *, accept: bool = False) -> tuple[Edits, list[str]]:
        """Do what every verb does."""
        mirror = self.mirror()
        with mirror.locked():
            found = mirror.edits(self.view, accept=accept)
            self.view.apply(found.edits)
            return found, mirror.render(self.view, days=[DAY])

    def text(self, path: str = LONG_TERM) -> str:
        return (self.root / path).read_bytes().decode()

    def change(self, old: str, new: str, path: str = LONG_TERM) -> None:
        text = self.text(path)
        assert old in text
        (self.root / path).write_bytes(text.replace(old, new).encode())

    def stats(self) -> dict[str, int]:
        paths = [path for path in self.root.rglob("*.md") if ".git" not in path.parts]
        return {str(path): path.stat().st_mtime_ns for path in paths}


_PIECES = (
    "Use PostgreSQL", "snake_case", "#482", "@ada", "\\#x", "--", "-->", "<!--", "-\\-", "---",
    "<!-- gitmem:end -->", "<!-- 1a2b3c4d high main 2026-11-20 -->", "`git commit --amend`", "``",
    "```", "```py", "~~~", "*x*", "**bold**", "__dunder__", "_", "*", "- item", "* item", "1. one",
    "1) one", "# Heading", "## ", "| a | b |", "|---|---|", "> quote", "> **note** x", "&#xA;",
    "&amp;#xA;", "&#x41;", "&", "\r", "\x1b[31m", "\u202e", "\u2028", "\ufeff", "日本語", "🎉",
    "\t", " ", "  ", "\n", "\n\n", "    code", "<<<<<<< HEAD", "=======", ">>>>>>> x", "<b>", "\\",
)  # fmt: skip

words = st.sampled_from(_PIECES) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)
texts = st.lists(words, min_size=1, max_size=14).map("".join).filter(lambda text: text.strip())
"""Text that tries to be anything but text; never blank, as no memory is."""

spaced_texts = st.lists(words, min_size=1, max_size=14).map(" ".join).filter(str.strip)

tags = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8), max_size=3
).map(lambda values: tuple(dict.fromkeys(values)))

kinds = st.sampled_from(["decision", "note", "fact", "convention", "a-b", "naïve", "x_y", "__x__"])

memories = st.builds(
    make,
    texts | spaced_texts,
    kind=kinds,
    tags=tags,
    importance=st.sampled_from(list(Importance)),
    branch=st.none() | st.sampled_from(["main", "a--b", "high", "x-->y", "feature/login", "<!--"]),
)
