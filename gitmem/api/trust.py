"""The verbs that decide whose memories count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitmem.api.sharing import Sharing
from gitmem.errors import UsageError
from gitmem.journal.trust import Why

if TYPE_CHECKING:  # loaded by the verbs that need it
    from gitmem.verbs.authors import AuthorInfo


class Trusting(Sharing):
    """Authors trusted, and trusted no more."""

    def authors(self) -> Sequence[AuthorInfo]:
        """Return who wrote shared memories, and why each is trusted or not."""
        from gitmem.verbs.authors import authors

        self._fresh()
        return authors(self._catalog, self._judge.trust())

    def trust(self, author: str | None = None) -> Sequence[AuthorInfo]:
        """Trust an author in this clone; without one, all authors of commits on the trunk.

        `author` is an address, or a part of what somebody signs with.

        Raises:
            NotFound, UsageError: nobody, or several, are called that.
        """
        self._fresh()
        if author is None:
            self._judge.open()
        else:
            self._judge.name(self._author_named(author))
        self._session.settle(self._fresh)
        return self.authors()

    def revoke(self, author: str | None = None) -> Sequence[AuthorInfo]:
        """Trust an author no more, though he has commits on the trunk; without one, nobody.

        Raises:
            NotFound, UsageError: nobody, or several, are called that; or it is oneself.
        """
        self._fresh()
        if author is None:
            self._judge.close()
        else:
            named = self._author_named(author)
            if self._judge.trust().why(named) is Why.SELF and named == self._judge.trust().self_:
                raise UsageError(f"'{named}' is yourself")
            self._judge.revoke(named)
        self._session.settle(self._fresh)
        return self.authors()

    def _author_named(self, text: str) -> str:
        from gitmem.verbs.authors import resolve

        decisions = self._judge.decisions()
        known = (*decisions.named, *decisions.revoked, *decisions.own)
        return resolve(self._catalog, text, known)
