"""Who wrote shared memories, and whom one means by a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitmem.errors import NotFound, UsageError
from gitmem.journal.trust import Trust, Why, author_of
from gitmem.search.catalog.catalog import Catalog


@dataclass(frozen=True, slots=True)
class AuthorInfo:
    """Somebody who wrote shared memories, or was named: as last signed, and why (not) trusted."""

    author: str
    trusted: bool
    why: Why
    memories: int


def authors(catalog: Catalog, trust: Trust) -> list[AuthorInfo]:
    """Return everybody who wrote shared memories or was named, most memories first."""
    found = {author: (by, count) for author, by, count in catalog.authors()}
    decided = (*trust.decisions.named, *trust.decisions.revoked)
    found |= {author: (author, 0) for author in decided if author not in found}
    rows = [
        AuthorInfo(by or "(nobody)", (why := trust.why(author)).trusted, why, count)
        for author, (by, count) in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.memories, row.author))


def resolve(catalog: Catalog, text: str, known: Iterable[str]) -> str:
    """Return the author that `text` means: an address, or a part of what somebody signs with.

    Raises:
        NotFound: nobody is called that. UsageError: several are.
    """
    wanted, told = text.strip().lower(), author_of(text.strip())
    signed = {author: by for author, by, _ in catalog.authors() if author}
    signed = {**dict.fromkeys(known, ""), **signed}
    if told in signed or (told != wanted and "@" in told):
        return told
    fits = [author for author, by in signed.items() if wanted and wanted in (by or author).lower()]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise UsageError(f"'{text}' could be several authors", _listed(sorted(fits)))
    if "@" in told:
        return told
    raise NotFound(f"no author is called '{text}'", "'gitmem trust --list' shows them")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"give the address: {shown}{' …' if len(names) > 5 else ''}"
