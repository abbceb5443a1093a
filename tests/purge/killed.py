"""A purge that is killed at one moment: ``python -m tests.purge.killed REPO ID MOMENT [PUSH]``.

Moments are counted: a process started, a file opened for writing, renamed, deleted or touched.
Without being killed it prints how many there were.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import gitmem

MOMENTS = ("subprocess.Popen", "os.rename", "os.remove", "os.utime", "sqlite3.connect")


def main() -> None:
    """Purge, and die on the way."""
    repo, id, moment, push = [*sys.argv[1:4], bool(sys.argv[4:])]
    count = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count
        writing = event == "open" and isinstance(args[2], int) and args[2] & os.O_ACCMODE
        if event in MOMENTS or writing:
            count += 1
            if count == int(moment):
                os.kill(os.getpid(), signal.SIGKILL)

    with gitmem.open(repo, backend="program") as gm:
        sys.addaudithook(hook)
        gm.purge(id, push=push)
        print(count)


if __name__ == "__main__":
    main()
