"""The engine: catch the derived indexes up, gather candidates, weigh what speaks for each, answer.

Indexing happens here, at the next question after a write, and never in the way of the write.
What cannot be used is gone round, and said: the answer is the best that remains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.model import Hit, Importance, Memory, Passage, Said, first_line
from gitmem.search import rank
from gitmem.search.base import LONGEST, Candidate, Closeness, Index, IndexUnusable
from gitmem.search.catalog.catalog import Catalog
from gitmem.search.dates import Span, named_dates, nearness
from gitmem.search.indexes import Indexes
from gitmem.search.near import Near
from gitmem.search.question import Found, Question, SearchResult
from gitmem.search.rank import Evidence
from gitmem.search.rounds import PREFIX
from gitmem.text.query import Query, parse, plain

if TYPE_CHECKING:
    from gitmem.search.semantic.embedding import QueryVectors
    from gitmem.search.workspace.files import Files

CANDIDATES = 300
"""Documents that the lexical index puts forward to be ranked."""

IN_HASTE = 100
"""The same for a question in haste, of whose hits three are told: 99 of 100 are those of 300."""

MORE = 10
"""How many times as many are asked for next, where a filter dropped most of them."""

SNIPPET = 200
"""Length of the passage shown with a hit, in characters."""

PENDING = 20
"""Documents that a question in haste indexes first; where there are more, it goes without them."""

TOGETHER = 32
"""Documents that wait to be embedded together, where nobody searches."""

_ROOM = 10  # hits beyond the limit whose files are looked at: what is stale may fall behind them


class Engine:
    """Search over memories, conversations and the files of the workspace."""

    def __init__(
        self,
        catalog: Catalog,
        indexes: Indexes,
        files: Callable[[], Files | None],
        marked: Callable[[Sequence[Memory]], Sequence[Memory]],
        brief: bool = False,
    ) -> None:
        """`marked` says which memories are stale; `brief` is a process that answers one command."""
        self.indexes = indexes
        self._catalog = catalog
        self._find_files = files
        self._marked = marked
        self.warnings: list[str] = []
        self._near = Near(indexes, self.warnings, brief)

    @cached_property
    def files(self) -> Files | None:
        """The files of the workspace; None where there is no work tree."""
        return self._find_files()

    def over(self, catalog: Catalog) -> Engine:
        """Return an engine over another catalog, whose memories it searches without an index."""
        return Engine(catalog, self.indexes.over(catalog), lambda: None, self._marked)

    def caught_up(self) -> bool:
        """Whether every memory has been looked at for entities, which comes before indexing."""
        return self._catalog.entities_mark() == self._catalog.mark()

    def catch_up(self) -> int:
        """Index what is new; returns how many documents changed.

        Raises:
            IndexUnusable: an index can be neither used nor made.
        """
        changed = self.indexes.catch_up(self.indexes.lexical)
        for index in (self.indexes.tokens, self.indexes.vectors):
            if index is not None:
                self.indexes.catch_up(index)
        return changed

    def keep_pace(self) -> int:
        """Index the words of what is new, and embed it where much waits; the number of changes.

        Many at once are embedded in a quarter of the time, and an agent has in view what was said
        last. Chroma alone takes 0.6 s to import.

        Raises:
            IndexUnusable: an index can be neither used nor made.
        """
        changed = self.indexes.catch_up(self.indexes.lexical)
        tokens = self.indexes.tokens
        if tokens is not None and self.indexes.waiting(tokens, TOGETHER) == TOGETHER:
            self.indexes.catch_up(tokens)
        return changed

    def clear(self) -> None:
        """Drop the indexes; the next question makes them anew."""
        self.indexes.clear()
        with suppress(IndexUnusable):  # a search says it
            if self.files is not None:
                self.files.clear()

    def close(self) -> None:
        """Close every file."""
        self.indexes.close()
        if "files" in vars(self) and self.files is not None:
            self.files.close()

    def search(self, question: Question) -> SearchResult:
        """Return the best hits."""
        query = plain(question.text) if question.haste else parse(question.text)
        searched: list[str] = []
        found = self._found(question, query, searched)
        if not found and query.quotes:  # of a question it is a title, and may be misremembered
            self.warnings.append("nothing has what is quoted; searched for its words instead")
            found = self._found(question, plain(question.text), searched)
        scores = {id: rank.score(evidence) for id, (_, evidence) in found.items()}
        best = self._best(question, found, scores)
        return SearchResult(best, tuple(dict.fromkeys(searched)), _conversations(found, scores))

    def _found(
        self, question: Question, query: Query, searched: list[str]
    ) -> dict[str, tuple[Found, Evidence]]:
        found: dict[str, tuple[Found, Evidence]] = {}
        meaning = None
        if {"memories", "sessions"} & set(question.within):
            meaning = self._meaning(question, query, searched)
            found |= self._written(question, query, meaning, searched)
        if "files" in question.within and not question.filtered:
            found |= self._in_files(question, query, meaning.read if meaning else 0.0, searched)
        return found

    # -- memories and rounds ------------------------------------------------------------------

    def _written(
        self,
        question: Question,
        query: Query,
        meaning: QueryVectors | None,
        searched: list[str],
    ) -> dict[str, tuple[Found, Evidence]]:
        near, by_chroma = self._near.find(meaning, question.haste) if meaning else ((), False)
        searched += ["vectors"] if by_chroma else []
        index, name = self._ready(question.haste)
        searched.append(name)
        candidates, found = self._candidates(question, query, near, index)
        close = self._closeness(meaning, [one.id for one in candidates])
        replaced = _replaced(found.values())
        spans = named_dates(question.text, question.today)
        return {
            one.id: (
                found[one.id],
                _evidence(
                    question, found[one.id], one, spans,
                    close.get(one.id), meaning.read if meaning else 0.0, one.id in replaced,
                ),
            )
            for one in candidates
        }  # fmt: skip

    def _candidates(
        self, question: Question, query: Query, near: Collection[str], index: Index
    ) -> tuple[list[Candidate], dict[str, Found]]:
        """Return what is to be ranked: the best by their words that pass the filter, and `near`."""
        usual = max(IN_HASTE if question.haste else CANDIDATES, 3 * question.limit)
        many = usual
        while True:
            candidates = index.search(query, many, near)
            found = self._allowed(question, [candidate.id for candidate in candidates])
            if not question.filtered or len(found) >= usual / 2 or len(candidates) < many:
                break
            many *= MORE
        passing = [one for one in candidates if one.id in found]
        late = [one for one in passing[usual:] if one.id in near]
        return passing[:usual] + late, found

    def _ready(self, haste: bool) -> tuple[Index, str]:
        """Return an index that has everything, or in haste nearly everything, and its name."""
        if self.indexes.persistent:
            try:
                index = self.indexes.lexical
                if haste:
                    self.indexes.hurry(index, PENDING)
                else:
                    self.indexes.catch_up(index)
                return index, "lexical"
            except IndexUnusable as error:
                self.warnings.append(f"{error.message}: everything is read instead")
        return self.indexes.scan(), "scan"

    def _meaning(
        self, question: Question, query: Query, searched: list[str]
    ) -> QueryVectors | None:
        """Return the vectors of the question; None where it has no words, or there is no model."""
        try:
            tokens = self.indexes.tokens
            if tokens is None or self.indexes.embedder is None or not query.text.strip():
                return None
            if question.haste:  # what was said last is found by its words
                self.indexes.hurry(tokens, PENDING, rounds=False)
            else:
                self.indexes.catch_up(tokens)
            found = self.indexes.embedder.query(query.text)
            searched.append("semantic")
            return found
        except IndexUnusable as error:
            self.warnings.append(f"{error.message}: searched by words alone")
            return None

    def _closeness(
        self, meaning: QueryVectors | None, ids: Sequence[str]
    ) -> Mapping[str, Closeness]:
        if meaning is None or self.indexes.tokens is None:
            return {}
        return self.indexes.tokens.closeness(meaning, ids)

    def _allowed(self, question: Question, ids: Sequence[str]) -> dict[str, Found]:
        """Return what is behind the ids that are sought and pass the filter."""
        found: dict[str, Found] = {}
        if "memories" in question.within and not question.session:
            some = tuple(id for id in ids if not id.startswith(PREFIX))
            found |= self._memories(question, some)
        if "sessions" in question.within and self.indexes.rounds is not None:
            said = self.indexes.rounds.said([id for id in ids if id.startswith(PREFIX)])
            found |= {id: one for id, one in said.items() if _passes(question, one)}
        return found

    def _memories(self, question: Question, ids: Sequence[str]) -> dict[str, Found]:
        found: dict[str, Found] = {}
        filter = question.filter
        if question.where is not None:
            filter = replace(filter, where=question.where.sql())
        for start in range(0, len(ids), 500):  # SQLite's limit on variables
            for memory in self._catalog.select(replace(filter, ids=ids[start : start + 500])):
                found[memory.id] = memory
        return found

    # -- files --------------------------------------------------------------------------------

    def _in_files(
        self, question: Question, query: Query, semantic: float, searched: list[str]
    ) -> dict[str, tuple[Found, Evidence]]:
        try:
            files = self.files
            if files is None:
                return {}
            if not question.haste:
                files.catch_up()
            found = files.search(query, max(question.limit, _ROOM))
            self.warnings += files.warnings
        except IndexUnusable as error:
            self.warnings.append(f"{error.message}: files were not searched")
            return {}
        searched.append("files")
        return {
            f"file:{one.path}#{one.line}": (
                Passage(one.path, one.line, one.text),
                Evidence(one.words, None, semantic, source="files"),
            )
            for one in found
        }

    # -- ranking ------------------------------------------------------------------------------

    def _best(
        self,
        question: Question,
        found: Mapping[str, tuple[Found, Evidence]],
        scores: Mapping[str, float],
    ) -> list[Hit]:
        first = rank.strongest(scores, question.limit + _ROOM)
        memories = [one for id in first if isinstance(one := found[id][0], Memory)]
        marked = {memory.id: memory for memory in self._marked(memories)}
        again = {
            id: replace(found[id][1], stale=bool(id in marked and marked[id].stale)) for id in first
        }
        scored = {id: rank.score(evidence) for id, evidence in again.items()}
        return [
            _hit(question, marked.get(id, found[id][0]), scored[id], again[id])
            for id in rank.strongest(scored, question.limit)
        ]


def _conversations(
    found: Mapping[str, tuple[Found, Evidence]], scores: Mapping[str, float]
) -> list[str]:
    rounds: dict[str, list[float]] = defaultdict(list)
    for id, (one, _) in found.items():
        if isinstance(one, Said):
            rounds[one.session].append(scores[id])
    return rank.conversations(rounds)


def _evidence(
    question: Question,
    found: Found,
    candidate: Candidate,
    spans: Sequence[Span],
    closeness: Closeness | None,
    semantic: float,
    superseded: bool,
) -> Evidence:
    memory = found if isinstance(found, Memory) else None
    said = found if isinstance(found, Said) else None
    author = memory.author if memory else said.speaker if said else ""
    at = memory.created if memory else said.at if said else ""
    here = question.branch is not None and memory is not None and memory.branch == question.branch
    return Evidence(
        candidate.words,
        closeness,
        semantic,
        named=rank.names(question.text, author),
        near=nearness(spans, at) if spans else 0.0,
        age=rank.days_between(at, question.today),
        source="memories" if memory else "sessions",
        importance=memory.importance if memory else Importance.NORMAL,
        here=here,
        superseded=superseded,
    )


def _replaced(found: Iterable[Found]) -> set[str]:
    """Return the memories that another one of what was found supersedes."""
    links = (link for one in found if isinstance(one, Memory) for link in one.links)
    return {link.target for link in links if link.rel == "supersedes"}


def _passes(question: Question, said: Said) -> bool:
    filter = question.filter
    if question.session is not None and said.session != question.session:
        return False
    if filter.kind is not None and said.role != filter.kind:
        return False
    if not set(filter.tags) <= set(said.tags):
        return False
    if question.where is None:
        return True
    from gitmem.search.conditions.fields import said_facts

    return question.where.test(said_facts(said))


def _hit(question: Question, found: Found, score: float, evidence: Evidence) -> Hit:
    said = _said(found)
    if question.haste:
        snippet = first_line(said)
    else:
        from gitmem.text.query import snippet_of

        snippet = snippet_of(question.text, said[:LONGEST], SNIPPET)
    return Hit(found, score, snippet, tuple(rank.parts(evidence)))


def _said(found: Found) -> str:
    """Return what is shown of something: of a file its best line, and those after it for room."""
    if not isinstance(found, Passage):
        return found.body if isinstance(found, Memory) else found.text
    end = found.text.find("\n", SNIPPET // 2)
    return found.text if end < 0 else found.text[:end]
