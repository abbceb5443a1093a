"""The console script: hooks and an unchanged session start go a short way, all else to the CLI."""

from __future__ import annotations

import gc
import os
import sys

_SHORT = {
    ("sync", "--start"): "markdown",
    ("sync", "--start", "--format", "compact"): "compact",
    ("sync", "--format", "compact", "--start"): "compact",
}


def main() -> None:
    """Run gitmem; exits with its code."""
    try:
        if sys.argv[1:3] == ["hook", "git"]:
            from gitmem.agents.git_hooks import run

            run(sys.argv[3:])
        elif not _print(_kept_answer()):
            gc.set_threshold(100_000)  # what imports make is no garbage: 7 ms of a short command
            # numpy's threads wait for each other in a loop: beside two busy processes a question
            # took 400 to 900 ms with two of them, and 35 ms with one
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            from gitmem.cli.main import run as command_line

            command_line()
    except KeyboardInterrupt:  # before the command line was there to say so
        sys.exit(130)


def _kept_answer() -> object:
    """Return the kept answer to this command line, None where there is none."""
    form = _SHORT.get(tuple(sys.argv[1:]))
    if not form or sys.stdout is None or (form == "markdown" and sys.stdout.isatty()):
        return None
    from gitmem import startup

    answer = startup.load(".")
    return answer and answer[form]


def _print(answer: object) -> bool:
    """Print an answer; false where there is none or it cannot be written: the long way tells."""
    if answer is None:
        return False
    import json

    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    left = text.rstrip("\n").encode("utf-8", "replace") + b"\n"
    try:
        while left:  # past Python's buffer: what failed would be tried again from there
            left = left[os.write(sys.stdout.fileno(), left) :]
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
