"""The names entities are grouped under, and the gazetteer they come from. Loads no spaCy."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """What `gazetteer.toml` holds: spellings of technologies and the word lists of the rules.

    `names` maps a casefolded spelling to the technology's name. `ordinary` and `strict` map
    casefolded spellings that are words of the language too to the spellings that count.
    """

    names: Mapping[str, str]
    ordinary: Mapping[str, frozenset[str]]
    strict: Mapping[str, frozenset[str]]
    after: frozenset[str]
    before: frozenset[str]
    joins: frozenset[str]
    models: Mapping[str, str]
    forms: Mapping[str, list[str]]


@cache
def gazetteer() -> Gazetteer:
    """Read the gazetteer that ships with the package, once a process."""
    text = files("gitmem.text").joinpath("gazetteer.toml").read_text(encoding="utf-8")
    data: dict[str, Any] = tomllib.loads(text)
    senses, forms = data["senses"], data["forms"]
    return Gazetteer(
        names={
            spelling.casefold(): name
            for section in data["technologies"].values()
            for name, others in section.items()
            for spelling in (name, *others)
        },
        ordinary=_by_fold(senses["ordinary"]),
        strict=_by_fold(senses["strict"]),
        after=frozenset(senses["after"]),
        before=frozenset(senses["before"]),
        joins=frozenset(senses["joins"]),
        models=forms.pop("models"),
        forms=forms,
    )


def normalise(name: str) -> str:
    """Return the one name that `name` is grouped under, as entities carry it.

    ``pg`` → ``PostgreSQL``, ``v2.1.3`` → ``2.1.3``, ``GH-12`` → ``#12``, ``@Bob`` → ``bob``,
    ``./src/`` → ``src``, ``run()`` → ``run``; anything else only loses outer white space.
    """
    name = unicodedata.normalize("NFC", name).strip()
    if known := technology(name) or (technology(name[1:]) if name[:1] in "@#" else None):
        return known
    if name.startswith("@") and "/" not in name:
        return name[1:].casefold()
    if issue := re.fullmatch(r"(?i:(?:issue|pr|mr|pull request|merge request)\s|gh-)#?(\d+)", name):
        return f"#{issue[1]}"
    if re.fullmatch(r"v\d\S*", name):
        return name[1:]
    if url := re.fullmatch(r"([A-Za-z]+://[^/?#]*)(\S*)", name):
        return url[1].lower() + url[2].rstrip("/")
    name = name.removeprefix("./").removesuffix("()")
    return name.rstrip("/") or name


def technology(spelling: str) -> str | None:
    """Return the technology's name for a `spelling` in any case, None if it is not known."""
    folded = " ".join(spelling.casefold().split())
    folded = re.sub(r" (?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff]) ", "", folded)
    if folded in gazetteer().names:
        return gazetteer().names[folded]
    family = re.match(r"[a-z]+(?=[-\d])", folded)
    if family and re.search(r"\d", folded) and not re.search(r"[\s/]|\.[a-z]", folded):
        return gazetteer().models.get(family[0])
    return None


def _by_fold(spellings: list[str]) -> dict[str, frozenset[str]]:
    folded: dict[str, frozenset[str]] = {}
    for spelling in spellings:
        key = spelling.casefold()
        folded[key] = folded.get(key, frozenset()) | {spelling}
    return folded
