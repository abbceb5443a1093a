"""The door to Whoosh 2.7.4, whose age shows on import: quietly, and without what it needs not."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

NETWORK = "urllib.request"


def whoosh(module: str) -> Any:
    """Import and return ``whoosh.MODULE``."""
    name = f"whoosh.{module}"
    if name in sys.modules:
        return sys.modules[name]
    with warnings.catch_warnings(), _without_network():
        # Where nothing may be compiled beforehand, each start would print "is" with a literal.
        warnings.simplefilter("ignore", SyntaxWarning)
        return import_module(name)


@contextmanager
def _without_network() -> Iterator[None]:
    """Spare the import of urllib.request, and with it http, email and ssl.

    whoosh.compat takes one function from it, which nothing here calls; it is a third of the time
    that a search takes in a fresh process. Not with threads: another could see the empty module.
    """
    if NETWORK in sys.modules or threading.active_count() > 1:
        yield
        return
    empty = ModuleType(NETWORK)
    empty.urlretrieve = None  # type: ignore[attr-defined]
    sys.modules[NETWORK] = empty
    try:
        yield
    finally:
        del sys.modules[NETWORK]
