"""The console script: an unchanged session start goes the short way, all else to the command line."""

from __future__ import annotations

import sys

_SHORT = {
    ("sync", "--start"): "markdown",
    ("sync", "--start", "--format", "compact"): "compact",
    ("sync", "--format", "compact", "--start"): "compact",
}


def main() -> None:
    """Run gitmem; exits with its code."""
    form = _SHORT.get(tuple(sys.argv[1:]))
    if form and not (form == "markdown" and sys.stdout.isatty()):
        from gitmem import startup

        answer = startup.load(".")
        if answer is not None:
            return _print(answer[form])
    from gitmem.cli.main import run as command_line

    command_line()


def _print(answer: object) -> None:
    import json

    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    sys.stdout.buffer.write(text.rstrip("\n").encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
