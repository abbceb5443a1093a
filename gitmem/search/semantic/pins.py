"""The files of the model: what each must be, and where they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MODEL = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Pin:
    """What a file must be: its size in bytes and its SHA-256."""

    size: int
    sha256: str


MINILM: Mapping[str, Pin] = {
    "config.json": Pin(612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
    "vocab.txt": Pin(231508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    "tokenizer.json": Pin(
        466247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    ),
    "model.safetensors": Pin(
        90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
}


def model_folder(cache: Path) -> Path:
    """Return where the model is kept in a cache folder."""
    return cache / "models" / MODEL


def cache_folder(configured: str = "") -> Path:
    """Return the folder of `gitmem.cacheDir`, or the platform's cache folder where it is empty."""
    if configured:
        return Path(configured).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("gitmem", appauthor=False)
