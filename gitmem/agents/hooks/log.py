"""What hooks did and what went wrong, a line each: they have nobody to tell it to."""

from __future__ import annotations

import os
import time

NAME = "hooks.log"
LARGEST = 256 * 1024
"""Bytes of the log, beside those of the one before it."""


def write(folder: str, line: str) -> None:
    """Append a line to the log in a folder; it matters little if that fails."""
    path = os.path.join(folder, NAME)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(path) and os.stat(path).st_size > LARGEST:
            os.replace(path, f"{path}.1")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o600)
    except OSError:
        return
    try:
        os.write(handle, f"{stamp} {line}\n".encode("utf-8", "replace"))
    except OSError:  # the disk is full
        pass
    finally:
        os.close(handle)
