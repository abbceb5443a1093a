"""The errors gitmem raises, one tree, mapped once at the edge.

::

    GitmemError                 exit code
    ├── UsageError              1   bad input from the user
    │   ├── NoIdentity          1   git knows no name and e-mail to write with
    │   ├── AmbiguousId         1   a prefix that several memories share
    │   └── Unreadable          1   a file to import of which nothing can be read
    ├── NotFound                2   an id, topic or path that does not resolve
    ├── NotARepository          3   no git repository here, or git refuses to use it
    ├── Unavailable             4   could not do it now (lock, full disk, no permission)
    │   └── GitFailed           4   git or libgit2 reported an error
    └── Refused                 5   refused for safety

`RefMoved` is not part of the tree: it is the compare-and-swap signal between
`journal.git.port` and `journal.notes`, and never leaves the journal.
"""

from __future__ import annotations


class GitmemError(Exception):
    """Base of every error a caller may see: a message, and a hint that helps."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GitmemError):
    """The caller's input cannot be used; nothing was written."""

    code = "usage"


class NoIdentity(UsageError):
    """Git knows no author to write with."""

    code = "no-identity"


class AmbiguousId(UsageError):
    """A prefix that several memories share; `candidates` are their short ids."""

    code = "ambiguous-id"

    def __init__(self, message: str, hint: str = "", candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.candidates = candidates


class Unreadable(UsageError):
    """Nothing of a file that should be imported can be read."""

    code = "unreadable"


class NotFound(GitmemError):
    """What was asked for does not exist here."""

    code = "not-found"
    exit_code = 2


class NotARepository(GitmemError):
    """No git repository here, or one that git refuses to use."""

    code = "not-a-repository"
    exit_code = 3


class Unavailable(GitmemError):
    """It could not be done now; trying again or mending the cause may help."""

    code = "unavailable"
    exit_code = 4


class GitFailed(Unavailable):
    """Git reported an error; the message is git's own first line."""

    code = "git-failed"


class Refused(GitmemError):
    """Refused for safety; nothing was written."""

    code = "refused"
    exit_code = 5


class RefMoved(Exception):
    """Compare and swap: the ref no longer stands where it was read."""
