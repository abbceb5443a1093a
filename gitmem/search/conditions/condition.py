"""Conditions as trees: each is SQL over the catalog's `memories`, and a test of anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gitmem.search.conditions.fields import FIELDS, Facts, Sql


class Condition(Protocol):
    """A condition, whole or a part."""

    def sql(self) -> Sql:
        """Return it as an expression over the table `memories`, and its arguments."""
        ...

    def test(self, facts: Facts) -> bool:
        """Whether it holds for something of which `facts` are known; see `fields.facts`."""
        ...


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: Sequence[Condition]

    def sql(self) -> Sql:
        return _joined(" AND ", self.parts)

    def test(self, facts: Facts) -> bool:
        return all(part.test(facts) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Either:
    """One part holds, or several."""

    parts: Sequence[Condition]

    def sql(self) -> Sql:
        return _joined(" OR ", self.parts)

    def test(self, facts: Facts) -> bool:
        return any(part.test(facts) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Condition

    def sql(self) -> Sql:
        text, args = self.part.sql()
        return f"NOT ({text})", args

    def test(self, facts: Facts) -> bool:
        return not self.part.test(facts)


@dataclass(frozen=True, slots=True)
class Is:
    """What a field is: `operator` is one of its operators, `values` are as the field reads them."""

    field: str
    operator: str
    values: tuple[Any, ...] = ()

    def sql(self) -> Sql:
        return FIELDS[self.field].sql(self.operator, self.values)

    def test(self, facts: Facts) -> bool:
        return FIELDS[self.field].test(self.operator, self.values, facts.get(self.field))


def _joined(word: str, parts: Sequence[Condition]) -> Sql:
    found = [part.sql() for part in parts]
    return f"({word.join(text for text, _ in found)})", [arg for _, args in found for arg in args]
