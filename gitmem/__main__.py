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
    gc.set_threshold(100_000)  # what imports make is no garbage: 7 ms of a short command
    # numpy's threads wait for each other in a loop: beside two busy processes a question took 400
    # to 900 ms with two of them, and 35 ms with one
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if sys.argv[1:2] == ["hook"]:
            _hook(sys.argv[2:])
        elif not (_print(_kept_answer()) or _recalled()):
            from gitmem.cli.main import run as command_line

            command_line()
    except KeyboardInterrupt:  # before the command line was there to say so
        sys.exit(0 if sys.argv[1:2] == ["hook"] else 130)
    except SystemExit as done:
        _leave(done.code)
        raise
    _leave(0)


def _leave(code: object) -> None:
    """End the process at once where numpy is loaded, which takes 12 ms to be taken down.

    Everything is closed by now. Other threads would be Chroma's, and may be at something yet.
    """
    if "numpy" not in sys.modules or not isinstance(code, int):
        return
    from threading import active_count

    if active_count() == 1:
        print(end="", flush=True)
        os._exit(code)


def _hook(arguments: list[str]) -> None:
    """Run a hook of git's or of an agent's: neither ever fails."""
    if arguments[:1] == ["git"]:
        from gitmem.agents.git_hooks import run as git_hook

        git_hook(arguments[1:])
    else:
        from gitmem.agents.hooks.entry import run as agent_hook

        agent_hook(arguments)


def _kept_answer() -> object:
    """Return the kept answer to this command line, None where there is none."""
    form = _SHORT.get(tuple(sys.argv[1:]))
    if not form or sys.stdout is None or (form == "markdown" and sys.stdout.isatty()):
        return None
    from gitmem import startup

    answer = startup.load(".")
    return answer and answer[form]


def _recalled() -> bool:
    """Whether this was `recall`, and plain enough to be answered without click."""
    if sys.argv[1:2] != ["recall"]:
        return False
    from gitmem.cli.recall import run as recall

    return recall(sys.argv[2:])


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
