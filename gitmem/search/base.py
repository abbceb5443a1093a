"""What every derived index is: documents in, candidates out, and how far it has caught up.

An index holds nothing that cannot be made again. "Nothing matched" is an empty list; "could not
search" is `IndexUnusable`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gitmem.errors import Unavailable
from gitmem.text.analysis import terms
from gitmem.text.query import Clause, Query, parse

Seen = Mapping[str, str]
"""Journal name to the commit that an index has caught up to; empty: it has nothing."""

FIELDS = ("text", "entities", "tags", "paths", "kind", "author")
"""The fields of a document that can be named in a query."""

UNNAMED = ("text", "entities", "tags", "paths", "author")
"""The fields that a word is looked for in where a query names none."""

LONGEST = 128 * 1024
"""Characters of a memory that are read: `remember` takes no more at once, but stock git does."""


class IndexUnusable(Unavailable):
    """The index could not be searched or written, which is not that nothing matched."""

    code = "index-unusable"


class IndexMoved(IndexUnusable):
    """The index does not stand where the changes start from; taken up anew, it may work."""


@dataclass(frozen=True, slots=True)
class Document:
    """What is indexed of a memory or a round; of equal scores the latest `at` is first.

    `group` is the conversation that a round is a part of, and `position` its place in there;
    a document without a group stands alone. `meaning` is what is embedded, if not the
    text; what is `private` leaves this machine for no index.
    """

    id: str
    text: str
    kind: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    entities: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    at: str = ""
    group: str = ""
    position: int = 0
    meaning: str | None = None
    private: bool = False

    @property
    def embedded(self) -> str:
        """The text that is embedded; empty where none is."""
        return self.text if self.meaning is None else self.meaning

    def field(self, name: str) -> str:
        """Return a field of `FIELDS` as text, its values one a line; of an address what names."""
        value: str | tuple[str, ...] = getattr(self, name)
        if name == "author":  # or "github" would find all by somebody@users.noreply.github.com
            return self.author.partition("@")[0]
        return value if isinstance(value, str) else "\n".join(value)


@dataclass(frozen=True, slots=True)
class Removed:
    """The document with that id is no more."""

    id: str


Change = Document | Removed
"""A document takes the place of the one with its id."""


class Words(NamedTuple):
    """How well the words of a query are met, from 0 to 1 each: 1 is all of them, many times.

    Attributes:
        document: by the document itself.
        pair: by it and the one before it in its group.
        window: by it, the two before it and the two after it.
        group: by its group as a whole.
        cover: how much of the query's words it has, the rare ones counting for more.
    """

    document: float = 0.0
    pair: float = 0.0
    window: float = 0.0
    group: float = 0.0
    cover: float = 0.0


class Closeness(NamedTuple):
    """How close a document is to a question: the mean over its tokens, the rare ones first.

    Attributes:
        document: of the token of the document that is closest, a cosine.
        pair: of the document and the one before it in its group.
        context: of the document, and a little less of the two before and the two after it.
    """

    document: float
    pair: float
    context: float


class Candidate(NamedTuple):
    """A document that matched; a higher score is better, and means nothing across indexes."""

    id: str
    score: float
    words: Words = Words()


class Derived(Protocol):
    """What is derived from documents.

    Errors: `IndexUnusable` from every method; nothing else.
    """

    def seen(self) -> Seen:
        """Return what it has caught up to; empty where it is missing, old or damaged."""
        ...

    def apply(self, changes: Iterable[Change], seen: Seen, since: Seen) -> None:
        """Take in `changes`, which lead from `since` to `seen`, and record `seen`: both or neither.

        Where `since` is empty they are all there is, and replace whatever it holds. What stands
        at `seen` already is left alone: another process did the same work.

        Raises:
            IndexMoved: it does not stand at `since`; nothing was written.
        """
        ...

    def clear(self) -> None:
        """Forget everything, `seen` included."""
        ...


class Index(Derived, Protocol):
    """A derived index of documents, searched by words."""

    def search(self, query: str | Query, limit: int, also: Collection[str] = ()) -> list[Candidate]:
        """Return the `limit` best candidates, best first, and after them those of `also`.

        `also` are documents found otherwise; those that the query's clauses rule out are left out.
        """
        ...


def catch_up(index: Derived, now: Seen, changes: Callable[[Seen], Iterable[Change]]) -> bool:
    """Bring `index` to `now`, and return whether it was behind.

    `changes(since)` yields what came after `since`, or all there is where that is empty.
    """
    attempts = 3  # another process may catch up, or clear, at the same time
    while (since := index.seen()) != now:
        try:
            index.apply(changes(since), now, since)
            return True
        except IndexMoved:
            attempts -= 1
            if not attempts:
                raise
    return False


class PlainIndex:
    """An index in memory, for when no other can be used: plain, exact and slow."""

    def __init__(self) -> None:
        self._seen: Seen | None = None
        self._documents: dict[str, Document] = {}
        self._places: dict[str, dict[str, Places]] = {}

    def seen(self) -> Seen:
        """Return what was applied last."""
        return self._seen or {}

    def apply(self, changes: Iterable[Change], seen: Seen, since: Seen) -> None:
        """Take in `changes`."""
        if self._seen == seen:
            return
        if since and self._seen != since:
            raise IndexMoved("the index does not stand where the changes start from")
        if not since:
            self.clear()
        for change in changes:
            if isinstance(change, Document):
                self._documents[change.id] = change
                self._places[change.id] = {name: places(change.field(name)) for name in FIELDS}
            else:
                self._documents.pop(change.id, None)
                self._places.pop(change.id, None)
        self._seen = dict(seen)

    def search(self, query: str | Query, limit: int, also: Collection[str] = ()) -> list[Candidate]:
        """Return the documents that match, those with more and rarer words first."""
        parsed = parse(query) if isinstance(query, str) else query
        found = [id for id, fields in self._places.items() if parsed and matches(parsed, fields)]
        found.sort()
        found.sort(key=lambda id: self._documents[id].at, reverse=True)
        ranked = sorted((self._candidate(parsed, id) for id in found), key=lambda hit: -hit.score)
        best = ranked[: max(limit, 0)]
        return best + [hit for hit in ranked[len(best) :] if hit.id in also]

    def clear(self) -> None:
        """Forget everything."""
        self._seen = None
        self._documents.clear()
        self._places.clear()

    def _candidate(self, query: Query, id: str) -> Candidate:
        clauses = [*(Clause((word,)) for word in query.words), *query.prefixes, *query.required]
        holders = [{i for i, fields in self._places.items() if _holds(c, fields)} for c in clauses]
        score = sum(1.0 / len(ids) for ids in holders if id in ids)
        cover = sum(id in ids for ids in holders) / len(clauses)
        return Candidate(id, score, Words(cover, cover, cover, cover, cover))


Places = Mapping[str, frozenset[int]]
"""Term to the positions at which it stands."""


def places(text: str) -> Places:
    """Return where the terms of a text stand."""
    found: dict[str, set[int]] = {}
    for term in terms(text):
        found.setdefault(term.text, set()).add(term.position)
    return {term: frozenset(positions) for term, positions in found.items()}


def matches(query: Query, fields: Mapping[str, Places]) -> bool:
    """Whether a document matches, of whose `FIELDS` the places of terms are given."""
    wanted = [*(Clause((word,)) for word in query.words), *query.prefixes]
    return (
        all(_holds(clause, fields) for clause in query.required)
        and not any(_holds(clause, fields) for clause in query.excluded)
        and (not query.needs_word or any(_holds(clause, fields) for clause in wanted))
    )


def _holds(clause: Clause, fields: Mapping[str, Places]) -> bool:
    names = [clause.field] if clause.field else UNNAMED
    return any(_holds_in(clause, fields[name]) for name in names)


def _holds_in(clause: Clause, places: Places) -> bool:
    if clause.prefix and any(term.startswith(clause.prefix) for term in places):
        return True
    if not clause.forms.isdisjoint(places):
        return True
    nowhere: frozenset[int] = frozenset()
    return any(
        all(start + step in places.get(term, nowhere) for step, term in enumerate(clause.terms))
        for start in places.get(clause.terms[0], nowhere)
    )
