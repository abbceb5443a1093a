"""all-MiniLM-L6-v2 in numpy: what a single query needs, without the load of a runtime for many.

The weights are mapped, not read: a query touches the rows of its own words and each layer once.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gitmem.search.base import IndexUnusable

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Floats = NDArray[float32]

LAYERS = 6
HEADS = 12
WIDTH = 384
