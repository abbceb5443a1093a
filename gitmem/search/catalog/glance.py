"""A glance into the catalog: one question by one statement, for who cannot wait for more.

Nothing else of gitmem is loaded, and the catalog is taken as it stands.
"""

from __future__ import annotations

import os
import sqlite3

_WAITING = (
    "SELECT 1 FROM events WHERE pending AND branch IS ?"
    " AND id NOT IN (SELECT event FROM carried) LIMIT 1"
)


def waits(catalog: str, branch: str) -> bool:
    """Whether memories of a branch wait for its first commit.

    Raises:
        sqlite3.Error: `catalog` is no catalog, or somebody is writing.
    """
    if not os.path.exists(catalog):  # nothing was ever written here, and SQLite would make one
        return False
    db = sqlite3.connect(catalog, timeout=0)
    try:
        return db.execute(_WAITING, (branch,)).fetchone() is not None
    finally:
        db.close()
