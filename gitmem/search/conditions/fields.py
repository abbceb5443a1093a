"""The fields of a condition: how each reads its values, as SQL and as a test of a mapping.

Nothing is unknown: a field that something lacks is empty, and an empty field is not equal to, not
like, and neither before nor after anything but the empty text. So NOT is always the opposite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from unicodedata import normalize

from gitmem.model import Importance, Memory, Said, Scope
from gitmem.search.conditions.moments import FORMS, span
from gitmem.search.conditions.patterns import Pattern, lower

Facts = Mapping[str, Any]
"""What is known of a memory, a round or a file, by the name of the field; what is not may lack."""

Sql = tuple[str, list[Any]]
"""A condition over the table `memories`, and its arguments."""

EQUALS, LIKE, EMPTY = "=", "LIKE", "IS NULL"
ORDERED = ("<", "<=", ">", ">=")


class Expected(ValueError):
    """A value that a field cannot have; the message says what it can be."""


class Field(Protocol):
    """One field. `EQUALS` takes several values, of which one will do; `EMPTY` takes none."""

    @property
    def operators(self) -> Sequence[str]: ...

    def read(self, text: str, operator: str, now: datetime) -> Any:
        """Return the value that `text` means; raises `Expected`."""
        ...

    def sql(self, operator: str, values: Sequence[Any]) -> Sql: ...
    def test(self, operator: str, values: Sequence[Any], fact: Any) -> bool: ...


@dataclass(frozen=True, slots=True)
class Word:
    """A text that is equal or not; `column` is never NULL. `choices`, if any, are all it can be."""

    column: str
    choices: Sequence[str] = ()
    folded: bool = False
    operators = (EQUALS, LIKE, EMPTY)

    def read(self, text: str, operator: str, now: datetime) -> Any:
        if operator == LIKE:
            return Pattern(text)
        word = text.lower() if self.folded else text
        if self.choices and word not in self.choices:
            raise Expected(f"{', '.join(self.choices[:-1])} or {self.choices[-1]}")
        return word

    def sql(self, operator: str, values: Sequence[Any]) -> Sql:
        if operator == EQUALS:
            return f"{self.column} IN ({_places(values)})", list(values)
        if operator == LIKE:
            return _like(self.column, values)
        return f"{self.column} = ''", []

    def test(self, operator: str, values: Sequence[Any], fact: Any) -> bool:
        if operator == EMPTY:
            return not fact
        return _any_is(operator, values, fact or "")


@dataclass(frozen=True, slots=True)
class Part:
    """A text that has a value within it, whatever the case of ASCII letters."""

    column: str
    operators = (EQUALS, LIKE, EMPTY)

    def read(self, text: str, operator: str, now: datetime) -> Any:
        if operator == LIKE:
            return Pattern(text)
        if not text:
            raise Expected("a part of it that is not empty")
        return lower(text)

    def sql(self, operator: str, values: Sequence[Any]) -> Sql:
        if operator == EQUALS:
            within = f"instr(lower({self.column}), ?) > 0"
            return f"({' OR '.join([within] * len(values))})", list(values)
        return Word(self.column).sql(operator, values)

    def test(self, operator: str, values: Sequence[Any], fact: Any) -> bool:
        if operator == EQUALS:
            return any(value in lower(fact or "") for value in values)
        return Word(self.column).test(operator, values, fact)


@dataclass(frozen=True, slots=True)
class Tag:
    """One of several texts."""

    operators = (EQUALS, LIKE, EMPTY)

    def read(self, text: str, operator: str, now: datetime) -> Any:
        tag = normalize("NFC", text.removeprefix("#"))
        return Pattern(tag) if operator == LIKE else tag

    def sql(self, operator: str, values: Sequence[Any]) -> Sql:
        if operator == EMPTY:
            return "id NOT IN (SELECT memory FROM tags)", []
        has, args = Word("tag").sql(operator, values)
        return f"id IN (SELECT memory FROM tags WHERE {has})", args

    def test(self, operator: str, values: Sequence[Any], fact: Any) -> bool:
        if operator == EMPTY:
            return not fact
        return any(_any_is(operator, values, tag) for tag in fact or ())


@dataclass(frozen=True, slots=True)
class Rank:
    """Importance: one of its names, of which ``>`` is the more important."""

    operators = (EQUALS, *ORDERED)

    def read(self, text: str, operator: str, now: datetime) -> Any:
        for known in Importance:
            if text.lower() in (known.value, known.value[0]):
                return known.rank
        raise Expected("critical, high, normal or low")

    def sql(self, operator: str, values: Sequence[Any]) -> Sql:
        if operator == EQUALS:
            return f"importance IN ({_places(values)})", list(values)
        return f"importance {_turned(operator)} ?", list(values)

    def test(self, operator: str, values: Sequence[Any], fact: Any) -> bool:
        if not fact:
            return False
        rank = Importance(fact).rank
        return rank in values if operator == EQUALS else _holds(rank, _turned(operator), values[0])


@dataclass(frozen=True, slots=True)
class Time:
    """An event time. A date or time is equal to all that is within it; before and after its start.

    So ``created_at = 2026-12-31`` is that day, and ``created_at > 2026-12-31`` begins with it.
    """

    column: str
    operators = (EQUALS, *ORDERED)

    def read(self, text: str, operator: str, now: datetime) -> Any:
        try:
            found = span(text, now)
        except ValueError:
            raise Expected(FORMS) from None
        if operator == EQUALS and not found.end:
            raise Expected("a date or time; an age goes with < or >")
        return found

    def sql(self, operator: str, values: Sequence[Any]) -> Sql:
        if operator == EQUALS:
            within = f"({self.column} >= ? AND {self.column} < ?)"
            return f"({' OR '.join([within] * len(values))})", [at for v in values for at in v]
        return f"{self.column} {operator} ?", [values[0].start]

    def test(self, operator: str, values: Sequence[Any], fact: Any) -> bool:
        if not fact:
            return False
        if operator == EQUALS:
            return any(value.start <= fact < value.end for value in values)
        return _holds(fact, operator, values[0].start)


@dataclass(frozen=True, slots=True)
class Flag:
    """Yes or no; `column` is an expression that is true or false."""

    column: str
    operators = (EQUALS,)

    def read(self, text: str, operator: str, now: datetime) -> Any:
        for value, names in enumerate((("false", "no", "0"), ("true", "yes", "1"))):
            if text.lower() in names:
                return value
        raise Expected("true or false")

    def sql(self, operator: str, values: Sequence[Any]) -> Sql:
        return f"({self.column}) IN ({_places(values)})", list(values)

    def test(self, operator: str, values: Sequence[Any], fact: Any) -> bool:
        return int(bool(fact)) in values


def _of_source(name: str) -> str:
    """Return the SQL of a text in a memory's source, which a stranger may have made anything."""
    path = f"body, '$.source.{name}'"
    return f"CASE json_type({path}) WHEN 'text' THEN json_extract({path}) ELSE '' END"


