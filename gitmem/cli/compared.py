"""What branches know, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.lines import Short, hint, memory_line, saved_line
from gitmem.cli.view import Line, View

if TYPE_CHECKING:
    from gitmem.model import Memory
    from gitmem.verbs.branches import BranchDiff, BranchInfo


def branches(found: Sequence[BranchInfo]) -> View:
    """One line a branch; a star marks the current one, as in `git branch`."""
    lines = [_branch(info) for info in found]
    if gone := next((info.name for info in found if info.orphaned), None):
        lines.append(hint(f"if the work was taken over: gitmem adopt {gone}"))
    return View(found, lines, "there is no branch yet")


def _branch(info: BranchInfo) -> Line:
    facts = [f"{info.own} own"]
    facts += [f"{info.inherited} inherited"] if not info.orphaned else []
    facts += [f"{info.waiting} waiting"] if info.waiting else []
    facts += ["the branch is gone"] if info.orphaned else []
    mark = "* " if info.current else "  "
    return [
        ("", mark),
        ("key", info.name),
        ("", f" {info.knows} "),
        ("dim", f"({', '.join(facts)})"),
    ]


def sides(short: Short, span: str, diff: BranchDiff) -> View:
    """One line a memory and side; of one that differs both versions, one below the other."""
    left, right = span.split("..", 1)
    lines = list(_sides(short, diff))
    if lines:
        counts = [f"{len(diff.left)} only on {left}", f"{len(diff.right)} only on {right}"]
        differ = f"{len(diff.changed)} {'differs' if len(diff.changed) == 1 else 'differ'}"
        lines.append([("dim", f"({', '.join([*counts, differ])})")])
    return View(diff, lines, f"{left} and {right} know the same")


def _sides(short: Short, diff: BranchDiff) -> Iterator[Line]:
    for memory in diff.left:
        yield _side("<", short, memory)
    for memory in diff.right:
        yield _side(">", short, memory)
    for old, new in diff.changed:
        yield _side("<", short, old)
        yield _side(">", short, new)


def _side(mark: str, short: Short, memory: Memory) -> Line:
    return [("dim", f"{mark} "), *memory_line(short, memory)]


def adopted(short: Short, branch: str, found: Sequence[Memory]) -> View:
    """One line a memory: its id, and what it says."""
    lines = (saved_line(short, memory, "adopted") for memory in found)
    return View(found, lines, f"everything of '{branch}' is seen from here already")
