"""gitmem: git-native long-term memory for coding agents and the people beside them.

::

    import gitmem

    with gitmem.open(".") as gm:
        memory = gm.remember("Use PostgreSQL: the team knows it", kind="decision")
        gm.search("which database")
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # not from typing, which is 4 ms of the session-start path
if TYPE_CHECKING:
    from gitmem.api import Gitmem, open
    from gitmem.errors import GitmemError
    from gitmem.model import Hit, Importance, Memory, Scope

__all__ = ["Gitmem", "GitmemError", "Hit", "Importance", "Memory", "Scope", "__version__", "open"]

_HOME = {
    "Gitmem": "api",
    "open": "api",
    "GitmemError": "errors",
    "Hit": "model",
    "Importance": "model",
    "Memory": "model",
    "Scope": "model",
}


def __getattr__(name: str) -> object:
    # Lazily: the session-start path imports this package and must not pay for what it does not use.
    if name in _HOME:
        from importlib import import_module

        found: object = getattr(import_module(f"gitmem.{_HOME[name]}"), name)
        return found
    raise AttributeError(f"module 'gitmem' has no attribute '{name}'")
