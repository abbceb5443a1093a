"""`gitmem recall` as hooks and scripts write it: without click, which is 20 ms of their 200."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.errors import GitmemError

SESSION = "--session"


def run(argv: Sequence[str]) -> bool:
    """Answer ``PROMPT… [--session ID]``, or return false: what has other options is for click."""
    understood = read(argv)
    if understood is None:
        return False
    prompt, session = understood
    try:
        _answer(prompt, session)
    except (Exception, KeyboardInterrupt) as error:  # told as any other command's
        from gitmem.cli.main import end

        end(error)
    return True


def read(argv: Sequence[str]) -> tuple[str, str] | None:
    """Return prompt and session; None where there is another option, or what is not UTF-8."""
    words, session, rest = [], "", iter(argv)
    for argument in rest:
        if argument == SESSION:
            argument = session = next(rest, "-")
        else:
            words.append(argument)
        if argument.startswith("-"):
            return None
    try:
        "".join(argv).encode()
    except UnicodeEncodeError:
        return None
    return (" ".join(words), session) if words else None


def _answer(prompt: str, session: str) -> None:
    from gitmem.api import open as open_gitmem
    from gitmem.cli import found, render

    render.use_utf8()
    with open_gitmem(".", backend="program") as gm:
        try:
            hits = gm.recall(prompt, session=session)
        except GitmemError:
            render.warn(gm.warnings)
            raise
        render.answer("recall", found.recalled(gm.short, hits), gm.warnings, as_json=False)