FIELDS: Mapping[str, Field] = {
    "kind": Word("kind", folded=True),
    "tag": Tag(),
    "importance": Rank(),
    "author": Part("author"),
    "branch": Word("coalesce(branch, '')"),
    "scope": Word("scope", tuple(Scope), folded=True),
    "session": Word(_of_source("session")),
    "agent": Word(_of_source("agent")),
    "created_at": Time("created"),
    "updated_at": Time("updated"),
    "private": Flag("journal != 'shared'"),
    "text": Part("coalesce(json_extract(body, '$.text'), json_extract(body, '$.data'), '')"),
}


def facts(memory: Memory) -> Facts:
    """Return what the fields of a memory are; the text of a JSON memory is its JSON."""
    said = {name: memory.source.get(name) for name in ("session", "agent")}
    return {
        "kind": memory.kind,
        "tag": memory.tags,
        "importance": memory.importance,
        "author": memory.author,
        "branch": memory.branch,
        "scope": memory.scope,
        **{name: value for name, value in said.items() if isinstance(value, str)},
        "created_at": memory.created,
        "updated_at": memory.updated,
        "private": memory.private,
        "text": memory.text if memory.text is not None else _json(memory.data),
    }


def said_facts(said: Said) -> Facts:
    """Return what the fields of a round are: its kind is its role, its author who speaks."""
    return {
        "kind": said.role,
        "tag": said.tags,
        "author": said.speaker,
        "branch": said.branch,
        "session": said.session.partition("/")[2],
        "agent": said.session.partition("/")[0],
        "created_at": said.at,
        "updated_at": said.at,
        "private": True,
        "text": said.text,
    }


def _json(data: Mapping[str, Any] | None) -> str:
    import json  # as the catalog writes it

    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) if data is not None else ""


def _places(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


def _like(column: str, values: Sequence[Pattern]) -> Sql:
    return f"{column} LIKE ? ESCAPE '\\'", [values[0].sql]


def _any_is(operator: str, values: Sequence[Any], text: str) -> bool:
    return text in values if operator == EQUALS else values[0].matches(text)


def _turned(operator: str) -> str:
    """Return the operator of ranks, which count from the most important down."""
    return operator.translate(str.maketrans("<>", "><"))


def _holds(left: Any, operator: str, right: Any) -> bool:
    if operator in ("<", "<="):
        return bool(left < right or (operator == "<=" and left == right))
    return bool(left > right or (operator == ">=" and left == right))
