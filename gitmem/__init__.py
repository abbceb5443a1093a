"""gitmem: git-native long-term memory for coding agents and the people beside them.

::

    import gitmem

    with gitmem.open(".") as gm:
        memory = gm.remember("Use PostgreSQL: the team knows it", kind="decision")
        gm.search("which database")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

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


def __getattr__(name: str) -> Any:
    # Lazily: the session-start path imports this package and must not pay for what it does not use.
    if name in _HOME:
        return getattr(importlib.import_module(f"gitmem.{_HOME[name]}"), name)
    raise AttributeError(f"module 'gitmem' has no attribute '{name}'")
