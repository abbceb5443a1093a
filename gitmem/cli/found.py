"""What a search answers with: memories, rounds of conversations and passages of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.cli.lines import Short, memory_line
from gitmem.cli.view import Line, View

if TYPE_CHECKING:
    from gitmem.model import Hit, Part, Passage, Said
    from gitmem.search.question import SearchResult

WHOLE = 400
"""Characters up to which a found memory is printed whole; of a longer one, what matched."""


def hits(short: Short, query: str, result: SearchResult, explain: bool = False) -> View:
    """One line a hit, best first, what makes its score if asked, and what was searched."""
    found = result.hits
    rows = [_row(hit, explain) for hit in found]
    data = {"query": query, "hits": rows, "searched": result.searched}
    how = f"searched: {', '.join(result.searched)}"
    if not found:
        return View(data, [[("", f"nothing matched '{query}' "), ("dim", f"({how})")]])
    lines: list[Line] = []
    for hit in found:
        lines.append(_line(short, hit))
        lines += [_explained(hit.score, hit.parts)] if explain else []
    count = f"{len(found)} {'hit' if len(found) == 1 else 'hits'}"
    return View(data, [*lines, [("dim", f"({count}; {how})")]])


def recalled(short: Short, found: Sequence[Hit]) -> View:
    """One line a hit: the command that shows it, and its summary."""
    return View([_row(hit, False) for hit in found], list(_commands(short, found)))


def _commands(short: Short, found: Sequence[Hit]) -> Iterator[Line]:
    from gitmem.model import first_line
    from gitmem.text.fence import inert

    for hit in found:
        if hit.memory is not None:
            yield [
                ("id", f"gitmem show {short(hit.memory.id)}"),
                ("dim", f"  # {inert(hit.memory.summary)}"),
            ]
        elif hit.said is not None:
            place = f"gitmem session show {hit.said.session}#{hit.said.index}"
            yield [("id", place), ("dim", f"  # {inert(first_line(_spoken(hit.said)))}")]


def _row(hit: Hit, explain: bool) -> dict[str, Any]:
    name = "memory" if hit.memory else "round" if hit.said else "file"
    row: dict[str, Any] = {name: hit.found, "score": round(hit.score, 4), "snippet": hit.snippet}
    if explain:
        row["parts"] = {part.name: round(part.share, 4) for part in hit.parts}
    return row


def _line(short: Short, hit: Hit) -> Line:
    if hit.memory is not None:
        body = hit.memory.body
        return memory_line(short, hit.memory, body if len(body) <= WHOLE else hit.snippet)
    if hit.said is not None:
        return _round(hit.said, hit.snippet)
    assert hit.passage is not None
    return _passage(hit.passage, hit.snippet)


def _round(said: Said, snippet: str) -> Line:
    speaker = said.speaker or said.role
    line = [("id", f"{said.session}#{said.index}"), ("", " "), ("kind", speaker)]
    line += [("", " "), ("content", snippet)]
    return [*line, ("dim", f" ({said.at[:10]})")] if said.at else line


def _passage(passage: Passage, snippet: str) -> Line:
    return [("id", f"{passage.path}:{passage.line}:"), ("", " "), ("content", snippet)]


def _spoken(said: Said) -> str:
    return f"{said.speaker}: {said.text}" if said.speaker else said.text


def _explained(score: float, parts: Sequence[Part]) -> Line:
    shares = " ".join(f"{part.name} {part.share:+.3f}," for part in parts).rstrip(",")
    return [("dim", f"  {score:.3f} = {shares}")]
